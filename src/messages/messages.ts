import type { MessageChange, MessageDraft, SavedMessage } from '../store/messages.ts'
import {
  type MessageContent,
  type MessageCounts,
  type MessageRow,
  type MessageStatus,
  NO_COUNTS,
} from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, Idempotency, Refused } from '../store/types.ts'
import { type CheckContext, checkLive, type LiveCheck } from './message-checks.ts'
import type { Mailer } from './mailer.ts'
import type { StoppedEmails } from '../core/hand-overs.ts'
import { readMessage } from './message-input.ts'
import { findTopicFaults } from './topics.ts'
import { linkDrafts, listFollowers } from './sequences.ts'
import { timingSafeEqual } from 'node:crypto'
import { mayMove } from './message-changes.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseFields } from '../core/refusals.ts'

export type { Alternative, Compared, MailText, MessageContent, Rule, Trigger } from '../store/message-types.ts'
export { COMPARISONS } from '../store/message-types.ts'
export type { MessageChange, MessageCounts, MessageRow, MessageStatus, SavedMessage }

export type CountedMessage = MessageRow & { counts: MessageCounts }

/** Oldest first, from the one after `after` on. */
export async function listMessages(
  store: Store,
  app: AppRow,
  { after, most }: { after: number; most: number },
): Promise<CountedMessage[]> {
  const rows = await store.listMessages(app.id)
  return addCounts(store, rows.filter(({ id }) => id > after).slice(0, most))
}

export async function addCounts(store: Store, rows: MessageRow[]): Promise<CountedMessage[]> {
  const counted = await store.countEmailsOf(rows.map(({ id }) => id))
  const counts = new Map(counted.map((one) => [one.messageId, one.counts]))
  return rows.map((row) => ({ ...row, counts: counts.get(row.id) ?? NO_COUNTS }))
}

export type SavingContext = CheckContext & {
  mailer: Pick<Mailer, 'waitForReplies'>
  noteCheck?: (check: LiveCheck) => void
}

async function findProblems(context: SavingContext, content: MessageContent): Promise<FieldError[]> {
  const check = await checkLive(context, content)
  context.noteCheck?.(check)
  return check.problems.map(({ field, code, message }) => ({ field, code, message }))
}

type Saving = {
  id: number | null
  value: unknown
  basedOn?: number
  movesWaiting?: boolean
  idempotency?: Idempotency | null
  origin?: MessageDraft['origin']
}

/**
 * Creates a draft (`id` null) or edits the message. Live edits make a new version and must pass the check. Waiting
 * emails keep their version, unless `movesWaiting`. `basedOn`: the `updatedAt` that was read. Refusals: invalid_field,
 * message_not_found, message_changed.
 */
export async function saveMessage(
  context: SavingContext,
  by: MessageChange,
  { id, value, basedOn, movesWaiting = false, idempotency, origin }: Saving,
): Promise<(SavedMessage & StoppedEmails) | Refusal | Refused> {
  const typed = readMessage(value)
  if ('errors' in typed) return refuseFields(typed.errors)
  const { store, app } = context
  const reading = await linkMessage(context, { id, ...typed.input })
  if ('errors' in reading) return refuseFields(reading.errors)
  const old = id === null ? null : await store.findMessage(app.id, id)
  if (id !== null && !old) return refuse('message_not_found')
  // a name without an id finds the existing message, which is for files only
  if (id === null && (await store.findMessageByName(app.id, reading.input.name))) return refuse('message_name_taken')
  if (movesWaiting && old && !mayMove(old.content, reading.input.content)) return OTHER_TRIGGER
  const unlisted = await context.senders.findUnlisted(app, reading.input.content.mail)
  if (unlisted.length > 0) return refuseFields(unlisted)
  const full = await findTopicFaults(store, app, [reading.input.content])
  if (full.length > 0) return refuseFields(full)
  const status = reading.input.status ?? old?.status ?? 'draft'
  const problems = status === 'live' ? await findProblems(context, reading.input.content) : []
  if (problems.length > 0) return refuseFields(problems)
  const draft = { ...reading.input, basedOn: basedOn ?? old?.updatedAt ?? null, movesWaiting, origin }
  const outcome = await store.saveMessages({ ...by, drafts: [draft], idempotency })
  if (isRefusal(outcome)) return old || outcome.refusal !== 'message_changed' ? outcome : refuse('message_name_taken')
  const [saved] = outcome.saved
  if (!saved) return refuse('internal_error')
  const refused = movesWaiting ? await moveWaiting(store, saved) : null
  return refused ?? { ...saved, ...(await settleStopped(context, saved)) }
}

export const MOVE_WAITING = 'moveWaiting'

const OTHER_TRIGGER = refuse('invalid_field', {
  field: MOVE_WAITING,
  message: "Waiting emails can't use a version with a different trigger. Let them keep theirs, then save again.",
})

/** Per commit, so that other writes run in between (measured: 100,000 emails in 200 parts of 1.3 ms). */
const MOVED_AT_ONCE = 500

/** Moves waiting emails to the saved version. A later failure moves none back. Refusals: unavailable. */
export async function moveWaiting(
  store: Store,
  { id: messageId, version }: Pick<SavedMessage, 'id' | 'version'>,
): Promise<Refusal | null> {
  for (let after: number | null = 0; after !== null;) {
    const moved: { next: number | null } | Refused = await store.moveWaiting({
      messageId,
      version,
      after,
      most: MOVED_AT_ONCE,
    })
    if ('refusal' in moved) return HALF_MOVED
    after = moved.next
  }
  return null
}

const HALF_MOVED = refuse('unavailable', {
  message:
    'The message was saved, but some waiting emails keep their version. Save it again so that they use the new one.',
})

/** With the name of the message that triggers it. */
async function linkMessage<One extends { id: number | null; name: string; content: MessageContent }>(
  { store, app }: Pick<CheckContext, 'store' | 'app'>,
  draft: One,
): Promise<{ input: One } | { errors: FieldError[] }> {
  if (!('message' in draft.content.trigger)) return { input: draft }
  const { drafts, errors } = linkDrafts([draft], await store.listMessages(app.id))
  return errors.flat().length > 0 ? { errors: errors.flat() } : { input: drafts[0] ?? draft }
}

async function settleStopped(
  { mailer }: SavingContext,
  { id, status }: Pick<MessageRow, 'id' | 'status'>,
): Promise<StoppedEmails> {
  return { stillSending: status === 'live' ? 0 : await mailer.waitForReplies({ messageId: id }) }
}

type Turning = {
  message: Pick<MessageRow, 'id' | 'content'>
  status: MessageStatus
  idempotency?: Idempotency | null
}

/**
 * Going live needs a sender, no problems (invalid_field) and unchanged `message` content (message_changed). Deliveries
 * due while it isn't live are skipped. Stopping waits for open hand-overs.
 */
export async function setMessageStatus(
  context: SavingContext,
  by: MessageChange,
  { message: { id, content }, status, idempotency }: Turning,
): Promise<StoppedEmails | Refusal | Refused> {
  const problems = status === 'live' ? await findProblems(context, content) : []
  if (problems.length > 0) return refuseFields(problems)
  const change = { ...by, id, status, idempotency, ...(status === 'live' ? { content } : {}) }
  const outcome = await context.store.setMessageStatus(change)
  return isRefusal(outcome) ? outcome : settleStopped(context, { id, status })
}

/** Any change of the content needs another token. It grants no rights. */
export const makeLiveToken = (key: string, app: AppRow, { id, content }: Pick<MessageRow, 'id' | 'content'>): string =>
  new Bun.CryptoHasher('sha256', key).update(JSON.stringify([app.publicId, id, content])).digest('base64url')

export function isLiveToken(
  token: string,
  of: { key: string; app: AppRow; message: Pick<MessageRow, 'id' | 'content'> },
): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(makeLiveToken(of.key, of.app, of.message))]
  return given.length === right.length && timingSafeEqual(given, right)
}

/** Deletes all versions. Refusals: message_not_found, message_in_use (live, or has deliveries), unavailable. */
export async function deleteMessage(
  store: Store,
  change: MessageChange & { id: number },
): Promise<{ done: true } | Refusal | Refused> {
  const message = await store.findMessage(change.appId, change.id)
  if (message?.status === 'live') return refuse('message_in_use', { message: IS_LIVE })
  const [follower] = message ? listFollowers(await store.listMessages(change.appId), message.name) : []
  if (follower !== undefined) return refuse('message_in_use', { message: describeFollower(follower) })
  return store.deleteMessage(change)
}

export const describeFollower = (name: string): string =>
  `“${name}” is triggered by this message. Choose another trigger for it before you delete this message.`

const IS_LIVE = 'This message is live. Pause it before you delete it.'

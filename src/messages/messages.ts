import type { MessageChange, SavedMessage } from '../store/messages.ts'
import {
  DELIVERY_STATES,
  type MessageContent,
  type MessageCounts,
  type MessageRow,
  type MessageStatus,
  NO_COUNTS,
} from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { AppRow, Refused } from '../store/types.ts'
import { type CheckContext, checkLive, type LiveCheck } from './message-checks.ts'
import type { Mailer } from './mailer.ts'
import type { Ended } from '../core/ended.ts'
import { readMessage } from './message-input.ts'
import { type FieldError, isRefusal, type Refusal, refuse, refuseFields } from '../core/refusals.ts'

export type { Compared, MessageContent, Rule, Trigger } from '../store/message-types.ts'
export { COMPARISONS } from '../store/message-types.ts'
export type { MessageChange, MessageCounts, MessageRow, MessageStatus, SavedMessage }

/** The messages of an app with what each achieved, in the order in which they were made. */
export async function listMessages(store: Store, app: AppRow): Promise<(MessageRow & { counts: MessageCounts })[]> {
  const rows = await store.listMessages(app.id)
  const counted = await store.countAllDeliveries(app.id)
  const counts = new Map(counted.map((one) => [one.messageId, one.counts]))
  return rows.map((row) => ({ ...row, counts: counts.get(row.id) ?? NO_COUNTS }))
}

/** `noteCheck` is told what the check before going live found. */
export type SavingContext = CheckContext & {
  mailer: Pick<Mailer, 'settleHanded'>
  noteCheck?: (check: LiveCheck) => void
}

async function findProblems(context: SavingContext, content: MessageContent): Promise<FieldError[]> {
  const check = await checkLive(context, content)
  context.noteCheck?.(check)
  return check.problems
}

/**
 * Saves a message as it was written: a new one as a draft (`id` null), else the one with this id. An edit of a live one is
 * a new version, and must not have what would keep it from going live; deliveries that wait keep theirs. A `status` in the value
 * is set too. `basedOn`: its `updatedAt` when it was read, where nobody may have changed it since. Refusals: invalid_field
 * with every field by its path, message_not_found, message_name_taken, message_changed.
 */
export async function saveMessage(
  context: SavingContext,
  by: MessageChange,
  { id, value, basedOn }: { id: number | null; value: unknown; basedOn?: number },
): Promise<(SavedMessage & Ended) | Refusal | Refused> {
  const reading = readMessage(value)
  if ('errors' in reading) return refuseFields(reading.errors)
  const { store, app } = context
  const old = id === null ? null : await store.findMessage(app.id, id)
  if (id !== null && !old) return refuse('message_not_found')
  // without an id a name stands for the message that has it, which is for files: here it is a second one
  if (id === null && (await store.findMessageByName(app.id, reading.input.name))) return refuse('message_name_taken')
  const unlisted = await context.senders.findUnlisted(app, reading.input.content.mail)
  if (unlisted.length > 0) return refuseFields(unlisted)
  const status = reading.input.status ?? old?.status ?? 'draft'
  const problems = status === 'live' ? await findProblems(context, reading.input.content) : []
  if (problems.length > 0) return refuseFields(problems)
  const outcome = await store.saveMessages({ ...by, drafts: [{ id, ...reading.input, basedOn }] })
  if (isRefusal(outcome)) return outcome
  const [saved] = outcome.saved
  return saved ? { ...saved, ...(await settleStopped(context, saved)) } : refuse('internal_error')
}

/** Of a message that is not live nothing more is handed over. */
async function settleStopped(
  { mailer }: SavingContext,
  { id, status }: Pick<MessageRow, 'id' | 'status'>,
): Promise<Ended> {
  return { stillSending: status === 'live' ? 0 : await mailer.settleHanded({ messageId: id }) }
}

/**
 * Turns a message live, paused or back to a draft. Live needs a sender and no open problem (invalid_field names them), and
 * that it still says what `message` says, which somebody has seen: else message_changed. Stopping needs nothing.
 * Deliveries that come due while it is not live are skipped. Stopping resolves when the mail servers have answered what
 * they had already.
 */
export async function setMessageStatus(
  context: SavingContext,
  by: MessageChange,
  { message: { id, content }, status }: { message: Pick<MessageRow, 'id' | 'content'>; status: MessageStatus },
): Promise<Ended | Refusal | Refused> {
  const problems = status === 'live' ? await findProblems(context, content) : []
  if (problems.length > 0) return refuseFields(problems)
  const change = { ...by, id, status, ...(status === 'live' ? { content } : {}) }
  const outcome = await context.store.setMessageStatus(change)
  return isRefusal(outcome) ? outcome : settleStopped(context, { id, status })
}

/** Whether a message may be deleted: it is not live, and nobody has a delivery of it. */
export const mayDelete = ({ status }: MessageRow, counts: MessageCounts): boolean =>
  status !== 'live' && DELIVERY_STATES.every((state) => counts[state] === 0)

/**
 * Deletes a message that was never started for anybody, with all its versions. Refusals: message_not_found;
 * message_in_use for a live one, and where somebody has a delivery of it; unavailable.
 */
export async function deleteMessage(
  store: Store,
  change: MessageChange & { id: number },
): Promise<{ done: true } | Refusal | Refused> {
  const message = await store.findMessage(change.appId, change.id)
  if (message?.status === 'live') return refuse('message_in_use', { message: IS_LIVE })
  return store.deleteMessage(change)
}

const IS_LIVE = 'This message is live. Pause it before it is deleted.'

/** Plans saving, changing the status, and deleting. Pure. */
import type { MessageContent, MessageRow, Trigger } from '../store/message-types.ts'
import type { MessageDraft, MessageRules, SavePlan } from '../store/messages.ts'
import { linkDrafts, listFollowers } from './sequences.ts'

/** All drafts together: an unknown message before an outdated one before a taken name. */
const refuseDrafts: MessageRules['refuseDrafts'] = (drafts, listStored) => {
  if (drafts.some(({ draft, old }) => draft.id !== null && !old)) return { refusal: 'message_not_found' }
  const isOutdated = drafts.some(
    ({ draft: { basedOn }, old }) => basedOn !== undefined && (old?.updatedAt ?? null) !== basedOn,
  )
  if (isOutdated) return { refusal: 'message_changed' }
  const isTaken = drafts.some(({ draft, namesake }) => namesake !== null && namesake.id !== draft.id)
  if (isTaken) return { refusal: 'message_name_taken' }
  const linked = drafts.map(({ draft }) => draft).filter(({ content }) => 'message' in content.trigger)
  // another member changed the messages since they were checked
  const isUnlinked =
    linked.length > 0 &&
    linkDrafts(
      drafts.map(({ draft }) => draft),
      listStored(),
    ).errors.flat().length > 0
  return isUnlinked ? { refusal: 'message_changed' } : null
}

/** A version with another trigger can't have the values of a waiting email. */
export const mayMove = (from: MessageContent, to: MessageContent): boolean =>
  Bun.deepEquals(bare(from.trigger), bare(to.trigger), true)

/** Waiting emails have met the trigger's conditions, so these may differ. */
const bare = (trigger: Trigger): Trigger => ('event' in trigger ? { event: trigger.event } : trigger)

/** By new content. Any other message gets a new version. */
export const isOverwrittenBySaving = ({ status }: Pick<MessageRow, 'status'>, hasDeliveries: () => boolean): boolean =>
  status === 'draft' && !hasDeliveries()

const planSave: MessageRules['planSave'] = (draft, { old, hasDeliveries, at }) => {
  const status = draft.status ?? old?.status ?? 'draft'
  if (!old) {
    const created = { change: 'created', status, version: 1, updatedAt: at, storesContent: true } as const
    return plan(created, { saves: nameSave(draft), isRenamed: false, before: 'draft', movesWaiting: false })
  }
  const isSameContent = isEqual(draft.content, old.content)
  const isRenamed = draft.name !== old.name
  const isUnchanged = isSameContent && !isRenamed && status === old.status
  const isOverwritten = isSameContent || isOverwrittenBySaving(old, hasDeliveries)
  const version = isOverwritten ? old.version : old.version + 1
  const change = isUnchanged ? 'unchanged' : 'changed'
  const updatedAt = isUnchanged ? old.updatedAt : nextUpdate(old, at)
  const saved: Omit<SavePlan, 'actions'> = { change, status, version, updatedAt, storesContent: !isSameContent }
  const { movesWaiting = false } = draft
  const saves = isSameContent ? null : nameSave(draft)
  return plan(saved, { saves, isRenamed, before: old.status, movesWaiting })
}

const nameSave = ({ origin }: MessageDraft): string => {
  if (origin === undefined) return 'message.save'
  return origin === 'copy' ? 'message.copy' : 'message.restore'
}

type Made = { saves: string | null; isRenamed: boolean; before: MessageRow['status']; movesWaiting: boolean }

const plan = (saved: Omit<SavePlan, 'actions'>, { saves, isRenamed, before, movesWaiting }: Made): SavePlan => ({
  ...saved,
  actions: [
    ...(isRenamed ? ['message.rename'] : []),
    ...(saves === null ? [] : [saves]),
    ...(movesWaiting ? ['message.move_waiting'] : []),
    ...(saved.status === before ? [] : [`message.${saved.status}`]),
  ],
})

/** With `content`, only while it is the message's. */
const planStatus: MessageRules['planStatus'] = ({ status, content, at }, old) => {
  if (!old) return { refusal: 'message_not_found' }
  if (content && !isEqual(content, old.content)) return { refusal: 'message_changed' }
  return { status, updatedAt: nextUpdate(old, at) }
}

/**
 * Deliveries refer to the content that was sent, a live message may send at any moment, and other messages may be
 * triggered by it (`followers`).
 */
export const mayDelete = (
  { status }: Pick<MessageRow, 'status'>,
  { hasDeliveries, followers }: { hasDeliveries: () => boolean; followers: readonly string[] },
): boolean => status !== 'live' && followers.length === 0 && !hasDeliveries()

const refuseDeletion: MessageRules['refuseDeletion'] = ({ old, hasDeliveries, listStored }) => {
  if (!old) return { refusal: 'message_not_found' }
  const followers = listFollowers(listStored(), old.name)
  return mayDelete(old, { hasDeliveries, followers }) ? null : { refusal: 'message_in_use' }
}

export const MESSAGE_RULES: MessageRules = { refuseDrafts, planSave, planStatus, refuseDeletion, mayMove }

/** Differs after each change, so that `basedOn` finds two within a millisecond. */
const nextUpdate = ({ updatedAt }: MessageRow, at: number): number => Math.max(at, updatedAt + 1)

/** Ignores key order, which differs between forms and files. */
const isEqual = (a: MessageContent, b: MessageContent): boolean => Bun.deepEquals(a, b, true)

import type { MessageContent, MessageRow, MessageStatus } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'

/** Older versions are unknown. */
const VERSIONS = 100

/** Status changes oldest first, versions newest first. */
export type MessageHistory = {
  message: MessageRow
  statuses: readonly { at: number; status: MessageStatus }[]
  versions: readonly { createdAt: number; content: MessageContent }[]
}

/** Of the messages that have changed since `since`; the others are as they are stored. */
export async function readHistories(
  store: Store,
  messages: readonly MessageRow[],
  since: number,
): Promise<MessageHistory[]> {
  const changed = messages.filter(({ updatedAt }) => updatedAt > since)
  const statuses = changed.length === 0 ? [] : await store.listStatusChanges(changed)
  return Promise.all(
    messages.map(async (message) => ({
      message,
      statuses: statuses.filter(({ messageId }) => messageId === message.id),
      versions: changed.includes(message)
        ? await store.listVersions(message.id, { before: null, limit: VERSIONS })
        : [],
    })),
  )
}

/** Null: not known. Messages start as drafts. */
export function statusAt({ message, statuses }: MessageHistory, at: number): MessageStatus | null {
  if (at >= message.updatedAt) return message.status
  if (statuses.length === 0) return message.status === 'draft' ? 'draft' : null
  return statuses.findLast((one) => one.at <= at)?.status ?? 'draft'
}

/** Whether the message was live at any time from then on, until then. */
export const wasLive = (history: MessageHistory, from: number, until: number): boolean =>
  from < until && (statusAt(history, from) === 'live' || (nextLiveAt(history, from) ?? until) < until)

/** Null: not known. */
export const contentAt = ({ message, versions }: MessageHistory, at: number): MessageContent | null =>
  at >= message.updatedAt ? message.content : (versions.find(({ createdAt }) => createdAt <= at)?.content ?? null)

/** When the message next went live (ms UTC). */
export const nextLiveAt = ({ statuses }: MessageHistory, at: number): number | null =>
  statuses.find((one) => one.at > at && one.status === 'live')?.at ?? null

/** When its content next changed (ms UTC). */
export const nextChangeAt = ({ message, versions }: MessageHistory, at: number): number =>
  versions.findLast(({ createdAt }) => createdAt > at)?.createdAt ?? message.updatedAt

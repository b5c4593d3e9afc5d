import type { AppRow, EventWrite } from './types.ts'

/**
 * Whose key an event came with: what it takes to read it. One object for all that come with a key, because it crosses
 * threads once for a batch of them.
 */
export type EventSender = {
  apps: Pick<AppRow, 'id' | 'accountId' | 'publicId' | 'hosts'>[]
  newPeoplePerMonth: number | null
  buckets: string[]
}

/** An event as it came: the text of a body, which nobody has read yet. `at` in ms UTC. */
export type EventText = { text: string; sender: EventSender; at: number }

/** null where there is something to say to the sender: what is refused, and what comes with a warning. */
export type ReadEvent = (event: EventText) => EventWrite | null

/** Nothing was written, because it could not be read, or not without a word to the sender. */
export type Unread = { isUnread: true }

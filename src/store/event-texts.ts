import type { AppRow, EventWrite, RecordedEvent } from './types.ts'

/** Whose key an event came with: what it takes to read it. Crosses threads once for all in a batch that share the object. */
export type EventSender = {
  /** `hosts`: its own, as the link rule wants them */
  apps: (Pick<AppRow, 'id' | 'accountId' | 'publicId'> & { hosts: readonly string[] })[]
  newPeoplePerMonth: number | null
  buckets: string[]
}

/** An event as it came: the text of a body, which nobody has read yet. `at` in ms UTC. */
export type EventText = { text: string; sender: EventSender; at: number }

/** What the sender of an event is told, though it is kept; the store hands it on. */
type Warning = { field: string; code: string; message: string }

/** null where something is wrong with it: its sender is told where it came in. */
export type ReadEvent = (event: EventText) => { write: EventWrite; warnings: Warning[] } | null

/** `warnings`: where there are any. */
export type RecordedText = RecordedEvent & { warnings?: Warning[] }

/** Nothing was written, because something is wrong with it. */
export type Unread = { isUnread: true }

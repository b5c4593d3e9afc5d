import type { Database } from 'bun:sqlite'
import { HAS_MOVED, IS_ENDED, IS_WAITING, USES_ONCE_UP } from './delivery-states.ts'
import { DELIVERY_STATES, type DeliveryState } from './message-types.ts'

export type DeliveryQuery = {
  appId: number
  messageId: number | null
  contactId: number | null
  /** null = every state */
  states: readonly DeliveryState[] | null
  /** a delivery's id; the page holds what came before it */
  before: number | null
  limit: number
}

/**
 * So many of the newest rows of all are looked through for those that wait, first few and then more: what waits is mostly
 * new (measured with a million waiting: 0.3 ms). Only where they are not enough is all that waits in the app read from
 * its index, which has it in the order of its time (45 to 80 ms).
 */
const LOOKED_THROUGH = [4_000, 40_000]

/** One person's, the two parts of them together. */
const OF_PERSON = [
  `app_id = ?1 AND contact_id = ?2 AND ${USES_ONCE_UP}`,
  `contact_id = ?2 AND +app_id = ?1 AND ${IS_ENDED} AND handed_at IS NULL`,
]

export type EventOfPerson = { appId: number; contactId: number; eventId: number }

type Page = { appId: number; messageId: number | null; before: number; limit: number }

/** Ids of a page of deliveries, newest first; each kind from an index that holds it in the order of ids, or from little. */
export function createDeliveryPages(db: Database) {
  const ids = (
    query: { all(...values: (number | string | null)[]): { id: number }[] },
    ...values: (number | string | null)[]
  ) => query.all(...values).map(({ id }) => id)
  const moved = db.prepare<{ id: number }, (number | string | null)[]>(
    `SELECT id FROM deliveries WHERE message_id = ? AND state = ? AND ${HAS_MOVED} AND +app_id = ? AND id < ?
     ORDER BY id DESC LIMIT ?`,
  )
  const newest = db.prepare<{ id: number }, (number | string | null)[]>(
    `SELECT id FROM (SELECT id, app_id, message_id, state FROM deliveries WHERE id < ? ORDER BY id DESC LIMIT ?) AS newest
     WHERE state = 'waiting' AND app_id = ? AND message_id = ifnull(?, message_id) ORDER BY id DESC LIMIT ?`,
  )
  const waiting = db.prepare<{ id: number }, (number | string | null)[]>(
    `SELECT id FROM deliveries INDEXED BY deliveries_due
     WHERE app_id = ? AND ${IS_WAITING} AND state = 'waiting' AND message_id = ifnull(?, message_id) AND id < ?
     ORDER BY id DESC LIMIT ?`,
  )
  const messagesOf = db.prepare<{ id: number }, [number]>('SELECT id FROM messages WHERE app_id = ?')
  const ofPerson = OF_PERSON.map((where) =>
    db.prepare<{ id: number }, (number | string | null)[]>(
      `SELECT id FROM deliveries WHERE ${where} AND +message_id = ifnull(?3, message_id)
         AND instr(?4, '"' || state || '"') > 0 AND id < ?5 ORDER BY id DESC LIMIT ?6`,
    ),
  )

  // no index by event: it would cost every event something, and a person's deliveries are few
  const ofEvent = OF_PERSON.map((where) =>
    db.prepare<{ id: number }, [number, number, number]>(`SELECT id FROM deliveries WHERE ${where} AND event_id = ?3`),
  )

  const listWaiting = ({ appId, messageId, before, limit }: Page): number[] => {
    for (const rows of LOOKED_THROUGH) {
      const found = ids(newest, before, rows, appId, messageId, limit)
      if (found.length === limit) return found
    }
    return ids(waiting, appId, messageId, before, limit)
  }

  /** What one person has is little, and sorted when it is asked for. */
  const listOfPerson = ({ appId, messageId, before, limit }: Page, contactId: number, states: string): number[] =>
    ofPerson.flatMap((query) => ids(query, appId, contactId, messageId, states, before, limit))

  const listOfMessages = (page: Page, states: readonly DeliveryState[]): number[] => {
    const { appId, messageId, before, limit } = page
    const messages = messageId === null ? ids(messagesOf, appId) : [messageId]
    const others = states.filter((state) => state !== 'waiting')
    const found = messages.flatMap((message) =>
      others.flatMap((state) => ids(moved, message, state, appId, before, limit)),
    )
    return states.includes('waiting') ? [...found, ...listWaiting(page)] : found
  }

  return {
    /** Of the deliveries that an event of a person started, the newest first. */
    listIdsOfEvent: ({ appId, contactId, eventId }: EventOfPerson): number[] =>
      ofEvent.flatMap((query) => ids(query, appId, contactId, eventId)).sort((a, b) => b - a),

    listIds({ contactId, states, before, ...query }: DeliveryQuery): number[] {
      const page = { ...query, before: before ?? Number.MAX_SAFE_INTEGER }
      const asked = states ?? DELIVERY_STATES
      const found =
        contactId === null ? listOfMessages(page, asked) : listOfPerson(page, contactId, JSON.stringify(asked))
      return found.sort((a, b) => b - a).slice(0, query.limit)
    },
  }
}

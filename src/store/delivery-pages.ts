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
 * So many of the newest rows of all are looked through, first few for any state and then more for those that wait: what
 * waits is mostly new (measured with a million waiting: 0.3 ms). Only where they are not enough is all that waits in the
 * app read from its index, which has it in the order of its time (45 to 80 ms).
 */
const LOOKED_THROUGH = { few: 4_000, many: 40_000 }
const IS_WAITING_ASKED = `instr(?4, '"waiting"') > 0`

/** One person's, the two parts of them together. */
const OF_PERSON = [
  `app_id = ?1 AND contact_id = ?2 AND ${USES_ONCE_UP}`,
  `contact_id = ?2 AND +app_id = ?1 AND ${IS_ENDED} AND handed_at IS NULL`,
]

export type EventOfPerson = { appId: number; contactId: number; eventId: number }

type Page = { appId: number; messageId: number | null; before: number; limit: number }

/** Ids of a page of deliveries, newest first; each kind from an index that holds it in the order of ids, or from little. */
export function createDeliveryPages(db: Database) {
  const prepareIds = (text: string) => db.prepare<{ id: number }, (number | string | null)[]>(text)
  const ids = (query: ReturnType<typeof prepareIds>, ...values: (number | string | null)[]): number[] =>
    query.all(...values).map(({ id }) => id)
  const newest = (isAsked: string, most: string) =>
    `SELECT id FROM (SELECT id, app_id, message_id, state FROM deliveries WHERE id < ?3 ORDER BY id DESC LIMIT ${most}) AS newest
     WHERE app_id = ?1 AND message_id = ifnull(?2, message_id) AND ${isAsked} ORDER BY id DESC LIMIT ?5`
  const few = prepareIds(newest(`instr(?4, '"' || state || '"') > 0`, String(LOOKED_THROUGH.few)))
  // a LIMIT of 0 ends a part before it reads anything
  const all = prepareIds(
    `WITH moved AS MATERIALIZED (
       SELECT delivery.id FROM messages CROSS JOIN json_each(?4) AS asked CROSS JOIN deliveries AS delivery
       WHERE messages.app_id = ?1 AND messages.id = ifnull(?2, messages.id) AND delivery.id IN
         (SELECT id FROM deliveries WHERE message_id = messages.id AND state = asked.value AND ${HAS_MOVED}
            AND +app_id = ?1 AND id < ?3 ORDER BY id DESC LIMIT ?5)
       ORDER BY delivery.id DESC LIMIT ?5),
     waiting AS MATERIALIZED (${newest("state = 'waiting'", `iif(${IS_WAITING_ASKED}, ${LOOKED_THROUGH.many}, 0)`)}),
     all_waiting AS MATERIALIZED (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE app_id = ?1 AND ${IS_WAITING} AND state = 'waiting' AND message_id = ifnull(?2, message_id) AND id < ?3
       ORDER BY id DESC LIMIT iif(${IS_WAITING_ASKED} AND (SELECT count(*) FROM waiting) < ?5, ?5, 0))
     SELECT id FROM moved UNION SELECT id FROM waiting UNION SELECT id FROM all_waiting ORDER BY id DESC LIMIT ?5`,
  )
  const ofPerson = OF_PERSON.map((where) =>
    prepareIds(
      `SELECT id FROM deliveries WHERE ${where} AND +message_id = ifnull(?3, message_id)
         AND instr(?4, '"' || state || '"') > 0 AND id < ?5 ORDER BY id DESC LIMIT ?6`,
    ),
  )

  // no index by event: it would cost every event something, and a person's deliveries are few
  const ofEvent = OF_PERSON.map((where) => prepareIds(`SELECT id FROM deliveries WHERE ${where} AND event_id = ?3`))

  /** What one person has is little, and sorted when it is asked for. */
  const listOfPerson = ({ appId, messageId, before, limit }: Page, contactId: number, states: string): number[] =>
    ofPerson.flatMap((query) => ids(query, appId, contactId, messageId, states, before, limit))

  /** Mostly what is asked for is among the newest; else it is read from the index of each state. */
  const listOfMessages = ({ appId, messageId, before, limit }: Page, states: string): number[] => {
    const found = ids(few, appId, messageId, before, states, limit)
    return found.length === limit ? found : ids(all, appId, messageId, before, states, limit)
  }

  return {
    /** Of the deliveries that an event of a person started, the newest first. */
    listIdsOfEvent: ({ appId, contactId, eventId }: EventOfPerson): number[] =>
      ofEvent.flatMap((query) => ids(query, appId, contactId, eventId)).sort((a, b) => b - a),

    listIds({ contactId, states, before, ...query }: DeliveryQuery): number[] {
      const page = { ...query, before: before ?? Number.MAX_SAFE_INTEGER }
      const asked = JSON.stringify(states ?? DELIVERY_STATES)
      const found = contactId === null ? listOfMessages(page, asked) : listOfPerson(page, contactId, asked)
      return found.sort((a, b) => b - a).slice(0, query.limit)
    },
  }
}

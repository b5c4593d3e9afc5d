import type { Database } from 'bun:sqlite'
import { IS_ENDED, USES_ONCE_UP } from './delivery-states.ts'
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

/** So many of the newest rows of all are looked through first: mostly they hold the page (measured: 0.3 ms). */
const LOOKED_THROUGH = 4_000

/** One person's, the two parts of them together. */
const OF_PERSON = [
  `app_id = ?1 AND contact_id = ?2 AND ${USES_ONCE_UP}`,
  `contact_id = ?2 AND +app_id = ?1 AND ${IS_ENDED} AND handed_at IS NULL`,
]

export type EventOfPerson = { appId: number; contactId: number; eventId: number }

type Page = { appId: number; messageId: number | null; before: number; limit: number }

/**
 * Ids of a page of deliveries, newest first, of an index that holds those of a message and a state in the order of ids
 * (measured with a million, 150,000 or all of them waiting, of 200 messages: 3 ms at most).
 */
export function createDeliveryPages(db: Database) {
  const prepareIds = (text: string) => db.prepare<{ id: number }, (number | string | null)[]>(text)
  const ids = (query: ReturnType<typeof prepareIds>, ...values: (number | string | null)[]): number[] =>
    query.all(...values).map(({ id }) => id)
  const newest = prepareIds(
    `SELECT id FROM
       (SELECT id, app_id, message_id, state FROM deliveries WHERE id < ?3 ORDER BY id DESC LIMIT ${LOOKED_THROUGH}) AS newest
     WHERE app_id = ?1 AND message_id = ifnull(?2, message_id) AND instr(?4, '"' || state || '"') > 0
     ORDER BY id DESC LIMIT ?5`,
  )
  // of the newest of each message and state only so many can be on the page, and none of them below the last of these
  const all = prepareIds(
    `WITH heads AS MATERIALIZED (
       SELECT message_id, state, id FROM (
         SELECT messages.id AS message_id, asked.value AS state,
           (SELECT id FROM deliveries WHERE message_id = messages.id AND state = asked.value AND id < ?3
            ORDER BY id DESC LIMIT 1) AS id
         FROM messages CROSS JOIN json_each(?4) AS asked
         WHERE messages.app_id = ?1 AND messages.id = ifnull(?2, messages.id))
       WHERE id IS NOT NULL ORDER BY id DESC LIMIT ?5)
     SELECT delivery.id FROM heads CROSS JOIN deliveries AS delivery
     WHERE delivery.id IN
       (SELECT id FROM deliveries WHERE message_id = heads.message_id AND state = heads.state
          AND id < ?3 AND id >= iif((SELECT count(*) FROM heads) = ?5, (SELECT min(id) FROM heads), 0)
        ORDER BY id DESC LIMIT ?5)
     ORDER BY delivery.id DESC LIMIT ?5`,
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
    const found = ids(newest, appId, messageId, before, states, limit)
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

import type { Dialect, Sql } from './engine/sql.ts'
import { mapInOrder } from '../core/in-order.ts'
import { MOST_COUNTED } from '../core/count.ts'
import { CONTACT_FIELDS, type StoredJson, toContact } from './contacts.ts'
import { createDeliveryQueue } from './delivery-queue.ts'
import { IS_ENDED, MAY_HAVE_ARRIVED, USES_DEDUPE_KEY } from './delivery-states.ts'
import type { Brake } from './brake-rules.ts'
import { brakedMs, limitedMs } from './limit-waits.ts'
import { brakeOf } from './mail-rates.ts'
import { createMessageUses } from './message-uses.ts'
import { selectFields } from './engine/columns.ts'
import { EVENT_FIELDS, type StoredEvent, toEvent } from './events.ts'
import { applySend, createSendReads, eventOf } from './sends.ts'
import {
  type CapturedMail,
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryWork,
  type FindMailSource,
  type FoundCapture,
  type JoinedEvent,
  type ListedCapture,
  LISTED_EVENTS,
  type Mail,
} from './message-types.ts'

/** What became of the email after it was sent, and what the person did then. */
export const OUTCOMES = {
  delivered: 'delivered_at',
  cameBack: 'came_back_at',
  opened: 'opened_at',
  goal: 'goal_at',
} as const
export type DeliveryOutcome = keyof typeof OUTCOMES

/**
 * `before` and `after`: ids, exclusive. `or`: those in this state for this reason match too. `isLead`: without events that
 * joined another email.
 */
export type DeliveryQuery = {
  appId: number
  messageId: number | null
  contactId: number | null
  states: readonly DeliveryState[] | null
  reason?: string | null
  outcome?: DeliveryOutcome | null
  or?: readonly StateFor[]
  isLead?: boolean
  before: number | null
  after?: number
  limit: number
}

/** A state and why. */
export type StateFor = { state: DeliveryState; reason: string }

/** Newest rows that are scanned first; they usually contain the page (measured: 0.3 ms). */
const SCANNED_ROWS = 4_000

/** Two disjoint conditions, one for each index of a person's deliveries. */
const conditionsOfPerson = ({ unindexed }: Dialect): string[] => [
  `app_id = ?1 AND contact_id = ?2 AND ${USES_DEDUPE_KEY}`,
  `contact_id = ?2 AND ${unindexed('app_id')} = ?1 AND ${IS_ENDED} AND handed_at IS NULL AND held_back_at IS NULL`,
]

/** Pairs of a message and a reason that are looked at (measured: 5 ms). */
const MOST_REASONS = 2_000

export type EventOfPerson = { appId: number; contactId: number; eventId: number }

type Page = Required<Omit<DeliveryQuery, 'states' | 'before' | 'contactId' | 'or'>> & {
  before: number
  states: string
}

const FIELDS = {
  id: 'deliveries.id',
  appId: 'deliveries.app_id',
  contactId: 'deliveries.contact_id',
  messageId: 'deliveries.message_id',
  version: 'deliveries.version',
  eventId: 'deliveries.event_id',
  dedupeKey: 'deliveries.once_key',
  state: 'deliveries.state',
  triggeredAt: 'deliveries.triggered_at',
  plannedAt: 'deliveries.planned_at',
  dueAt: 'deliveries.due_at',
  attempt: 'deliveries.attempt',
  claimedBy: 'deliveries.claimed_by',
  claimedUntil: 'deliveries.claimed_until',
  handedAt: 'deliveries.handed_at',
  heldBackAt: 'deliveries.held_back_at',
  sentAt: 'deliveries.sent_at',
  resent: 'deliveries.resent',
  byHand: 'deliveries.by_hand',
  reason: 'deliveries.reason',
  record: 'deliveries.record',
  cameBackAt: 'deliveries.came_back_at',
  openedAt: 'deliveries.opened_at',
  goalAt: 'deliveries.goal_at',
  deliveredAt: 'deliveries.delivered_at',
  delayedAt: 'deliveries.delayed_at',
  bounce: 'deliveries.bounce',
  bouncedAt: 'deliveries.bounced_at',
  updatedAt: 'deliveries.updated_at',
  joinedTo: 'deliveries.joined_to',
} satisfies Record<keyof DeliveryRow, string>

type StoredDelivery = Omit<DeliveryRow, 'resent' | 'byHand'> & { resent: number; byHand: number }
type StoredCapture = { [K in keyof CapturedMail]: string | null } & { raw: string; createdAt: number }
type StoredWork = StoredDelivery & {
  contact: string
  event: string | null
  limitedMs: number
  brakedMs: number
  brake: string | null
}

const toDelivery = ({ resent, byHand, ...row }: StoredDelivery): DeliveryRow => ({
  ...row,
  resent: resent === 1,
  byHand: byHand === 1,
})

const workOf = (dialect: Dialect): string => `
  SELECT ${selectFields(FIELDS)},
    ${dialect.jsonObject(CONTACT_FIELDS)} AS contact,
    CASE WHEN event_names.id IS NOT NULL THEN ${dialect.jsonObject(EVENT_FIELDS)} END AS event,
    ${limitedMs(dialect)} AS "limitedMs",
    ${brakedMs(dialect)} AS "brakedMs",
    ${brakeOf(dialect)} AS brake
  FROM deliveries
  JOIN contacts ON contacts.id = deliveries.contact_id
  LEFT JOIN events ON events.id = deliveries.event_id AND ${dialect.unindexed('events.app_id')} = deliveries.app_id
  LEFT JOIN event_names ON event_names.id = events.name_id
  WHERE deliveries.id = ?`

const JOINED = `
  SELECT deliveries.id AS "deliveryId", triggered_at AS "triggeredAt", ${selectFields(EVENT_FIELDS)}
  FROM deliveries
  JOIN events ON events.id = deliveries.event_id
  JOIN contacts ON contacts.id = events.contact_id
  JOIN event_names ON event_names.id = events.name_id
  WHERE joined_to = ? AND state = 'joined'
  ORDER BY triggered_at, deliveries.id LIMIT ${LISTED_EVENTS - 1}`

/** `at`: when it was handed over (ms UTC). */
type HandedMail = { at: number; mail: Pick<Mail, 'category'> }

type Reading = { locks?: boolean }

/** `locks`: what is sent is read before its state is changed. */
export function createDeliveryReads(db: Sql, findSource: FindMailSource, { locks = false }: Reading = {}) {
  const { dialect } = db
  const pages = createDeliveryPages(db)
  const { listDueApps } = createDeliveryQueue(db)
  const one = db.prepare<StoredDelivery, [number]>(`SELECT ${selectFields(FIELDS)} FROM deliveries WHERE id = ?`)
  const many = db.prepare<StoredDelivery, [string]>(
    `SELECT ${selectFields(FIELDS)} FROM deliveries WHERE ${dialect.isOneOf('id')} ORDER BY id DESC`,
  )
  const work = db.prepare<StoredWork, [number]>(`${workOf(dialect)}${locks ? dialect.lock('deliveries') : ''}`)
  const joinedTo = db.prepare<StoredEvent & { deliveryId: number; triggeredAt: number }, [number]>(JOINED)
  const handedSince = db.prepare<{ at: number; category: Mail['category'] | null }, number[]>(
    `SELECT DISTINCT coalesce(joined_to, deliveries.id) AS email, handed_at AS at, ${dialect.jsonMember('content', 'mail.category')} AS category
     FROM deliveries
     JOIN message_versions
       ON message_versions.message_id = deliveries.message_id AND message_versions.version = deliveries.version
     WHERE deliveries.app_id = ? AND contact_id = ? AND ${USES_DEDUPE_KEY} AND ${MAY_HAVE_ARRIVED} AND handed_at > ?`,
  )
  const { lastHandedAt } = createMessageUses(db)
  // one step for each message and reason: counting them would read every delivery
  const reasons = db.prepare<{ reason: string }, [number]>(
    `WITH RECURSIVE found (message_id, reason) AS (
       SELECT id, (SELECT min(reason) FROM deliveries WHERE message_id = messages.id AND reason IS NOT NULL)
       FROM messages WHERE app_id = ?
       UNION ALL
       SELECT message_id, (SELECT min(reason) FROM deliveries WHERE message_id = found.message_id AND reason > found.reason)
       FROM found WHERE found.reason IS NOT NULL)
     SELECT DISTINCT reason FROM (SELECT reason FROM found LIMIT ${MOST_REASONS}) AS listed WHERE reason IS NOT NULL`,
  )
  const captured = db.prepare<StoredCapture, [number, number]>(
    `SELECT raw, created_at AS "createdAt", sender AS "from", recipient AS "to", subject, html, text
     FROM captured_mails WHERE delivery_id = ? AND app_id = ?`,
  )
  const newestCaptured = db.prepare<ListedCapture, [number, number, number]>(
    `SELECT delivery_id AS "deliveryId", created_at AS "createdAt", recipient AS "to", subject FROM captured_mails
     WHERE app_id = ? AND delivery_id < ? ORDER BY delivery_id DESC LIMIT ?`,
  )

  const { findSend, listSends } = createSendReads(db)

  const find = async (id: number): Promise<DeliveryRow | null> => {
    const row = await one.get(id)
    return row && toDelivery(row)
  }
  const listById = async (ids: number[]): Promise<DeliveryRow[]> =>
    ids.length === 0 ? [] : (await many.all(JSON.stringify(ids))).map(toDelivery)
  const listJoined = async (id: number): Promise<JoinedEvent[]> =>
    (await joinedTo.all(id)).map(({ deliveryId, triggeredAt, ...event }) => ({
      id: deliveryId,
      triggeredAt,
      event: toEvent(event),
    }))

  return {
    listDueApps,
    listSends,

    listDeliveries: async (query: DeliveryQuery): Promise<DeliveryRow[]> => await listById(await pages.listIds(query)),
    /** Of an app, in no order; not all if there are thousands, such as texts of mail providers. */
    listReasons: async (appId: number): Promise<string[]> => (await reasons.all(appId)).map(({ reason }) => reason),
    /** Up to `MOST_COUNTED` + 1. */
    countMatching: (query: Omit<DeliveryQuery, 'limit'>): Promise<number> => pages.count(query),
    listDeliveriesOfEvent: async (event: EventOfPerson): Promise<DeliveryRow[]> =>
      await listById(await pages.listIdsOfEvent(event)),
    listDeliveriesById: listById,

    /** Null if the person, event or app was deleted. */
    async findWork(deliveryId: number): Promise<DeliveryWork | null> {
      const found = await work.get(deliveryId)
      if (!found) return null
      const { contact, event, limitedMs, brakedMs, brake, ...row } = found
      const source = await findSource(row.messageId, row.version)
      if (source === null) return null
      const delivery = toDelivery(row)
      const { again, trigger } = source.message.content
      const send = 'api' in trigger ? await findSend(deliveryId) : null
      const person = toContact(JSON.parse(contact) as StoredJson)
      const arrived = event === null ? null : toEvent(JSON.parse(event) as StoredEvent)
      return {
        ...source,
        message: applySend(source.message, send),
        delivery,
        contact: person,
        event: send === null ? arrived : eventOf(send, person, delivery.triggeredAt),
        send,
        joined: again !== undefined && 'collect' in again ? await listJoined(deliveryId) : [],
        lead: delivery.joinedTo === null ? null : await find(delivery.joinedTo),
        limitedMs,
        brakedMs,
        brake: brake === null ? null : (JSON.parse(brake) as Brake),
      }
    },

    /** Newest first. */
    listHanded: async (
      { appId, contactId, id }: Pick<DeliveryRow, 'id' | 'appId' | 'contactId'>,
      since: number,
    ): Promise<HandedMail[]> =>
      (await handedSince.all(appId, contactId, id, id, since))
        .map(({ at, category }) => ({ at, mail: { category: category ?? undefined } }))
        .sort((a, b) => b.at - a.at),

    lastHandedAt,

    async findCaptured(appId: number, deliveryId: number): Promise<FoundCapture | null> {
      const row = await captured.get(deliveryId, appId)
      return row && { raw: row.raw, createdAt: row.createdAt, content: contentOf(row) }
    },

    listCaptured: async (appId: number, before: number | null, limit: number): Promise<ListedCapture[]> =>
      await newestCaptured.all(appId, before ?? Number.MAX_SAFE_INTEGER, limit),
  }
}

function contentOf({ from, to, subject, html, text }: StoredCapture): CapturedMail | null {
  const isComplete = from !== null && to !== null && subject !== null && html !== null && text !== null
  return isComplete ? { from, to, subject, html, text } : null
}

/** An index that has the deliveries of a message in order of ids, and what it doesn't cover. */
type Source = { index: string; where: string }

/** Of those that aren't `joined`. Only ended ones are looked up, because the index lacks the column. */
const IS_LEAD = `(state NOT IN ('skipped', 'failed') OR joined_to IS NULL)`

type Kind = Pick<Page, 'outcome' | 'isLead'> & { hasReason: boolean; isOfFailed: boolean }

/** `hasReason`: whether ?7 is given. `isOfFailed`: no other state is asked for. */
function sourceOf({ outcome, hasReason, isLead, isOfFailed }: Kind): Source {
  if (isOfFailed && isLead && outcome === null && !hasReason) return FAILED_LEADS
  const where = `${hasReason ? 'reason = ?7' : 'TRUE'}${isLead ? ` AND ${IS_LEAD}` : ''}`
  if (outcome !== null)
    return { index: OUTCOME_INDEXES[outcome], where: `${OUTCOMES[outcome]} IS NOT NULL AND ${where}` }
  return { index: hasReason ? 'deliveries_by_reason' : 'deliveries_by_message', where }
}

/** As migration 51 has it, word for word (measured with 9,000 of a million deliveries, `bun run bench:pages`: 30 ms without). */
const FAILED_LEADS: Source = { index: 'deliveries_failed', where: `state = 'failed' AND joined_to IS NULL` }

const ONLY_FAILED = JSON.stringify(['failed'] satisfies DeliveryState[])

/** They never have a reason, and most emails that people came back from are in one of these. */
const WITHOUT_REASON: readonly DeliveryState[] = ['handed', 'sent', 'kept']

const OUTCOME_INDEXES = {
  delivered: 'deliveries_delivered',
  cameBack: 'deliveries_came_back',
  opened: 'deliveries_opened',
  goal: 'deliveries_goal',
} as const

type Values = (number | string | null)[]

/** Parameters: app, message or null, before, states, limit, after, and the reason if any. */
const textsOf = ({ textsOf: listed, indexedBy, crossJoin, joinIds }: Dialect, { index, where }: Source) => ({
  // `heads`: the newest id of each message and state; only the newest ?5 of them can be on the page
  page: `WITH heads AS MATERIALIZED (
       SELECT message_id, state, id FROM (
         SELECT messages.id AS message_id, states.value AS state,
           (SELECT id FROM deliveries${indexedBy(index)} WHERE message_id = messages.id AND state = states.value
              AND ${where} AND id < ?3 AND id > ?6 ORDER BY id DESC LIMIT 1) AS id
         FROM messages CROSS JOIN ${listed('?4', 'states')}
         WHERE messages.app_id = ?1 AND messages.id = coalesce(?2, messages.id)) AS newest
       WHERE id IS NOT NULL ORDER BY id DESC LIMIT ?5)
     SELECT delivery.id FROM heads ${joinIds(
       'deliveries',
       'delivery',
       `SELECT id FROM deliveries${indexedBy(index)} WHERE message_id = heads.message_id AND state = heads.state
          AND ${where} AND id < ?3 AND id > ?6
          AND id >= CASE WHEN (SELECT count(*) FROM heads) = ?5 THEN (SELECT min(id) FROM heads) ELSE 0 END
        ORDER BY id DESC LIMIT ?5`,
     )}
     ORDER BY delivery.id DESC LIMIT ?5`,
  count: `SELECT count(*) AS id FROM (
       SELECT 1 FROM messages CROSS JOIN ${listed('?4', 'states')}
         ${crossJoin} deliveries${indexedBy(index)} ON message_id = messages.id AND state = states.value AND ${where}
       WHERE messages.app_id = ?1 AND messages.id = coalesce(?2, messages.id)
         AND deliveries.id < ?3 AND deliveries.id > ?6
       LIMIT ?5) AS found`,
})

/**
 * Pages of delivery ids, newest first, from the index by message and state (measured with a million deliveries of 200
 * messages, 150,000 or all of them waiting: 3 ms at most).
 */
export function createDeliveryPages(db: Sql) {
  const { dialect } = db
  const { unindexed } = dialect
  const isAsked = `${dialect.positionOf(`'"' || state || '"'`, '?4')} > 0`
  const prepareIds = (text: string) => db.prepare<{ id: number }, Values>(text)
  const ids = async (query: ReturnType<typeof prepareIds>, ...values: Values): Promise<number[]> =>
    (await query.all(...values)).map(({ id }) => id)
  const newest = prepareIds(
    `SELECT id FROM
       (SELECT id, app_id, message_id, state, joined_to FROM deliveries WHERE id < ?3 AND id > ?6 ORDER BY id DESC LIMIT ${SCANNED_ROWS}) AS newest
     WHERE app_id = ?1 AND message_id = coalesce(?2, message_id) AND ${isAsked}
       AND (?7 = 0 OR joined_to IS NULL)
     ORDER BY id DESC LIMIT ?5`,
  )
  const prepared = new Map<string, { page: ReturnType<typeof prepareIds>; count: ReturnType<typeof prepareIds> }>()
  const prepareFor = ({ outcome, reason, isLead, states }: Page) => {
    const kind = { outcome, isLead, hasReason: reason !== null, isOfFailed: states === ONLY_FAILED }
    const key = JSON.stringify(kind)
    const known = prepared.get(key)
    if (known) return known
    const { page, count } = textsOf(dialect, sourceOf(kind))
    const made = { page: prepareIds(page), count: prepareIds(count) }
    prepared.set(key, made)
    return made
  }
  const ofPerson = conditionsOfPerson(dialect).map((where) =>
    prepareIds(
      `SELECT id FROM deliveries WHERE ${where} AND ${unindexed('message_id')} = coalesce(?3, message_id)
         AND ${isAsked} AND id < ?5 AND ${unindexed('id')} > ?7
         AND (CAST(?8 AS text) IS NULL OR reason = ?8) AND (?10 = 0 OR joined_to IS NULL)
         AND CASE ?9 ${Object.entries(OUTCOMES)
           .map(([name, column]) => `WHEN '${name}' THEN ${column} IS NOT NULL`)
           .join(' ')} ELSE TRUE END
       ORDER BY id DESC LIMIT ?6`,
    ),
  )

  // no index by event: it would slow down every event, and a person has few deliveries
  const ofEvent = conditionsOfPerson(dialect).map((where) =>
    prepareIds(`SELECT id FROM deliveries WHERE ${where} AND event_id = ?3`),
  )

  const listOfPerson = async (page: Page, contactId: number): Promise<number[]> => {
    const { appId, messageId, states, before, limit, after, reason, outcome, isLead } = page
    const values = [appId, contactId, messageId, states, before, limit, after, reason, outcome, Number(isLead)]
    return (await mapInOrder(ofPerson, (query) => ids(query, ...values))).flat()
  }

  const valuesOf = ({ appId, messageId, before, states, limit, after, reason }: Page): Values => [
    appId,
    messageId,
    before,
    states,
    limit,
    after,
    ...(reason === null ? [] : [reason]),
  ]

  /** Scans the newest rows first, then falls back to the index of each state. */
  const listOfMessages = async (page: Page): Promise<number[]> => {
    const isPlain = page.outcome === null && page.reason === null
    const found = isPlain ? await ids(newest, ...valuesOf(page), Number(page.isLead)) : []
    return found.length === page.limit ? found : await ids(prepareFor(page).page, ...valuesOf(page))
  }

  const toPage = (query: DeliveryQuery): Page => {
    const { appId, messageId, states, before, limit, after = 0, reason = null, outcome = null, isLead = false } = query
    const asked = (states ?? DELIVERY_STATES).filter(
      (state) => !(reason !== null && WITHOUT_REASON.includes(state)) && !(isLead && state === 'joined'),
    )
    const texts = { states: JSON.stringify(asked), reason, outcome, isLead }
    return { appId, messageId, limit, after, before: before ?? Number.MAX_SAFE_INTEGER, ...texts }
  }

  /** The query, and one for each reason that it finds besides. */
  const partsOf = ({ or = [], ...query }: DeliveryQuery): Page[] => {
    const { reason = null, states } = query
    const others = or
      .filter((one) => reason === null || one.reason === reason)
      .map((one) => ({ ...query, states: [one.state], reason: one.reason }))
    return [...(states?.length === 0 ? [] : [query]), ...others].map(toPage)
  }

  return {
    listIdsOfEvent: async ({ appId, contactId, eventId }: EventOfPerson): Promise<number[]> =>
      (await mapInOrder(ofEvent, (query) => ids(query, appId, contactId, eventId))).flat().sort((a, b) => b - a),

    async listIds(query: DeliveryQuery): Promise<number[]> {
      const { contactId, limit } = query
      const list = async (page: Page) =>
        contactId === null ? await listOfMessages(page) : await listOfPerson(page, contactId)
      return (await mapInOrder(partsOf(query), list))
        .flat()
        .sort((a, b) => b - a)
        .slice(0, limit)
    },

    async count(query: Omit<DeliveryQuery, 'limit'>): Promise<number> {
      const { contactId } = query
      const countOf = async (page: Page): Promise<number> =>
        contactId === null
          ? ((await prepareFor(page).count.get(...valuesOf(page)))?.id ?? 0)
          : (await listOfPerson(page, contactId)).length
      const most = MOST_COUNTED + 1
      let sum = 0
      for (const page of partsOf({ ...query, limit: most }))
        if (sum < most) sum = Math.min(most, sum + (await countOf(page)))
      return sum
    },
  }
}

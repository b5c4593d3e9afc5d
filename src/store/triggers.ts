import type { Database } from 'bun:sqlite'
import { allHold, parseProperties } from './conditions.ts'
import type { DeliveryRules, Lead, StartFacts } from './delivery-rules.ts'
import { TAKES_EVENTS, USES_ONCE_UP, WAITS_FOR_LIMIT } from './delivery-states.ts'
import { idSince, type IdSequence } from '../core/ids.ts'
import type { LiveMessage, LiveMessages } from './live-messages.ts'
import { isPathLike } from './paths.ts'
import type { EventType } from './types.ts'
import type { UsedUp } from './used-up.ts'

const HOUR_MS = 3_600_000
/** A message waits up to 30 days, and its email is tried for up to 30 more. */
const LONGEST_WAIT_MS = 61 * 24 * HOUR_MS

/** An event, page view or action that was just written. */
export type Arrived = {
  eventId: number
  appId: number
  contactId: number
  type: EventType
  name: string
  properties: string | null
  path: string | null
  at: number
  /** when it happened */
  occurredAt: number
}

/** Something that may trigger messages; `eventId` null where it is no event. */
type Cause = Pick<Arrived, 'appId' | 'contactId' | 'at' | 'occurredAt'> & {
  eventId: number | null
  properties: () => Record<string, unknown>
}

type Parts = { db: Database; ids: IdSequence; live: LiveMessages; usedUp: UsedUp; rules: DeliveryRules }

/** Queues what an arrival triggers, in the transaction that writes the arrival. */
export type Triggers = ReturnType<typeof createTriggers>

const LEAD = `id, due_at AS dueAt,
  (SELECT count(*) FROM deliveries AS one WHERE one.joined_to = leads.id AND one.state = 'joined') AS joined`

export function createTriggers({ db, ids, live, usedUp, rules }: Parts) {
  const insert = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key, state,
       triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?, 0, 0, 0, ?) ON CONFLICT DO NOTHING`,
  )
  const anySent = db.prepare<{ id: number }, [number, number, number]>(
    `SELECT id FROM deliveries WHERE app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_ONCE_UP} LIMIT 1`,
  )
  const lastHanded = db.prepare<{ at: number | null }, [number, number, number]>(
    `SELECT max(handed_at) AS at FROM deliveries
     WHERE app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_ONCE_UP} AND state NOT IN ('skipped', 'failed')`,
  )

  // ids are in the order of arrival: what this person had long ago is passed over in the index
  const nearLeads = db.prepare<Lead, number[]>(
    `SELECT ${LEAD} FROM deliveries AS leads INDEXED BY deliveries_once
     WHERE app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_ONCE_UP} AND id >= ? AND ${TAKES_EVENTS}
       AND version = ? AND triggered_at BETWEEN ? AND ? ORDER BY id`,
  )
  // one that waits only because the person had enough emails takes whatever comes until it goes
  const limitedLeads = db.prepare<Lead, number[]>(
    `SELECT ${LEAD} FROM deliveries AS leads INDEXED BY deliveries_once
     WHERE app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_ONCE_UP} AND id >= ? AND ${TAKES_EVENTS}
       AND version = ? AND ${WAITS_FOR_LIMIT} ORDER BY id`,
  )
  const leadsOf = ({ id, version }: LiveMessage, { appId, contactId, at, occurredAt }: Cause): StartFacts['leads'] => ({
    near: (withinMs) => {
      const [from, until] = [occurredAt - withinMs, occurredAt + withinMs]
      return nearLeads.all(appId, contactId, id, idSince(from), version, from, until)
    },
    limited: () => limitedLeads.all(appId, contactId, id, idSince(at - LONGEST_WAIT_MS), version),
  })
  const insertJoined = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key, state,
       triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, joined_to)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'joined', ?, ?, ?, 0, 0, 0, ?, ?) ON CONFLICT DO NOTHING`,
  )

  const queue = (message: LiveMessage, cause: Cause): void => {
    const { id, version, content } = message
    const { appId, contactId, eventId, at, occurredAt, properties } = cause
    const app = live.of(appId)
    const decided = rules.decideStart(content, {
      at,
      occurredAt,
      timezone: app.timezone,
      properties,
      leads: eventId === null ? null : leadsOf(message, cause),
      // of other keys the database tells
      isUsedUp: (key) => key === '' && usedUp.has(id, contactId),
      // of the first version the key tells: a later one may have been "once" by something else
      hasAny: () => version > 1 && anySent.get(appId, contactId, id) !== null,
      lastHandedAt: () => lastHanded.get(appId, contactId, id)?.at ?? null,
    })
    if (decided.outcome === 'none') return
    const { key, dueAt } = decided
    const row = [ids.next(), appId, contactId, id, version, eventId, key, occurredAt, dueAt, dueAt, at]
    if (decided.outcome === 'join') return void insertJoined.run(...row, decided.lead.id)
    app.hasDeliveries = true
    const done = insert.run(...row)
    // remembered only when they come again: most people come once, and would push out those who do not
    if (key === '' && done.changes === 0) usedUp.add(id, contactId)
  }

  const queueAll = (messages: readonly LiveMessage[], cause: Cause): void => {
    for (const message of messages) {
      const { trigger } = message.content
      const where = 'event' in trigger ? trigger.where : undefined
      if (where === undefined || allHold(where, cause.properties())) queue(message, cause)
    }
  }

  return {
    onEvent(arrived: Arrived): void {
      const app = live.of(arrived.appId)
      const { type, name, path } = arrived
      if (type !== 'page') {
        const messages = app.byEvent.get(name)
        if (messages) queueAll(messages, toCause(arrived))
      } else if (app.byPage.length > 0 && path !== null) {
        const opened = app.byPage.filter(({ pattern }) => isPathLike(path, pattern))
        queueAll(
          opened.map(({ message }) => message),
          toCause(arrived),
        )
      }
    },
    onContactCreated(appId: number, contactId: number, at: number): void {
      queueAll(live.of(appId).onCreated, withoutEvent(appId, contactId, at))
    },
    onTagAdded(appId: number, contactId: number, { tag, at }: { tag: string; at: number }): void {
      queueAll(live.of(appId).byTag.get(tag) ?? [], withoutEvent(appId, contactId, at))
    },
  }
}

/** Properties are parsed when a message asks for them, once. */
function toCause({ properties, ...arrived }: Arrived): Cause {
  let parsed: Record<string, unknown> | null = null
  return { ...arrived, properties: () => (parsed ??= parseProperties(properties)) }
}

const withoutEvent = (appId: number, contactId: number, at: number): Cause => ({
  appId,
  contactId,
  at,
  occurredAt: at,
  eventId: null,
  properties: () => ({}),
})

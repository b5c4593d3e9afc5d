import type { Database } from 'bun:sqlite'
import { allHold, parseProperties, propertyOf } from './conditions.ts'
import { TAKES_EVENTS, USES_ONCE_UP, WAITS_FOR_LIMIT } from './delivery-states.ts'
import { idSince, type IdSequence } from '../core/ids.ts'
import type { LiveMessage, LiveMessages } from './live-messages.ts'
import { nextTimeOfDay } from './local-time.ts'
import { type Again, LISTED_EVENTS, type Wait } from './message-types.ts'
import { isPathLike } from './paths.ts'
import type { EventType } from './types.ts'
import type { UsedUp } from './used-up.ts'

/** What happened longer ago is stored and triggers nothing. */
const TRIGGER_AGE_MS = 72 * 3_600_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** A message waits up to 30 days, and its email is tried for up to 30 more. */
const LONGEST_WAIT_MS = 61 * 24 * HOUR_MS

type Came = { at: number; occurredAt: number }

/** Whether something came (`at`) too long after it happened. Times are ms UTC. */
export const isTooOld = ({ at, occurredAt }: Came): boolean => occurredAt < at - TRIGGER_AGE_MS

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

type Parts = { db: Database; ids: IdSequence; live: LiveMessages; usedUp: UsedUp }

/** Queues what an arrival triggers, in the transaction that writes the arrival. */
export type Triggers = ReturnType<typeof createTriggers>

type Lead = { id: number; dueAt: number; joined: number }
const LEAD = `id, due_at AS dueAt,
  (SELECT count(*) FROM deliveries AS one WHERE one.joined_to = leads.id AND one.state = 'joined') AS joined`

export function createTriggers({ db, ids, live, usedUp }: Parts) {
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
  const openLead = db.prepare<Lead, number[]>(
    `SELECT ${LEAD} FROM deliveries AS leads INDEXED BY deliveries_once
     WHERE app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_ONCE_UP} AND id >= ? AND ${TAKES_EVENTS}
       AND version = ? AND triggered_at BETWEEN ? AND ? ORDER BY id`,
  )
  // one that waits only because the person had enough emails takes whatever comes until it goes
  const limitedLead = db.prepare<Lead, number[]>(
    `SELECT ${LEAD} FROM deliveries AS leads INDEXED BY deliveries_once
     WHERE app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_ONCE_UP} AND id >= ? AND ${TAKES_EVENTS}
       AND version = ? AND ${WAITS_FOR_LIMIT} ORDER BY id`,
  )
  /** `isPerPerson`: nothing else could start for the event, so it joins however full the email is. */
  const findLead = ({ id, version, content: { again } }: LiveMessage, cause: Cause, collectMs: number): Lead | null => {
    const { appId, contactId, at, occurredAt } = cause
    const [from, until] = [occurredAt - collectMs, occurredAt + collectMs]
    const hasRoom = ({ joined }: Lead): boolean => joined < LISTED_EVENTS - 1 || isPerPerson(again)
    return (
      openLead.all(appId, contactId, id, idSince(from), version, from, until).find(hasRoom) ??
      limitedLead.all(appId, contactId, id, idSince(at - LONGEST_WAIT_MS), version).find(hasRoom) ??
      null
    )
  }
  const insertJoined = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, event_id, once_key, state,
       triggered_at, planned_at, due_at, attempt, resent, by_hand, updated_at, joined_to)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'joined', ?, ?, ?, 0, 0, 0, ?, ?) ON CONFLICT DO NOTHING`,
  )

  /**
   * Whether an email of the same version waits that the event belongs to. The event is added to it, unless its key is
   * used up: then it is there already, or was sent before.
   */
  const isJoined = (message: LiveMessage, cause: Cause): boolean => {
    const { id, version, content } = message
    const { again } = content
    const collectMs = collectMsOf(again)
    const { appId, contactId, eventId, at, occurredAt } = cause
    if (collectMs === null || eventId === null) return false
    const lead = findLead(message, cause, collectMs)
    if (!lead) return false
    const key = isPerPerson(again) ? null : onceKeyOf(again, cause.properties)
    const row = [
      ids.next(),
      appId,
      contactId,
      id,
      version,
      eventId,
      key,
      occurredAt,
      lead.dueAt,
      lead.dueAt,
      at,
      lead.id,
    ]
    insertJoined.run(...row)
    return true
  }

  const isTooSoon = ({ id, content: { again } }: LiveMessage, { appId, contactId }: Cause, dueAt: number): boolean => {
    if (again === undefined || !('everyHours' in again)) return false
    const last = lastHanded.get(appId, contactId, id)?.at ?? null
    return last !== null && dueAt < last + again.everyHours * HOUR_MS
  }

  /** A version before may have been "once" by something else, and so have left another key, or none. */
  const isSentBefore = ({ id, version, content: { again } }: LiveMessage, { appId, contactId }: Cause): boolean =>
    version > 1 && isPerPerson(again) && anySent.get(appId, contactId, id) !== null

  const queue = (message: LiveMessage, cause: Cause): void => {
    const { id, version, content } = message
    const { appId, contactId, eventId, at, occurredAt } = cause
    const isOncePerPerson = isPerPerson(content.again)
    if (isJoined(message, cause)) return
    if (isOncePerPerson && usedUp.has(id, contactId)) return
    const rules = live.of(appId)
    const dueAt = whenDue(content.wait, cause, rules.timezone)
    if (isTooSoon(message, cause, dueAt) || isSentBefore(message, cause)) return
    const key = onceKeyOf(content.again, cause.properties)
    rules.hasDeliveries = true
    const done = insert.run(ids.next(), appId, contactId, id, version, eventId, key, occurredAt, dueAt, dueAt, at)
    // remembered only when they come again: most people come once, and would push out those who do not
    if (isOncePerPerson && done.changes === 0) usedUp.add(id, contactId)
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
      const rules = live.of(arrived.appId)
      const isOld = isTooOld(arrived)
      const { type, name, path } = arrived
      if (type !== 'page') {
        const messages = rules.byEvent.get(name)
        if (messages && !isOld) queueAll(messages, toCause(arrived))
      } else if (rules.byPage.length > 0 && path !== null && !isOld) {
        const opened = rules.byPage.filter(({ pattern }) => isPathLike(path, pattern))
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

/**
 * When a delivery is to be sent: so many minutes after what triggered it, or at the next such time of day; never before
 * that came (`at`).
 */
export const whenDue = (wait: Wait | undefined, { at, occurredAt }: Came, timezone: string): number =>
  Math.max(at, waitedFor(wait, occurredAt, timezone))

function waitedFor(wait: Wait | undefined, occurredAt: number, timezone: string): number {
  if (wait === undefined) return occurredAt
  return 'minutes' in wait ? occurredAt + wait.minutes * MINUTE_MS : nextTimeOfDay(occurredAt, wait.until, timezone)
}

/** Whether somebody gets a message once at all. */
export const isPerPerson = (again: Again | undefined): boolean =>
  again === undefined || ('once' in again && again.once === 'person')

/** How far apart events of one email may be, in ms; null where each is on its own. */
export const collectMsOf = (again: Again | undefined): number | null =>
  again !== undefined && 'collect' in again && again.collect ? again.collect.minutes * MINUTE_MS : null

/** The key of a mail whose "once" is by time, until it is known what became of it. */
export const TIMED_KEY = 'timed'

/** For what a person gets a message once: empty for once at all, also where the event has none of the properties. */
export function onceKeyOf(again: Again | undefined, properties: () => Record<string, unknown>): string {
  if (again !== undefined && 'everyHours' in again) return TIMED_KEY
  if (again === undefined || !('property' in again)) return ''
  const value = onceValueOf(again, properties())
  return value === null ? '' : Bun.SHA256.hash(JSON.stringify(value), 'base64url').slice(0, 22)
}

/** What "once per property" goes by: the first that is present; null where none is. */
export function onceValueOf(
  { property }: { property: string | string[] },
  properties: Record<string, unknown>,
): unknown {
  for (const name of typeof property === 'string' ? [property] : property) {
    const value = propertyOf(properties, name)
    const counted = name === 'url' && typeof value === 'string' ? pageOf(value) : value
    if (counted !== undefined && counted !== null && counted !== '') return counted
  }
  return null
}

/**
 * The page that a URL leads to. A query and a fragment often change with every link (a token, a campaign); a fragment
 * that is a route, such as `#/results/1`, is part of the page.
 */
function pageOf(url: string): string {
  const [page = '', fragment = ''] = url.trim().split('#', 2)
  const route = /^!?\//.test(fragment) ? `#${withoutQuery(fragment)}` : ''
  return withoutQuery(page) + route
}

const withoutQuery = (text: string): string => text.split('?', 1)[0] ?? ''

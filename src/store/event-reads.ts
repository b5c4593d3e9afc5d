import type { Database } from 'bun:sqlite'
import { and, count, desc, eq, gt, gte, lt, lte, min, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { contacts, eventNames, events, rollups } from './schema.ts'
import { selectSomeIds } from './timeline/timeline-reads.ts'
import { EVENT_TYPES, VIAS, type EventRow } from './types.ts'

/** How many hours of a name are looked up at once. */
const STRETCHES = 64
/** Rows of an hour that are looked through at once. */
const CHUNK_ROWS = 1_000
/**
 * Rows that are looked through for a page of one name: 3 ms, 10 at the worst (measured), in which every other request
 * waits. Where a page ends before it is full, its cursor goes on.
 */
const SCANNED_MAX = 5_000
/** What finding a chunk takes, in rows. */
const CHUNK_COST = 100

export type EventQuery = {
  appId: number
  contactId: number | null
  name: string | null
  /** an event id; the page holds what came before it */
  before: number | null
  /** an event id; the page holds only what came after it */
  after?: number
  limit: number
}

/** `next` is what `before` must be for the page after; null where there is none. A page may hold fewer than asked for. */
export type EventPage = { rows: EventRow[]; next: number | null }

type Range = { from: number; before: number }

/** Reads of events, newest first. */
export function createEventReads(db: Database) {
  const orm = drizzle(db)

  const joined = () =>
    orm
      .select({ event: events, email: contacts.email, name: eventNames.name })
      .from(events)
      .innerJoin(contacts, eq(contacts.id, events.contactId))
      .innerJoin(eventNames, eq(eventNames.id, events.nameId))

  const one = joined()
    .where(and(eq(events.id, sql.placeholder('id')), sql`+${events.appId} = ${sql.placeholder('appId')}`))
    .prepare()

  const newestIds = db.prepare<{ id: number }, [number | null, number, number, number]>(
    selectSomeIds('events', { contact: '?1', types: '= ?2', upTo: '?3', order: 'DESC', limit: '?4' }),
  )

  const newestOf = (which: SQL | undefined, nameId: number | null, limit: number): EventRow[] =>
    joined()
      .where(and(which, nameId === null ? undefined : eq(events.nameId, nameId)))
      .orderBy(desc(events.id))
      .limit(limit)
      .all()
      .map(toEventRow)

  const inRange = (appId: number, { from, before }: Range): SQL | undefined =>
    and(eq(events.appId, appId), gte(events.id, from), lt(events.id, before))

  /** How far the newest `most` rows of a range reach back, read off the index alone. */
  const reach = (appId: number, range: Range, most: number): { rows: number; floor: number } => {
    const newest = orm
      .select({ id: events.id })
      .from(events)
      .where(inRange(appId, range))
      .orderBy(desc(events.id))
      .limit(most)
      .as('newest')
    const found = orm
      .select({ rows: count(), lowest: min(newest.id) })
      .from(newest)
      .get()
    const rows = found?.rows ?? 0
    return { rows, floor: rows < most ? range.from : (found?.lowest ?? range.from) }
  }

  const ofPerson = (query: EventQuery, nameId: number | null, before: number): EventPage => {
    const { appId, contactId, limit } = query
    const most = nameId === null ? limit + 1 : Math.floor(SCANNED_MAX / EVENT_TYPES.length)
    // each type by itself, as the index holds them
    const found = EVENT_TYPES.map((_, type) => newestIds.all(contactId, type, before - 1, most).map(({ id }) => id))
    // below it there may be more of a type than was looked at
    const from = Math.max(...found.map((ids) => (ids.length < most ? 0 : (ids.at(-1) ?? 0))))
    const ids = found.flat().filter((id) => id >= from)
    const isOneOf = sql`${events.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)})) AND +${events.appId} = ${appId}`
    return cut(newestOf(isOneOf, nameId, limit + 1), limit, from)
  }

  const findName = (appId: number, name: string): number | null =>
    orm
      .select({ id: eventNames.id })
      .from(eventNames)
      .where(and(eq(eventNames.appId, appId), eq(eventNames.name, name)))
      .get()?.id ?? null

  /**
   * The hours in which a name came, latest events first: a rare name among ten million events is found without a scan.
   * By id and not by hour, because hours repeat themselves when the clock is set back.
   */
  const stretchesOf = ({ appId, after = 0 }: EventQuery, nameId: number, before: number) =>
    orm
      .select({ from: rollups.firstEventId, to: rollups.lastEventId })
      .from(rollups)
      .where(
        and(
          eq(rollups.appId, appId),
          eq(rollups.nameId, nameId),
          lte(rollups.firstEventId, before - 1),
          gt(rollups.lastEventId, after),
        ),
      )
      .orderBy(desc(rollups.lastEventId))
      .limit(STRETCHES)
      .all()

  /** The hours of a name in chunks, latest first: nothing between two of them is of that name. */
  function* chunksOf(query: EventQuery, nameId: number, before: number): Generator<Range & { cost: number }> {
    for (let cursor = before, isLast = false; !isLast;) {
      const stretches = stretchesOf(query, nameId, cursor)
      for (const stretch of stretches) {
        const { to, from } = { ...stretch, from: Math.max(stretch.from, (query.after ?? 0) + 1) }
        for (let end = Math.min(cursor, to + 1); end > from;) {
          const { rows, floor } = reach(query.appId, { from, before: end }, CHUNK_ROWS)
          yield { from: floor, before: end, cost: rows + CHUNK_COST }
          end = floor
        }
        cursor = Math.min(cursor, from)
      }
      isLast = stretches.length < STRETCHES
    }
  }

  const byName = (query: EventQuery, nameId: number, before: number): EventPage => {
    const rows: EventRow[] = []
    let scanned = 0
    for (const { cost, ...range } of chunksOf(query, nameId, before)) {
      rows.push(...newestOf(inRange(query.appId, range), nameId, query.limit + 1 - rows.length))
      if (rows.length > query.limit) break
      scanned += cost
      if (scanned >= SCANNED_MAX) return { rows, next: range.from }
    }
    return cut(rows, query.limit, 0)
  }

  return {
    findEvent: (appId: number, id: number): EventRow | null => one.all({ appId, id }).map(toEventRow)[0] ?? null,
    listEvents(query: EventQuery): EventPage {
      const before = query.before ?? Number.MAX_SAFE_INTEGER
      const nameId = query.name === null ? null : findName(query.appId, query.name)
      if (query.name !== null && nameId === null) return { rows: [], next: null }
      if (query.contactId !== null) return ofPerson(query, nameId, before)
      if (nameId !== null) return byName(query, nameId, before)
      const range = { from: (query.after ?? 0) + 1, before }
      return cut(newestOf(inRange(query.appId, range), null, query.limit + 1), query.limit, 0)
    },
  }
}

/** A page of at most `limit` of the rows found, all of which are above `from`. */
function cut(rows: EventRow[], limit: number, from: number): EventPage {
  if (rows.length <= limit) return { rows, next: from > 0 ? from : null }
  const kept = rows.slice(0, limit)
  return { rows: kept, next: kept.at(-1)?.id ?? null }
}

type Joined = { event: typeof events.$inferSelect; email: string; name: string }

export const toEventRow = ({ event, email, name }: Joined): EventRow => ({
  id: event.id,
  contactId: event.contactId,
  email,
  type: EVENT_TYPES[event.type] ?? 'event',
  name,
  properties: event.properties,
  path: event.path,
  via: VIAS[event.via] ?? 'api',
  receivedAt: event.receivedAt,
  occurredAt: event.occurredAt ?? event.receivedAt,
})

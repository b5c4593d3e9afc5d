import type { Database } from 'bun:sqlite'
import type { Maybe, Sql } from './engine/sql.ts'
import { mapInOrder } from '../core/in-order.ts'
import { idSince } from '../core/ids.ts'
import { selectFields } from './engine/columns.ts'
import { createExpiredActivity, createExpiredReads, lastExpired } from './retention.ts'
import { EVENT_TYPES, VIAS, type EventRow } from './types.ts'
import { PAGE_NAME } from './visit-reports.ts'

const HOURS_PER_QUERY = 64
const CHUNK_ROWS = 1_000
/**
 * Rows scanned per page of one name: 3 ms, at worst 10 (measured), while all other requests wait. If a page ends
 * early, its cursor continues.
 */
const MAX_SCANNED = 5_000
const CHUNK_COST = 100

export type EventQuery = {
  appId: number
  contactId: number | null
  name: string | null
  before: number | null
  after?: number
  limit: number
}

/** `next` is null at the end. A page may have fewer rows than `limit`. */
export type EventPage = { rows: EventRow[]; next: number | null }

type Range = { from: number; before: number }

/** `type` and `via` are numbers; `occurredAt` is null if it equals `receivedAt`. */
export type StoredEvent = Omit<EventRow, 'type' | 'via' | 'occurredAt'> & {
  type: number
  via: number
  occurredAt: number | null
}

export const EVENT_FIELDS = {
  id: 'events.id',
  contactId: 'events.contact_id',
  email: 'contacts.email',
  type: 'events.type',
  name: 'event_names.name',
  properties: 'events.properties',
  path: 'events.path',
  via: 'events.via',
  receivedAt: 'events.received_at',
  occurredAt: 'events.occurred_at',
} satisfies Record<keyof EventRow, string>

export const toEvent = ({ type, via, occurredAt, ...row }: StoredEvent): EventRow => ({
  ...row,
  type: EVENT_TYPES[type] ?? 'event',
  via: VIAS[via] ?? 'api',
  occurredAt: occurredAt ?? row.receivedAt,
})

export function createEventReads(db: Sql) {
  const { dialect } = db
  const select = <Values extends (number | string | null)[]>(where: string) =>
    db.prepare<StoredEvent, Values>(
      `SELECT ${selectFields(EVENT_FIELDS)} FROM events JOIN contacts ON contacts.id = events.contact_id
       JOIN event_names ON event_names.id = events.name_id WHERE ${where}`,
    )
  const isNamed = '(CAST(?1 AS bigint) IS NULL OR events.name_id = ?1)'
  const one = select<[number, number]>(`events.id = ?1 AND ${dialect.unindexed('events.app_id')} = ?2`)
  const newestOfRange = select<[number | null, number, number, number, number]>(
    `${isNamed} AND events.app_id = ?2 AND events.id >= ?3 AND events.id < ?4 ORDER BY events.id DESC LIMIT ?5`,
  )
  const newestOfIds = select<[number | null, number, string, number]>(
    `${isNamed} AND ${dialect.unindexed('events.app_id')} = ?2 AND ${dialect.isOneOfEvents('events.id', '?3')}
     ORDER BY events.id DESC LIMIT ?4`,
  )
  const reached = db.prepare<{ rows: number; lowest: number | null }, [number, number, number, number]>(
    `SELECT count(*) AS rows, min(id) AS lowest FROM
       (SELECT id FROM events WHERE app_id = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?) AS newest`,
  )
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const hours = db.prepare<{ from: number; to: number }, [number, number, number, number]>(
    `SELECT first_event_id AS "from", last_event_id AS "to" FROM rollups
     WHERE app_id = ? AND name_id = ? AND first_event_id <= ? AND last_event_id > ?
     ORDER BY last_event_id DESC LIMIT ${HOURS_PER_QUERY}`,
  )
  const lastDeleted = createExpiredReads(db)
  const newestIds = db.prepare<{ id: number }, [number | null, number, number, number]>(
    db.dialect.somePersonIds('events', { contact: '?1', types: '= ?2', upTo: '?3', order: 'DESC', limit: '?4' }),
  )

  const newestOf = async (
    appId: number,
    { from, before }: Range,
    named: number | null,
    limit: number,
  ): Promise<EventRow[]> => (await newestOfRange.all(named, appId, from, before, limit)).map(toEvent)

  /** How far the newest `maxRows` rows of a range reach back, from the index alone. */
  const reach = async (
    appId: number,
    { from, before }: Range,
    maxRows: number,
  ): Promise<{ rows: number; floor: number }> => {
    const { rows, lowest } = (await reached.get(appId, from, before, maxRows)) ?? { rows: 0, lowest: null }
    return { rows, floor: rows < maxRows ? from : (lowest ?? from) }
  }

  const ofPerson = async (query: EventQuery, named: number | null, before: number): Promise<EventPage> => {
    const { appId, contactId, limit } = query
    const maxRows = named === null ? limit + 1 : Math.floor(MAX_SCANNED / EVENT_TYPES.length)
    // per type, like the index
    const found = await mapInOrder(EVENT_TYPES, async (_, type) =>
      (await newestIds.all(contactId, type, before - 1, maxRows)).map(({ id }) => id),
    )
    // below this id, a type may have more rows than were read
    const from = Math.max(...found.map((ids) => (ids.length < maxRows ? 0 : (ids.at(-1) ?? 0))))
    const ids = found.flat().filter((id) => id >= from)
    const rows = (await newestOfIds.all(named, appId, JSON.stringify(ids), limit + 1)).map(toEvent)
    return cut(rows, limit, from)
  }

  /**
   * Finds a rare name among ten million events without a scan. Ordered by id, because hours repeat when the clock is
   * set back.
   */
  const hoursOf = async ({ appId, after = 0 }: EventQuery, named: number, before: number) =>
    await hours.all(appId, named, before - 1, after)

  /** Between two chunks there are no events of that name. */
  async function* chunksOf(query: EventQuery, named: number, before: number): AsyncGenerator<Range & { cost: number }> {
    for (let cursor = before, isLast = false; !isLast;) {
      const found = await hoursOf(query, named, cursor)
      for (const hour of found) {
        const { to, from } = { ...hour, from: Math.max(hour.from, (query.after ?? 0) + 1) }
        for (let end = Math.min(cursor, to + 1); end > from;) {
          const { rows, floor } = await reach(query.appId, { from, before: end }, CHUNK_ROWS)
          yield { from: floor, before: end, cost: rows + CHUNK_COST }
          end = floor
        }
        cursor = Math.min(cursor, from)
      }
      isLast = found.length < HOURS_PER_QUERY
    }
  }

  const byName = async (query: EventQuery, named: number, before: number): Promise<EventPage> => {
    const rows: EventRow[] = []
    let scanned = 0
    const after = Math.max(query.after ?? 0, await lastDeleted(query.appId, query.name === PAGE_NAME))
    for await (const { cost, ...range } of chunksOf({ ...query, after }, named, before)) {
      rows.push(...(await newestOf(query.appId, range, named, query.limit + 1 - rows.length)))
      if (rows.length > query.limit) break
      scanned += cost
      if (scanned >= MAX_SCANNED) return { rows, next: range.from }
    }
    return cut(rows, query.limit, 0)
  }

  return {
    findEvent: async (appId: number, id: number): Promise<EventRow | null> =>
      (await one.all(id, appId)).map(toEvent)[0] ?? null,
    async listEvents(query: EventQuery): Promise<EventPage> {
      const before = query.before ?? Number.MAX_SAFE_INTEGER
      const named = query.name === null ? null : ((await nameId.get(query.appId, query.name))?.id ?? null)
      if (query.name !== null && named === null) return { rows: [], next: null }
      if (query.contactId !== null) return await ofPerson(query, named, before)
      if (named !== null) return await byName(query, named, before)
      const range = { from: (query.after ?? 0) + 1, before }
      return cut(await newestOf(query.appId, range, null, query.limit + 1), query.limit, 0)
    },
  }
}

function cut(rows: EventRow[], limit: number, from: number): EventPage {
  if (rows.length <= limit) return { rows, next: from > 0 ? from : null }
  const page = rows.slice(0, limit)
  return { rows: page, next: page.at(-1)?.id ?? null }
}

const MAX_VIEWS = 10_000

export type ViewRow = { path: string; occurredAt: number }

/** A person's history for the rules, by the time of the event instead of its arrival. */
export function createHistoryReads(db: Sql) {
  const [event, , action] = EVENT_TYPES.map((_, code) => code)
  const select = <Row>(columns: string) =>
    db.prepare<Row, [number, string, number, number, number, number]>(
      `SELECT ${columns} FROM events
       WHERE id IN (${db.dialect.personIds('events', { contact: '?3', types: `IN (${event}, ${action})`, from: '?4' })})
         AND name_id = (SELECT id FROM event_names WHERE app_id = ?1 AND name = ?2)
         AND ${HAPPENED} >= ?5 AND id <> ?6`,
    )
  const last = select<{ at: number | null }>(`max(${HAPPENED}) AS at`)
  const all = select<{ at: number; properties: string | null }>(`${HAPPENED} AS at, properties`)

  return {
    ...createViewReads(db),
    ...createActivityReads(db),

    async lastDoneAt({ appId, name, contactId, since, exceptId, fits }: DoneQuery): Promise<number | null> {
      const values = [appId, name, contactId, idSince(since), since, exceptId ?? 0] as const
      if (fits === undefined) return (await last.get(...values))?.at ?? null
      let lastAt: number | null = null
      for (const { at, properties } of await all.all(...values)) {
        if ((lastAt === null || at > lastAt) && fits(properties)) lastAt = at
      }
      return lastAt
    },
  }
}

/** `fits`: by the properties (JSON) of an event, whether it counts. */
type DoneQuery = {
  appId: number
  contactId: number
  name: string
  since: number
  exceptId: number | null
  fits?: (properties: string | null) => boolean
}

const HAPPENED = 'coalesce(occurred_at, received_at)'
const IS_VIEW = `= ${EVENT_TYPES.indexOf('page')}`

export function createViewReads(db: Sql, { isIndexedOnly = false } = {}) {
  const ofPerson = { contact: '?1', types: IS_VIEW, order: 'ASC', isIndexedOnly } as const
  const expired = createExpiredActivity(db)
  const views = db.prepare<ViewRow, [number, number, number]>(
    `SELECT path, ${HAPPENED} AS "occurredAt" FROM events
     WHERE id IN (${db.dialect.somePersonIds('events', { ...ofPerson, from: '?2', limit: `${MAX_VIEWS}` })})
       AND ${HAPPENED} >= ?3 AND path IS NOT NULL`,
  )
  const firstView = db.prepare<{ at: number | null }, [number]>(
    `SELECT min(${HAPPENED}) AS at FROM events WHERE id IN (${db.dialect.somePersonIds('events', { ...ofPerson, limit: '16' })})`,
  )

  return {
    listViews: async (contactId: number, since: number): Promise<ViewRow[]> =>
      await views.all(contactId, idSince(since), since),

    /** Also if it was deleted because of its age. */
    firstViewAt: async (contactId: number): Promise<number | null> =>
      pick(Math.min, (await expired.find(contactId))?.firstViewAt, (await firstView.get(contactId))?.at),
  }
}

/** Of two times, if there are two. */
const pick = (
  choose: (a: number, b: number) => number,
  a: number | null | undefined,
  b: number | null | undefined,
): number | null => (a == null ? (b ?? null) : b == null ? a : choose(a, b))

/** Events may arrive out of order, so the last few to arrive decide. */
const RECENT = 16

export function createActivityReads(db: Sql) {
  const ofType = (type: number) =>
    db.dialect.somePersonIds('events', { contact: '?1', types: `= ${type}`, order: 'DESC', limit: `${RECENT}` })
  const expired = createExpiredActivity(db)
  const last = db.prepare<{ at: number | null }, [number]>(
    `SELECT max(${HAPPENED}) AS at FROM events
     WHERE id IN (${EVENT_TYPES.map((_, type) => `SELECT id FROM (${ofType(type)}) AS last`).join(' UNION ALL ')})`,
  )
  return {
    /** The last event, action or page view, also if it was deleted because of its age; null: there is none. */
    lastActiveAt: async (contactId: number): Promise<number | null> =>
      pick(Math.max, lastExpired(await expired.find(contactId)), (await last.get(contactId))?.at),
  }
}

export function createUnindexedViews(db: Sql) {
  const { unindexedPeople } = db.dialect
  if (unindexedPeople === null) return async () => new Set<number>()
  const unindexed = db.prepare<{ id: number }, [string]>(unindexedPeople('events', IS_VIEW, '?'))
  return async (people: readonly number[]): Promise<Set<number>> =>
    new Set((await unindexed.all(JSON.stringify(people))).map(({ id }) => id))
}

/**
 * Event names come from customers' code, so there are few; the bound is for customers that put an id into each name.
 */
const CACHED_NAMES = 10_000

export type NameKey = { appId: number; name: string }

/** `load` must be called with the names whose ids are asked for; new ones are added. */
export type EventNames = {
  load(names: readonly NameKey[]): Maybe<void>
  idOf(appId: number, name: string): number
  settle(): void
  undo(): void
  forget(): void
}

export function createEventNames(db: Database): EventNames {
  const select = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const largest = db.prepare<{ id: number }, []>('SELECT coalesce(max(id), 0) AS id FROM event_names')
  const insert = db.prepare('INSERT INTO event_names (id, app_id, name) VALUES (?, ?, ?)')
  const cache = new Map<string, number>()
  /** by the open transaction */
  const found = new Map<string, number>()
  // most events of a commit group have the same name as the one before
  let last: { appId: number; name: string; id: number } | null = null

  const add = (appId: number, name: string): number => {
    const id = (largest.get()?.id ?? 0) + 1
    insert.run(id, appId, name)
    return id
  }
  const lookUp = (appId: number, name: string): number => {
    const key = `${appId}:${name}`
    const cached = cache.get(key) ?? found.get(key)
    if (cached !== undefined) return cached
    const id = select.get(appId, name)?.id ?? add(appId, name)
    found.set(key, id)
    return id
  }
  const undo = (): void => {
    found.clear()
    last = null
  }
  return {
    load: () => {},
    idOf(appId: number, name: string): number {
      if (last === null || last.appId !== appId || last.name !== name) last = { appId, name, id: lookUp(appId, name) }
      return last.id
    },
    settle(): void {
      if (found.size === 0) return
      if (cache.size + found.size > CACHED_NAMES) cache.clear()
      for (const [key, id] of found) cache.set(key, id)
      found.clear()
    },
    undo,
    forget(): void {
      cache.clear()
      undo()
    },
  }
}

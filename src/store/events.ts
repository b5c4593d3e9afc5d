import type { Database } from 'bun:sqlite'
import { idSince } from '../core/ids.ts'
import { selectFields } from './engine/columns.ts'
import { selectIds, selectUnindexedPeople, selectSomeIds } from './timeline/timeline-reads.ts'
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

/** As it is stored: types and ways are numbers, and the time is left out where it is that of the arrival. */
export type StoredEvent = Omit<EventRow, 'type' | 'via' | 'occurredAt'> & {
  type: number
  via: number
  occurredAt: number | null
}

/** With its person and its name. */
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

/** Reads of events, newest first. */
export function createEventReads(db: Database) {
  const select = <Values extends (number | string | null)[]>(where: string) =>
    db.prepare<StoredEvent, Values>(
      `SELECT ${selectFields(EVENT_FIELDS)} FROM events JOIN contacts ON contacts.id = events.contact_id
       JOIN event_names ON event_names.id = events.name_id WHERE ${where}`,
    )
  const isNamed = '(?1 IS NULL OR events.name_id = ?1)'
  const one = select<[number, number]>('events.id = ?1 AND +events.app_id = ?2')
  const newestOfRange = select<[number | null, number, number, number, number]>(
    `${isNamed} AND events.app_id = ?2 AND events.id >= ?3 AND events.id < ?4 ORDER BY events.id DESC LIMIT ?5`,
  )
  const newestOfIds = select<[number | null, number, string, number]>(
    `${isNamed} AND +events.app_id = ?2 AND events.id IN (SELECT value FROM json_each(?3))
     ORDER BY events.id DESC LIMIT ?4`,
  )
  const reached = db.prepare<{ rows: number; lowest: number | null }, [number, number, number, number]>(
    `SELECT count(*) AS rows, min(id) AS lowest FROM
       (SELECT id FROM events WHERE app_id = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?) AS newest`,
  )
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const stretches = db.prepare<{ from: number; to: number }, [number, number, number, number]>(
    `SELECT first_event_id AS "from", last_event_id AS "to" FROM rollups
     WHERE app_id = ? AND name_id = ? AND first_event_id <= ? AND last_event_id > ?
     ORDER BY last_event_id DESC LIMIT ${STRETCHES}`,
  )
  const newestIds = db.prepare<{ id: number }, [number | null, number, number, number]>(
    selectSomeIds('events', { contact: '?1', types: '= ?2', upTo: '?3', order: 'DESC', limit: '?4' }),
  )

  const newestOf = (appId: number, { from, before }: Range, nameOf: number | null, limit: number): EventRow[] =>
    newestOfRange.all(nameOf, appId, from, before, limit).map(toEvent)

  /** How far the newest `most` rows of a range reach back, read off the index alone. */
  const reach = (appId: number, { from, before }: Range, most: number): { rows: number; floor: number } => {
    const { rows, lowest } = reached.get(appId, from, before, most) ?? { rows: 0, lowest: null }
    return { rows, floor: rows < most ? from : (lowest ?? from) }
  }

  const ofPerson = (query: EventQuery, named: number | null, before: number): EventPage => {
    const { appId, contactId, limit } = query
    const most = named === null ? limit + 1 : Math.floor(SCANNED_MAX / EVENT_TYPES.length)
    // each type by itself, as the index holds them
    const found = EVENT_TYPES.map((_, type) => newestIds.all(contactId, type, before - 1, most).map(({ id }) => id))
    // below it there may be more of a type than was looked at
    const from = Math.max(...found.map((ids) => (ids.length < most ? 0 : (ids.at(-1) ?? 0))))
    const ids = found.flat().filter((id) => id >= from)
    const rows = newestOfIds.all(named, appId, JSON.stringify(ids), limit + 1).map(toEvent)
    return cut(rows, limit, from)
  }

  /**
   * The hours in which a name came, latest events first: a rare name among ten million events is found without a scan.
   * By id and not by hour, because hours repeat themselves when the clock is set back.
   */
  const stretchesOf = ({ appId, after = 0 }: EventQuery, named: number, before: number) =>
    stretches.all(appId, named, before - 1, after)

  /** The hours of a name in chunks, latest first: nothing between two of them is of that name. */
  function* chunksOf(query: EventQuery, named: number, before: number): Generator<Range & { cost: number }> {
    for (let cursor = before, isLast = false; !isLast;) {
      const found = stretchesOf(query, named, cursor)
      for (const stretch of found) {
        const { to, from } = { ...stretch, from: Math.max(stretch.from, (query.after ?? 0) + 1) }
        for (let end = Math.min(cursor, to + 1); end > from;) {
          const { rows, floor } = reach(query.appId, { from, before: end }, CHUNK_ROWS)
          yield { from: floor, before: end, cost: rows + CHUNK_COST }
          end = floor
        }
        cursor = Math.min(cursor, from)
      }
      isLast = found.length < STRETCHES
    }
  }

  const byName = (query: EventQuery, named: number, before: number): EventPage => {
    const rows: EventRow[] = []
    let scanned = 0
    for (const { cost, ...range } of chunksOf(query, named, before)) {
      rows.push(...newestOf(query.appId, range, named, query.limit + 1 - rows.length))
      if (rows.length > query.limit) break
      scanned += cost
      if (scanned >= SCANNED_MAX) return { rows, next: range.from }
    }
    return cut(rows, query.limit, 0)
  }

  return {
    findEvent: (appId: number, id: number): EventRow | null => one.all(id, appId).map(toEvent)[0] ?? null,
    listEvents(query: EventQuery): EventPage {
      const before = query.before ?? Number.MAX_SAFE_INTEGER
      const named = query.name === null ? null : (nameId.get(query.appId, query.name)?.id ?? null)
      if (query.name !== null && named === null) return { rows: [], next: null }
      if (query.contactId !== null) return ofPerson(query, named, before)
      if (named !== null) return byName(query, named, before)
      const range = { from: (query.after ?? 0) + 1, before }
      return cut(newestOf(query.appId, range, null, query.limit + 1), query.limit, 0)
    },
  }
}

/** A page of at most `limit` of the rows found, all of which are above `from`. */
function cut(rows: EventRow[], limit: number, from: number): EventPage {
  if (rows.length <= limit) return { rows, next: from > 0 ? from : null }
  const kept = rows.slice(0, limit)
  return { rows: kept, next: kept.at(-1)?.id ?? null }
}

/** More views than this within a message's wait are a machine's. */
const VIEWS_MAX = 10_000

export type ViewRow = { path: string; occurredAt: number }

/** What a person has done, as rules ask it: by when it happened, not by when it came. */
export function createHistoryReads(db: Database) {
  const [event, , action] = EVENT_TYPES.map((_, code) => code)
  const done = db.prepare<{ at: number | null }, [number, string, number, number, number, number]>(
    `SELECT max(${HAPPENED}) AS at FROM events
     WHERE id IN (${selectIds('events', { contact: '?3', types: `IN (${event}, ${action})`, from: '?4' })})
       AND name_id = (SELECT id FROM event_names WHERE app_id = ?1 AND name = ?2)
       AND ${HAPPENED} >= ?5 AND id <> ?6`,
  )

  return {
    ...createViewReads(db),

    /** When an event or action last happened, at `since` (ms UTC) or later; `exceptId` is not counted. */
    lastDoneAt(query: { appId: number; contactId: number; name: string; since: number; exceptId: number | null }) {
      const { appId, name, contactId, since, exceptId } = query
      return done.get(appId, name, contactId, idSince(since), since, exceptId ?? 0)?.at ?? null
    },
  }
}

const HAPPENED = 'ifnull(occurred_at, received_at)'
const IS_VIEW = `= ${EVENT_TYPES.indexOf('page')}`

/** `isIndexedOnly`: of people of whom no view lies in the table alone, so that it need not be read. */
export function createViewReads(db: Database, { isIndexedOnly = false } = {}) {
  const ofPerson = { contact: '?1', types: IS_VIEW, order: 'ASC', isIndexedOnly } as const
  const views = db.prepare<ViewRow, [number, number, number]>(
    `SELECT path, ${HAPPENED} AS occurredAt FROM events
     WHERE id IN (${selectSomeIds('events', { ...ofPerson, from: '?2', limit: `${VIEWS_MAX}` })})
       AND ${HAPPENED} >= ?3 AND path IS NOT NULL`,
  )
  const firstView = db.prepare<{ at: number | null }, [number]>(
    `SELECT min(${HAPPENED}) AS at FROM events WHERE id IN (${selectSomeIds('events', { ...ofPerson, limit: '16' })})`,
  )

  return {
    /** Page views at `since` (ms UTC) or later. */
    listViews: (contactId: number, since: number): ViewRow[] => views.all(contactId, idSince(since), since),

    /** When a person first opened a page (ms UTC); null = the browser script never saw them. */
    firstViewAt: (contactId: number): number | null => firstView.get(contactId)?.at ?? null,
  }
}

/** Those of some people of whom a page view lies in the table alone. */
export function createUnindexedViews(db: Database) {
  const late = db.prepare<{ id: number }, [string]>(selectUnindexedPeople('events', IS_VIEW, '?'))
  return (people: readonly number[]): Set<number> => new Set(late.all(JSON.stringify(people)).map(({ id }) => id))
}

/** Names are chosen by customers' code, so they are few; the bound is for one that puts an id into each name. */
const CACHED_NAMES = 10_000

/** Small numbers for event names, made on first use. */
export type EventNames = ReturnType<typeof createEventNames>

export function createEventNames(db: Database) {
  const select = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const largest = db.prepare<{ id: number }, []>('SELECT ifnull(max(id), 0) AS id FROM event_names')
  const insert = db.prepare('INSERT INTO event_names (id, app_id, name) VALUES (?, ?, ?)')
  const known = new Map<string, number>()
  /** of the transaction that is open */
  const found = new Map<string, number>()
  // most events of a commit are named as the one before them
  let last: { appId: number; name: string; id: number } | null = null

  const add = (appId: number, name: string): number => {
    const id = (largest.get()?.id ?? 0) + 1
    insert.run(id, appId, name)
    return id
  }
  const lookUp = (appId: number, name: string): number => {
    const key = `${appId}:${name}`
    const cached = known.get(key) ?? found.get(key)
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
    idOf(appId: number, name: string): number {
      if (last === null || last.appId !== appId || last.name !== name) last = { appId, name, id: lookUp(appId, name) }
      return last.id
    },
    /** After the commit. */
    settle(): void {
      if (found.size === 0) return
      if (known.size + found.size > CACHED_NAMES) known.clear()
      for (const [key, id] of found) known.set(key, id)
      found.clear()
    },
    /** After a rollback. */
    undo,
    forget(): void {
      known.clear()
      undo()
    },
  }
}

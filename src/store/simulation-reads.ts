import type { Database } from 'bun:sqlite'
import { idSince } from '../core/ids.ts'
import { createSimulationPeople, eachById } from './simulation-people.ts'
import { type StoredReport, toReport } from './snippet-reads.ts'
import type { ReportRow } from './snippet-types.ts'
import { mergedUntil } from './timeline-reads.ts'
import { EVENT_TYPES } from './types.ts'

/** When it came (`at`) and when it had happened, ms UTC. */
type Row = { id: number; contactId: number; at: number; occurredAt: number }
/** A page view: when it came (`at`) and when it had happened, ms UTC. */
type Seen = { at: number; occurredAt: number }
type TriggerRow = Row & { properties: string | null }
type HistoryRow = Row & { path: string | null }
type KeptReportRow = ReportRow & { id: number; contactId: number }
/** Since when (ms UTC). */
type Range = { appId: number; from: number }

const HAPPENED = 'ifnull(occurred_at, received_at)'
const ROW = `id, contact_id AS contactId, received_at AS at, ${HAPPENED} AS occurredAt`

/** So many rows are looked at by one statement, and so many are handed on, before others get their turn. */
const ROWS_AT_ONCE = 1_000
const ROWS_A_TURN = 30
/** How much of the table is this app's is looked at again after so many parts. */
const PARTS_ALIKE = 10
/** So many of somebody's first page views are looked at. */
const FIRST_VIEWS = 16

/** What a part is counted in: rows of the app, by the index of such; batches have none, and are read past. */
const COUNTED = { events: 'app_id = ?1', contacts: 'app_id = ?1', snippet_batches: '?1 IS NOT NULL' } as const
type Table = keyof typeof COUNTED

/** `until` (ms UTC): what came later is not read; nor is what comes while others get their turn. */
type Options = { until: number; giveWay?: () => void }

/**
 * One pass each over the stored events of an app, for a simulation; rows come one by one and are not kept here. It reads
 * part by part, and calls `giveWay` many times a millisecond. All passes end at one place: ids are in the order of arrival.
 */
export function createSimulationReads(db: Database, { until, giveWay = () => {} }: Options) {
  const lastOf = (table: Table): number =>
    db.query<{ id: number | null }, []>(`SELECT max(id) AS id FROM ${table}`).get()?.id ?? -1
  const ends = {
    timeline: mergedUntil(db),
    events: lastOf('events'),
    contacts: lastOf('contacts'),
    snippet_batches: lastOf('snippet_batches'),
  }
  const [event, page, action] = EVENT_TYPES.map((_, code) => code)
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const idOfName = (appId: number, name: string): number => nameId.get(appId, name)?.id ?? -1

  function* inTurns<Row>(rows: Row[]): Generator<Row> {
    for (const [index, row] of rows.entries()) {
      if (index % ROWS_A_TURN === 0) giveWay()
      yield row
    }
  }

  /** `read` gets the bounds of each part, both included. */
  function* inParts<Row>(
    table: Table,
    appId: number,
    from: number,
    read: (first: number, last: number) => Row[],
  ): Generator<Row> {
    const end = ends[table]
    const next = db.prepare<{ at: number }, [number, number]>(
      `SELECT id AS at FROM ${table} WHERE ${COUNTED[table]} AND id >= ?2 ORDER BY id LIMIT 1 OFFSET ${ROWS_AT_ONCE}`,
    )
    let first = from
    while (first <= end) {
      const last = Math.min(next.get(appId, first)?.at ?? end, end)
      yield* inTurns(read(first, last))
      first = last + 1
      giveWay()
    }
  }

  /**
   * Where most rows are this app's, reading all is twice as fast as to look up each by the index (measured). Asked for
   * part after part.
   */
  const createMostly = (): ((first: number, last: number) => boolean) => {
    const next = db.prepare<{ id: number }, [number]>(
      `SELECT id FROM events WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ${2 * ROWS_AT_ONCE}`,
    )
    let [parts, isMostly] = [0, false]
    return (first, last) => {
      if (parts % PARTS_ALIKE === 0) isMostly = (next.get(first)?.id ?? last) >= last
      parts += 1
      return isMostly
    }
  }

  /** Events and actions of one name, or page views. Ids are in the order of arrival, so they bound what is looked at. */
  const readEvents = <Row>({ appId, from }: Range, name: string | null, columns: string): Generator<Row> => {
    const which =
      name === null ? `type = ${page}` : `type IN (${event}, ${action}) AND name_id = ${idOfName(appId, name)}`
    const select = (how: string) =>
      db.prepare<Row, [number, number, number, number, number]>(
        `SELECT ${columns} FROM events ${how}
         WHERE app_id = ? AND id BETWEEN ? AND ? AND received_at <= ? AND ${HAPPENED} >= ? AND ${which}`,
      )
    const [byIndex, all, isMostly] = [select('INDEXED BY events_by_app'), select('NOT INDEXED'), createMostly()]
    const read = (first: number, last: number): Row[] =>
      (isMostly(first, last) ? all : byIndex).all(appId, first, last, until, from)
    return inParts('events', appId, idSince(from), read)
  }

  /**
   * A few page views that came first, because what happened first may have come a little later. They come in the order
   * of the index: to ask for it takes seven times as long (measured).
   */
  const firstOf = (contact: string): string =>
    `SELECT received_at AS at, ${HAPPENED} AS occurredAt FROM events
     WHERE received_at <= ${until} AND id IN
       (SELECT id FROM timeline
        WHERE contact_id = ${contact} AND type = ${page} AND id <= ${ends.timeline} LIMIT ${FIRST_VIEWS})`
  const firstViews = db.prepare<Seen, [number]>(firstOf('?'))
  const lateViews = db.prepare<Seen & { contactId: number }, [number, number, number]>(
    `SELECT contact_id AS contactId, received_at AS at, ${HAPPENED} AS occurredAt FROM events
     WHERE id > ? AND id <= ? AND type = ${page} AND received_at <= ? ORDER BY id`,
  )
  /** Views that the timeline had not taken up when all this began, of everybody: few, but after much came at once. */
  const lateViewsOf = Map.groupBy(lateViews.all(ends.timeline, ends.events, until), ({ contactId }) => contactId)
  const firstViewOf = db.prepare<{ contactId: number; at: number | null; occurredAt: number | null }, [string]>(
    `SELECT value AS contactId, (SELECT min(at) FROM (${firstOf('value')})) AS at,
       (SELECT min(occurredAt) FROM (${firstOf('value')})) AS occurredAt FROM json_each(?)`,
  )

  const firstViewsOf = (contactId: number): Seen[] => {
    giveWay()
    const late = lateViewsOf.get(contactId)?.slice(0, FIRST_VIEWS) ?? []
    const views = [...firstViews.all(contactId), ...late.map(({ at, occurredAt }) => ({ at, occurredAt }))]
    return views.slice(0, FIRST_VIEWS)
  }

  return {
    ...createSimulationPeople(db, giveWay),

    /** When the browser script first saw somebody, also long ago: the first few views, as they came. */
    firstViewsOf,

    /** The same of many, whose ids are ascending: when the first came, and when the first happened. */
    *eachFirstViewOf(ids: readonly number[]): Generator<Seen & { contactId: number }> {
      for (const { contactId, at, occurredAt } of eachById(firstViewOf, ids, giveWay)) {
        if (lateViewsOf.has(contactId)) yield earliest(contactId, firstViewsOf(contactId))
        else if (at !== null && occurredAt !== null) yield { contactId, at, occurredAt }
      }
    },

    /** Events and actions of one name, as they may have triggered a message. */
    eachTrigger: (range: Range, name: string): Generator<TriggerRow> => readEvents(range, name, `${ROW}, properties`),

    /** With null page views, else events and actions of one name. */
    eachHappening: (range: Range, name: string | null): Generator<HistoryRow> =>
      readEvents(range, name, `${ROW}, path`),

    /** Whose events and actions of one name there are; somebody may come more than once. */
    eachContactWith: (range: Range, name: string): Generator<{ contactId: number }> =>
      readEvents(range, name, 'contact_id AS contactId'),

    /** What page loads reported, of the 48 hours for which that is kept. */
    eachReport(appId: number): Generator<KeptReportRow> {
      const select = db.prepare<StoredReport & { id: number; contactId: number }, [number, number, number, number]>(
        `SELECT id, contact_id AS contactId, page_load AS pageLoad, batch_number AS batchNumber, received_at AS receivedAt,
           received_at - ifnull(age, 0) AS reportedAt, ifnull(path, '') AS path, is_here AS code
         FROM snippet_batches WHERE app_id = ? AND id BETWEEN ? AND ? AND received_at <= ?`,
      )
      const read = (first: number, last: number): KeptReportRow[] => select.all(appId, first, last, until).map(toReport)
      return inParts('snippet_batches', appId, 0, read)
    },

    /** People who were made since then. */
    eachCreated({ appId, from }: Range): Generator<{ id: number; createdAt: number }> {
      const select = db.prepare<{ id: number; createdAt: number }, [number, number, number, number, number]>(
        `SELECT id, created_at AS createdAt FROM contacts
         WHERE app_id = ? AND id BETWEEN ? AND ? AND created_at BETWEEN ? AND ?`,
      )
      const read = (first: number, last: number) => select.all(appId, first, last, from, until)
      return inParts('contacts', appId, idSince(from), read)
    },
  }
}

const earliest = (contactId: number, seen: Seen[]): Seen & { contactId: number } => ({
  contactId,
  at: Math.min(...seen.map(({ at }) => at)),
  occurredAt: Math.min(...seen.map(({ occurredAt }) => occurredAt)),
})

export type SimulationReads = ReturnType<typeof createSimulationReads>

import type { Database } from 'bun:sqlite'
import { EVENT_TYPES } from './types.ts'

/** So many events are put in order at once; or those that came since the last time, where that is so long ago. */
const RUN_ROWS = 4_096
const REST_MS = 200
/** Fewer than these are written with one commit: where little comes, none waits for long. */
const AT_ONCE = 500
/** How many rows a commit adds of those that are being written, for each event of its own and at least. */
const ROWS_AN_EVENT = 1.25
const ROWS_LEAST = 32
/** What is written where nothing else is: some milliseconds. */
const ROWS_IDLE = 1_000

/** The last event that the index holds; it has all up to there, and some of those after it while they are written. */
export const TIMELINE_UNTIL = `(SELECT CAST(value AS INTEGER) FROM install WHERE name = 'timeline_until')`

/** The same, as a number. */
export const timelineUntil = (db: Database): number =>
  db.query<{ id: number }, []>(`SELECT ${TIMELINE_UNTIL} AS id`).get()?.id ?? 0

/** The types of batches of the browser script (migration 12), beside those of events: from here on. */
export const BATCH_TYPES = EVENT_TYPES.length

/** SQL expressions, or parts of SQL. `types`: what follows the column. `from`, `upTo`: of ids, both included. */
type Wanted = { contact: string; types: string; from?: string; upTo?: string; rest?: string }

/** SQL for the ids of a person's events, or batches. `rest`: ORDER BY id and LIMIT, which end the reading where enough is found. */
export function selectIds(
  table: 'events' | 'snippet_batches',
  { contact, types, from = '0', upTo, rest = '' }: Wanted,
): string {
  const indexed = upTo === undefined ? TIMELINE_UNTIL : `min(${TIMELINE_UNTIL}, ${upTo})`
  return `SELECT id FROM timeline
      WHERE contact_id = ${contact} AND type ${types} AND id BETWEEN ${from} AND ${indexed}
    UNION ALL SELECT id FROM ${table}
      WHERE id > max(${TIMELINE_UNTIL}, ${from} - 1) ${upTo === undefined ? '' : `AND id <= ${upTo}`}
        AND contact_id = ${contact} AND type ${types}
    ${rest}`
}

/** One row of it. */
export type Held = { contactId: number; type: number; id: number }

type Run = { rows: number; last: number; written: number }

/**
 * Fills the index of people's events. A row with each event would change a page at a random place each time; many at once,
 * in the order of the index, share their pages, which spares the writing thread a sixth of its time (measured). What was
 * read to be written lies in a temporary table, which a rollback takes back like any other.
 */
export type Timeline = ReturnType<typeof createTimeline>

export function createTimeline(db: Database, monotonicMs: () => number) {
  db.run(
    'CREATE TEMP TABLE IF NOT EXISTS unwritten (place INTEGER PRIMARY KEY, contact_id INTEGER, type INTEGER, id INTEGER)',
  )
  const clear = db.prepare('DELETE FROM temp.unwritten')
  const read = db.prepare(
    `INSERT INTO temp.unwritten (contact_id, type, id)
     SELECT contact_id, type, id FROM
       (SELECT contact_id, type, id FROM events WHERE id > ${TIMELINE_UNTIL}
        UNION ALL SELECT contact_id, type, id FROM snippet_batches WHERE id > ${TIMELINE_UNTIL} ORDER BY id LIMIT ${RUN_ROWS})
     ORDER BY contact_id, type, id`,
  )
  const extent = db.prepare<{ rows: number; last: number | null }, []>(
    'SELECT count(*) AS rows, max(id) AS last FROM temp.unwritten',
  )
  // some are there already where a process was killed
  const write = db.prepare(
    `INSERT OR IGNORE INTO timeline
     SELECT contact_id, type, id FROM temp.unwritten WHERE place > ? AND place <= ?`,
  )
  const end = db.prepare(`UPDATE install SET value = CAST(? AS TEXT) WHERE name = 'timeline_until'`)
  const removeOne = db.prepare('DELETE FROM timeline WHERE contact_id = ? AND type = ? AND id = ?')
  const dropPerson = db.prepare('DELETE FROM temp.unwritten WHERE contact_id = ?')
  const dropGone = db.prepare(
    `DELETE FROM temp.unwritten AS u WHERE NOT EXISTS
       (SELECT 1 FROM events WHERE id = u.id UNION ALL SELECT 1 FROM snippet_batches WHERE id = u.id)`,
  )
  let run: Run | null = null
  /** How many events came since a run was read; where nobody knows, as many as make one. */
  let waiting = RUN_ROWS
  /** Whether another process may have erased what a run still holds. */
  let isStale = false
  let committed: { run: Run | null; waiting: number } = { run, waiting }
  let added = 0
  let restSince = 0

  const begin = (): Run | null => {
    clear.run()
    read.run()
    restSince = monotonicMs()
    const { rows, last } = extent.get() ?? { rows: 0, last: null }
    // where it is full, more may wait
    waiting = rows < RUN_ROWS ? 0 : RUN_ROWS
    return last === null ? null : { rows, last, written: 0 }
  }

  const writeRows = ({ rows, last, written }: Run, most: number): Run | null => {
    const until = Math.min(rows, written + most)
    write.run(written, until)
    if (until < rows) return { rows, last, written: until }
    end.run(last)
    return null
  }

  const isDue = (): boolean => waiting >= RUN_ROWS || (waiting > 0 && monotonicMs() - restSince >= REST_MS)

  const mostOf = ({ rows }: Run): number =>
    rows <= AT_ONCE ? AT_ONCE : Math.max(ROWS_LEAST, Math.ceil(added * ROWS_AN_EVENT))

  return {
    /** Called for each event and batch that is written. */
    count(): void {
      waiting += 1
      added += 1
    },
    /** Once in each transaction, before it commits: a part of the work, and more where nothing else is written. */
    advance(isIdle: boolean): void {
      if (isStale && run) dropGone.run()
      if (!run && (isIdle || isDue())) run = begin()
      if (run) run = writeRows(run, isIdle ? ROWS_IDLE : mostOf(run))
    },
    hasWaiting: (): boolean => run !== null || waiting > 0,
    /** After the commit. */
    settle(): void {
      committed = { run, waiting }
      isStale = false
      added = 0
    },
    /** After a rollback, which gave the temporary table back as it was. */
    undo(): void {
      run = committed.run
      waiting = RUN_ROWS
      isStale = true
      added = 0
    },
    /** What a person left, in the transaction that erases them. */
    erase: (contactId: number): void => void dropPerson.run(contactId),
    /** What is deleted, in the transaction that deletes it. */
    remove(rows: Held[]): void {
      for (const { contactId, type, id } of rows.toSorted((a, b) => a.contactId - b.contactId)) {
        removeOne.run(contactId, type, id)
      }
      const until = timelineUntil(db)
      isStale ||= rows.some(({ id }) => id > until)
    },
    /** After another process wrote: it may have erased people and added events. */
    catchUp(): void {
      waiting = RUN_ROWS
      isStale = true
    },
  }
}

import type { Database } from 'bun:sqlite'

/** So many events wait before the index gets them. All that wait are read by whoever asks for a person's: about 1 ms. */
const WAITING_MAX = 4_096
/** Fewer than these are written with the next commit, where the last time is so long ago: where little comes, none waits. */
const AT_ONCE = 500
const REST_MS = 200
/** How many rows a commit adds of those that are being written, for each event of its own and at least. */
const ROWS_AN_EVENT = 1.25
const ROWS_LEAST = 32

/** The last event that the index holds; it has all up to there, and some of those after it while they are written. */
export const TIMELINE_UNTIL = `(SELECT CAST(value AS INTEGER) FROM install WHERE name = 'timeline_until')`

/** The same, as a number. */
export const timelineUntil = (db: Database): number =>
  db.query<{ id: number }, []>(`SELECT ${TIMELINE_UNTIL} AS id`).get()?.id ?? 0

/** SQL expressions, or parts of SQL. `types`: what follows the column. `from`, `upTo`: of ids, both included. */
type Wanted = { contact: string; types: string; from?: string; upTo?: string; rest?: string }

/** SQL for the ids of a person's events. `rest`: ORDER BY id and LIMIT, which end the reading where enough is found. */
export function selectEventIds({ contact, types, from = '0', upTo, rest = '' }: Wanted): string {
  const indexed = upTo === undefined ? TIMELINE_UNTIL : `min(${TIMELINE_UNTIL}, ${upTo})`
  return `SELECT event_id AS id FROM timeline
      WHERE contact_id = ${contact} AND type ${types} AND event_id BETWEEN ${from} AND ${indexed}
    UNION ALL SELECT id FROM events
      WHERE id > max(${TIMELINE_UNTIL}, ${from} - 1) ${upTo === undefined ? '' : `AND id <= ${upTo}`}
        AND contact_id = ${contact} AND type ${types}
    ${rest}`
}

/**
 * Fills the index of people's events. A row with each event would change a page at a random place each time, which took a
 * third of what writing an event costs; many at once, in the order of the index, share their pages (measured). What was
 * read to be written lies in a temporary table, and is read again after whatever undoes or erases.
 */
export type Timeline = ReturnType<typeof createTimeline>

export function createTimeline(db: Database, monotonicMs: () => number) {
  db.run(
    'CREATE TEMP TABLE IF NOT EXISTS unwritten (place INTEGER PRIMARY KEY, contact_id INTEGER, type INTEGER, event_id INTEGER)',
  )
  const clear = db.prepare('DELETE FROM temp.unwritten')
  const read = db.prepare(
    `INSERT INTO temp.unwritten (contact_id, type, event_id)
     SELECT contact_id, type, id FROM events WHERE id > ${TIMELINE_UNTIL} ORDER BY contact_id, type, id`,
  )
  const extent = db.prepare<{ rows: number; last: number | null }, []>(
    'SELECT count(*) AS rows, max(event_id) AS last FROM temp.unwritten',
  )
  // some are there already where the writing was broken off
  const write = db.prepare(
    `INSERT OR IGNORE INTO timeline
     SELECT contact_id, type, event_id FROM temp.unwritten WHERE place > ? AND place <= ?`,
  )
  const end = db.prepare(`UPDATE install SET value = CAST(? AS TEXT) WHERE name = 'timeline_until'`)
  /** Rows of the temporary table, and how many of them are written. */
  let running: { rows: number; last: number; written: number } | null = null
  // of an earlier process nothing is known
  let waiting = WAITING_MAX
  let added = 0
  let restSince = 0

  const begin = (): void => {
    clear.run()
    read.run()
    waiting = 0
    const { rows, last } = extent.get() ?? { rows: 0, last: null }
    running = last === null ? null : { rows, last, written: 0 }
    restSince = monotonicMs()
  }

  const writeRows = (most: number): void => {
    if (running === null) return
    const until = Math.min(running.rows, running.written + most)
    write.run(running.written, until)
    running.written = until
    if (until < running.rows) return
    end.run(running.last)
    running = null
  }

  const isDue = (): boolean =>
    waiting >= WAITING_MAX || (waiting > 0 && waiting <= AT_ONCE && monotonicMs() - restSince >= REST_MS)

  return {
    /** Called for each event that is written. */
    count(): void {
      waiting += 1
      added += 1
    },
    /** Once in each transaction, before it commits: a part of the work. */
    advance(): void {
      if (running === null && isDue()) begin()
      const isSmall = running !== null && running.rows <= AT_ONCE
      writeRows(isSmall ? AT_ONCE : Math.max(ROWS_LEAST, Math.ceil(added * ROWS_AN_EVENT)))
      added = 0
    },
    hasWaiting: (): boolean => running !== null || waiting > 0,
    /** All that waits, in a transaction where nothing else does. */
    finish(): void {
      writeRows(Number.MAX_SAFE_INTEGER)
      begin()
      writeRows(Number.MAX_SAFE_INTEGER)
    },
    /** After a rollback, an erasure or another process's commit: what was read may not be true any more. */
    forget(): void {
      running = null
      waiting = WAITING_MAX
    },
  }
}

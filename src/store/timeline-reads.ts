/**
 * How the index of people's events and batches is read. It has three parts, one after another in the order of ids: the
 * timeline itself up to a mark, whole runs up to another (timeline-runs.ts), and after it what lies in the tables alone.
 */
import type { Database } from 'bun:sqlite'
import { EVENT_TYPES } from './types.ts'

const markOf = (name: string): string => `(SELECT CAST(value AS INTEGER) FROM install WHERE name = '${name}')`

export const MERGED_MARK = 'timeline_merged_until'
export const HELD_MARK = 'timeline_until'
/** The last id that the timeline holds itself: it has all up to there, and some of those after it while runs are merged. */
export const MERGED_UNTIL = markOf(MERGED_MARK)
/** The last id that it or a run holds. */
export const HELD_UNTIL = markOf(HELD_MARK)

const readMark = (db: Database, mark: string): number =>
  db.query<{ id: number }, []>(`SELECT ${mark} AS id`).get()?.id ?? 0
export const mergedUntil = (db: Database): number => readMark(db, MERGED_UNTIL)
export const heldUntil = (db: Database): number => readMark(db, HELD_UNTIL)

/** The types of batches of the browser script (migration 12), beside those of events: from here on. */
export const BATCH_TYPES = EVENT_TYPES.length

/** The runs that the timeline has not taken up, with the rows in them: the beginning of a WHERE. */
export const WAITING_RUNS = `timeline_runs CROSS JOIN timeline_run_rows AS held ON held.run = timeline_runs.last
  WHERE is_whole AND last > ${MERGED_UNTIL}`

/** SQL expressions, or parts of SQL. `types`: what follows the column. `from`, `upTo`: of ids, both included. */
type Wanted = { contact: string; types: string; from?: string; upTo?: string }

/** SQL for those ids of a person that the timeline or a run holds. */
export function selectHeldIds({ contact, types, from = '0', upTo }: Wanted): string {
  const isTheirs = `contact_id = ${contact} AND type ${types}`
  const merged = upTo === undefined ? MERGED_UNTIL : `min(${MERGED_UNTIL}, ${upTo})`
  const bounds = upTo === undefined ? `id >= ${from}` : `id BETWEEN ${from} AND ${upTo}`
  return `SELECT id FROM timeline WHERE ${isTheirs} AND id BETWEEN ${from} AND ${merged}
    UNION ALL SELECT id FROM ${WAITING_RUNS} AND ${isTheirs} AND ${bounds}`
}

/** SQL for the ids of a person's events, or batches. `rest`: ORDER BY id and LIMIT, which end the reading where enough is found. */
export function selectIds(table: 'events' | 'snippet_batches', wanted: Wanted & { rest?: string }): string {
  const { contact, types, from = '0', upTo, rest = '' } = wanted
  return `${selectHeldIds(wanted)}
    UNION ALL SELECT id FROM ${table}
      WHERE id > max(${HELD_UNTIL}, ${from} - 1) ${upTo === undefined ? '' : `AND id <= ${upTo}`}
        AND contact_id = ${contact} AND type ${types}
    ${rest}`
}

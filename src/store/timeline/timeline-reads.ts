/**
 * How the index of people's events and batches is read. It has three parts, one after another in the order of ids: the
 * timeline itself up to a mark, whole runs up to another (timeline-runs.ts), and after it what lies in the tables alone.
 */
import type { Database } from 'bun:sqlite'
import { EVENT_TYPES } from '../types.ts'

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
/** Of one type only: the order in which it is held. `limit`: SQL. `isHeldOnly`: not what lies in the table alone. */
type Newest = { order: 'ASC' | 'DESC'; limit: string; isHeldOnly?: boolean }

/** The run that holds an id, or would; beyond all of them none. What a killed process left unfinished is none of them. */
const runOf = (id: string): string =>
  `ifnull((SELECT min(last) FROM timeline_runs WHERE last >= ${id} AND is_whole), ${Number.MAX_SAFE_INTEGER})`

/** Each part of the index by itself: the beginning of a SELECT of `id`. */
function partsOf(table: 'events' | 'snippet_batches', { contact, types, from = '0', upTo }: Wanted) {
  const isTheirs = `contact_id = ${contact} AND type ${types}`
  const [isBelow, merged, isOfRuns] =
    upTo === undefined
      ? ['', MERGED_UNTIL, '']
      : [`AND id <= ${upTo}`, `min(${MERGED_UNTIL}, ${upTo})`, `AND last <= ${runOf(upTo)}`]
  return {
    merged: `SELECT id FROM timeline WHERE ${isTheirs} AND id BETWEEN ${from} AND ${merged}`,
    inRuns: `SELECT id FROM ${WAITING_RUNS} AND last >= ${from} ${isOfRuns} AND ${isTheirs} AND id >= ${from} ${isBelow}`,
    late: `SELECT id FROM ${table} WHERE id > max(${HELD_UNTIL}, ${from} - 1) ${isBelow} AND ${isTheirs}`,
  }
}

/** SQL for those ids of a person that the timeline or a run holds. */
export function selectHeldIds(wanted: Wanted): string {
  const { merged, inRuns } = partsOf('events', wanted)
  return `${merged} UNION ALL ${inRuns}`
}

/** SQL for those of some people (JSON) of whom something lies in the table alone, which is read once for all of them. */
export const selectLatePeople = (table: 'events' | 'snippet_batches', types: string, people: string): string =>
  `SELECT DISTINCT contact_id AS id FROM ${table}
   WHERE id > ${HELD_UNTIL} AND type ${types} AND contact_id IN (SELECT value FROM json_each(${people}))`

/** SQL for the ids of a person's events, or batches, in no order. */
export function selectIds(table: 'events' | 'snippet_batches', wanted: Wanted): string {
  const { merged, inRuns, late } = partsOf(table, wanted)
  return `${merged} UNION ALL ${inRuns} UNION ALL ${late}`
}

/** The same for the first or last of one type: of each part no more than that is read, however much it holds. */
export function selectSomeIds(
  table: 'events' | 'snippet_batches',
  { order, limit, isHeldOnly = false, ...wanted }: Wanted & Newest,
): string {
  const { merged, inRuns, late } = partsOf(table, wanted)
  const [byId, some] = [`ORDER BY id ${order}`, `LIMIT ${limit}`]
  const parts = [
    `${merged} ${byId} ${some}`,
    `${inRuns} ORDER BY last ${order}, id ${order} ${some}`,
    ...(isHeldOnly ? [] : [`${late} ${byId} ${some}`]),
  ]
  return `SELECT id FROM (${parts.map((part) => `SELECT id FROM (${part})`).join(' UNION ALL ')}) ${byId} ${some}`
}

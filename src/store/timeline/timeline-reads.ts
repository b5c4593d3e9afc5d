/**
 * The index has three parts in order of ids: the timeline table up to one mark, finished runs up to another
 * (timeline-runs.ts), and then unindexed rows of the tables themselves.
 */
import type { Database } from 'bun:sqlite'
import { EVENT_TYPES } from '../types.ts'

const markValue = (name: string): string => `(SELECT CAST(value AS INTEGER) FROM install WHERE name = '${name}')`

export const MERGED_MARK = 'timeline_merged_until'
export const INDEXED_MARK = 'timeline_until'
/** Everything up to this id is in the timeline table; some later ids may be too, while runs are merged. */
export const MERGED_UNTIL = markValue(MERGED_MARK)
/** The last id in the timeline table or a run. */
export const INDEXED_UNTIL = markValue(INDEXED_MARK)

const readMark = (db: Database, mark: string): number =>
  db.query<{ id: number }, []>(`SELECT ${mark} AS id`).get()?.id ?? 0
export const mergedUntil = (db: Database): number => readMark(db, MERGED_UNTIL)
export const indexedUntil = (db: Database): number => readMark(db, INDEXED_UNTIL)

/** Types from here on are visit reports (migration 12); smaller ones are events. */
export const VISIT_REPORT_TYPES = EVENT_TYPES.length

export const WAITING_RUNS = `timeline_runs CROSS JOIN timeline_run_rows AS run_rows ON run_rows.run = timeline_runs.last
  WHERE is_whole AND last > ${MERGED_UNTIL}`

export type PersonTable = 'events' | 'snippet_batches'
/** SQL fragments. `types`: condition on the type column. `from`, `upTo`: inclusive ids. */
export type IdFilter = { contact: string; types: string; from?: string; upTo?: string }
/** Requires a single type. `isIndexedOnly`: skips unindexed rows. */
export type NewestFilter = IdFilter & { order: 'ASC' | 'DESC'; limit: string; isIndexedOnly?: boolean }

/** Unfinished runs of a killed process do not count. */
const runOf = (id: string): string =>
  `ifnull((SELECT min(last) FROM timeline_runs WHERE last >= ${id} AND is_whole), ${Number.MAX_SAFE_INTEGER})`

function partsOf(table: PersonTable, { contact, types, from = '0', upTo }: IdFilter) {
  const isOfPerson = `contact_id = ${contact} AND type ${types}`
  const [isBelow, merged, isOfRuns] =
    upTo === undefined
      ? ['', MERGED_UNTIL, '']
      : [`AND id <= ${upTo}`, `min(${MERGED_UNTIL}, ${upTo})`, `AND last <= ${runOf(upTo)}`]
  return {
    merged: `SELECT id FROM timeline WHERE ${isOfPerson} AND id BETWEEN ${from} AND ${merged}`,
    inRuns: `SELECT id FROM ${WAITING_RUNS} AND last >= ${from} ${isOfRuns} AND ${isOfPerson} AND id >= ${from} ${isBelow}`,
    unindexed: `SELECT id FROM ${table} WHERE id > max(${INDEXED_UNTIL}, ${from} - 1) ${isBelow} AND ${isOfPerson}`,
  }
}

export function selectIndexedIds(table: PersonTable, filter: IdFilter): string {
  const { merged, inRuns } = partsOf(table, filter)
  return `${merged} UNION ALL ${inRuns}`
}

export const selectUnindexedPeople = (table: PersonTable, types: string, people: string): string =>
  `SELECT DISTINCT contact_id AS id FROM ${table}
   WHERE id > ${INDEXED_UNTIL} AND type ${types} AND contact_id IN (SELECT value FROM json_each(${people}))`

export function selectIds(table: PersonTable, filter: IdFilter): string {
  const { merged, inRuns, unindexed } = partsOf(table, filter)
  return `${merged} UNION ALL ${inRuns} UNION ALL ${unindexed}`
}

/** The first or last ids of one type; reads at most `limit` rows of each part. */
export function selectSomeIds(
  table: PersonTable,
  { order, limit, isIndexedOnly = false, ...filter }: NewestFilter,
): string {
  const { merged, inRuns, unindexed } = partsOf(table, filter)
  const [byId, limited] = [`ORDER BY id ${order}`, `LIMIT ${limit}`]
  const parts = [
    `${merged} ${byId} ${limited}`,
    `${inRuns} ORDER BY last ${order}, id ${order} ${limited}`,
    ...(isIndexedOnly ? [] : [`${unindexed} ${byId} ${limited}`]),
  ]
  return `SELECT id FROM (${parts.map((part) => `SELECT id FROM (${part})`).join(' UNION ALL ')}) ${byId} ${limited}`
}

import type { Database } from 'bun:sqlite'
import { MERGED_MARK, mergedUntil } from './timeline-reads.ts'

/** So many runs are merged though much comes, which bounds what a reader looks through: a look into each takes 2 us. */
const RUNS_MOST = 128
/** So many rows of each run are taken at once, all beside each other; of one person as many as there are. */
const ROWS_OF_ONE = 32
/** What a statement costs, in rows. */
const ROWS_A_STATEMENT = 2

/** A merge on its way: of these runs, people from `from` on and before `to`; those of runs before `at` are taken up. */
type Merge = { runs: readonly number[]; from: number; to: number; at: number }

/**
 * Runs of the timeline and how it takes them up: all at once, from the first person to the last, so that a page of it
 * changes once for many rows. Until then each run is an index of its own. `isAlone`: nobody else writes runs, so those that
 * nobody finished go; else all are left alone.
 */
export function createTimelineRuns(db: Database, isAlone: boolean) {
  const list = db.prepare<{ last: number; isWhole: number }, []>(
    'SELECT last, is_whole AS isWhole FROM timeline_runs ORDER BY last',
  )
  const begin = db.prepare('INSERT OR IGNORE INTO timeline_runs (last, is_whole) VALUES (?, 0)')
  const finish = db.prepare('UPDATE timeline_runs SET is_whole = 1 WHERE last = ?')
  const copy = db.prepare(
    `INSERT OR IGNORE INTO timeline SELECT contact_id, type, id FROM timeline_run_rows
     WHERE run = ? AND contact_id >= ? AND contact_id < ?`,
  )
  const countIn = db.prepare<{ rows: number }, [number, number, number]>(
    'SELECT count(*) AS rows FROM timeline_run_rows WHERE run = ? AND contact_id >= ? AND contact_id < ?',
  )
  const next = db.prepare<{ contactId: number }, [number, number, number]>(
    `SELECT contact_id AS contactId FROM timeline_run_rows WHERE run = ? AND contact_id > ?
     ORDER BY contact_id LIMIT 1 OFFSET ?`,
  )
  const mark = db.prepare('UPDATE install SET value = CAST(? AS TEXT) WHERE name = ?')
  const drop = db.prepare('DELETE FROM timeline_run_rows WHERE run = ? AND contact_id <= ?')
  const forget = db.prepare('DELETE FROM timeline_runs WHERE last = ?')
  const dropPerson = db.prepare(
    'DELETE FROM timeline_run_rows WHERE run IN (SELECT last FROM timeline_runs) AND contact_id = ?',
  )
  const dropOne = db.prepare(
    `DELETE FROM timeline_run_rows WHERE contact_id = ?1 AND type = ?2 AND id = ?3 AND run IN
       (SELECT last FROM timeline_runs WHERE NOT is_whole UNION ALL
        SELECT min(last) FROM timeline_runs WHERE is_whole AND last >= ?3)`,
  )

  /** Whole ones that wait; and those that are of no use, because they are merged, or were never finished. */
  let [waiting, spent]: [readonly number[], readonly number[]] = [[], []]
  let merge: Merge | null = null

  /** `writing`: one that is on its way. */
  const load = (writing: number | null): void => {
    const until = mergedUntil(db)
    const runs = isAlone ? list.all().filter(({ last }) => last !== writing) : []
    waiting = runs.flatMap(({ last, isWhole }) => (isWhole === 1 && last > until ? [last] : []))
    spent = runs.flatMap(({ last, isWhole }) => (last <= until || isWhole === 0 ? [last] : []))
    merge = null
  }
  load(null)

  const boundAfter = (run: number, contactId: number, rows: number): number =>
    next.get(run, contactId, rows)?.contactId ?? Number.MAX_SAFE_INTEGER

  /** @returns what it cost, in rows */
  const dropSome = (run: number, rows: number): number => {
    const bound = boundAfter(run, 0, rows)
    const { changes } = drop.run(run, bound)
    if (bound === Number.MAX_SAFE_INTEGER) {
      forget.run(run)
      spent = spent.slice(1)
    }
    return changes + ROWS_A_STATEMENT
  }

  const endMerge = (runs: readonly number[]): void => {
    mark.run(runs.at(-1) ?? 0, MERGED_MARK)
    waiting = waiting.slice(runs.length)
    spent = [...spent, ...runs]
    merge = null
  }

  const rangeFrom = (runs: readonly number[], from: number): Merge => {
    const to = Math.min(...runs.map((run) => boundAfter(run, from, ROWS_OF_ONE)))
    return { runs, from, to, at: 0 }
  }

  /** Where a merge begins again, most are there already, and to find that costs too. @returns what it cost, in rows */
  const copyRange = (run: number, from: number, to: number): number => {
    const { changes } = copy.run(run, from, to)
    return changes < ROWS_OF_ONE ? Math.max(changes, countIn.get(run, from, to)?.rows ?? 0) : changes
  }

  /** @returns what it cost, in rows */
  const mergeSome = (): number => {
    const { runs, from, to, at } = (merge ??= rangeFrom(waiting.slice(0, RUNS_MOST), 0))
    const run = runs[at]
    if (run !== undefined) {
      merge = { runs, from, to, at: at + 1 }
      return copyRange(run, from, to) + ROWS_A_STATEMENT
    }
    if (to === Number.MAX_SAFE_INTEGER) endMerge(runs)
    else merge = rangeFrom(runs, to)
    return ROWS_A_STATEMENT * runs.length
  }

  return {
    load,
    count: (): number => waiting.length,
    hasWork: (): boolean => waiting.length > 0 || spent.length > 0,
    isFull: (): boolean => waiting.length >= RUNS_MOST,
    /** Begins to write one, whose last id this is; or goes on with what a process that was killed left of it. */
    begin(last: number): void {
      begin.run(last)
      spent = spent.filter((run) => run !== last)
    },
    finish(last: number): void {
      finish.run(last)
      waiting = [...waiting, last]
    },
    /** Merges or deletes about so many rows. */
    advance(rows: number): void {
      for (let left = rows; left > 0 && (waiting.length > 0 || spent.length > 0);) {
        const [run] = spent
        left -= run === undefined ? mergeSome() : dropSome(run, rows)
      }
    },
    /** In the transaction that erases a person, or deletes a row. */
    erase: (contactId: number): void => void dropPerson.run(contactId),
    remove: (contactId: number, type: number, id: number): void => void dropOne.run(contactId, type, id),
  }
}

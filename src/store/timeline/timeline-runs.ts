import type { Database } from 'bun:sqlite'
import { createTimelineMerge, type MergePlace } from './timeline-merge.ts'
import { MERGED_MARK, mergedUntil } from './timeline-reads.ts'

/** When so many wait they are merged though much comes; about as many again come meanwhile. A look into each takes 2 us. */
const RUNS_MOST = 128
/** So many are deleted at once: half a millisecond. */
const ROWS_DROPPED = 500

/**
 * Runs of the timeline: each is an index of its own until the timeline has taken it up, then it is deleted. `isAlone`:
 * nobody else writes runs, so those that nobody finished go; else all are left alone.
 */
export function createTimelineRuns(db: Database, isAlone: boolean) {
  const list = db.prepare<{ last: number; isWhole: number }, []>(
    'SELECT last, is_whole AS isWhole FROM timeline_runs ORDER BY last',
  )
  const begin = db.prepare('INSERT OR IGNORE INTO timeline_runs (last, is_whole) VALUES (?, 0)')
  const finish = db.prepare('UPDATE timeline_runs SET is_whole = 1 WHERE last = ?')
  const mark = db.prepare('UPDATE install SET value = CAST(? AS TEXT) WHERE name = ?')
  const drop = db.prepare(
    `DELETE FROM timeline_run_rows WHERE (run, contact_id, type, id) IN
       (SELECT run, contact_id, type, id FROM timeline_run_rows WHERE run = ? LIMIT ?)`,
  )
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
  let merge: ReturnType<typeof createTimelineMerge> | null = null
  let committed: MergePlace | null = null

  /** `writing`: one that is on its way. */
  const load = (writing: number | null): void => {
    const until = mergedUntil(db)
    const runs = isAlone ? list.all().filter(({ last }) => last !== writing) : []
    waiting = runs.flatMap(({ last, isWhole }) => (isWhole === 1 && last > until ? [last] : []))
    spent = runs.flatMap(({ last, isWhole }) => (last <= until || isWhole === 0 ? [last] : []))
  }
  load(null)

  /** @returns what it cost, in rows */
  const dropSome = (run: number, rows: number): number => {
    const { changes } = drop.run(run, rows)
    if (changes < rows) {
      forget.run(run)
      spent = spent.slice(1)
    }
    return changes + 1
  }

  const endMerge = (runs: readonly number[]): void => {
    mark.run(runs.at(-1) ?? 0, MERGED_MARK)
    waiting = waiting.slice(runs.length)
    spent = [...spent, ...runs]
    merge = null
  }

  /** @returns what it cost, in rows */
  const mergeSome = (): number => {
    merge ??= createTimelineMerge(db, { runs: waiting.slice(0, RUNS_MOST), from: 0 })
    if (!merge.isOver()) return merge.step()
    endMerge(merge.runs)
    return 1
  }

  return {
    count: (): number => waiting.length,
    hasWork: (): boolean => waiting.length > 0 || spent.length > 0,
    hasSpent: (): boolean => spent.length > 0,
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
    /** Deletes and merges about so many rows; stops earlier where `isOver` says so. */
    advance(rows: number, isOver: () => boolean): void {
      for (let left = rows; left > 0 && (waiting.length > 0 || spent.length > 0) && !isOver();) {
        const [run] = spent
        left -= run === undefined ? mergeSome() : dropSome(run, Math.min(left, ROWS_DROPPED))
      }
    },
    /** After the commit. */
    settle(): void {
      committed = merge?.place() ?? null
    },
    /** After a rollback: a merge goes on from where it was committed. */
    undo(writing: number | null): void {
      load(writing)
      merge = committed && createTimelineMerge(db, committed)
    },
    /** In the transaction that erases a person, or deletes a row. */
    erase: (contactId: number): void => void dropPerson.run(contactId),
    remove: (contactId: number, type: number, id: number): void => void dropOne.run(contactId, type, id),
  }
}

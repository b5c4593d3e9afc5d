import type { Database } from 'bun:sqlite'
import { createTimelineMerge, type MergeProgress } from './timeline-merge.ts'
import { MERGED_MARK, mergedUntil } from './timeline-reads.ts'

/** With this many, runs are merged even under load; about as many arrive meanwhile. Looking into a run takes 2 us. */
const MAX_RUNS = 128
/** Rows deleted per statement: half a millisecond. */
const ROWS_PER_DELETE = 500

/**
 * Runs are small indexes that are merged into the timeline table and then deleted. `isAlone`: no other process writes
 * runs, so unfinished ones can be deleted; otherwise none are touched.
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

  /** `waiting`: finished runs to merge. `spent`: merged or never finished, to be deleted. */
  let [waiting, spent]: [readonly number[], readonly number[]] = [[], []]
  let merge: ReturnType<typeof createTimelineMerge> | null = null
  let committedMerge: MergeProgress | null = null

  const load = (writing: number | null): void => {
    const until = mergedUntil(db)
    const runs = isAlone ? list.all().filter(({ last }) => last !== writing) : []
    waiting = runs.flatMap(({ last, isWhole }) => (isWhole === 1 && last > until ? [last] : []))
    spent = runs.flatMap(({ last, isWhole }) => (last <= until || isWhole === 0 ? [last] : []))
  }
  load(null)

  const deleteSome = (run: number, rows: number): number => {
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

  const mergeSome = (): number => {
    merge ??= createTimelineMerge(db, { runs: waiting.slice(0, MAX_RUNS), from: 0 })
    if (!merge.isOver()) return merge.step()
    endMerge(merge.runs)
    return 1
  }

  return {
    count: (): number => waiting.length,
    hasWork: (): boolean => waiting.length > 0 || spent.length > 0,
    hasSpent: (): boolean => spent.length > 0,
    isFull: (): boolean => waiting.length >= MAX_RUNS,
    /** Starts a run that ends with this id, or continues one that a killed process left. */
    begin(last: number): void {
      begin.run(last)
      spent = spent.filter((run) => run !== last)
    },
    finish(last: number): void {
      finish.run(last)
      waiting = [...waiting, last]
    },
    advance(rows: number, isOver: () => boolean): void {
      for (let left = rows; left > 0 && (waiting.length > 0 || spent.length > 0) && !isOver();) {
        const [run] = spent
        left -= run === undefined ? mergeSome() : deleteSome(run, Math.min(left, ROWS_PER_DELETE))
      }
    },
    settle(): void {
      committedMerge = merge?.progress() ?? null
    },
    /** After a rollback: the merge continues from its committed position. */
    undo(writing: number | null): void {
      load(writing)
      merge = committedMerge && createTimelineMerge(db, committedMerge)
    },
    erase: (contactId: number): void => void dropPerson.run(contactId),
    remove: (contactId: number, type: number, id: number): void => void dropOne.run(contactId, type, id),
  }
}

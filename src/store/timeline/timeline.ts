/**
 * An index from people to their events and visit reports, built for write speed: inserting each row at once would change
 * a random page per event. Each part's gain, compared with a build without it (`bun run bench`, `bun run bench:against`):
 * - timeline.ts, timeline-unwritten.ts: rows are indexed later, many at once. A fifth more events a second.
 * - timeline-runs.ts, timeline-merge.ts: under load, some thousand rows become a small index that is merged later. A
 *   sixth more events, a quarter more visit reports.
 * - known-reports.ts, report-filters.ts: repeated visit reports are detected without a random page read for each.
 * timeline-reads.ts is the interface: SQL for the ids of a person, whichever part has them.
 */
import type { Database } from 'bun:sqlite'
import { INDEXED_MARK, indexedUntil, MERGED_MARK, mergedUntil } from './timeline-reads.ts'
import { createTimelineRuns } from './timeline-runs.ts'
import { createUnwritten, RUN_ROWS } from './timeline-unwritten.ts'

/** Rows that don't fill a run are written after this time. */
const SMALL_WAIT_MS = 200
/** Up to this many rows are written in one commit, so that under low load none waits long. */
const SMALL_ROWS = 500
/** More rows wait this long for a full run. Also, after a run, load counts as high for this long. */
const LARGE_WAIT_MS = 1_000
const UNKNOWN_COUNT = Number.POSITIVE_INFINITY
/** Rows that each commit indexes: per event of the commit, and at least. */
const ROWS_PER_EVENT = 1.25
const MIN_ROWS = 32
/** The same for merging runs, where each row is written and deleted. */
const MERGED_PER_EVENT = 3
const MIN_MERGED = 500
/** Rows or time per step while idle. */
const IDLE_ROWS = 12_000
const IDLE_MS = 4

export type TimelineRow = { contactId: number; type: number; id: number }

type Run = { rows: number; last: number; written: number; isWhole: boolean }

/**
 * Fills the index. Under low load, rows go straight into the timeline table; under high load, some thousand rows make
 * a run, which is merged when the load is low.
 */
export type Timeline = ReturnType<typeof createTimeline>

/** `isAlone`: a service that has locked the folder. A command indexes rows only if no service has runs. */
export function createTimeline(db: Database, monotonicMs: () => number, isAlone = true) {
  const mark = db.prepare('UPDATE install SET value = CAST(max(CAST(value AS INTEGER), ?) AS TEXT) WHERE name = ?')
  const hasRuns = db.prepare('SELECT 1 FROM timeline_runs LIMIT 1')
  const dropMerged = db.prepare('DELETE FROM timeline WHERE contact_id = ?')
  const dropOne = db.prepare('DELETE FROM timeline WHERE contact_id = ? AND type = ? AND id = ?')
  const unwritten = createUnwritten(db)
  const runs = createTimelineRuns(db, isAlone)
  let run: Run | null = null
  /** Unindexed rows, except those being written. */
  let waiting = UNKNOWN_COUNT
  /** Another process may have erased rows that are being written. */
  let isStale = false
  let committed: Run | null = null
  let added = 0
  let readAt = 0
  let calmAt = 0

  const begin = (): Run | null => {
    const { rows, last } = unwritten.read()
    readAt = monotonicMs()
    const isWhole = rows === RUN_ROWS
    waiting = isWhole ? Math.max(0, waiting - RUN_ROWS) : 0
    if (last === null) return null
    if (!isWhole && runs.count() > 0) {
      waiting = rows
      return null
    }
    if (isWhole && isAlone) {
      calmAt = readAt + LARGE_WAIT_MS
      runs.begin(last)
    }
    return { rows, last, written: 0, isWhole: isWhole && isAlone }
  }

  const writeRows = ({ rows, last, written, isWhole }: Run, maxRows: number): Run | null => {
    const until = Math.min(rows, written + maxRows)
    if (isWhole) unwritten.writeToRun(last, written, until)
    else unwritten.writeToTimeline(written, until)
    if (until < rows) return { rows, last, written: until, isWhole }
    if (isWhole) runs.finish(last)
    else mark.run(last, MERGED_MARK)
    mark.run(last, INDEXED_MARK)
    return null
  }

  /** Rows that don't fill a run are written once earlier runs are merged. */
  const isDue = (isIdle: boolean): boolean => {
    if (waiting >= RUN_ROWS) return true
    if (waiting === 0 || runs.count() > 0) return false
    return isIdle || monotonicMs() - readAt >= (waiting <= SMALL_ROWS ? SMALL_WAIT_MS : LARGE_WAIT_MS)
  }

  const writeShare = (rows: number, isIdle: boolean, isOver: () => boolean): void => {
    let left = rows
    do {
      if (!run && isDue(isIdle)) run = begin()
      if (!run) return
      const before = run.written
      const maxRows = run.isWhole || run.rows > SMALL_ROWS ? left : SMALL_ROWS
      left -= Math.min(run.rows - before, maxRows)
      run = writeRows(run, maxRows)
    } while (left > 0 && !isOver())
  }

  const isCalm = (): boolean => monotonicMs() >= calmAt

  return {
    count(): void {
      waiting += 1
      added += 1
    },
    advance(isIdle: boolean): void {
      // the service that has runs indexes the rows after them
      if (!isAlone && hasRuns.get() !== null) return void (run = null)
      if (isStale && run) unwritten.dropGone()
      const until = monotonicMs() + IDLE_MS
      const isOver = (): boolean => isIdle && monotonicMs() >= until
      const shareOf = (anEvent: number, least: number): number =>
        isIdle ? IDLE_ROWS : Math.max(least, Math.ceil(added * anEvent))
      writeShare(shareOf(ROWS_PER_EVENT, MIN_ROWS), isIdle, isOver)
      const isTime = isIdle || isCalm() || runs.isFull() || runs.hasSpent()
      if (isTime) runs.advance(shareOf(MERGED_PER_EVENT, MIN_MERGED), isOver)
    },
    hasWaiting: (): boolean => run !== null || waiting > 0 || runs.hasWork(),
    settle(): void {
      committed = run
      runs.settle()
      isStale = false
      added = 0
    },
    /** After a rollback, which restored the tables: unindexed rows are counted again. */
    undo(): void {
      run = committed
      waiting = UNKNOWN_COUNT
      added = 0
      runs.undo(run?.isWhole ? run.last : null)
    },
    erase(contactId: number): void {
      dropMerged.run(contactId)
      runs.erase(contactId)
      unwritten.erase(contactId)
    },
    remove(rows: TimelineRow[]): void {
      const [merged, indexed] = [mergedUntil(db), indexedUntil(db)]
      for (const { contactId, type, id } of rows.toSorted((a, b) => a.contactId - b.contactId)) {
        dropOne.run(contactId, type, id)
        if (id > merged) runs.remove(contactId, type, id)
        isStale ||= id > indexed
      }
    },
    catchUp(): void {
      waiting = UNKNOWN_COUNT
      isStale = true
    },
  }
}

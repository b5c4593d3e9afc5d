/**
 * Storage that is built for speed. An index leads from a person to their events and reports in the order of time; a row in it
 * with each event would change a page at a random place each time. What is here instead, and what it gained (`bun run
 * bench`, `bun run bench:against` a build without it):
 * - timeline.ts, timeline-unwritten.ts: events are put into the index later and many at once. A fifth more events a second.
 * - timeline-runs.ts, timeline-merge.ts: where much comes, some thousand rows are an index of their own, merged when it is
 *   calm. A sixth more events, a quarter more batches of the browser script.
 * - known-batches.ts, batch-filters.ts: new batches are told from repeated ones without a look at the disk for each.
 * timeline-reads.ts is the plain interface: SQL for the ids of a person, whatever part of the index holds them.
 */
import type { Database } from 'bun:sqlite'
import { HELD_MARK, heldUntil, MERGED_MARK, mergedUntil } from './timeline-reads.ts'
import { createTimelineRuns } from './timeline-runs.ts'
import { createUnwritten, RUN_ROWS } from './timeline-unwritten.ts'

/** What is less than makes a run is put in order where the last time is so long ago. */
const REST_MS = 200
/** Fewer than these are written with one commit: where little comes, none waits for long. */
const AT_ONCE = 500
/** More than these wait so long for as many as make a run; and so long after a run, little comes again. */
const CALM_MS = 1_000
/** Nobody knows how many wait. */
const UNKNOWN = Number.POSITIVE_INFINITY
/** How many rows a commit adds of those that are being written, for each event of its own and at least. */
const ROWS_AN_EVENT = 1.25
const ROWS_LEAST = 32
/** The same of runs that are merged, where a row is written and another deleted. */
const MERGED_AN_EVENT = 3
const MERGED_LEAST = 500
/** What is written where nothing else is: so many rows, or as many as fit into so much time. */
const ROWS_IDLE = 12_000
const IDLE_MS = 4

/** An event or batch as it stands in the index. */
export type TimelineRow = { contactId: number; type: number; id: number }

/** `isWhole`: as many as make a run. */
type Run = { rows: number; last: number; written: number; isWhole: boolean }

/**
 * Fills the index. Where little comes, what came in a while is put into the timeline in its order; where much comes, some
 * thousand make a run, and those the timeline takes up when it is calm.
 */
export type Timeline = ReturnType<typeof createTimeline>

/** `isAlone`: as a service that holds its folder; a command puts in order what it can where no service has runs. */
export function createTimeline(db: Database, monotonicMs: () => number, isAlone = true) {
  const mark = db.prepare('UPDATE install SET value = CAST(max(CAST(value AS INTEGER), ?) AS TEXT) WHERE name = ?')
  const hasRuns = db.prepare('SELECT 1 FROM timeline_runs LIMIT 1')
  const dropMerged = db.prepare('DELETE FROM timeline WHERE contact_id = ?')
  const dropOne = db.prepare('DELETE FROM timeline WHERE contact_id = ? AND type = ? AND id = ?')
  const unwritten = createUnwritten(db)
  const runs = createTimelineRuns(db, isAlone)
  let run: Run | null = null
  /** How many no index holds, but those that are being written. */
  let waiting = UNKNOWN
  /** Whether another process may have erased what is being written. */
  let isStale = false
  let committed: Run | null = null
  let added = 0
  let restSince = 0
  let calmSince = 0

  const begin = (): Run | null => {
    const { rows, last } = unwritten.read()
    restSince = monotonicMs()
    const isWhole = rows === RUN_ROWS
    waiting = isWhole ? Math.max(0, waiting - RUN_ROWS) : 0
    if (last === null) return null
    if (!isWhole && runs.count() > 0) {
      waiting = rows
      return null
    }
    if (isWhole && isAlone) {
      calmSince = restSince + CALM_MS
      runs.begin(last)
    }
    return { rows, last, written: 0, isWhole: isWhole && isAlone }
  }

  const writeRows = ({ rows, last, written, isWhole }: Run, most: number): Run | null => {
    const until = Math.min(rows, written + most)
    if (isWhole) unwritten.writeToRun(last, written, until)
    else unwritten.writeToTimeline(written, until)
    if (until < rows) return { rows, last, written: until, isWhole }
    if (isWhole) runs.finish(last)
    else mark.run(last, MERGED_MARK)
    mark.run(last, HELD_MARK)
    return null
  }

  /** What is less than a run is put in order once the timeline has taken up the runs before it. */
  const isDue = (isIdle: boolean): boolean => {
    if (waiting >= RUN_ROWS) return true
    if (waiting === 0 || runs.count() > 0) return false
    return isIdle || monotonicMs() - restSince >= (waiting <= AT_ONCE ? REST_MS : CALM_MS)
  }

  const writeShare = (rows: number, isIdle: boolean, isLate: () => boolean): void => {
    let left = rows
    do {
      if (!run && isDue(isIdle)) run = begin()
      if (!run) return
      const before = run.written
      const most = run.isWhole || run.rows > AT_ONCE ? left : AT_ONCE
      left -= Math.min(run.rows - before, most)
      run = writeRows(run, most)
    } while (left > 0 && !isLate())
  }

  const isCalm = (): boolean => monotonicMs() >= calmSince

  return {
    /** Called for each event and batch that is written. */
    count(): void {
      waiting += 1
      added += 1
    },
    /** Once in each transaction, before it commits: a part of the work, and more where nothing else is written. */
    advance(isIdle: boolean): void {
      // the service that has runs puts in order what comes after them
      if (!isAlone && hasRuns.get() !== null) return void (run = null)
      if (isStale && run) unwritten.dropGone()
      const until = monotonicMs() + IDLE_MS
      const isLate = (): boolean => isIdle && monotonicMs() >= until
      const shareOf = (anEvent: number, least: number): number =>
        isIdle ? ROWS_IDLE : Math.max(least, Math.ceil(added * anEvent))
      writeShare(shareOf(ROWS_AN_EVENT, ROWS_LEAST), isIdle, isLate)
      const isTime = isIdle || isCalm() || runs.isFull() || runs.hasSpent()
      if (isTime) runs.advance(shareOf(MERGED_AN_EVENT, MERGED_LEAST), isLate)
    },
    hasWaiting: (): boolean => run !== null || waiting > 0 || runs.hasWork(),
    /** After the commit. */
    settle(): void {
      committed = run
      runs.settle()
      isStale = false
      added = 0
    },
    /** After a rollback, which gave the tables back as they were: they are read again. */
    undo(): void {
      run = committed
      waiting = UNKNOWN
      added = 0
      runs.undo(run?.isWhole ? run.last : null)
    },
    /** What a person left, in the transaction that erases them. */
    erase(contactId: number): void {
      dropMerged.run(contactId)
      runs.erase(contactId)
      unwritten.erase(contactId)
    },
    /** What is deleted, in the transaction that deletes it. */
    remove(rows: TimelineRow[]): void {
      const [merged, held] = [mergedUntil(db), heldUntil(db)]
      for (const { contactId, type, id } of rows.toSorted((a, b) => a.contactId - b.contactId)) {
        dropOne.run(contactId, type, id)
        if (id > merged) runs.remove(contactId, type, id)
        isStale ||= id > held
      }
    },
    /** After another process wrote: it may have erased people and added events. */
    catchUp(): void {
      waiting = UNKNOWN
      isStale = true
    },
  }
}

import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { BUSY_TIMEOUT_MS } from './database.ts'

/**
 * 2,000 pages, 8 MB of log: long enough that a page changed often is copied once, short enough that the disk is not
 * busy with the copy when a commit wants it (measured: 8,000 pages kept one request in a hundred waiting 40 ms, not 9).
 */
const LOG_PAGES = 2_000
/** What the writing thread copies itself: a few milliseconds. */
const REST_PAGES = 1_000
/** So many passes bring a log that grows meanwhile down to that rest; the next ones come with the next look. */
const PASSES = 4
/**
 * 64 MB: however many commits come, a longer log is started over as soon as its rest is short. The file is written over
 * and over then, which costs a commit half as much as a file that grows (measured).
 */
const START_OVER_PAGES = 16_000
/** A log file larger than this is emptied when so much of it was not needed for so long. */
const FILE_BYTES = 64 * 1024 * 1024
const UNUSED_FOR_MS = 60_000
/** How soon it tries again to empty a log that a reader holds on to: writes wait for each try. */
const ERASE_EVERY_MS = 1_000
/** How long the writing thread waits for a reader to let go of the log, while all writes wait for it. */
const TRUNCATE_WAIT_MS = 100

type Progress = { busy: number; log: number; checkpointed: number }

const checkpoint = (db: Database, mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): Progress =>
  db.query<Progress, []>(`PRAGMA wal_checkpoint(${mode})`).get() ?? { busy: 1, log: 0, checkpointed: 0 }

const isShort = ({ log, checkpointed }: Progress): boolean => log - checkpointed < REST_PAGES

/**
 * Copies a long log into the database from a connection of its own, while the writing one goes on. Each pass leaves
 * only what came during it.
 */
export function copyLongLog(db: Database): void {
  for (let pass = 0; pass < PASSES; pass += 1) {
    const progress = checkpoint(db, 'NOOP')
    if (progress.log < LOG_PAGES || isShort(progress)) return
    checkpoint(db, 'PASSIVE')
  }
}

/** On the writing connection: copies the short rest of a long log, after which the next commit starts the log over. */
export function finishCheckpoint(db: Database, pages = LOG_PAGES): void {
  const progress = checkpoint(db, 'NOOP')
  if (progress.log >= pages && isShort(progress)) checkpoint(db, 'PASSIVE')
}

/** The same after each commit, for a log that has become so long that it must not wait for the next look. */
export const finishAfterCommit = (db: Database): void => finishCheckpoint(db, START_OVER_PAGES)

/**
 * Gives back the room of a log file that was needed once. It is not cut when the log starts over, because a file system may
 * keep all commits waiting for that: 400 MB took a tenth of a second (measured).
 * @returns what to call now and then, on the writing connection
 */
export function createLogTrim(db: Database, logPath: string, monotonicMs: () => number): () => void {
  let neededAt = monotonicMs()
  return () => {
    const { log, checkpointed } = checkpoint(db, 'NOOP')
    // one that was copied to its end is started over by the next commit, however long it is
    if (log > checkpointed && log >= START_OVER_PAGES) neededAt = monotonicMs()
    if (monotonicMs() - neededAt < UNUSED_FOR_MS) return
    neededAt = monotonicMs()
    const { size } = statSync(logPath, { throwIfNoEntry: false }) ?? { size: 0 }
    if (size > FILE_BYTES) truncateLog(db)
  }
}

/** Empties the log of what was erased, at the start and after each demand, until no reader holds on to it. */
export function createLogErasure(db: Database, monotonicMs: () => number) {
  let isDue = true
  let triedAt = -Infinity
  return {
    demand: (): void => void (isDue = true),
    /** What to call now and then, on the writing connection. */
    run: (): void => {
      if (!isDue || monotonicMs() - triedAt < ERASE_EVERY_MS) return
      triedAt = monotonicMs()
      isDue = !truncateLog(db)
    },
  }
}

/** Empties the log, so that nothing erased stays in it. @returns false while a reader holds on to it */
export function truncateLog(db: Database): boolean {
  db.run(`PRAGMA busy_timeout = ${TRUNCATE_WAIT_MS}`)
  try {
    return checkpoint(db, 'TRUNCATE').busy === 0
  } finally {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

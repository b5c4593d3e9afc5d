import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { MINUTE_MS } from '../../core/clock.ts'
import { BUSY_TIMEOUT_MS } from './database.ts'

/**
 * 2,000 pages, 8 MB of WAL: long enough that a hot page is copied once, short enough that copying does not delay
 * commits (measured: with 8,000 pages, one request in a hundred took 40 ms instead of 9).
 */
const LOG_PAGES = 2_000
/** Few enough for the writer thread to copy itself. */
const REST_PAGES = 1_000
/** Passes per check; a WAL that grows meanwhile shrinks to the rest within these. */
const PASSES = 4
/**
 * 64 MB: a longer WAL is restarted as soon as its rest is short, however busy the writer is. Overwriting the file
 * costs a commit half as much as growing it (measured).
 */
const START_OVER_PAGES = 16_000
/** A larger WAL file is truncated if that much was not needed for `UNUSED_FOR_MS`. */
const FILE_BYTES = 64 * 1024 * 1024
const UNUSED_FOR_MS = MINUTE_MS
/** Retry interval for truncating a WAL that a reader uses. Writes wait during each attempt. */
const ERASE_EVERY_MS = 1_000
const TRUNCATE_WAIT_MS = 100

type Progress = { busy: number; log: number; checkpointed: number }

const checkpoint = (db: Database, mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): Progress =>
  db.query<Progress, []>(`PRAGMA wal_checkpoint(${mode})`).get() ?? { busy: 1, log: 0, checkpointed: 0 }

const isShort = ({ log, checkpointed }: Progress): boolean => log - checkpointed < REST_PAGES

/** Needs its own connection. Each pass leaves only what was written during it. */
export function copyLongLog(db: Database): void {
  for (let pass = 0; pass < PASSES; pass += 1) {
    const progress = checkpoint(db, 'NOOP')
    if (progress.log < LOG_PAGES || isShort(progress)) return
    checkpoint(db, 'PASSIVE')
  }
}

/** On the writer's connection: copies the short rest, so that the next commit restarts the WAL. */
export function finishCheckpoint(db: Database, pages = LOG_PAGES): void {
  const progress = checkpoint(db, 'NOOP')
  if (progress.log >= pages && isShort(progress)) checkpoint(db, 'PASSIVE')
}

export const finishAfterCommit = (db: Database): void => finishCheckpoint(db, START_OVER_PAGES)

/**
 * Truncates a WAL file that was large once. Not done when the WAL restarts, because a file system may block all
 * commits meanwhile: 400 MB took a tenth of a second (measured).
 * @returns a function to call periodically on the writer's connection
 */
export function createLogTrim(db: Database, logPath: string, monotonicMs: () => number): () => void {
  let neededAt = monotonicMs()
  return () => {
    const { log, checkpointed } = checkpoint(db, 'NOOP')
    // a fully copied WAL is restarted by the next commit, however long it is
    if (log > checkpointed && log >= START_OVER_PAGES) neededAt = monotonicMs()
    if (monotonicMs() - neededAt < UNUSED_FOR_MS) return
    neededAt = monotonicMs()
    const { size } = statSync(logPath, { throwIfNoEntry: false }) ?? { size: 0 }
    if (size > FILE_BYTES) truncateLog(db)
  }
}

/** Truncates the WAL at the start and after each erasure, retrying while a reader uses it. */
export function createLogErasure(db: Database, monotonicMs: () => number) {
  let isDue = true
  let triedAt = -Infinity
  return {
    demand: (): void => void (isDue = true),
    run: (): void => {
      if (!isDue || monotonicMs() - triedAt < ERASE_EVERY_MS) return
      triedAt = monotonicMs()
      isDue = !truncateLog(db)
    },
  }
}

/** @returns false while a reader uses the WAL */
export function truncateLog(db: Database): boolean {
  db.run(`PRAGMA busy_timeout = ${TRUNCATE_WAIT_MS}`)
  try {
    return checkpoint(db, 'TRUNCATE').busy === 0
  } finally {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

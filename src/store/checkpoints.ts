import type { Database } from 'bun:sqlite'
import { BUSY_TIMEOUT_MS } from './database.ts'

/**
 * 2,000 pages, 8 MB of log: long enough that a page changed often is copied once, short enough that the disk is not
 * busy with the copy when a commit wants it (measured: 8,000 pages kept one request in a hundred waiting 40 ms, not 9).
 */
const LOG_PAGES = 2_000
/** What the writing thread copies itself: a few milliseconds. */
const REST_PAGES = 1_000
/** How long the writing thread waits for a reader to let go of the log, while all writes wait for it. */
const TRUNCATE_WAIT_MS = 100

type Progress = { busy: number; log: number; checkpointed: number }

const checkpoint = (db: Database, mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): Progress =>
  db.query<Progress, []>(`PRAGMA wal_checkpoint(${mode})`).get() ?? { busy: 1, log: 0, checkpointed: 0 }

/**
 * Copies a long log into the database from a connection of its own, while the writing one goes on. Each pass leaves
 * only what came during it.
 */
export function copyLongLog(db: Database): void {
  const { log, checkpointed } = checkpoint(db, 'NOOP')
  if (log < LOG_PAGES || log - checkpointed < REST_PAGES) return
  checkpoint(db, 'PASSIVE')
}

/** On the writing connection: copies the short rest of a long log, after which the next commit starts the log over. */
export function finishCheckpoint(db: Database): void {
  const { log, checkpointed } = checkpoint(db, 'NOOP')
  if (log >= LOG_PAGES && log - checkpointed < REST_PAGES) checkpoint(db, 'PASSIVE')
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

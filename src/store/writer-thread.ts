/**
 * The thread that owns the writing connection: bun:sqlite is synchronous, and here no request waits for an fsync that
 * is not its own (promises 4). Batches come and outcomes go as JSON text, which crosses threads cheaper than objects.
 */
import { statSync } from 'node:fs'
import { databasePath, openDatabase } from './database.ts'
import { createEngine, type Engine, type Job } from './engine.ts'
import { StoreError } from './errors.ts'
import { finishCheckpoint, truncateLog } from './checkpoints.ts'

declare const self: Worker

export type ToWriter = { open: string } | { close: true } | string
export type FromWriter =
  | { opened: true }
  | { failed: { code: StoreError['code'] | null; message: string } }
  | { foreignWrite: true }
  | { closed: true }
  | { broken: string }
  | string

/** How soon another process's change, a replaced file or a long log is noticed. */
const LOOK_EVERY_MS = 200

const post = (message: FromWriter): void => self.postMessage(message)

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function open(folder: string): void {
  try {
    const db = openDatabase(folder)
    const engine = createEngine(db, Date.now)
    const path = databasePath(folder)
    const file = statSync(path).ino
    let isReplaced = false
    const look = setInterval(() => {
      isReplaced = inodeOf(path) !== file
      if (isReplaced) return
      if (engine.hasForeignWrite()) post({ foreignWrite: true })
      if (engine.hasWorkDue()) engine.run([])
      finishCheckpoint(db)
    }, LOOK_EVERY_MS)
    self.onmessage = ({ data }: MessageEvent<ToWriter>) => {
      if (typeof data === 'string') return runBatch(engine, data, isReplaced, () => truncateLog(db))
      clearInterval(look)
      truncateLog(db)
      db.close()
      post({ closed: true })
    }
    post({ opened: true })
  } catch (error) {
    post({ failed: { code: error instanceof StoreError ? error.code : null, message: reasonOf(error) } })
  }
}

const inodeOf = (path: string): number | null => {
  try {
    return statSync(path).ino
  } catch {
    return null
  }
}

function runBatch(engine: Engine, text: string, isReplaced: boolean, truncate: () => void): void {
  const jobs = JSON.parse(text) as Job[]
  if (isReplaced) return post(JSON.stringify(jobs.map(() => ({ refusal: 'unavailable' }))))
  try {
    const outcomes = engine.run(jobs)
    // an erased person is gone from the log too before anyone is told so
    if (jobs.some((job) => job.name === 'eraseContact')) truncate()
    post(JSON.stringify(outcomes))
  } catch (error) {
    post({ broken: reasonOf(error) })
  }
}

self.onmessage = ({ data }: MessageEvent<ToWriter>) => {
  if (typeof data === 'object' && 'open' in data) open(data.open)
}

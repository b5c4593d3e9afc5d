/**
 * Owns the writing connection. bun:sqlite is synchronous, so on this thread an fsync blocks no other request. Commit
 * groups and outcomes are sent as text, which crosses threads cheaper than objects.
 */
import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { createLogErasure, createLogTrim, finishAfterCommit, finishCheckpoint, truncateLog } from './checkpoints.ts'
import { databasePath, logPath } from './database.ts'
import { createEngine, type Engine } from './engine.ts'
import { isPassingFault, StoreError } from './errors.ts'
import type { ReadEvent } from '../event-texts.ts'
import type { Rules } from '../plan-types.ts'
import { openForWriting } from './sealed-columns.ts'
import { createSealer } from './sealing.ts'
import type { Job, Outcome } from '../writes.ts'
import { createGroupDecoder } from './writer.ts'

declare const self: Worker

type OpenMessage = { open: string; masterKey: string | null }
export type ToWriter = string | OpenMessage | { close: true }
export type Failure = { code: StoreError['code'] | null; message: string }
export type FromThread = string | { answer: unknown } | { foreignWrite: true } | { broken: string }

const CHECK_EVERY_MS = 200
/** Pause between index maintenance steps while the writer is idle. */
const IDLE_STEP_MS = 10

const post = (message: FromThread): void => self.postMessage(message)

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

type Open = {
  db: Database
  engine: Engine
  isReplaced: () => boolean
  eraseLog: () => void
  stopTimers: () => void
}

type DomainRules = { readEvent: ReadEvent; rules: Rules }

function open({ open: folder, masterKey }: OpenMessage, domainRules: DomainRules): Open {
  const sealer = createSealer(masterKey)
  const db = openForWriting(folder, sealer)
  const engine = createEngine(db, Date.now, sealer, domainRules)
  const path = databasePath(folder)
  const file = inodeOf(path)
  const trim = createLogTrim(db, logPath(folder), () => performance.now())
  const logErasure = createLogErasure(db, () => performance.now())
  let isReplaced = false
  const idleWork = createIdleWork(engine, () => isReplaced)
  const timer = setInterval(() => {
    isReplaced = inodeOf(path) !== file
    if (isReplaced) return
    guard(() => runChecks(db, engine))
    guard(trim)
    guard(logErasure.run)
    idleWork.begin()
  }, CHECK_EVERY_MS)
  const stopTimers = (): void => {
    clearInterval(timer)
    idleWork.end()
  }
  return { db, engine, isReplaced: () => isReplaced, eraseLog: logErasure.demand, stopTimers }
}

function runChecks(db: Database, engine: Engine): void {
  if (engine.hasForeignWrite()) post({ foreignWrite: true })
  engine.readEarlier()
  finishCheckpoint(db)
}

function createIdleWork(engine: Engine, isReplaced: () => boolean) {
  let next: ReturnType<typeof setTimeout> | undefined
  const step = (): void => {
    next = undefined
    guard(() => {
      if (!isReplaced() && engine.tidy()) next = setTimeout(step, IDLE_STEP_MS)
    })
  }
  return { begin: (): void => void (next === undefined && step()), end: (): void => clearTimeout(next) }
}

let isBroken = false

/** After a permanent fault no commit can be trusted; the WAL is left for the next start. */
function stop(error: unknown): void {
  isBroken = true
  post({ broken: reasonOf(error) })
}

function guard(step: () => void): void {
  if (isBroken) return
  try {
    step()
  } catch (error) {
    if (!isPassingFault(error)) stop(error)
  }
}

const inodeOf = (path: string): number | null => {
  try {
    return statSync(path).ino
  } catch {
    return null
  }
}

const REPLACED: Outcome = { refusal: 'unavailable', reason: 'the database file was replaced or removed' }

function runGroup({ db, engine, isReplaced, eraseLog }: Open, jobs: Job[]): void {
  if (isReplaced()) return post(JSON.stringify(jobs.map(() => REPLACED)))
  try {
    post(JSON.stringify(engine.run(jobs)))
  } catch (error) {
    return stop(error)
  }
  if (jobs.some(({ name }) => name === 'eraseContact')) eraseLog()
  // after the answer, so that only the next group waits for it
  guard(() => finishAfterCommit(db))
}

function close({ db, stopTimers }: Open): void {
  stopTimers()
  guard(() => void truncateLog(db))
  db.close()
  post({ answer: null })
}

function serve(store: Open): void {
  const decodeGroup = createGroupDecoder()
  self.onmessage = ({ data }: MessageEvent<ToWriter>) => {
    if (typeof data === 'string') runGroup(store, decodeGroup(data))
    else if ('close' in data) close(store)
  }
}

export function serveWrites(domainRules: DomainRules): void {
  self.onmessage = ({ data }: MessageEvent<ToWriter>) => {
    if (typeof data !== 'object' || !('open' in data)) return
    try {
      serve(open(data, domainRules))
      post({ answer: null })
    } catch (error) {
      const failure: Failure = { code: error instanceof StoreError ? error.code : null, message: reasonOf(error) }
      post({ answer: failure })
    }
  }
}

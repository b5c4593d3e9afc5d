/**
 * The thread that owns the writing connection: bun:sqlite is synchronous, and here no request waits for an fsync that
 * is not its own. Batches come and outcomes go as text, which crosses threads cheaper than objects.
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

type Opening = { open: string; masterKey: string | null }
/** Each is answered once, in order; text is a commit group. */
export type ToWriter = string | Opening | { close: true }
export type Failure = { code: StoreError['code'] | null; message: string }
/** Text and `answer` are answers, the others are news. */
export type FromThread = string | { answer: unknown } | { foreignWrite: true } | { broken: string }

/** How soon another process's change, a replaced file or a long log is noticed. */
const LOOK_EVERY_MS = 200
/** Between two steps of what is done where nothing is written. */
const REST_STEP_MS = 10

const post = (message: FromThread): void => self.postMessage(message)

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

type Open = {
  db: Database
  engine: Engine
  isReplaced: () => boolean
  emptyLog: () => void
  stopLooking: () => void
}

/** `readEvent`: how events that come as texts are read. `rules`: the rules for sending. */
type Given = { readEvent: ReadEvent; rules: Rules }

function open({ open: folder, masterKey }: Opening, given: Given): Open {
  const sealer = createSealer(masterKey)
  const db = openForWriting(folder, sealer)
  const engine = createEngine(db, Date.now, sealer, given)
  const path = databasePath(folder)
  const file = inodeOf(path)
  const trim = createLogTrim(db, logPath(folder), () => performance.now())
  const logErasure = createLogErasure(db, () => performance.now())
  let isReplaced = false
  const rest = createRest(engine, () => isReplaced)
  const look = setInterval(() => {
    isReplaced = inodeOf(path) !== file
    if (isReplaced) return
    guard(() => lookAround(db, engine))
    guard(trim)
    guard(logErasure.run)
    rest.begin()
  }, LOOK_EVERY_MS)
  const stopLooking = (): void => {
    clearInterval(look)
    rest.end()
  }
  return { db, engine, isReplaced: () => isReplaced, emptyLog: logErasure.demand, stopLooking }
}

function lookAround(db: Database, engine: Engine): void {
  if (engine.hasForeignWrite()) post({ foreignWrite: true })
  engine.readEarlier()
  finishCheckpoint(db)
}

/** Puts people's events in order, step by step while nothing else is written, with pauses in which something may come. */
function createRest(engine: Engine, isReplaced: () => boolean) {
  let next: ReturnType<typeof setTimeout> | undefined
  const step = (): void => {
    next = undefined
    guard(() => {
      if (!isReplaced() && engine.tidy()) next = setTimeout(step, REST_STEP_MS)
    })
  }
  return { begin: (): void => void (next === undefined && step()), end: (): void => clearTimeout(next) }
}

let isBroken = false

/** After a fault that does not pass no commit can be trusted, and the log stays as it is for the next start. */
function stop(error: unknown): void {
  isBroken = true
  post({ broken: reasonOf(error) })
}

/** A full disk passes, and a busy one. */
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

function runGroup({ db, engine, isReplaced, emptyLog }: Open, jobs: Job[]): void {
  if (isReplaced()) return post(JSON.stringify(jobs.map(() => REPLACED)))
  try {
    post(JSON.stringify(engine.run(jobs)))
  } catch (error) {
    return stop(error)
  }
  if (jobs.some(({ name }) => name === 'eraseContact')) emptyLog()
  // nobody waits for it but the next group
  guard(() => finishAfterCommit(db))
}

function close({ db, stopLooking }: Open): void {
  stopLooking()
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

/** Waits for its folder. */
export function serveWrites(given: Given): void {
  self.onmessage = ({ data }: MessageEvent<ToWriter>) => {
    if (typeof data !== 'object' || !('open' in data)) return
    try {
      serve(open(data, given))
      post({ answer: null })
    } catch (error) {
      const failure: Failure = { code: error instanceof StoreError ? error.code : null, message: reasonOf(error) }
      post({ answer: failure })
    }
  }
}

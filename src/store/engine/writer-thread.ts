/**
 * Owns the writing connection. bun:sqlite is synchronous, so on this thread an fsync blocks no other request. Commit
 * groups and outcomes are sent as text, which crosses threads cheaper than objects.
 */
import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { createTurns } from '../../core/in-order.ts'
import { createLogErasure, createLogTrim, finishAfterCommit, finishCheckpoint, truncateLog } from './checkpoints.ts'
import { databasePath, describeDamage, logPath } from './database.ts'
import { createEngine, type Engine } from './engine.ts'
import { isPassingFault, StoreError } from './errors.ts'
import type { EventSender, EventText, ReadEvent } from '../event-texts.ts'
import type { Rules } from '../plan-types.ts'
import { openForWriting } from './sealed-columns.ts'
import { createSealer } from './sealing.ts'
import type { UpgradeProgress } from './upgrades.ts'
import type { Job, Outcome, WriteName } from '../writes.ts'

declare const self: Worker

type OpenMessage = { open: string; masterKey: string | null; hasExternalCheckpoints: boolean }
export type ToWriter = string | OpenMessage | { close: true }
type Failure = { code: StoreError['code'] | null; message: string }
export type Opened = { writeNames: WriteName[] } | Failure
export type FromThread =
  string | { answer: unknown } | { foreignWrite: true } | { broken: string } | { upgrade: UpgradeProgress }

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
  hasExternalCheckpoints: boolean
  stopTimers: () => void
}

type DomainRules = { readEvent: ReadEvent; rules: Rules }

async function open(
  { open: folder, masterKey, hasExternalCheckpoints }: OpenMessage,
  domainRules: DomainRules,
): Promise<Open> {
  const sealer = createSealer(masterKey)
  const db = await openForWriting(folder, sealer, { onUpgrade: (upgrade) => post({ upgrade }) })
  const engine = createEngine(db, Date.now, sealer, domainRules)
  const path = databasePath(folder)
  openPath = path
  const file = inodeOf(path)
  const trim = createLogTrim(db, logPath(folder), () => performance.now())
  const logErasure = createLogErasure(db, () => performance.now())
  let isReplaced = false
  const idleWork = createIdleWork(engine, () => isReplaced)
  const timer = setInterval(() => {
    isReplaced = inodeOf(path) !== file
    if (isReplaced) return
    guardStep(() => runChecks(engine))
    if (!hasExternalCheckpoints) for (const step of [() => finishCheckpoint(db), trim, logErasure.run]) guardStep(step)
    idleWork.begin()
  }, CHECK_EVERY_MS)
  const stopTimers = (): void => {
    clearInterval(timer)
    idleWork.end()
  }
  return { db, engine, isReplaced: () => isReplaced, eraseLog: logErasure.demand, hasExternalCheckpoints, stopTimers }
}

function runChecks(engine: Engine): void {
  if (engine.hasForeignWrite()) post({ foreignWrite: true })
  engine.readEarlier()
}

function createIdleWork(engine: Engine, isReplaced: () => boolean) {
  let next: ReturnType<typeof setTimeout> | undefined
  const step = async (): Promise<void> => {
    next = undefined
    await guard(async () => {
      if (!isReplaced() && (await engine.tidy())) next = setTimeout(() => void step(), IDLE_STEP_MS)
    })
  }
  return { begin: (): void => void (next === undefined && step()), end: (): void => clearTimeout(next) }
}

let isBroken = false
let openPath = ''

/** After a permanent fault no commit can be trusted; the WAL is left for the next start. */
function stop(error: unknown): void {
  isBroken = true
  post({ broken: reasonOf(error) })
}

async function guard(step: () => Promise<void>): Promise<void> {
  if (isBroken) return
  try {
    await step()
  } catch (error) {
    stopUnlessPassing(error)
  }
}

function guardStep(step: () => void): void {
  if (isBroken) return
  try {
    step()
  } catch (error) {
    stopUnlessPassing(error)
  }
}

function stopUnlessPassing(error: unknown): void {
  if (!isPassingFault(error, openPath)) stop(error)
}

const inodeOf = (path: string): number | null => {
  try {
    return statSync(path).ino
  } catch {
    return null
  }
}

const REPLACED: Outcome = { refusal: 'unavailable', reason: 'the database file was replaced or removed' }

async function runGroup(
  { db, engine, isReplaced, eraseLog, hasExternalCheckpoints }: Open,
  jobs: Job[],
): Promise<void> {
  if (isReplaced()) return post(JSON.stringify(jobs.map(() => REPLACED)))
  try {
    post(JSON.stringify(await engine.run(jobs)))
  } catch (error) {
    return stop(error)
  }
  if (jobs.some(({ name }) => name === 'eraseContact')) eraseLog()
  // after the answer, so that only the next group waits for it
  if (!hasExternalCheckpoints) guardStep(() => finishAfterCommit(db))
}

function close({ db, hasExternalCheckpoints, stopTimers }: Open): void {
  stopTimers()
  if (!hasExternalCheckpoints) guardStep(() => void truncateLog(db))
  db.close()
  post({ answer: null })
}

function serve(store: Open): void {
  const decodeGroup = createGroupDecoder()
  const handle = createTurns(async (data: ToWriter): Promise<void> => {
    if (typeof data === 'string') await runGroup(store, decodeGroup(data))
    else if ('close' in data) close(store)
  })
  // unhandled, so that the thread ends with the error
  self.onmessage = async ({ data }: MessageEvent<ToWriter>) => await handle(data)
}

export function serveWrites(domainRules: DomainRules): void {
  self.onmessage = async ({ data }: MessageEvent<ToWriter>) => {
    if (typeof data !== 'object' || !('open' in data)) return
    try {
      const opened = await open(data, domainRules)
      serve(opened)
      post({ answer: { writeNames: opened.engine.writeNames } satisfies Opened })
    } catch (thrown) {
      const error = describeDamage(thrown, data.open)
      const failure: Failure = { code: error instanceof StoreError ? error.code : null, message: reasonOf(error) }
      post({ answer: failure })
    }
  }
}

type More = Pick<EventText, 'via' | 'idempotency' | 'refusal'>
/** An unparsed event, by default of the API: the number of its sender, its time of arrival (ms UTC) and the length of its text. */
type TextMark = [sender: number, at: number, length: number, more?: More]
/** `senders`: new ones, numbered on from those already sent, or from 0 after `isReset`. */
type Head = { isReset: boolean; senders: EventSender[]; jobs: (TextMark | Job)[] }

const END_OF_LENGTH = ' '
/** The writer thread caches at most this many senders, with at most this many apps, until the numbers restart. */
export const MOST_SENDERS = 1_000
const MOST_APPS = 10_000

const isEventText = (job: Job): job is Job<'recordEventText'> => job.name === 'recordEventText'

/**
 * Encodes commit groups for the writer thread: the length of a JSON head, the head, then the texts of the unparsed events
 * as they are. One text crosses threads cheaper than objects, and text inside JSON would be escaped and parsed twice.
 * Each sender crosses once.
 */
export function createGroupEncoder(): (jobs: Job[]) => string {
  const numbers = new Map<EventSender, number>()
  let apps = 0

  return (jobs) => {
    const isReset = numbers.size >= MOST_SENDERS || apps >= MOST_APPS
    if (isReset) {
      numbers.clear()
      apps = 0
    }
    const senders: EventSender[] = []
    const numberOf = (sender: EventSender): number => {
      const known = numbers.get(sender)
      if (known !== undefined) return known
      const number = numbers.size
      numbers.set(sender, number)
      senders.push(sender)
      apps += sender.apps.length
      return number
    }
    let texts = ''
    const marked = jobs.map((job): TextMark | Job => {
      if (!isEventText(job)) return job
      const { text, sender, at, ...more } = job.input
      texts += text
      const number = numberOf(sender)
      const isPlain = more.via === 'api' && !more.idempotency && !more.refusal
      return isPlain ? [number, at, text.length] : [number, at, text.length, more]
    })
    const head = toJson({ isReset, senders, jobs: marked })
    return `${head.length}${END_OF_LENGTH}${head}${texts}`
  }
}

export function createGroupDecoder(): (group: string) => Job[] {
  let known: EventSender[] = []

  return (group) => {
    const start = group.indexOf(END_OF_LENGTH) + END_OF_LENGTH.length
    let end = start + Number(group.slice(0, start))
    const { isReset, senders, jobs } = JSON.parse(group.slice(start, end)) as Head
    if (isReset) known = []
    known.push(...senders)
    return jobs.map((job): Job => {
      if (!Array.isArray(job)) return job
      const [number, at, length, more] = job
      const text = group.slice(end, (end += length))
      return { name: 'recordEventText', input: { text, sender: known[number] as EventSender, via: 'api', at, ...more } }
    })
  }
}

/** A job that cannot be serialised (bigint, cycle) fails alone. */
function toJson(head: Head): string {
  try {
    return JSON.stringify(head)
  } catch {
    return JSON.stringify({ ...head, jobs: head.jobs.map((job) => (isJson(job) ? job : { ...job, input: null })) })
  }
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

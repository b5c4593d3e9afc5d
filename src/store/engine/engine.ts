import type { Database } from 'bun:sqlite'
import { describeError } from '../../core/error-text.ts'
import { createTurns } from '../../core/in-order.ts'
import { dirname } from 'node:path'
import { findMark, folderPlace, refuseMarked } from '../move/mark.ts'
import { isBrokenDisk, isPassingFault } from './errors.ts'
import { type EventText, NO_READER, type ReadEvent, type ReadText } from '../event-texts.ts'
import type { PlannedOutcome, PlannedWrite, Rules } from '../plan-types.ts'
import type { Sealer } from './sealing.ts'
import { createSqliteParts } from './sqlite-parts.ts'
import { createSqliteSql } from './sqlite-sql.ts'
import type { RecordedEvent, Refused } from '../types.ts'
import { createWrites, type Job, type Outcome, type WriteName, textWrite, toTextOutcome } from '../writes.ts'

type EngineOptions = { isAlone?: boolean; readEvent?: ReadEvent; rules: Rules }

export type Engine = ReturnType<typeof createEngine>

/**
 * Many jobs per transaction, one outcome each, and one group at a time. `isAlone`: no other process writes for longer than
 * a command.
 */
export function createEngine(
  db: Database,
  now: () => number,
  sealer: Sealer,
  { isAlone = true, readEvent = NO_READER, rules }: EngineOptions,
) {
  // first, so that it notices every later write of another process
  const foreign = createForeignWatch(db, () => parts.catchUp(caches))
  const parts = createSqliteParts(db, { now, isAlone })
  const { hasWaiting, readEarlier } = parts
  const sql = createSqliteSql(db)
  const {
    writes,
    names: writeNames,
    runPlanned,
    ...caches
  } = createWrites({ db: sql, engine: parts.engine, sealer, rules })
  const runAll = createJobs({ writes, runPlanned, readEvent })
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((text) => db.prepare(text))
  let broken: { cause: unknown } | null = null
  let isBusy = false

  const commitTogether = async (jobs: Job[]): Promise<Outcome[]> => {
    begin?.run()
    foreign.check()
    const outcomes = await runAll(jobs)
    parts.finish(jobs.length === 0)
    commit?.run()
    parts.settle(caches)
    isBusy = true
    return outcomes
  }

  const undo = (): void => {
    if (db.inTransaction) rollback?.run()
    parts.undo(caches)
  }

  /** The state on disk is unknown, so nothing may be acknowledged any more. */
  const stop = (cause: unknown): never => {
    broken = { cause }
    throw cause
  }

  /**
   * If a job breaks the transaction, each half is retried, so that it fails alone: 256 jobs with a bad one take 16
   * commits.
   * @throws the disk's error if it can't be trusted (failed write or fsync, damaged file), now and on every later call
   */
  const runGroup = async (jobs: Job[]): Promise<Outcome[]> => {
    if (broken) throw broken.cause
    try {
      return await commitTogether(jobs)
    } catch (error) {
      try {
        undo()
      } catch (cause) {
        return stop(cause)
      }
      if (isBrokenDisk(error, db.filename)) return stop(error)
      if (isPassingFault(error, db.filename))
        return jobs.map(() => ({ refusal: 'unavailable', reason: reasonOf(error) }))
      const half = jobs.length >> 1
      if (half > 0) return [...(await runGroup(jobs.slice(0, half))), ...(await runGroup(jobs.slice(half)))]
      reportBrokenJob(jobs[0]?.name, error)
      return jobs.map(() => ({ refusal: 'internal_error' }))
    }
  }

  // one transaction can be open at a time
  const run = createTurns(runGroup)

  /** Maintains the timeline index if nothing was written since the last call. @returns whether to call again soon */
  const tidy = async (): Promise<boolean> => {
    const isTime = !isBusy && hasWaiting()
    isBusy = false
    if (isTime) await run([])
    const isDone = isBusy
    isBusy = false
    return isDone && hasWaiting()
  }
  return { writeNames: writeNames as WriteName[], run, tidy, readEarlier, hasForeignWrite: foreign.takeNews }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')

/** A bug: logged, and answered with internal_error without affecting other jobs. */
export function reportBrokenJob(name: string | undefined, error: unknown): void {
  console.error(
    JSON.stringify({ level: 'error', message: 'a write failed', write: name, reason: describeError(error) }),
  )
}

type Parts = Pick<ReturnType<typeof createWrites>, 'writes' | 'runPlanned'> & { readEvent: ReadEvent }
type Read = { index: number; write: PlannedWrite; reading: ReadText | null }
const PLANNED: ReadonlySet<WriteName> = new Set([
  'recordEvent',
  'recordVisitReport',
  'addContact',
  'updateContact',
  'sendMail',
  'confirmConsent',
])

/** Whether its people are looked for before all else. */
export const isPlanned = ({ name }: Pick<Job, 'name'>): boolean => name === 'recordEventText' || PLANNED.has(name)

const NONE: ReadonlySet<Job> = new Set()

/**
 * Runs jobs in their order: planned writes that follow each other as one batch. `apart`: jobs that don't wait for each
 * other, and aren't planned.
 */
export function createJobs({ writes, runPlanned, readEvent }: Parts) {
  const runOne = ({ name, input }: Job): Promise<Outcome> =>
    (writes[name as keyof typeof writes] as (input: Job['input']) => Promise<Outcome>)(input)

  /** A write to plan, an outcome if nothing is to be written, or null if the job runs alone. */
  const read = (job: Job, index: number): Read | Outcome | null => {
    if (job.name === 'recordEventText') {
      const event = job.input as EventText
      const reading = readEvent(event)
      return 'refused' in reading ? reading : { index, write: textWrite(event, reading), reading }
    }
    return PLANNED.has(job.name) ? { index, write: job as PlannedWrite, reading: null } : null
  }

  return async (jobs: readonly Job[], apart = NONE): Promise<Outcome[]> => {
    const outcomes: Outcome[] = []
    let batch: PlannedWrite[] = []
    let reads: Read[] = []
    let open: Promise<void>[] = []
    const awaitOpen = async (): Promise<void> => {
      if (open.length === 0) return
      await Promise.all(open)
      open = []
    }
    const runAlone = async (job: Job, index: number): Promise<void> => void (outcomes[index] = await runOne(job))
    const runBatch = async (): Promise<void> => {
      if (batch.length === 0) return
      await awaitOpen()
      const planned = await runPlanned(batch)
      for (const [position, { index, reading }] of reads.entries()) {
        const outcome = planned[position] as PlannedOutcome
        outcomes[index] = reading ? toTextOutcome(outcome as RecordedEvent | Refused, reading) : outcome
      }
      batch = []
      reads = []
    }
    for (const [index, job] of jobs.entries()) {
      const found = read(job, index)
      if (found === null) {
        await runBatch()
        if (apart.has(job)) {
          const running = runAlone(job, index)
          // its error is reported by `awaitOpen`, unless another job fails first
          running.catch(() => {})
          open.push(running)
        } else {
          await awaitOpen()
          await runAlone(job, index)
        }
      } else if ('write' in found) {
        batch.push(found.write)
        reads.push(found)
      } else outcomes[index] = found
    }
    await runBatch()
    await awaitOpen()
    return outcomes
  }
}

function createForeignWatch(db: Database, catchUp: () => void) {
  const dataVersion = db.prepare<{ data_version: number }, []>('PRAGMA data_version')
  let seen = dataVersion.get()?.data_version
  let hasNews = false

  const check = (): void => {
    const version = dataVersion.get()?.data_version
    if (version === seen) return
    // a command that was open before a move began must not write any more
    refuseMarked(findMark(db), folderPlace(dirname(db.filename)))
    catchUp()
    seen = version
    hasNews = true
  }
  /** True once per foreign commit, even if `check` noticed it first. */
  const takeNews = (): boolean => {
    check()
    const hadNews = hasNews
    hasNews = false
    return hadNews
  }
  return { check, takeNews }
}

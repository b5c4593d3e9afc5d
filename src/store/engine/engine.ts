import type { Database } from 'bun:sqlite'
import { isBrokenDisk, isPassingFault } from './errors.ts'
import { type EventText, NO_READER, type ReadEvent, type ReadText } from '../event-texts.ts'
import type { PlannedOutcome, PlannedWrite, Rules } from '../plan-types.ts'
import type { Sealer } from './sealing.ts'
import type { RecordedEvent, Refused } from '../types.ts'
import { createWrites, type Job, type Outcome, textWrite, toTextOutcome, type WriteName } from '../writes.ts'

type Reach = { isAlone?: boolean; readEvent?: ReadEvent; rules?: Rules }

export type Engine = ReturnType<typeof createEngine>

/**
 * Runs jobs against one writing connection: many in one transaction, one outcome each, in order. Synchronous, because
 * bun:sqlite is, and because an async callback in a transaction does not roll back. `isAlone`: no other
 * process has one for longer than a command.
 */
export function createEngine(
  db: Database,
  now: () => number,
  sealer: Sealer,
  { isAlone = true, readEvent = NO_READER, rules }: Reach = {},
) {
  // first of all: what another process writes from here on is noticed
  const foreign = createForeignWatch(db, () => catchUp())
  const {
    writes,
    runPlanned,
    finish,
    settle,
    undo: undoAll,
    catchUp,
    hasWaiting,
    readEarlier,
  } = createWrites({
    db,
    now,
    sealer,
    isAlone,
    rules,
  })
  const runAll = createJobs({ writes, runPlanned, readEvent })
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((text) => db.prepare(text))
  let broken: { cause: unknown } | null = null
  let isBusy = false

  const commitTogether = (jobs: Job[]): Outcome[] => {
    begin?.run()
    foreign.look()
    const outcomes = runAll(jobs)
    finish(jobs.length === 0)
    commit?.run()
    settle()
    isBusy = true
    return outcomes
  }

  const undo = (): void => {
    if (db.inTransaction) rollback?.run()
    undoAll()
  }

  /** What the disk holds is no longer known: nothing is acknowledged any more. */
  const stop = (cause: unknown): never => {
    broken = { cause }
    throw cause
  }

  /**
   * Commits all jobs together; where one breaks the transaction, each half is tried by itself, so that no row fails
   * another and 256 rows with a bad one take 16 commits.
   * @throws what the disk said when it can no longer be trusted (a failed fsync, a damaged file), now and ever after
   */
  const run = (jobs: Job[]): Outcome[] => {
    if (broken) throw broken.cause
    try {
      return commitTogether(jobs)
    } catch (error) {
      try {
        undo()
      } catch (cause) {
        return stop(cause)
      }
      if (isBrokenDisk(error)) return stop(error)
      if (isPassingFault(error)) return jobs.map(() => ({ refusal: 'unavailable', reason: reasonOf(error) }))
      const half = jobs.length >> 1
      if (half > 0) return [...run(jobs.slice(0, half)), ...run(jobs.slice(half))]
      reportBrokenJob(jobs[0]?.name, error)
      return jobs.map(() => ({ refusal: 'internal_error' }))
    }
  }

  /**
   * Called now and then: where nothing was written since the last time, puts some of people's events in order.
   * @returns whether there is more to do, and time for it
   */
  const tidy = (): boolean => {
    const isTime = !isBusy && hasWaiting()
    isBusy = false
    if (isTime) run([])
    const isDone = isBusy
    isBusy = false
    return isDone && hasWaiting()
  }
  // `readEarlier` is called now and then too: it reads some of what came before the start
  return { run, tidy, readEarlier, hasForeignWrite: foreign.take }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')

/** A bug in a write: logged with its cause, answered as internal_error, and no neighbour's concern. */
function reportBrokenJob(name: string | undefined, error: unknown): void {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
  console.error(JSON.stringify({ level: 'error', message: 'a write failed', write: name, reason }))
}

type Parts = Pick<ReturnType<typeof createWrites>, 'writes' | 'runPlanned'> & { readEvent: ReadEvent }
/** `place`: of the job; `reading`: of an event that came as a text. */
type Read = { place: number; write: PlannedWrite; reading: ReadText | null }
const PLANNED: ReadonlySet<WriteName> = new Set(['recordEvent', 'recordBatch', 'addContact', 'updateContact'])
const isOfContact = ({ name }: PlannedWrite): boolean => name === 'addContact' || name === 'updateContact'

/** Runs jobs in order: those that follow one another and can be planned are planned together. */
function createJobs({ writes, runPlanned, readEvent }: Parts) {
  const runOne = ({ name, input }: Job): Outcome =>
    (writes[name as keyof typeof writes] as (input: Job['input']) => Outcome)(input)

  /** What can be planned; or its outcome where nothing is to be written; null where it runs by itself. */
  const read = (job: Job, place: number): Read | Outcome | null => {
    if (job.name === 'recordEventText') {
      const event = job.input as EventText
      const reading = readEvent(event)
      return 'refused' in reading ? reading : { place, write: textWrite(event, reading), reading }
    }
    return PLANNED.has(job.name) ? { place, write: job as PlannedWrite, reading: null } : null
  }

  return (jobs: readonly Job[]): Outcome[] => {
    const outcomes: Outcome[] = []
    let batch: PlannedWrite[] = []
    let reads: Read[] = []
    const runBatch = (): void => {
      if (batch.length === 0) return
      const planned = runPlanned(batch)
      for (const [index, { place, reading }] of reads.entries()) {
        const outcome = planned[index] as PlannedOutcome
        outcomes[place] = reading ? toTextOutcome(outcome as RecordedEvent | Refused, reading) : outcome
      }
      batch = []
      reads = []
    }
    for (const [place, job] of jobs.entries()) {
      const found = read(job, place)
      if (found === null) {
        runBatch()
        outcomes[place] = runOne(job)
      } else if ('write' in found) {
        // when somebody was seen is read beside a contact, after all that came before it
        if (batch[0] && isOfContact(batch[0]) !== isOfContact(found.write)) runBatch()
        batch.push(found.write)
        reads.push(found)
      } else outcomes[place] = found
    }
    runBatch()
    return outcomes
  }
}

/** Notices commits of other processes, at the start of each transaction and whenever it is asked. */
function createForeignWatch(db: Database, catchUp: () => void) {
  const dataVersion = db.prepare<{ data_version: number }, []>('PRAGMA data_version')
  let seen = dataVersion.get()?.data_version
  let isNew = false

  const look = (): void => {
    const version = dataVersion.get()?.data_version
    if (version === seen) return
    catchUp()
    seen = version
    isNew = true
  }
  /** True once after another process committed, also when a transaction noticed it first. */
  const take = (): boolean => {
    look()
    const was = isNew
    isNew = false
    return was
  }
  return { look, take }
}

import type { Database } from 'bun:sqlite'
import { isBrokenDisk, isPassingFault } from './errors.ts'
import { NO_READER, type ReadEvent } from '../event-texts.ts'
import { createForeignWatch } from './foreign-watch.ts'
import { createJobs } from './jobs.ts'
import type { Rules } from '../plan-types.ts'
import type { Sealer } from './sealing.ts'
import { createWrites, type Job, type Outcome } from '../writes.ts'

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

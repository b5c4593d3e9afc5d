import type { ReadEvent } from '../event-texts.ts'
import { NO_READER } from '../event-texts.ts'
import { createTurns } from '../../core/in-order.ts'
import { createJobs, reasonOf, reportBrokenJob } from '../engine/engine.ts'
import type { Sealer } from '../engine/sealing.ts'
import type { Channel } from '../engine/writer.ts'
import type { Rules } from '../plan-types.ts'
import { createWrites, type Job, type Outcome, type WriteName } from '../writes.ts'
import { type Postgres, UnknownCommit } from './connection.ts'
import { isConflict, isPassingFault } from './faults.ts'
import { createPostgresParts } from './parts.ts'

/** Tries of a group that another transaction is in the way of. */
const MOST_TRIES = 6
const RETRY_MS = 5

export type EngineOptions = { now: () => number; sealer: Sealer; readEvent?: ReadEvent; rules: Rules }

/** Many jobs per transaction, one outcome each, and one group at a time. */
export function createPostgresEngine(
  postgres: Postgres,
  { now, sealer, readEvent = NO_READER, rules }: EngineOptions,
): Channel {
  const parts = createPostgresParts(postgres.run, { now })
  const created = createWrites({ db: postgres.sql, engine: parts.engine, sealer, rules })
  const { writes, names, runPlanned, live, sentCache } = created
  const runAll = createJobs({ writes, runPlanned, readEvent })

  const commitTogether = (jobs: Job[]): Promise<Outcome[]> =>
    postgres.transaction(async () => {
      // another instance may have changed what they hold
      for (const cache of [live, sentCache]) cache.forget()
      parts.undo()
      const outcomes = await runAll(jobs)
      await parts.finish()
      return outcomes
    })

  const commitAgain = async (jobs: Job[]): Promise<Outcome[]> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const outcomes = await commitTogether(jobs)
        parts.settle()
        return outcomes
      } catch (error) {
        if (!isConflict(error) || tries === MOST_TRIES) throw error
        await Bun.sleep(RETRY_MS * tries * (1 + Math.random()))
      }
    }
  }

  /** A job that can't be stored fails alone: each half is tried again. */
  const runGroup = async (jobs: Job[]): Promise<Outcome[]> => {
    try {
      return await commitAgain(jobs)
    } catch (error) {
      if (error instanceof UnknownCommit) return jobs.map(() => ({ refusal: 'commit_unconfirmed' }))
      if (isPassingFault(error)) return jobs.map(() => ({ refusal: 'unavailable', reason: reasonOf(error) }))
      const half = jobs.length >> 1
      if (half > 0) return [...(await runGroup(jobs.slice(0, half))), ...(await runGroup(jobs.slice(half)))]
      reportBrokenJob(jobs[0]?.name, error)
      return jobs.map(() => ({ refusal: 'internal_error' }))
    }
  }

  return {
    writeNames: names as WriteName[],
    commit: createTurns(runGroup),
    close: async () => {},
    onForeignWrite: () => {},
    onBroken: () => {},
  }
}

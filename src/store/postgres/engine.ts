import type { EventText, ReadEvent } from '../event-texts.ts'
import { NO_READER } from '../event-texts.ts'
import { createTurns, mapInOrder } from '../../core/in-order.ts'
import { createJobs, isPlanned, reportBrokenJob } from '../engine/engine.ts'
import type { Sealer } from '../engine/sealing.ts'
import type { Channel } from '../engine/writer.ts'
import type { Rules } from '../plan-types.ts'
import type { CountedLimit, LimitUse } from '../types.ts'
import { createWrites, type Job, type Outcome, type WriteName } from '../writes.ts'
import type { Postgres } from './connection.ts'
import { describeFault, isMoved, isPassingFault, mostTries, UnknownCommit } from './faults.ts'
import type { AppLook, Instance } from './instance.ts'
import { createLanes } from './lanes.ts'
import { createPostgresParts } from './parts.ts'
import { keyOfPerson, listApart, lockPeopleOf, personOf } from './people-locks.ts'

const RETRY_MS = 5
/** Much less than a group takes under load. */
const GATHER_MS = 3
/** While one is written to disk, the next one is planned. */
export const GROUPS_IN_FLIGHT = 2
/** Then the group fails, before those who wait are told that its outcome is unknown. */
const MOST_MS = 4_000

/** All limits that count a write of the group: each transaction locks them first, in the same order. */
function* listLimits(jobs: readonly Job[]): Generator<CountedLimit> {
  for (const { input } of jobs) {
    if ('limits' in input) yield* input.limits
    else if ('text' in input && input.refusal === undefined) yield* input.sender.limits
    else if ('limit' in input && typeof input.limit === 'object') yield input.limit
  }
}

/** An event's text is read before its group begins, and not again with each try. */
function rememberRead(readEvent: ReadEvent): ReadEvent {
  const readings = new WeakMap<EventText, ReturnType<ReadEvent>>()
  return (event) => {
    const reading = readings.get(event) ?? readEvent(event)
    readings.set(event, reading)
    return reading
  }
}

/** @returns null if the people of a write aren't known: it isn't planned, or can't be read, which its group reports */
function listPeople(jobs: readonly Job[], readEvent: ReadEvent): Set<string> | null {
  const people = new Set<string>()
  try {
    for (const job of jobs) {
      if (!isPlanned(job)) return null
      const person = personOf(job, readEvent)
      if (person) people.add(keyOfPerson(person))
    }
  } catch {
    return null
  }
  return people
}

/** Only by the instance whose turn it is. Its turn can't end before the transaction does. */
const DUTIES = ['cleanUp', 'expire', 'runSchedules', 'checkBrakes', 'saveAlerts'] as const satisfies WriteName[]
const isDuty = ({ name }: Job): boolean => DUTIES.some((one) => one === name)

/** They lock what they decide by, or decide nothing. */
const CONCURRENT: ReadonlySet<WriteName> = new Set([
  ...DUTIES,
  'addCalls',
  'addNotes',
  'addRequests',
  'chooseTopics',
  'claimDeliveries',
  'dropClaim',
  'dropJoined',
  'eraseContact',
  'extendClaim',
  'importTopicEnds',
  'markCaptured',
  'markDeferred',
  'markFailed',
  'markHanded',
  'markSent',
  'markSkipped',
  'markUnknown',
  'moveWaiting',
  'noteFailedSignIns',
  'noteKeyUse',
  'noteTestSent',
  'releaseClaims',
  'reportAddress',
  'reportDeliveries',
  'resubscribe',
  'retryUnreached',
  'saveLimitWaits',
  'suppress',
  'suppressMany',
  'takeToken',
  'touch',
  'touchSession',
  'unsubscribe',
  'unsuppress',
])

/** One at a time on all instances, as on SQLite, because they decide by settings that others may be changing. */
const changesSettings = (job: Job): boolean => !isPlanned(job) && !CONCURRENT.has(job.name)

/**
 * What instances note about keys and requests: rows that all of them change. Each has a transaction of its own,
 * so that none holds such a row while it waits for what a group of another instance has locked, and no group waits for it.
 */
const NOTES: ReadonlySet<WriteName> = new Set(['addCalls', 'addNotes', 'addRequests', 'noteKeyUse', 'saveLimitWaits'])

export type EngineOptions = { instance: Instance; sealer: Sealer; readEvent?: ReadEvent; rules: Rules }

/** `epoch`: of when it read what it writes. */
const isOfTurn = ({ input }: Job, epoch: number | null): boolean =>
  epoch !== null && (!('epoch' in input) || input.epoch === epoch)

/** Many jobs per transaction and one outcome each. */
export function createPostgresEngine(
  postgres: Postgres,
  { readEvent = NO_READER, ...options }: EngineOptions,
): Channel {
  const useListeners: ((uses: LimitUse[]) => void)[] = []
  const noteUses = (uses: LimitUse[]): void => useListeners.forEach((listener) => listener(uses))
  const brokenListeners: ((reason: string) => void)[] = []
  const noteBroken = (reason: string): void => brokenListeners.forEach((listener) => listener(reason))
  const readOnce = rememberRead(readEvent)
  const open = (lane: number) => createLane(postgres, { ...options, lane, readEvent: readOnce, noteUses, noteBroken })
  const lanes = Array.from({ length: GROUPS_IN_FLIGHT }, (_, lane) => open(lane))
  // it counts nothing, so it shares a part of the counts
  const notes = open(0)
  return {
    writeNames: notes.writeNames,
    commit: createLanes(
      lanes.map(({ run }) => run),
      (jobs) => listPeople(jobs, readOnce),
    ),
    apart: {
      names: NOTES,
      commit: createTurns(async (jobs: Job[]) => (await mapInOrder(jobs, (job) => notes.run([job]))).flat()),
    },
    close: async () => {},
    onForeignWrite: options.instance.onForeignWrite,
    onLimitUse: (listener) => void useListeners.push(listener),
    onBroken: (listener) => void brokenListeners.push(listener),
    gatherMs: GATHER_MS,
  }
}

type LaneOptions = Required<EngineOptions> & {
  lane: number
  noteUses: (uses: LimitUse[]) => void
  noteBroken: (reason: string) => void
}

/** One group at a time. What it caches is its own, as if it were another instance. */
function createLane(postgres: Postgres, { instance, lane, sealer, readEvent, rules, ...listeners }: LaneOptions) {
  /** of the settings and ids that are cached; null: unknown */
  let version: string | null = null
  const look = async (appIds: readonly number[], locks: boolean): Promise<readonly AppLook[]> => {
    const found = await instance.lookAround(postgres.run, { lane, appIds, locks })
    if (found.version !== version) {
      live.forget()
      parts.forget()
    }
    version = found.version
    return found.apps
  }
  const parts = createPostgresParts(postgres, {
    ids: instance.ids,
    rules,
    lookAt: (appIds) => look(appIds, false),
    onDeliveries: (appId) => live.noteDelivery(appId),
  })
  const created = createWrites({ db: postgres.sql, engine: parts.engine, sealer, rules })
  const { writes, names, runPlanned, live } = created
  const runAll = createJobs({ writes, runPlanned, readEvent })

  const runInTurn = async (jobs: Job[], apart: ReadonlySet<Job>): Promise<Outcome[]> => {
    if (!jobs.some(isDuty)) return await runAll(jobs, apart)
    const epoch = await instance.takeDuty(postgres.run)
    const isRefused = (job: Job): boolean => isDuty(job) && !isOfTurn(job, epoch)
    const outcomes = await runAll(jobs.filter((job) => !isRefused(job)))
    return jobs.map((job) => (isRefused(job) ? { refusal: 'already_done' } : (outcomes.shift() as Outcome)))
  }

  const commitTogether = (jobs: Job[]): Promise<Outcome[]> =>
    postgres.transaction(async () => {
      // planned writes begin with their people, and look around with them
      const arePlanned = jobs.every(isPlanned)
      await parts.open([...listLimits(jobs)], arePlanned ? null : look([], jobs.some(changesSettings)))
      if (!arePlanned) await parts.opened()
      const locked = arePlanned ? null : lockPeopleOf(postgres.run, jobs, readEvent)
      const [apart] = await Promise.all([listApart(postgres.run, jobs), locked])
      const outcomes = await runInTurn(jobs, apart)
      await parts.finish()
      return outcomes
    }, parts.flush)

  const commitAgain = async (jobs: Job[]): Promise<Outcome[]> => {
    const startedAt = performance.now()
    for (let tries = 1; ; tries += 1) {
      try {
        await instance.prepareIds()
        const outcomes = await commitTogether(jobs)
        parts.settle()
        live.settle()
        const uses = parts.listUses()
        if (uses.length > 0) listeners.noteUses(uses)
        return outcomes
      } catch (error) {
        // it may hold what was not stored
        version = null
        const isLast = error instanceof UnknownCommit || tries >= mostTries(error)
        if (isLast || performance.now() - startedAt > MOST_MS) throw error
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
      if (isMoved(error)) listeners.noteBroken(describeFault(error))
      if (isPassingFault(error)) return jobs.map(() => ({ refusal: 'unavailable', reason: describeFault(error) }))
      const half = jobs.length >> 1
      if (half > 0) return [...(await runGroup(jobs.slice(0, half))), ...(await runGroup(jobs.slice(half)))]
      reportBrokenJob(jobs[0]?.name, error)
      return jobs.map(() => ({ refusal: 'internal_error' }))
    }
  }

  return { writeNames: names as WriteName[], run: runGroup }
}

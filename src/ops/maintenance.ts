import { describeError } from '../core/error-text.ts'
import { type Clock, createPatientNow, DAY_MS, expiryNow, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import type { Log } from './log.ts'

const SAVE_USES_MS = 30_000
const CLEAN_UP_MS = MINUTE_MS
/** How late lifecycle emails go on once fewer emails bounced or were reported as spam. */
const CHECK_BRAKES_MS = MINUTE_MS
/** How late the copy made before an upgrade is removed. */
const REMOVE_COPIES_MS = HOUR_MS
/** How much of the audit list a crash may lose. */
const SAVE_CALLS_MS = 1_000

/** How much of the request log a crash may lose, and how late live pages show it. */
const SAVE_REQUESTS_MS = 250

const SAVE_SIGN_INS_MS = 10_000

/** A mail server that can't be reached is reported within a minute: after two failed looks. */
const CHECK_ALERTS_MS = 10_000
const SEND_ALERTS_MS = 2_000
const SEND_SUMMARIES_MS = 5 * MINUTE_MS

/** How late dates and inactivity may trigger a message. */
const RUN_SCHEDULES_MS = 5_000

/** How late the emails of an instance that was killed go on. */
const RELEASE_CLAIMS_MS = 10_000

/** How late pages of other instances show notes. */
const SHARE_NOTES_MS = 1_000

const CHECK_BACKUPS_MS = MINUTE_MS

const CHECK_LOG_MS = 10 * MINUTE_MS
const LONG_LOG_BYTES = 1024 ** 3
const LONG_LOG = 'the write-ahead log is over 1 GB: start Litestream, or remove EVENTPOST_CHECKPOINTS'
const EXPIRE_MS = MINUTE_MS
const ARRANGE_PARTITIONS_MS = HOUR_MS
/** Between two deletions, in terms of how long one takes: the busier the store, the longer the pause. */
const PAUSES = 3
const MIN_PAUSE_MS = 10

export type Maintenance = { stop(): void }

type Saved = { save(): Promise<unknown> }
type Forgetful = { forgetIdle(): void }

type Maintained = {
  store: {
    instanceId: string
    isShared: boolean
    holdDuty(): Promise<number | null>
    releaseClaims(of: { notOf: string; at: number }): Promise<unknown>
    cleanUp(at: { at: number }): Promise<{ deleted: number } | { refusal: string }>
    hasScheduledWork(at: number): Promise<boolean>
    runSchedules(at: { at: number }): Promise<{ hasMore: boolean } | { refusal: string }>
    removeOldCopies(now: number): Promise<string[]>
    arrangePartitions(now: number): Promise<void>
    checkBrakes(at: { at: number }): Promise<{ isMore: boolean } | { refusal: string }>
    stats(): { logBytes: number }
    /** ms UTC; null without rows */
    findNewestTime(): Promise<number | null>
    expire(at: { at: number }): Promise<{ isMore: boolean } | { refusal: string }>
  }
  /** null: none are scheduled */
  backups?: { runIfDue(): Promise<unknown> } | null
  /** another program must keep the write-ahead log short */
  watchesLog?: boolean
  clock: Clock
  access: { saveUses(): Promise<void> }
  notes: Saved
  calls: Saved
  requests: Saved
  signInNotes: Saved
  monitor: { check(): Promise<unknown>; sendDue(): Promise<unknown> }
  weeklySummaries: { sendDue(): Promise<unknown> }
  limits: Forgetful
  abuseLimits: Forgetful
  snippetLimits: Forgetful
}

/** Whether the server started long after the newest row: for a day, since its clock may be ahead. */
function createDoubt(store: Pick<Maintained['store'], 'findNewestTime'>, clock: Clock): () => Promise<boolean> {
  const startedMs = clock.monotonicMs()
  const startedAt = clock.now()
  // read at the start, because rows that this clock dates prove nothing
  const isLate = store.findNewestTime().then(
    (newestAt) => newestAt !== null && startedAt - newestAt > DAY_MS,
    () => true,
  )
  return async () => clock.monotonicMs() - startedMs < DAY_MS && (await isLate)
}

export function startMaintenance(
  {
    access,
    limits,
    abuseLimits,
    snippetLimits,
    notes,
    calls,
    requests,
    signInNotes,
    monitor,
    weeklySummaries,
    store,
    clock,
    backups = null,
    watchesLog = false,
  }: Maintained,
  log: Log,
): Maintenance {
  /** Not while the last run goes on. */
  const every = (ms: number, name: string, work: () => Promise<unknown>) => {
    let isRunning = false
    return setInterval(() => {
      if (isRunning) return
      isRunning = true
      work()
        .catch((error: unknown) =>
          log.write('error', 'maintenance failed', { task: name, reason: describeError(error) }),
        )
        .finally(() => (isRunning = false))
    }, ms)
  }
  /** By one of the instances. The store makes sure of it wherever it matters (store/postgres/engine.ts). */
  const onDuty = (work: () => Promise<unknown>) => async (): Promise<void> => {
    if ((await store.holdDuty()) !== null) await work()
  }
  const patientNow = createPatientNow(clock)
  const isClockDoubtful = createDoubt(store, clock)
  let isStopped = false
  const timers = [
    every(SAVE_USES_MS, 'save key uses', access.saveUses),
    every(store.isShared ? SHARE_NOTES_MS : SAVE_USES_MS, 'save notes', notes.save),
    every(SAVE_CALLS_MS, 'save calls', calls.save),
    every(SAVE_REQUESTS_MS, 'save requests', requests.save),
    every(SAVE_SIGN_INS_MS, 'save failed sign-ins', () => signInNotes.save()),
    every(CHECK_ALERTS_MS, 'check alerts', monitor.check),
    every(SEND_ALERTS_MS, 'send alerts', monitor.sendDue),
    every(SEND_SUMMARIES_MS, 'send weekly summaries', onDuty(weeklySummaries.sendDue)),
    every(
      RUN_SCHEDULES_MS,
      'run schedules',
      onDuty(async () => {
        let hasMore = await store.hasScheduledWork(patientNow())
        while (hasMore) {
          const outcome = await store.runSchedules({ at: patientNow() })
          hasMore = 'hasMore' in outcome && outcome.hasMore
        }
      }),
    ),
    every(CLEAN_UP_MS, 'forget idle limits', async () => {
      for (const one of [limits, abuseLimits, snippetLimits]) one.forgetIdle()
    }),
    every(
      CLEAN_UP_MS,
      'clean up',
      onDuty(async () => {
        let deleted = 1
        while (deleted > 0) {
          const outcome = await store.cleanUp({ at: expiryNow(clock) })
          deleted = 'deleted' in outcome ? outcome.deleted : 0
        }
      }),
    ),
    every(REMOVE_COPIES_MS, 'remove old copies', async () => {
      for (const file of await store.removeOldCopies(expiryNow(clock))) {
        log.write('info', 'removed the copy made before an upgrade a week ago', { file })
      }
    }),
    every(
      EXPIRE_MS,
      'expire',
      onDuty(async () => {
        let isMore = true
        while (isMore && !isStopped && !(await isClockDoubtful())) {
          const begunAt = clock.monotonicMs()
          const outcome = await store.expire({ at: expiryNow(clock) })
          isMore = 'isMore' in outcome && outcome.isMore
          if (isMore) await Bun.sleep(Math.max(MIN_PAUSE_MS, PAUSES * (clock.monotonicMs() - begunAt)))
        }
      }),
    ),
    every(
      ARRANGE_PARTITIONS_MS,
      'arrange partitions',
      onDuty(() => store.arrangePartitions(expiryNow(clock))),
    ),
    every(
      CHECK_BRAKES_MS,
      'check brakes',
      onDuty(async () => {
        let isMore = true
        while (isMore) {
          const outcome = await store.checkBrakes({ at: clock.now() })
          isMore = 'isMore' in outcome && outcome.isMore
        }
      }),
    ),
  ]
  if (store.isShared) {
    const release = () => store.releaseClaims({ notOf: store.instanceId, at: clock.now() })
    timers.push(every(RELEASE_CLAIMS_MS, 'release claims', onDuty(release)))
  }
  if (backups !== null) timers.push(every(CHECK_BACKUPS_MS, 'back up', backups.runIfDue))
  if (watchesLog) {
    timers.push(
      every(CHECK_LOG_MS, 'check the log', async () => {
        const { logBytes } = store.stats()
        if (logBytes > LONG_LOG_BYTES) log.write('warn', LONG_LOG, { logBytes })
      }),
    )
  }
  return {
    stop: () => {
      isStopped = true
      timers.forEach(clearInterval)
    },
  }
}

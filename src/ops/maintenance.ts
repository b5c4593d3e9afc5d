import { type Clock, createPatientNow, expiryNow, MINUTE_MS } from '../core/clock.ts'
import type { Log } from './log.ts'

const SAVE_USES_MS = 30_000
const CLEAN_UP_MS = MINUTE_MS
/** How late lifecycle emails go on once fewer emails bounced or were reported as spam. */
const CHECK_BRAKES_MS = MINUTE_MS
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

export type Maintenance = { stop(): void }

type Saved = { save(): Promise<unknown> }
type Forgetful = { forgetIdle(): void }

type Maintained = {
  store: {
    cleanUp(at: { at: number }): Promise<{ deleted: number } | { refusal: string }>
    hasScheduledWork(at: number): Promise<boolean>
    runSchedules(at: { at: number }): Promise<{ hasMore: boolean } | { refusal: string }>
    checkBrakes(at: { at: number }): Promise<{ isMore: boolean } | { refusal: string }>
  }
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
        .catch((error: unknown) => log.write('error', 'maintenance failed', { task: name, reason: String(error) }))
        .finally(() => (isRunning = false))
    }, ms)
  }
  const patientNow = createPatientNow(clock)
  const timers = [
    every(SAVE_USES_MS, 'save key uses', access.saveUses),
    every(SAVE_USES_MS, 'save notes', notes.save),
    every(SAVE_CALLS_MS, 'save calls', calls.save),
    every(SAVE_REQUESTS_MS, 'save requests', requests.save),
    every(SAVE_SIGN_INS_MS, 'save failed sign-ins', () => signInNotes.save()),
    every(CHECK_ALERTS_MS, 'check alerts', monitor.check),
    every(SEND_ALERTS_MS, 'send alerts', monitor.sendDue),
    every(SEND_SUMMARIES_MS, 'send weekly summaries', weeklySummaries.sendDue),
    every(RUN_SCHEDULES_MS, 'run schedules', async () => {
      let hasMore = await store.hasScheduledWork(patientNow())
      while (hasMore) {
        const outcome = await store.runSchedules({ at: patientNow() })
        hasMore = 'hasMore' in outcome && outcome.hasMore
      }
    }),
    every(CLEAN_UP_MS, 'clean up', async () => {
      limits.forgetIdle()
      abuseLimits.forgetIdle()
      snippetLimits.forgetIdle()
      let deleted = 1
      while (deleted > 0) {
        const outcome = await store.cleanUp({ at: expiryNow(clock) })
        deleted = 'deleted' in outcome ? outcome.deleted : 0
      }
    }),
    every(CHECK_BRAKES_MS, 'check brakes', async () => {
      let isMore = true
      while (isMore) {
        const outcome = await store.checkBrakes({ at: clock.now() })
        isMore = 'isMore' in outcome && outcome.isMore
      }
    }),
  ]
  return { stop: () => timers.forEach(clearInterval) }
}

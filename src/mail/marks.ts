/** Writes of the sender about a delivery. Each names its claim and has no effect once the claim is lost. */
import { MINUTE_MS, type Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import {
  type DeliveryWork,
  type DecisionRecord,
  type Marked,
  readRecord,
  whenToGiveUp,
} from '../deliveries/deliveries.ts'

export type MarkDependencies = {
  store: Store
  clock: Clock
  /** unique to this process */
  claimedBy: string
  stopping: AbortSignal
}

/** The end of a claim, for the log. */
export type Delivered = { state: string; reason: string | null }

export const done = (state: string, reason: string | null = null): Delivered => ({ state, reason })

export const claimOf = ({ clock, claimedBy }: MarkDependencies, { delivery }: DeliveryWork) => ({
  id: delivery.id,
  attempt: delivery.attempt,
  claimedBy,
  at: clock.now(),
})

/** `isOfEvent`: only the email's first event is at fault. `isCapturing`: the app has no mail server or no sender address. */
export type Ending = { reason: string; record: DecisionRecord; isOfEvent?: boolean; isCapturing?: boolean }

export async function skip(deps: MarkDependencies, work: DeliveryWork, ending: Ending): Promise<Delivered> {
  const { reason, record, isOfEvent = false, isCapturing = false } = ending
  const skipped = { ...claimOf(deps, work), reason, record: JSON.stringify(record), isOfEvent, isCapturing }
  const marked = await deps.store.markSkipped(skipped)
  return 'refusal' in marked ? done('claimed', marked.refusal) : done('skipped', reason)
}

type Deferral = { reason: string; dueAt: number; record: DecisionRecord }
/** An email that was handed over has no lease, so saving is retried. */
export function defer(
  deps: MarkDependencies,
  work: DeliveryWork,
  { reason, dueAt, record }: Deferral,
): Promise<Delivered> {
  const deferred = { ...claimOf(deps, work), reason, dueAt, record: JSON.stringify(record) }
  return persist(deps, () => deps.store.markDeferred(deferred), done('deferred', reason))
}

/** `record` null: keep the earlier one. */
type Retry = { reason: string; isServerFault: boolean; record: DecisionRecord | null }
/** Backs off by the number of failures since the email was queued or resent by a member. */
export async function retry(deps: MarkDependencies, work: DeliveryWork, { reason, isServerFault, record }: Retry) {
  const now = deps.clock.now()
  const earlier = readRecord(work.delivery)
  const tries = (earlier?.tries ?? 0) + 1
  const counted = { ...(record ?? earlier ?? { at: now, verdicts: [] }), tries }
  const dueAt = now + retryDelay(tries, { isServerFault, spread: spreadOf(work.delivery) })
  if (dueAt <= whenToGiveUp(work)) return defer(deps, work, { reason, dueAt, record: counted })
  return fail(deps, work, { reason, record: counted })
}

export function fail(deps: MarkDependencies, work: DeliveryWork, { reason, record }: Ending): Promise<Delivered> {
  const failed = { ...claimOf(deps, work), reason, record: JSON.stringify(record) }
  return persist(deps, () => deps.store.markFailed(failed), done('failed', reason))
}

export const endOf = (marked: Marked | { refusal: string }, state: string): Delivered => {
  if ('refusal' in marked) return done('claimed', marked.refusal)
  return marked.isMarked ? done(state) : done('withheld', marked.because)
}

const SAVE_AGAIN_MS = 500
/** Tries to save while the process stops. */
const SAVES_AT_STOP = 10
const PASSING = ['unavailable', 'commit_unconfirmed']

/**
 * Saves an outcome that can't be learned again; retries while the disk is full. If that fails, the next process finds
 * the delivery in its earlier state, or `unknown` if it was handed over.
 */
export async function persist(
  { stopping }: MarkDependencies,
  mark: () => Promise<Marked | { done: true } | { refusal: string }>,
  delivered: Delivered,
): Promise<Delivered> {
  for (let savesAtStop = 0; ; savesAtStop += Number(stopping.aborted)) {
    const marked = await mark()
    if (!('refusal' in marked)) return delivered
    if (savesAtStop === SAVES_AT_STOP || !PASSING.includes(marked.refusal)) return done('handed', marked.refusal)
    await Bun.sleep(SAVE_AGAIN_MS)
  }
}

/** By number of failures; then LAST_RETRY_MS. */
export const RETRY_MS = [1, 5, 15, 60, 240].map((minutes) => minutes * MINUTE_MS)
const LAST_RETRY_MS = 480 * MINUTE_MS

/** A failing server isn't the email's fault, so the email doesn't wait for hours once the server is back. */
export const SERVER_RETRY_MS = 15 * MINUTE_MS

/** Emails that failed together are retried up to this share of the delay earlier, so that they don't come at once. */
export const SPREAD = 1 / 5

/** From 0 to under 1, the same whenever it is asked. */
const spreadOf = ({ id, attempt }: DeliveryWork['delivery']): number =>
  (Bun.hash.crc32(`${id} ${attempt}`) % SPREAD_STEPS) / SPREAD_STEPS
const SPREAD_STEPS = 1_000

/** `tries` starts at 1. */
export function retryDelay(
  tries: number,
  { isServerFault, spread }: { isServerFault: boolean; spread: number },
): number {
  const delay = RETRY_MS[tries - 1] ?? LAST_RETRY_MS
  return Math.round((isServerFault ? Math.min(delay, SERVER_RETRY_MS) : delay) * (1 - spread * SPREAD))
}

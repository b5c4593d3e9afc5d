/** What the sender writes about a delivery: always under its claim, so that it means nothing once somebody else holds it. */
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import {
  type DeliveryWork,
  type DecisionRecord,
  type Marked,
  readRecord,
  whenToGiveUp,
} from '../deliveries/deliveries.ts'

export type MarkParts = {
  store: Store
  clock: Clock
  /** who claims; another name than that of any process before */
  claimedBy: string
  /** aborted when the process stops */
  stopping: AbortSignal
}

/** What became of a claim, for the log: the state and why. */
export type Delivered = { state: string; reason: string | null }

export const done = (state: string, reason: string | null = null): Delivered => ({ state, reason })

export const claimOf = ({ clock, claimedBy }: MarkParts, { delivery }: DeliveryWork) => ({
  id: delivery.id,
  attempt: delivery.attempt,
  claimedBy,
  at: clock.now(),
})

/** Why it is over. `isOfEvent`: it is about the first event of the email alone. */
export type Ending = { reason: string; record: DecisionRecord; isOfEvent?: boolean }

export async function skip(parts: MarkParts, work: DeliveryWork, ending: Ending): Promise<Delivered> {
  const { reason, record, isOfEvent = false } = ending
  const skipped = { ...claimOf(parts, work), reason, record: JSON.stringify(record), isOfEvent }
  const marked = await parts.store.markSkipped(skipped)
  return 'refusal' in marked ? done('claimed', marked.refusal) : done('skipped', reason)
}

type Deferral = { reason: string; dueAt: number; record: DecisionRecord }
/** Of what was handed over no lease runs out, so this too is tried until it is written down. */
export function defer(parts: MarkParts, work: DeliveryWork, { reason, dueAt, record }: Deferral): Promise<Delivered> {
  const deferred = { ...claimOf(parts, work), reason, dueAt, record: JSON.stringify(record) }
  return persist(parts, () => parts.store.markDeferred(deferred), done('deferred', reason))
}

/** `record` null: what was judged before stays. */
type Retry = { reason: string; isServerFault: boolean; record: DecisionRecord | null }
/** Later, by how often it failed since it was queued or a member sent it on, until it is given up. */
export async function retry(parts: MarkParts, work: DeliveryWork, { reason, isServerFault, record }: Retry) {
  const now = parts.clock.now()
  const earlier = readRecord(work.delivery)
  const tries = (earlier?.tries ?? 0) + 1
  const counted = { ...(record ?? earlier ?? { at: now, verdicts: [] }), tries }
  const dueAt = now + retryDelay(tries, isServerFault)
  if (dueAt <= whenToGiveUp(work)) return defer(parts, work, { reason, dueAt, record: counted })
  return fail(parts, work, { reason, record: counted })
}

export function fail(parts: MarkParts, work: DeliveryWork, { reason, record }: Ending): Promise<Delivered> {
  const failed = { ...claimOf(parts, work), reason, record: JSON.stringify(record) }
  return persist(parts, () => parts.store.markFailed(failed), done('failed', reason))
}

/** What a hand-over came to: by the store's final check, or because it could not save. */
export const endOf = (marked: Marked | { refusal: string }, state: string): Delivered => {
  if ('refusal' in marked) return done('claimed', marked.refusal)
  return marked.held ? done(state) : done('withheld', marked.because)
}

const SAVE_AGAIN_MS = 500
/** How often while the process stops. */
const SAVES_AT_STOP = 10
const PASSING = ['unavailable', 'commit_unconfirmed']

/**
 * Writes down what cannot be learnt again: while the disk is full it goes on trying. Where the process stops first, or
 * the row itself cannot be written, the next process finds the delivery as it was, and one that was handed over unknown.
 */
export async function persist(
  { stopping }: MarkParts,
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

const MINUTE_MS = 60_000

/** After the first failure, the second and so on; after each one more, LAST_RETRY_MS. */
export const RETRY_MS = [1, 5, 15, 60, 240].map((minutes) => minutes * MINUTE_MS)
const LAST_RETRY_MS = 480 * MINUTE_MS

/** Where the mail server itself fails, no mail is to blame, and none waits for hours after the server is back. */
export const SERVER_RETRY_MS = 15 * MINUTE_MS

/** How long to wait after it failed so many times, from 1. */
export function retryDelay(tries: number, isServerFault: boolean): number {
  const delay = RETRY_MS[tries - 1] ?? LAST_RETRY_MS
  return isServerFault ? Math.min(delay, SERVER_RETRY_MS) : delay
}

import { timingSafeEqual } from 'node:crypto'
import type { MemberRow } from '../store/types.ts'
import { type Clock, DAY_MS, HOUR_MS } from '../core/clock.ts'

/**
 * No wait until `free` failures, then a second, doubled after every `step` more, up to `maxMs`. Forgotten after
 * `quietMs`.
 */
type DelayGrowth = { free: number; step: number; maxMs: number; quietMs: number }

/**
 * Waits stay below 30 seconds, so nobody is locked out. `pair`: one address and account; `address`: one address, all
 * accounts; `account`: one account, all addresses; `known`: browsers that signed in before.
 */
export const SIGN_IN_DELAYS = {
  pair: { free: 5, step: 1, maxMs: 30_000, quietMs: HOUR_MS },
  address: { free: 20, step: 2, maxMs: 10_000, quietMs: HOUR_MS },
  account: { free: 20, step: 5, maxMs: 30_000, quietMs: HOUR_MS },
  known: { free: 10, step: 1, maxMs: 30_000, quietMs: HOUR_MS },
  code: { free: 3, step: 1, maxMs: 30_000, quietMs: HOUR_MS },
  codes: { free: Infinity, step: 1, maxMs: 0, quietMs: DAY_MS },
} as const satisfies Record<string, DelayGrowth>

const MOST_COUNTERS = 100_000

export type TooMany = { refusal: 'too_many_tries'; retryAfterSeconds: number; isKnown: boolean }

export type Bucket = { name: string; growth: DelayGrowth }

/**
 * `own` waits after its own failures. An address new to `shared` waits once, so guessing can't lock others out.
 * `address` bounds one address.
 */
export type Buckets = { own: Bucket; shared?: Bucket; address?: Bucket }

/** `undo`: not made, or right. `right`: also resets `own`. */
export type Try = { undo(): void; right(): void }

type Counter = { wrong: number; triedAt: number; notBefore: number }

const delayOf = ({ free, step, maxMs }: DelayGrowth, wrong: number): number =>
  wrong < free ? 0 : Math.min(maxMs, 1_000 * 2 ** Math.floor((wrong - free) / step))

export type SignInTries = ReturnType<typeof createSignInTries>

/** Counts wrong passwords and codes, and delays the next try. In memory, by the monotonic clock. */
export function createSignInTries({ clock, addressKey }: { clock: Clock; addressKey: string }) {
  const counters = new Map<string, Counter>()

  const find = ({ name, growth }: Bucket): Counter | undefined => {
    const counter = counters.get(name)
    if (!counter || clock.monotonicMs() - counter.triedAt < growth.quietMs) return counter
    counters.delete(name)
    return undefined
  }

  const use = (bucket: Bucket, notBefore = 0): Counter => {
    const triedAt = clock.monotonicMs()
    const counter = find(bucket) ?? { wrong: 0, triedAt, notBefore }
    counters.delete(bucket.name)
    if (counters.size >= MOST_COUNTERS) counters.delete(counters.keys().next().value ?? '')
    counters.set(bucket.name, counter)
    return Object.assign(counter, { triedAt, notBefore })
  }

  const waitOf = (bucket: Bucket): number => {
    const counter = find(bucket)
    if (!counter) return 0
    const { wrong, triedAt, notBefore } = counter
    return Math.max(0, Math.max(notBefore, triedAt + delayOf(bucket.growth, wrong)) - clock.monotonicMs())
  }

  const sharedDelay = (shared?: Bucket): number => (shared ? delayOf(shared.growth, find(shared)?.wrong ?? 0) : 0)

  const waitFor = ({ own, shared, address }: Buckets): number => {
    const wait = Math.max(waitOf(own), address ? waitOf(address) : 0)
    const delay = sharedDelay(shared)
    if (wait > 0 || delay === 0 || find(own)) return wait
    use(own, clock.monotonicMs() + delay)
    return delay
  }

  const forget = (bucket: Bucket | undefined, count: number): void => {
    const counter = bucket && find(bucket)
    if (counter) counter.wrong = Math.max(0, counter.wrong - count)
  }

  /** Proves that a browser signed in with the member's current password. */
  const knownMark = ({ id, passwordHash }: MemberRow): string =>
    new Bun.CryptoHasher('sha256', addressKey).update(`known browser:${id}:${passwordHash}`).digest('hex')

  return {
    knownMark,
    isKnown(member: MemberRow | null, mark: string | null): boolean {
      if (member === null || mark === null || mark.length !== 64) return false
      return timingSafeEqual(Buffer.from(knownMark(member)), Buffer.from(mark))
    },
    /** Counts the try as wrong before the comparison, so that parallel tries count too. */
    begin(buckets: Buckets): Try | { retryAfterSeconds: number } {
      const wait = waitFor(buckets)
      if (wait > 0) return { retryAfterSeconds: Math.ceil(wait / 1_000) }
      const { own, shared, address } = buckets
      for (const bucket of [shared, address]) if (bucket) use(bucket).wrong += 1
      use(own, clock.monotonicMs() + sharedDelay(shared)).wrong += 1
      const undo = (): void => {
        for (const bucket of [own, shared, address]) forget(bucket, 1)
        const counter = find(own)
        if (counter) counter.notBefore = 0
      }
      return {
        undo,
        right(): void {
          undo()
          forget(shared, find(own)?.wrong ?? 0)
          counters.delete(own.name)
        },
      }
    },
    wait: ({ own, address }: Buckets): number => Math.max(waitOf(own), address ? waitOf(address) : 0),
    wrongIn: (bucket: Bucket): number => find(bucket)?.wrong ?? 0,
  }
}

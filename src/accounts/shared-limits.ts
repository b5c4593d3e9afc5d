/** Limits that several instances count together, in the database. */
import type { LimitUse } from '../store/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../core/clock.ts'
import { countedLimit, type Limit, type Limits, MOST_ADDRESSES, roomOf, type Taken } from './limits.ts'

type Seen = { used: number; nextAt: number; roomAt: number }

type Dependencies = { clock: Pick<Clock, 'monotonicMs' | 'now'>; store: Pick<Store, 'onLimitUse' | 'takeToken'> }

const inSeconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1_000))

/**
 * Remembers what the last commits said about limits. A limit that was full stays full until the first of it is returned,
 * so this instance refuses without asking the database again.
 */
export function createSharedLimits({ clock, store }: Dependencies): Limits {
  const seen = new Map<string, Seen>()
  const isOver = ({ nextAt }: Seen): boolean => clock.monotonicMs() >= nextAt

  const forgetIdle = (): void => {
    for (const [bucket, one] of seen) if (isOver(one)) seen.delete(bucket)
  }
  const note = ({ bucket, used, nextMs, roomMs }: LimitUse): void => {
    const now = clock.monotonicMs()
    if (seen.size >= MOST_ADDRESSES) forgetIdle()
    if (seen.size >= MOST_ADDRESSES) seen.clear()
    seen.set(bucket, { used, nextAt: now + nextMs, roomAt: now + roomMs })
  }
  store.onLimitUse?.((uses) => uses.forEach(note))

  const find = (bucket: string): Seen => seen.get(bucket) ?? { used: 0, nextAt: 0, roomAt: 0 }
  const isFull = (one: Seen, { max }: Limit, count: number): boolean => roomOf(max, one.used) < count && !isOver(one)
  const take = (bucket: string, limit: Limit, count = 1): Taken => {
    const [one, now] = [find(bucket), clock.monotonicMs()]
    const isRefused = isFull(one, limit, count)
    return {
      allowed: isRefused ? 0 : count,
      remaining: roomOf(limit.max, one.used),
      resetSeconds: inSeconds(one.nextAt - now),
      retryAfterSeconds: isRefused ? Math.max(1, inSeconds(Math.max(one.nextAt, one.roomAt) - now)) : 0,
      takenAt: now,
    }
  }
  const refuse = (taken: Taken): Taken => ({
    ...taken,
    allowed: 0,
    retryAfterSeconds: Math.max(1, taken.retryAfterSeconds),
  })

  return {
    isShared: true,
    take,
    peek: take,
    async takeAlone(bucket, limit) {
      const known = take(bucket, limit)
      if (known.allowed === 0 || limit.max === Infinity) return known
      const outcome = await store.takeToken({ limit: countedLimit({ bucket, limit }), at: clock.now() })
      const taken = take(bucket, limit)
      return 'refusal' in outcome && outcome.refusal === 'rate_limited' ? refuse(taken) : { ...taken, allowed: 1 }
    },
    giveBack: () => {},
    restore: () => {},
    forgetIdle,
    bucketCount: () => seen.size,
  }
}

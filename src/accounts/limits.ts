import { HOUR_MS } from '../core/clock.ts'
import type { CountedLimit } from '../store/types.ts'
import {
  addTokens,
  createTokenRing,
  dropReturned,
  isIdle,
  listTokens,
  msUntilReturned,
  removeTokens,
  type TokenRing,
} from './token-ring.ts'

/** At most `max` in any sliding window. `max` may be Infinity: not limited, but counted. */
export type Limit = { readonly max: number; readonly windowMs: number }

export type Taken = {
  allowed: number
  remaining: number
  /** 0 while no token is taken. */
  resetSeconds: number
  /** 0 unless something was refused. */
  retryAfterSeconds: number
  takenAt: number
}

export type MonotonicClock = { monotonicMs(): number }

/** Takes before a restart: ages in ms, or [age of the newest, count]. */
export type TakenAgo = readonly (number | readonly [agoMs: number, count: number])[]

export type Limits = {
  /** All instances count together: what a write takes is counted with it, and a take here only refuses what can't fit. */
  isShared: boolean
  /** Takes as many of `count` as fit. Never queues or throws. */
  take(bucket: string, limit: Limit, count?: number, at?: number): Taken
  /** Takes one for something that is not written. */
  takeAlone(bucket: string, limit: Limit): Taken | Promise<Taken>
  peek(bucket: string, limit: Limit): Taken
  /** Undoes a take, for example of an idempotent replay. Without `taken`, returns the newest tokens. */
  giveBack(bucket: string, taken?: Pick<Taken, 'allowed' | 'takenAt'>): void
  restore(bucket: string, limit: Limit, takenAgo: TakenAgo): void
  /** Drops full buckets (3 ms for 200,000). */
  forgetIdle(): void
  bucketCount(): number
}

export const RATE_LIMITS = {
  events: { max: 6_000, windowMs: HOUR_MS },
  contactAdds: { max: 600, windowMs: HOUR_MS },
  addsPerVisitor: { max: 5, windowMs: 600_000 },
  contactUpdates: { max: 6_000, windowMs: HOUR_MS },
} as const satisfies Record<string, Limit>

/** As a write carries it. */
export const countedLimit = ({ bucket, limit: { max, windowMs } }: { bucket: string; limit: Limit }): CountedLimit => ({
  bucket,
  max: max === Infinity ? null : max,
  windowMs,
})

/** The first limit that has no room for `count` more. `usedOf`: undefined if nothing is to be checked. */
export function findFull(
  limits: readonly CountedLimit[],
  usedOf: (bucket: string) => number | undefined,
  count: number,
): CountedLimit | null {
  const isFull = ({ bucket, max }: CountedLimit): boolean => {
    const used = usedOf(bucket)
    return used !== undefined && max !== null && roomOf(max, used) < count
  }
  return limits.find(isFull) ?? null
}

export const roomOf = (max: number, used: number): number => Math.max(0, max - used)

const FIRST_SWEEP_AT = 1_024

/**
 * Sliding-window limits. Each call passes the limit, so a plan change applies at once; a bucket's window must stay the
 * same. A bucket costs about 350 B, plus 8 B per millisecond with tokens.
 */
export function createLimits({
  clock,
  mostBuckets = Infinity,
}: {
  clock: MonotonicClock
  mostBuckets?: number
}): Limits {
  const buckets: Buckets = { rings: new Map(), mostRings: mostBuckets, sweepAt: FIRST_SWEEP_AT }
  return {
    isShared: false,
    take: (bucket, limit, count = 1, at = clock.monotonicMs()) => take(buckets, { bucket, limit, count, at }),
    takeAlone: (bucket, limit) => take(buckets, { bucket, limit, count: 1, at: clock.monotonicMs() }),
    peek: (bucket, limit) => peek(buckets, bucket, limit, clock.monotonicMs()),
    giveBack(bucket, taken) {
      const at = clock.monotonicMs()
      const ring = findRing(buckets, bucket, at)
      if (ring) removeTokens(ring, taken?.takenAt ?? null, taken?.allowed ?? 1, at)
    },
    restore: (bucket, limit, takenAgo) => restore(buckets, { bucket, limit, takenAgo, at: clock.monotonicMs() }),
    forgetIdle: () => dropIdle(buckets, clock.monotonicMs()),
    bucketCount: () => buckets.rings.size,
  }
}

type Buckets = { rings: Map<string, TokenRing>; mostRings: number; sweepAt: number }

const inSeconds = (ms: number): number => Math.ceil(ms / 1_000)

function take(buckets: Buckets, wanted: { bucket: string; limit: Limit; count: number; at: number }): Taken {
  const { bucket, limit, count, at } = wanted
  const ring = findRing(buckets, bucket, at) ?? openRing(buckets, bucket, limit, at)
  const allowed = Math.min(count, remainingIn(ring, limit))
  const takenAt = allowed > 0 ? addTokens(ring, at, allowed) : at
  const retryAfterSeconds = allowed < count ? secondsUntilRoom(ring, limit, at) : 0
  const remaining = remainingIn(ring, limit)
  return { allowed, remaining, resetSeconds: resetSecondsOf(ring, at), retryAfterSeconds, takenAt }
}

function peek(buckets: Buckets, bucket: string, limit: Limit, at: number): Taken {
  const ring = findRing(buckets, bucket, at) ?? createTokenRing(limit.windowMs)
  const allowed = ring.tokens < limit.max ? 1 : 0
  const retryAfterSeconds = allowed === 0 ? secondsUntilRoom(ring, limit, at) : 0
  const remaining = remainingIn(ring, limit)
  return { allowed, remaining, resetSeconds: resetSecondsOf(ring, at), retryAfterSeconds, takenAt: at }
}

const remainingIn = (ring: TokenRing, limit: Limit): number => roomOf(limit.max, ring.tokens)

const resetSecondsOf = (ring: TokenRing, at: number): number => inSeconds(msUntilReturned(ring, 1, at))

const secondsUntilRoom = (ring: TokenRing, limit: Limit, at: number): number =>
  inSeconds(limit.max < 1 ? limit.windowMs : msUntilReturned(ring, ring.tokens - limit.max + 1, at))

function findRing(buckets: Buckets, bucket: string, at: number): TokenRing | undefined {
  const ring = buckets.rings.get(bucket)
  if (ring) dropReturned(ring, at)
  return ring
}

function openRing(buckets: Buckets, bucket: string, limit: Limit, at: number): TokenRing {
  if (buckets.rings.size >= buckets.sweepAt) dropIdle(buckets, at)
  if (buckets.rings.size >= buckets.mostRings) dropOldest(buckets)
  const ring = createTokenRing(limit.windowMs)
  buckets.rings.set(bucket, ring)
  return ring
}

type Restored = { bucket: string; limit: Limit; takenAgo: TakenAgo; at: number }

/** Adds takes of an earlier process. Ages in the future count as now. */
function restore(buckets: Buckets, { bucket, limit, takenAgo, at }: Restored): void {
  const tokens: [number, number][] = []
  for (const ago of takenAgo) {
    const [agoMs, count] = typeof ago === 'number' ? [ago, 1] : ago
    if (!(agoMs >= limit.windowMs)) tokens.push([at - (agoMs > 0 ? agoMs : 0), count])
  }
  if (tokens.length === 0) return
  const ring = findRing(buckets, bucket, at) ?? openRing(buckets, bucket, limit, at)
  const all = [...listTokens(ring, at), ...tokens].sort(([a], [b]) => a - b)
  const restored = createTokenRing(limit.windowMs)
  for (const [takenAt, count] of all) addTokens(restored, takenAt, count)
  dropReturned(restored, at)
  buckets.rings.set(bucket, restored)
}

function dropIdle(buckets: Buckets, at: number): void {
  for (const [bucket, ring] of buckets.rings) if (isIdle(ring, at)) buckets.rings.delete(bucket)
  buckets.sweepAt = Math.max(FIRST_SWEEP_AT, buckets.rings.size * 2)
}

/** Drops an eighth at once: one at a time would walk over the map's holes. */
function dropOldest(buckets: Buckets): void {
  let excess = buckets.rings.size - Math.floor(buckets.mostRings * 0.875)
  for (const bucket of buckets.rings.keys()) {
    if (excess-- <= 0) return
    buckets.rings.delete(bucket)
  }
}

/** 35 MB. Someone with more addresses than this isn't stopped by one more. */
export const MOST_ADDRESSES = 100_000

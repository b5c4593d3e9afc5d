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

/** At most `max` in any window of `windowMs`, wherever it begins. `max` may be Infinity: lifted, but still counted. */
export type Limit = { readonly max: number; readonly windowMs: number }

export type Taken = {
  /** How many of those asked for were let through: of a batch, the first so many. */
  allowed: number
  /** How many more would be let through now; Infinity where the limit is lifted. */
  remaining: number
  /** Seconds, rounded up, until the oldest token returns; 0 while none is taken. */
  resetSeconds: number
  /** Seconds, rounded up, until one more would be let through; 0 unless something was refused. */
  retryAfterSeconds: number
  /** Monotonic milliseconds of this take, by which `giveBack` finds it. */
  takenAt: number
}

/** Time that only goes forward, in whole milliseconds since any beginning. A wall clock that is set does not move it. */
export type MonotonicClock = { monotonicMs(): number }

/** Takes that were made before a restart: ages in milliseconds, or [age of the newest, how many]. */
export type TakenAgo = readonly (number | readonly [agoMs: number, count: number])[]

export type Limits = {
  /** Takes as many of `count` (1) as fit, at the monotonic time `at` (now). Nothing is queued, nothing is thrown. */
  take(bucket: string, limit: Limit, count?: number, at?: number): Taken
  /** What a take of one would answer, without taking. */
  peek(bucket: string, limit: Limit): Taken
  /** Undoes a take, exactly where it is given, else the newest token: for what turns out to be an idempotent replay. */
  giveBack(bucket: string, taken?: Pick<Taken, 'allowed' | 'takenAt'>): void
  /** At start: adds the takes that the store remembers. They return when they would have, or up to 1 ms later. */
  restore(bucket: string, limit: Limit, takenAgo: TakenAgo): void
  /** Drops the buckets whose tokens have all come back: 3 ms for 200,000. */
  forgetIdle(): void
  bucketCount(): number
}

const HOUR_MS = 3_600_000

/** What the specification lets through: per key, but for `addsPerVisitor`, which is per app and visitor IP. */
export const RATE_LIMITS = {
  events: { max: 6_000, windowMs: HOUR_MS },
  contactAdds: { max: 600, windowMs: HOUR_MS },
  addsPerVisitor: { max: 5, windowMs: 600_000 },
  contactUpdates: { max: 6_000, windowMs: HOUR_MS },
} as const satisfies Record<string, Limit>

const FIRST_SWEEP_AT = 1_024

/**
 * Counts takes in named buckets whose tokens come back exactly one window after they were taken.
 * A limit is passed with every call, so a plan that raises or lowers it holds from the next call on, and what was taken
 * stays counted. The window of a bucket must stay the same. A call without `at` reads the monotonic clock.
 *
 * Memory: a bucket costs about 350 B, and 8 B for each millisecond whose tokens have not yet returned, at most 1 MB
 * (token-ring.ts).
 * Idle buckets are dropped by `forgetIdle`, and by themselves whenever their number has doubled, so there are never
 * more than twice those used within one window (or 1,024). Where callers can make up names, such as addresses, that is
 * still without end: give `mostBuckets`, beyond which the oldest go, and their tokens with them.
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
    take: (bucket, limit, count = 1, at = clock.monotonicMs()) => take(buckets, { bucket, limit, count, at }),
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

/**
 * The headers of a call that was counted, let through or not. A lifted limit has none: no number would
 * be true, and a client that finds no limit announced does not hold itself back.
 */
export function rateLimitHeaders(limit: Limit, taken: Taken): Record<string, string> {
  if (limit.max === Infinity) return {}
  return {
    'RateLimit-Limit': String(limit.max),
    'RateLimit-Remaining': String(taken.remaining),
    'RateLimit-Reset': String(taken.resetSeconds),
    'RateLimit-Policy': `${limit.max};w=${inSeconds(limit.windowMs)}`,
  }
}

type Buckets = { rings: Map<string, TokenRing>; mostRings: number; sweepAt: number }

const inSeconds = (ms: number): number => Math.ceil(ms / 1_000)

function take(buckets: Buckets, wanted: { bucket: string; limit: Limit; count: number; at: number }): Taken {
  const { bucket, limit, count, at } = wanted
  const ring = findRing(buckets, bucket, at) ?? openRing(buckets, bucket, limit, at)
  const allowed = Math.min(count, Math.max(0, limit.max - ring.tokens))
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

const remainingIn = (ring: TokenRing, limit: Limit): number => Math.max(0, limit.max - ring.tokens)

const resetSecondsOf = (ring: TokenRing, at: number): number => inSeconds(msUntilReturned(ring, 1, at))

/** A limit of nothing never has room; a whole window is as good an answer as any. */
const secondsUntilRoom = (ring: TokenRing, limit: Limit, at: number): number =>
  inSeconds(limit.max < 1 ? limit.windowMs : msUntilReturned(ring, ring.tokens - limit.max + 1, at))

/** The bucket's ring with what has come back dropped. */
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

/** Puts the takes of an earlier process beside what was taken since. An age that lies in the future counts as now. */
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

/** An eighth at once: one at a time would walk over the holes that the last ones left in the map. */
function dropOldest(buckets: Buckets): void {
  let excess = buckets.rings.size - Math.floor(buckets.mostRings * 0.875)
  for (const bucket of buckets.rings.keys()) {
    if (excess-- <= 0) return
    buckets.rings.delete(bucket)
  }
}

/** Addresses remembered at once, 35 MB of them. Who has more than these to call from is not held up by one more. */
export const MOST_ADDRESSES = 100_000

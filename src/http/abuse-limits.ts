import { MOST_ADDRESSES, createLimits, type Limit, type Limits, type MonotonicClock } from '../accounts/limits.ts'
import { addressBucket } from '../core/addresses.ts'
import { type Clock, MINUTE_MS } from '../core/clock.ts'
import { type Refusal, refuseLimited } from '../core/refusals.ts'

/** Per minute: refused requests of a key, and requests of an address without a valid key. */
export const ABUSE_LIMITS = {
  key: { max: 600, windowMs: MINUTE_MS },
  address: { max: 1_200, windowMs: MINUTE_MS },
} as const satisfies Record<string, Limit>

export type AbuseLimits = {
  /** See `countsAsAbuse` for which ones count. */
  countRefusal(keyId: string): void
  checkKey(key: { id: string; name: string }): Refusal | null
  countWithoutKey(address: string): void
  /** Replaces the 401; null below the limit. */
  checkAddress(address: string): Refusal | null
  forgetIdle(): void
  addressCount(): number
}

/**
 * Bounds requests refused before any hourly limit. A valid key is blocked by its own refusals only, never by others
 * behind its address. At most 100,000 addresses are remembered; an IPv6 /64 counts as one.
 */
export function createAbuseLimits({ clock }: { clock: MonotonicClock & Pick<Clock, 'now'> }): AbuseLimits {
  const addresses = createLimits({ clock, mostBuckets: MOST_ADDRESSES })
  const keys = createLimits({ clock })
  const retryAfterOf = (limits: Limits, bucket: string, limit: Limit): number => {
    if (limits.bucketCount() === 0) return 0
    const { allowed, retryAfterSeconds } = limits.peek(bucket, limit)
    return allowed > 0 ? 0 : retryAfterSeconds
  }
  return {
    countRefusal: (keyId) => void keys.take(keyId, ABUSE_LIMITS.key),
    checkKey(key) {
      const retryAfter = retryAfterOf(keys, key.id, ABUSE_LIMITS.key)
      if (retryAfter === 0) return null
      const { max: limit } = ABUSE_LIMITS.key
      return refuseLimited({ name: 'refused_requests_per_minute', key, limit, retryAfter, at: clock.now() })
    },
    countWithoutKey: (address) => void addresses.take(addressBucket(address), ABUSE_LIMITS.address),
    checkAddress(address) {
      const retryAfter = retryAfterOf(addresses, addressBucket(address), ABUSE_LIMITS.address)
      if (retryAfter === 0) return null
      const { max: limit } = ABUSE_LIMITS.address
      return refuseLimited({
        name: 'requests_without_key_per_minute',
        key: null,
        address: addressBucket(address),
        limit,
        retryAfter,
        at: clock.now(),
      })
    },
    forgetIdle() {
      addresses.forgetIdle()
      keys.forgetIdle()
    },
    addressCount: addresses.bucketCount,
  }
}

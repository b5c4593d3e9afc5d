import { foldAddress, UNKNOWN_ADDRESS } from './addresses.ts'
import { createLimits, type Limit, type Limits, type MonotonicClock } from './limits.ts'

/** Refused requests in any minute, per address and per key (api.md, Errors). */
export const FLOOD_LIMITS = {
  ip: { max: 1_200, windowMs: 60_000 },
  key: { max: 600, windowMs: 60_000 },
} as const satisfies Record<string, Limit>

/** Addresses remembered at once, 35 MB of them. Who has more than these to call from is not held up by one more. */
export const MOST_ADDRESSES = 100_000

/** As in `Refusal.limited`: whose limit it is, how many it lets through, and the seconds until the next may come. */
export type Flooded = { scope: 'ip' | 'key'; limit: number; retryAfter: number }

export type FloodGuard = {
  countRefusal(address: string, keyId: string): void
  check(address: string, keyId: string): Flooded | null
  /** Whether anyone was refused of late: without that, nothing needs to be asked. */
  isQuiet(): boolean
  forgetIdle(): void
  addressCount(): number
}

/**
 * Bounds the requests that are refused before any hourly limit sees them (api.md, Errors). Count what `isEarlyRefusal`
 * says; check right after the key: above the limit, even a good request waits until the oldest refusal is a minute old.
 * `address` is what `clientAddress` answers.
 *
 * Without a key a request is a 401 whatever came before, so it is not counted: a stranger behind the same address, or
 * behind a proxy that nobody declared as trusted, cannot shut customers out.
 *
 * Memory: at most 100,000 addresses, the oldest going first, and 4 B for each refusal of the last minute; keys are few.
 */
export function createFloodGuard({ clock }: { clock: MonotonicClock }): FloodGuard {
  const addresses = createLimits({ clock, mostBuckets: MOST_ADDRESSES })
  const keys = createLimits({ clock })
  return {
    countRefusal(address, keyId) {
      addresses.take(bucketOf(address), FLOOD_LIMITS.ip)
      keys.take(keyId, FLOOD_LIMITS.key)
    },
    check(address, keyId) {
      const byAddress = readFlood(addresses, bucketOf(address), 'ip')
      const byKey = readFlood(keys, keyId, 'key')
      // The longer wait, so that nobody who waited for it is told to wait again.
      return byAddress && byKey && byKey.retryAfter < byAddress.retryAfter ? byAddress : (byKey ?? byAddress)
    },
    isQuiet: () => addresses.bucketCount() === 0,
    forgetIdle() {
      addresses.forgetIdle()
      keys.forgetIdle()
    },
    addressCount: addresses.bucketCount,
  }
}

const bucketOf = (address: string): string => foldAddress(address) ?? UNKNOWN_ADDRESS

function readFlood(limits: Limits, bucket: string, scope: 'ip' | 'key'): Flooded | null {
  const { allowed, retryAfterSeconds } = limits.peek(bucket, FLOOD_LIMITS[scope])
  return allowed > 0 ? null : { scope, limit: FLOOD_LIMITS[scope].max, retryAfter: retryAfterSeconds }
}

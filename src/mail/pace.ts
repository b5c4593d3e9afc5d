/** How many mails an app sends in a second. */

export const PER_SECOND = 100

type Bucket = { tokens: number; at: number; perSecond: number }

/**
 * A bucket for each app that fills by itself. What was claimed is sent, so a bucket may be overdrawn by what is in the
 * air; then its app waits that much longer.
 */
export function createPace({ monotonicMs }: { monotonicMs: () => number }) {
  const buckets = new Map<number, Bucket>()

  const refill = (bucket: Bucket): Bucket => {
    const at = monotonicMs()
    const gained = ((at - bucket.at) / 1000) * bucket.perSecond
    return Object.assign(bucket, { tokens: Math.min(bucket.perSecond, bucket.tokens + gained), at })
  }

  return {
    spend(appId: number, perSecond: number | null): void {
      const rate = perSecond ?? PER_SECOND
      const bucket = buckets.get(appId) ?? { tokens: rate, at: monotonicMs(), perSecond: rate }
      buckets.set(appId, bucket)
      refill(bucket).perSecond = rate
      bucket.tokens -= 1
    },
    /** Apps that must wait, and how long it takes until the first of them may send again (ms). */
    listWaiting(): { appIds: number[]; waitMs: number } {
      const waiting = Array.from(buckets).filter(([, bucket]) => refill(bucket).tokens < 1)
      const waits = waiting.map(([, { tokens, perSecond }]) => ((1 - tokens) / perSecond) * 1000)
      return { appIds: waiting.map(([appId]) => appId), waitMs: waits.length === 0 ? 0 : Math.min(...waits) }
    },
  }
}

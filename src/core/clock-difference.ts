/** How far this machine's clock is ahead (ms) of that of the database, which all instances share. Negative: behind. */
import { MINUTE_MS } from './clock.ts'
import { formatDuration } from './format-time.ts'

/** Synchronized clocks differ by much less. */
const NOTICED_MS = 2_000
/** Two instances then differ by less than the order of ids allows for (LATE_IDS). */
const MOST_MS = 5_000

export const isClockNoticed = (aheadMs: number): boolean => Math.abs(aheadMs) > NOTICED_MS
/** Between two clocks. What depends on the order of ids and on due times would go wrong. */
export const isTooFar = (differenceMs: number): boolean => Math.abs(differenceMs) > MOST_MS

/** "3 seconds ahead of the database server's" */
export function describeDifference(aheadMs: number): string {
  const ms = Math.abs(aheadMs)
  const text = ms < 2 * MINUTE_MS ? `${Math.round(ms / 1_000)} seconds` : formatDuration(ms)
  return `${text} ${aheadMs > 0 ? 'ahead of' : 'behind'} the database server's`
}

/** `there`: the database's time, asked for at `before` and known at `after`, between which it may have been read at any time. */
export function compareClock(there: number, { before, after }: { before: number; after: number }): number {
  if (there < before) return before - there
  return there > after ? after - there : 0
}

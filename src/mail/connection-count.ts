/** How many connections a mail server accepts at a time, learned from those it refuses. Times are ms of one clock. */

/** `most` null: no refusal yet. From `growAt` on, one more is tried, and `waitMs` later the next one. */
export type ConnectionCount = { most: number | null; learnedAt: number; growAt: number; waitMs: number }

export const UNLIMITED: ConnectionCount = { most: null, learnedAt: 0, growAt: 0, waitMs: 0 }

const FIRST_WAIT_MS = 500
/** A limit that was confirmed again and again is tried this seldom. */
const LAST_WAIT_MS = 300_000

/** @returns how many may be open now, at most `limit` */
export function countAllowed({ most, growAt }: ConnectionCount, { at, limit }: { at: number; limit: number }): number {
  if (most === null) return limit
  return Math.min(limit, at >= growAt ? most + 1 : most)
}

/** `others`: open, or being opened, when the server refused one more. */
export function noteRefused(count: ConnectionCount, { others, at }: { others: number; at: number }): ConnectionCount {
  const most = Math.max(1, others)
  const isConfirmed = count.most !== null && most >= count.most
  const waitMs = isConfirmed ? Math.min(2 * count.waitMs, LAST_WAIT_MS) : FIRST_WAIT_MS
  return { most, learnedAt: most === count.most ? count.learnedAt : at, growAt: at + waitMs, waitMs }
}

/** `open`: including the one that the server just accepted. */
export function noteOpened(
  count: ConnectionCount,
  { open, at, limit }: { open: number; at: number; limit: number },
): ConnectionCount {
  if (count.most === null || open <= count.most) return count
  if (open >= limit) return UNLIMITED
  return { most: open, learnedAt: at, growAt: at + FIRST_WAIT_MS, waitMs: FIRST_WAIT_MS }
}

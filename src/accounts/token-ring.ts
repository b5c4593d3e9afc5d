/**
 * The tokens of one bucket in the order they were taken, as a ring of 32-bit stamps (4 B a token, 24 KB for 6,000)
 * that grows by doubling, so that a bucket which is hardly used costs little.
 *
 * A stamp is the monotonic millisecond modulo 2^32. That is right for years, although 2^32 ms are 49.7 days: whatever
 * is left over from before the last window is dropped by `latestAt`, which is a whole number and not a stamp, so every
 * stamp that is compared is less than two windows old, and two windows of at most 2^30 ms fit a signed 32-bit difference.
 *
 * With `counts`, an entry is a slot: all tokens taken within `slotMs` of its first, and they come back together when
 * the last of them does. That errs on the strict side, by one slot at most, and bounds the ring whatever the limit is.
 */
export type TokenRing = {
  stamps: Uint32Array
  /** Tokens in each slot, or null where every entry is one token. */
  counts: Uint32Array | null
  head: number
  /** Entries in use, from `head` on. */
  entries: number
  /** Tokens in these entries. */
  tokens: number
  /** Monotonic milliseconds of the latest token, not wrapped. */
  latestAt: number
  /** When the newest slot was begun. */
  slotStartAt: number
  windowMs: number
}

/** The longest window whose stamps can be told apart: 12.4 days. */
const LONGEST_WINDOW_MS = 2 ** 30
/** An hour's slot is a second. A ring in slots never needs more than two entries beyond these. */
export const SLOTS_PER_WINDOW = 3_600

const FIRST_ENTRIES = 4

/** An empty ring. Throws a RangeError for a window of more than 2^30 ms. */
export function createTokenRing(windowMs: number, inSlots: boolean): TokenRing {
  if (!(windowMs > 0 && windowMs <= LONGEST_WINDOW_MS))
    throw new RangeError(`windowMs must be 1 to ${LONGEST_WINDOW_MS}`)
  const stamps = new Uint32Array(FIRST_ENTRIES)
  const counts = inSlots ? new Uint32Array(FIRST_ENTRIES) : null
  return { stamps, counts, head: 0, entries: 0, tokens: 0, latestAt: -Infinity, slotStartAt: -Infinity, windowMs }
}

/** Drops what was taken a whole window or more before `at`. */
export function dropReturned(ring: TokenRing, at: number): void {
  if (isIdle(ring, at)) {
    ring.entries = 0
    ring.tokens = 0
    return
  }
  while (ring.entries > 0 && ageOf(ring, 0, at) >= ring.windowMs) {
    ring.tokens -= countOf(ring, 0)
    ring.head = placeOf(ring, 1)
    ring.entries--
  }
}

/** Whether every token has come back. Unlike the entries, this can be asked after any length of time. */
export const isIdle = (ring: TokenRing, at: number): boolean =>
  ring.tokens === 0 || Math.floor(at) - ring.latestAt >= ring.windowMs

/**
 * Adds `count` tokens taken at `at` and answers the whole millisecond they are stamped with: never before the latest
 * one, and rounded up, so that a clock of fractions errs on the strict side. Call `dropReturned` first. A ring of single
 * tokens grows no further than `most` entries until it has to.
 */
export function addTokens(ring: TokenRing, at: number, count: number, most: number): number {
  const stamp = Math.max(Math.ceil(at), ring.latestAt)
  ring.latestAt = stamp
  ring.tokens += count
  if (ring.counts) addToSlot(ring, stamp, count)
  else for (let i = 0; i < count; i++) push(ring, stamp, most)
  return stamp
}

/** Takes `count` tokens stamped `stamp` (null: as the newest is) out again. Those that have come back by themselves meanwhile stay gone. */
export function removeTokens(ring: TokenRing, stamp: number | null, count: number, at: number): void {
  const age = stamp === null ? ageOf(ring, ring.entries - 1, at) : Math.floor(at) - stamp
  if (age >= ring.windowMs) return
  let entry = ring.entries
  while (entry > 0 && ageOf(ring, entry - 1, at) <= age) entry--
  if (entry === ring.entries) return
  const fewer = Math.min(count, ring.counts ? countOf(ring, entry) : ring.entries - entry)
  ring.tokens -= fewer
  if (!ring.counts) return removeEntries(ring, entry, fewer)
  const left = countOf(ring, entry) - fewer
  ring.counts[placeOf(ring, entry)] = left
  if (left === 0) removeEntries(ring, entry, 1)
}

/** Milliseconds until the `needed` oldest tokens have come back (1 = the oldest alone); 0 where there are not as many. */
export function msUntilReturned(ring: TokenRing, needed: number, at: number): number {
  if (needed < 1 || needed > ring.tokens) return 0
  let entry = needed - 1
  if (ring.counts) {
    entry = 0
    for (let returned = countOf(ring, 0); returned < needed; returned += countOf(ring, entry)) entry++
  }
  return Math.min(ring.windowMs, ring.windowMs - ageOf(ring, entry, at))
}

/** All tokens, oldest first, as [monotonic ms, count]: what is needed to build another ring of them. */
export function listTokens(ring: TokenRing, at: number): [number, number][] {
  const now = Math.floor(at)
  return Array.from({ length: ring.entries }, (_, entry) => [now - ageOf(ring, entry, at), countOf(ring, entry)])
}

function placeOf(ring: TokenRing, entry: number): number {
  const place = ring.head + entry
  return place < ring.stamps.length ? place : place - ring.stamps.length
}

/** Whole milliseconds since the entry was stamped: -1 at the least, by the rounding of a clock of fractions. */
const ageOf = (ring: TokenRing, entry: number, at: number): number =>
  (Math.floor(at) - (ring.stamps[placeOf(ring, entry)] ?? 0)) | 0

const countOf = (ring: TokenRing, entry: number): number => (ring.counts ? (ring.counts[placeOf(ring, entry)] ?? 0) : 1)

function addToSlot(ring: TokenRing, stamp: number, count: number): void {
  const slotMs = Math.ceil(ring.windowMs / SLOTS_PER_WINDOW)
  if (ring.entries === 0 || stamp - ring.slotStartAt >= slotMs) {
    ring.slotStartAt = stamp
    push(ring, stamp, Infinity)
  }
  const place = placeOf(ring, ring.entries - 1)
  ring.stamps[place] = stamp
  if (ring.counts) ring.counts[place] = (ring.counts[place] ?? 0) + count
}

function push(ring: TokenRing, stamp: number, most: number): void {
  if (ring.entries === ring.stamps.length) grow(ring, most)
  const place = placeOf(ring, ring.entries)
  ring.stamps[place] = stamp
  if (ring.counts) ring.counts[place] = 0
  ring.entries++
}

function grow(ring: TokenRing, most: number): void {
  const { length } = ring.stamps
  const longer = length < most && most < length * 2 ? most : length * 2
  ring.stamps = unroll(ring.stamps, ring.head, longer)
  if (ring.counts) ring.counts = unroll(ring.counts, ring.head, longer)
  ring.head = 0
}

/** A longer copy in which the entry at `head` comes first. */
function unroll(full: Uint32Array, head: number, length: number): Uint32Array {
  const copy = new Uint32Array(length)
  copy.set(full.subarray(head))
  copy.set(full.subarray(0, head), full.length - head)
  return copy
}

function removeEntries(ring: TokenRing, first: number, count: number): void {
  for (let entry = first; entry + count < ring.entries; entry++) {
    const [to, from] = [placeOf(ring, entry), placeOf(ring, entry + count)]
    ring.stamps[to] = ring.stamps[from] ?? 0
    if (ring.counts) ring.counts[to] = ring.counts[from] ?? 0
  }
  ring.entries -= count
  ring.slotStartAt = -Infinity
}

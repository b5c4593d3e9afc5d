/**
 * The tokens of one bucket in the order they were taken: a ring of stamps with the number of tokens taken then (8 B an
 * entry). It grows by doubling, so that a bucket which is hardly used costs little.
 *
 * A stamp is the monotonic millisecond modulo 2^32. That is right for years, although 2^32 ms are 49.7 days: whatever
 * is left over from before the last window is dropped by `latestAt`, which is a whole number and not a stamp, so every
 * stamp that is compared is less than two windows old, and two windows of at most 2^30 ms fit a signed 32-bit difference.
 *
 * An entry holds what was taken within `slotMs` of its first token, and comes back when the last of it does. A slot is one
 * millisecond, so that tokens come back exactly, until more than `mostEntries` would be needed; then it doubles, which
 * errs on the strict side by two slots at most.
 */
export type TokenRing = {
  stamps: Uint32Array
  counts: Uint32Array
  head: number
  /** Entries in use, from `head` on. */
  entries: number
  mostEntries: number
  /** Tokens in these entries. */
  tokens: number
  /** Monotonic milliseconds of the latest token, not wrapped. */
  latestAt: number
  slotMs: number
  /** When the newest slot was begun. */
  slotStartAt: number
  windowMs: number
}

/** The longest window whose stamps can be told apart: 12.4 days. */
const LONGEST_WINDOW_MS = 2 ** 30
/** 1 MB; no limit up to here needs slots of more than a millisecond. */
const MOST_ENTRIES = 2 ** 17
const FIRST_ENTRIES = 4

/** An empty ring. Throws a RangeError for a window of more than 2^30 ms. */
export function createTokenRing(windowMs: number, mostEntries = MOST_ENTRIES): TokenRing {
  if (!(windowMs > 0 && windowMs <= LONGEST_WINDOW_MS))
    throw new RangeError(`windowMs must be 1 to ${LONGEST_WINDOW_MS}`)
  return {
    stamps: new Uint32Array(FIRST_ENTRIES),
    counts: new Uint32Array(FIRST_ENTRIES),
    head: 0,
    entries: 0,
    mostEntries,
    tokens: 0,
    latestAt: -Infinity,
    slotMs: 1,
    slotStartAt: -Infinity,
    windowMs,
  }
}

/** Drops what was taken a whole window or more before `at`. */
export function dropReturned(ring: TokenRing, at: number): void {
  if (isIdle(ring, at)) {
    ring.entries = 0
    ring.tokens = 0
    ring.slotMs = 1
    ring.slotStartAt = -Infinity
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
 * one, and rounded up, so that a clock of fractions errs on the strict side. Call `dropReturned` first.
 */
export function addTokens(ring: TokenRing, at: number, count: number): number {
  const stamp = Math.max(Math.ceil(at), ring.latestAt)
  if (count < 1) return stamp
  ring.latestAt = stamp
  ring.tokens += count
  if (ring.entries === 0 || stamp - ring.slotStartAt >= ring.slotMs) pushEntry(ring, stamp)
  const place = placeOf(ring, ring.entries - 1)
  ring.stamps[place] = stamp
  ring.counts[place] = (ring.counts[place] ?? 0) + count
  return stamp
}

/** Takes `count` tokens stamped `stamp` (null: as the newest is) out again. Those that have come back by themselves meanwhile stay gone. */
export function removeTokens(ring: TokenRing, stamp: number | null, count: number, at: number): void {
  const age = stamp === null ? ageOf(ring, ring.entries - 1, at) : Math.floor(at) - stamp
  if (age >= ring.windowMs) return
  let entry = ring.entries
  while (entry > 0 && ageOf(ring, entry - 1, at) <= age) entry--
  if (entry === ring.entries) return
  const left = Math.max(0, countOf(ring, entry) - count)
  ring.tokens -= countOf(ring, entry) - left
  ring.counts[placeOf(ring, entry)] = left
  if (left === 0) removeEntry(ring, entry)
}

/** Milliseconds until the `needed` oldest tokens have come back (1 = the oldest alone); 0 where there are not as many. */
export function msUntilReturned(ring: TokenRing, needed: number, at: number): number {
  if (needed < 1 || needed > ring.tokens) return 0
  let entry = 0
  for (let returned = countOf(ring, 0); returned < needed; returned += countOf(ring, entry)) entry++
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

const countOf = (ring: TokenRing, entry: number): number => ring.counts[placeOf(ring, entry)] ?? 0

/** An entry that holds nothing yet. */
function pushEntry(ring: TokenRing, stamp: number): void {
  if (ring.entries === ring.mostEntries) widenSlots(ring)
  if (ring.entries === ring.stamps.length) grow(ring)
  ring.slotStartAt = stamp
  ring.counts[placeOf(ring, ring.entries)] = 0
  ring.entries++
}

/** Joins neighbours until half of the ring is free. */
function widenSlots(ring: TokenRing): void {
  while (ring.entries > ring.mostEntries / 2) {
    ring.slotMs *= 2
    const { entries } = ring
    let slotStart = ring.stamps[ring.head] ?? 0
    ring.entries = 1
    for (let entry = 1; entry < entries; entry++) {
      const from = placeOf(ring, entry)
      const [stamp, count] = [ring.stamps[from] ?? 0, ring.counts[from] ?? 0]
      const isJoined = ((stamp - slotStart) | 0) < ring.slotMs
      if (!isJoined) [slotStart, ring.entries] = [stamp, ring.entries + 1]
      const to = placeOf(ring, ring.entries - 1)
      ring.stamps[to] = stamp
      ring.counts[to] = count + (isJoined ? (ring.counts[to] ?? 0) : 0)
    }
  }
}

function grow(ring: TokenRing): void {
  ring.stamps = unroll(ring.stamps, ring.head)
  ring.counts = unroll(ring.counts, ring.head)
  ring.head = 0
}

/** A copy of twice the length in which the entry at `head` comes first. */
function unroll(full: Uint32Array, head: number): Uint32Array {
  const copy = new Uint32Array(full.length * 2)
  copy.set(full.subarray(head))
  copy.set(full.subarray(0, head), full.length - head)
  return copy
}

function removeEntry(ring: TokenRing, removed: number): void {
  for (let entry = removed; entry + 1 < ring.entries; entry++) {
    const [to, from] = [placeOf(ring, entry), placeOf(ring, entry + 1)]
    ring.stamps[to] = ring.stamps[from] ?? 0
    ring.counts[to] = ring.counts[from] ?? 0
  }
  ring.entries--
  ring.slotStartAt = -Infinity
}

/**
 * A ring of (stamp, count) entries, 8 B each. A stamp is the monotonic ms modulo 2^32; `latestAt` is not wrapped and
 * drops older windows.
 */
export type TokenRing = {
  stamps: Uint32Array
  counts: Uint32Array
  head: number
  entries: number
  mostEntries: number
  tokens: number
  latestAt: number
  slotMs: number
  slotStartAt: number
  windowMs: number
}

/** 12.4 days: longer windows would make stamps ambiguous. */
const LONGEST_WINDOW_MS = 2 ** 30
const MOST_ENTRIES = 2 ** 17
const FIRST_ENTRIES = 4

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

/** Drops tokens that are a whole window old at `at`. */
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

/** Valid after any length of time, unlike the entries. */
export const isIdle = (ring: TokenRing, at: number): boolean =>
  ring.tokens === 0 || Math.floor(at) - ring.latestAt >= ring.windowMs

/** Returns the stamp: rounded up and never before the latest one. Call `dropReturned` first. */
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

/** Removes tokens with this stamp (null: the newest). Returned ones stay returned. */
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

export function msUntilReturned(ring: TokenRing, needed: number, at: number): number {
  if (needed < 1 || needed > ring.tokens) return 0
  let entry = 0
  for (let returned = countOf(ring, 0); returned < needed; returned += countOf(ring, entry)) entry++
  return Math.min(ring.windowMs, ring.windowMs - ageOf(ring, entry, at))
}

export function listTokens(ring: TokenRing, at: number): [number, number][] {
  const now = Math.floor(at)
  return Array.from({ length: ring.entries }, (_, entry) => [now - ageOf(ring, entry, at), countOf(ring, entry)])
}

function placeOf(ring: TokenRing, entry: number): number {
  const place = ring.head + entry
  return place < ring.stamps.length ? place : place - ring.stamps.length
}

/** -1 at least, by the rounding of fractional clocks. */
const ageOf = (ring: TokenRing, entry: number, at: number): number =>
  (Math.floor(at) - (ring.stamps[placeOf(ring, entry)] ?? 0)) | 0

const countOf = (ring: TokenRing, entry: number): number => ring.counts[placeOf(ring, entry)] ?? 0

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

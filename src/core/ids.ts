/**
 * People and events have integer ids inside (8 B per row and index; texts cost 20 B) and prefixed, time-ordered texts
 * outside. Rare things have text ids only.
 */
import { MAX_OCCURRED_AHEAD_MS } from './field-limits.ts'

/** 2026-01-01T00:00:00Z; 40 bits of ms last until 2060. */
const EPOCH_MS = 1_767_225_600_000
/** 13 bits below the ms: 9 for a counter, 4 for the number of the instance. */
const PER_MS = 8192
const STEP = 16
/** From 0, one less than the instances that can run at once. */
export const LAST_INSTANCE = STEP - 1
/** 36^11 > 2^53, so text order is number order. */
const DIGITS = 11

export type IdSequence = {
  next(): number
  /** never reuses an id of another process */
  passOver(id: number): void
}

/**
 * Ascending integers below 2^53. Continues after `after` when the clock is set back or more than 512 are needed in a
 * ms. Those of different instances differ in the bits of their number.
 */
export function createIdSequence(now: () => number, after = 0, instance = 0): IdSequence {
  const withoutInstance = (id: number): number => id - (id % STEP)
  let last = withoutInstance(after)
  return {
    next() {
      last = Math.max((now() - EPOCH_MS) * PER_MS, last + STEP)
      return last + instance
    },
    passOver(id) {
      last = Math.max(last, withoutInstance(id))
    },
  }
}

/** Ids for a batch, from the `first` that a sequence gave; the sequence continues after `last`. */
export function createIdRange(first: number) {
  let last = first - STEP
  return { next: (): number => (last += STEP), last: (): number => last }
}

/** A lower bound for ids made at this time (ms UTC) or later. */
export const idAt = (at: number): number => Math.max(0, at - EPOCH_MS) * PER_MS

/** Longer than a transaction of an instance with the wrong time may take. */
const LATE_MS = 15_000
/** How far an id may be below one of another instance that was committed before it. */
export const LATE_IDS = LATE_MS * PER_MS

/** Ids further ahead are of an instance with the wrong time, or of a number whose ids were reserved. */
const AHEAD_MS = 2_000
/** Rows with ids up to this one may be stored already. */
export const newestIdAt = (now: number): number => idAt(now + AHEAD_MS)

/** When an id was made (ms UTC); slightly later than that while many are made. */
export const timeOfId = (id: number): number => EPOCH_MS + Math.floor(id / PER_MS)

/** A lower bound for ids of events that happened at this time or later: a customer's clock may be ahead. */
export const idSince = (happenedAt: number): number => idAt(happenedAt - MAX_OCCURRED_AHEAD_MS)

export type NumberedPrefix = 'con' | 'evt' | 'msg' | 'dlv' | 'top'

export const publicId = (prefix: NumberedPrefix, id: number): string =>
  `${prefix}_${id.toString(36).padStart(DIGITS, '0')}`

export function readPublicId(prefix: NumberedPrefix, text: string): number | null {
  if (!text.startsWith(`${prefix}_`) || !/^[0-9a-z]{11}$/.test(text.slice(prefix.length + 1))) return null
  const id = Number.parseInt(text.slice(prefix.length + 1), 36)
  return Number.isSafeInteger(id) ? id : null
}

/** Never a stored id. */
const NO_ID = 0

/** An invalid ID gets the same answer as one that isn't stored. */
export const idOf = (prefix: NumberedPrefix, text: string): number => readPublicId(prefix, text) ?? NO_ID

export type TextPrefix = 'acc' | 'app' | 'site' | 'key' | 'mem' | 'sec' | 'aud' | 'ses' | 'alt'

/** Characters of the count. */
const COUNT_DIGITS = 6
const TAIL_DIGITS = 12

/** Text ids that ascend in the order in which one process makes them, also within a ms. */
export function createTextIds(prefix: TextPrefix) {
  let made = 0
  return (now: number): string => {
    made += 1
    const id = makeTextId(prefix, now)
    const count = made.toString(36).padStart(COUNT_DIGITS, '0').slice(-COUNT_DIGITS)
    return `${id.slice(0, -TAIL_DIGITS)}${count}${id.slice(-TAIL_DIGITS + COUNT_DIGITS)}`
  }
}

export function makeTextId(prefix: TextPrefix, now: number): string {
  const random = crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n
  const tail = (random >> 2n).toString(36).padStart(TAIL_DIGITS, '0').slice(-TAIL_DIGITS)
  return `${prefix}_${now.toString(36).padStart(9, '0')}${tail}`
}

/**
 * Ids. People and events have integers inside (8 bytes in a row and in each index, where a text id costs 20) and an
 * opaque, prefixed, time-ordered text outside; what is rare has the text only.
 */
import { MAX_OCCURRED_AHEAD_MS } from './field-limits.ts'

/** 2026-01-01T00:00:00Z: 40 bits of milliseconds after it reach to the year 2060. */
const EPOCH_MS = 1_767_225_600_000
/** 13 bits below the millisecond: 9 count within it, 4 leave room for sixteen instances side by side. */
const PER_MS = 8192
const STEP = 16
/** 36^11 > 2^53, so eleven digits hold every id and text order is number order. */
const DIGITS = 11

export type IdSequence = {
  next(): number
  /** goes on beyond an id that another process has used */
  passOver(id: number): void
}

/**
 * Strictly ascending integers below 2^53. `after` is the highest id in use, so that a clock that was set back, or a
 * burst of more than 512 in a millisecond, goes on counting from there.
 */
export function createIdSequence(now: () => number, after = 0): IdSequence {
  let last = after
  return {
    next() {
      last = Math.max((now() - EPOCH_MS) * PER_MS, last + STEP)
      return last
    },
    passOver(id) {
      last = Math.max(last, id)
    },
  }
}

/** No id that was made at this time (ms UTC) or later is below it. */
export const idAt = (at: number): number => Math.max(0, at - EPOCH_MS) * PER_MS

/** No id of what happened at this time (ms UTC) or later is below it: a customer's clock may be ahead of ours. */
export const idSince = (happenedAt: number): number => idAt(happenedAt - MAX_OCCURRED_AHEAD_MS)

export type NumberedPrefix = 'con' | 'evt' | 'msg' | 'dlv'

export const publicId = (prefix: NumberedPrefix, id: number): string =>
  `${prefix}_${id.toString(36).padStart(DIGITS, '0')}`

/** The integer of a public id, or null when the text is not one of ours. */
export function readPublicId(prefix: NumberedPrefix, text: string): number | null {
  if (!text.startsWith(`${prefix}_`) || !/^[0-9a-z]{11}$/.test(text.slice(prefix.length + 1))) return null
  const id = Number.parseInt(text.slice(prefix.length + 1), 36)
  return Number.isSafeInteger(id) ? id : null
}

export type TextPrefix = 'acc' | 'app' | 'site' | 'key' | 'mem' | 'sec' | 'aud' | 'ses'

/** A new text id: nine digits of time, then twelve random ones (62 bits). */
export function makeTextId(prefix: TextPrefix, now: number): string {
  const random = crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n
  const tail = (random >> 2n).toString(36).padStart(12, '0').slice(-12)
  return `${prefix}_${now.toString(36).padStart(9, '0')}${tail}`
}

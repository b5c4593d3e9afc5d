/** Numbers of a JSON text that JavaScript cannot hold as they were written. */

/** From here on a whole number may have been rounded on the way in: 2^53 + 1 reads as 2^53. */
const WHOLE_NUMBERS_END = 2 ** 53

/** Stands in for a number that JavaScript could not hold. */
const LOST = Symbol('lost number')

/** Whether a number was certainly lost; `perhaps`: it is so large that only its source tells. */
export function inspectNumber(value: number): 'number' | 'perhaps' | undefined {
  if (value < WHOLE_NUMBERS_END && value > -WHOLE_NUMBERS_END) return undefined
  return Number.isFinite(value) ? 'perhaps' : 'number'
}

/**
 * The slow path: parses again, with the source of every number, and puts a mark where one was lost. undefined on a body
 * whose repeated key hides a value thousands of levels deep.
 */
export function parseMarked(text: string): unknown {
  try {
    return JSON.parse(text, markLostNumber)
  } catch {
    return undefined
  }
}

function markLostNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) < WHOLE_NUMBERS_END) return value
  return isHeld(value, context?.source ?? '') ? value : LOST
}

/** Of numbers from 2^53 on: whether what was written is what JavaScript holds. */
function isHeld(value: number, source: string): boolean {
  if (!/[.eE]/.test(source)) return source.replace('-', '') === String(WHOLE_NUMBERS_END)
  // a fraction says that an approximate number was meant
  if (/\.\d*[1-9]\d*$/.test(source)) return true
  // and an exponent leaves digits unsaid: of 1e300 all that were written are held, of 9007199254740993e0 not
  const written = digitsOf(source)
  return written.length <= MOST_DIGITS && digitsOf(value.toPrecision(written.length)) === written
}

/** As many as `toPrecision` gives. */
const MOST_DIGITS = 100

/** The digits of a number's mantissa from its first one on that is not 0. */
const digitsOf = (text: string): string => (/^[^eE]*/.exec(text)?.[0] ?? '').replaceAll(/\D/g, '').replace(/^0+/, '')

/** Whether a value that was parsed so holds a mark. */
export const holdsLostNumber = (value: unknown): boolean =>
  value === LOST || (typeof value === 'object' && value !== null && Object.values(value).some(holdsLostNumber))

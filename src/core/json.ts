/** From the bytes of a body to one JSON object that can be stored and given back unchanged (api.md, Fields). */
import { MAX_FIELD_DEPTH, MAX_QUOTED_NAME_CHARACTERS } from './field-limits.ts'
import { type Refusal, refuse, refuseFields } from './refusals.ts'

export type ParsedObject = { object: Record<string, unknown> } | { refused: Refusal }

/** `ignoreBOM` means "leave it in": JSON.parse then refuses it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes that are valid UTF-8 hold no surrogates, so a lone one can only have been written as an escape. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

/** From here on a whole number may have been rounded on the way in: 2^53 + 1 reads as 2^53. */
const WHOLE_NUMBERS_END = 2 ** 53

/** Stands in for a number that JavaScript could not hold. */
const LOST = Symbol('lost number')

const PROBLEMS = {
  deep: 'There are too many levels of objects and arrays in this field. Send it flatter.',
  number: 'A number in this field is too large to be kept exactly. Send it as a string.',
  surrogate: 'Text in this field holds half of a surrogate pair. Send whole Unicode characters.',
} as const

type Problem = keyof typeof PROBLEMS

/** `perhaps`: a number so large that only its source tells whether it was rounded. */
type Finding = Problem | 'perhaps' | undefined

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A name that came from outside, fit to be quoted in an answer: whole characters, cut. */
export const quoteName = (name: string): string =>
  name.length <= MAX_QUOTED_NAME_CHARACTERS && name.isWellFormed()
    ? name
    : Array.from(name.slice(0, 2 * MAX_QUOTED_NAME_CHARACTERS).toWellFormed())
        .slice(0, MAX_QUOTED_NAME_CHARACTERS)
        .join('')

/**
 * Reads a body. `maxDepth` counts the levels inside one top-level field.
 * Refuses with `invalid_json` what is not UTF-8, begins with a byte order mark or is not one JSON object, and with
 * `invalid_field`, naming the top-level field, lone surrogates, numbers that JavaScript cannot hold (1e999, whole
 * numbers beyond 2^53) and too many levels. Of a key that is there twice the last wins. `__proto__` is an own property
 * like any other: hand the object on as it is, copy it with `Object.entries` and `Object.fromEntries` only (spec 4).
 */
export function parseJsonObject(bytes: Uint8Array, maxDepth = MAX_FIELD_DEPTH): ParsedObject {
  const text = decodeText(bytes)
  const value = text === null ? undefined : parseText(text)
  if (text === null || !isJsonObject(value)) return { refused: refuse('invalid_json') }
  const hasEscapes = SURROGATE_ESCAPE.test(text)
  let suspect: string | undefined
  for (const key of Object.keys(value)) {
    if (hasEscapes && !key.isWellFormed()) return { refused: refuseField(key, 'surrogate') }
    const found = inspect(value[key], maxDepth, hasEscapes)
    if (found === 'perhaps') suspect ??= key
    else if (found) return { refused: refuseField(key, found) }
  }
  const lost = suspect === undefined ? undefined : findLostNumber(text, suspect)
  return lost === undefined ? { object: value } : { refused: refuseField(lost, 'number') }
}

function decodeText(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Looks for what cannot be kept, at most `levels` deep, so that a hostile body cannot exhaust the stack. */
function inspect(value: unknown, levels: number, hasEscapes: boolean): Finding {
  if (typeof value === 'string') return hasEscapes && !value.isWellFormed() ? 'surrogate' : undefined
  if (typeof value === 'number') return inspectNumber(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return 'deep'
  if (hasEscapes && !Array.isArray(value) && !Object.keys(value).every((key) => key.isWellFormed())) return 'surrogate'
  let perhaps: Finding
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    const found = inspect(inner, levels - 1, hasEscapes)
    if (found === 'perhaps') perhaps = found
    else if (found) return found
  }
  return perhaps
}

function inspectNumber(value: number): Finding {
  if (value < WHOLE_NUMBERS_END && value > -WHOLE_NUMBERS_END) return undefined
  return Number.isFinite(value) ? 'perhaps' : 'number'
}

/**
 * The top-level field whose number was rounded, or undefined. The slow path: it parses again, with the source of every
 * number. `suspect` is named when even that fails, on a body whose repeated key hides a value thousands of levels deep.
 */
function findLostNumber(text: string, suspect: string): string | undefined {
  try {
    const marked: unknown = JSON.parse(text, markLostNumber)
    return isJsonObject(marked) ? Object.keys(marked).find((key) => holdsLostNumber(marked[key])) : suspect
  } catch {
    return suspect
  }
}

function markLostNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) < WHOLE_NUMBERS_END) return value
  const source = context?.source ?? ''
  // A fraction or an exponent says that an approximate number was meant; 1e300 is as good as it ever was.
  const isKept = /[.eE]/.test(source) || source.replace('-', '') === String(WHOLE_NUMBERS_END)
  return isKept ? value : LOST
}

const holdsLostNumber = (value: unknown): boolean =>
  value === LOST || (typeof value === 'object' && value !== null && Object.values(value).some(holdsLostNumber))

const refuseField = (field: string, problem: Problem): Refusal =>
  refuseFields([{ field: quoteName(field), code: 'invalid', message: PROBLEMS[problem] }])

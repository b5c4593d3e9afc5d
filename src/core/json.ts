import { visit } from 'jsonc-parser'
import {
  MAX_BATCH_FIELD_DEPTH,
  MAX_FIELD_DEPTH,
  MAX_QUOTED_NAME_CHARACTERS,
  MAX_UNKNOWN_FIELD_WARNINGS,
} from './field-limits.ts'
import { countWrittenKeys, cutList, type KeyPath, type LostNumbers, scanJson, WHOLE_NUMBERS_END } from './json-scan.ts'
import { type Refusal, refuse, refuseFields, type Warning } from './refusals.ts'

export type ParsedObject = { object: Record<string, unknown> } | { refused: Refusal }

/** `items`: as they were sent; null if there is no list. `repeated`: duplicate keys outside of them. */
export type ParsedList =
  { object: Record<string, unknown>; items: string[] | null; repeated: KeyPath[] } | { refused: Refusal }

/** `ignoreBOM` keeps the BOM, so that JSON.parse refuses it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Valid UTF-8 holds no surrogates, so lone ones come from escapes. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

const WRAPPER_DEPTH = 3

const TOO_DEEP = { message: 'Objects and arrays in this message are nested too deeply. Use fewer levels.' }

const NOT_UTF8 = { message: 'The body must be encoded as UTF-8, without a byte order mark.' }

/** Locating an error takes 50 ms in a text of 1 MB (measured). */
const MAX_LOCATED_CHARACTERS = 65_536

const PROBLEMS = {
  deep: 'Objects and arrays in this field are nested too deeply. Use fewer levels.',
  number: 'A number in this field is too large to store exactly. Send it as a string.',
  surrogate: 'Text in this field contains half of a surrogate pair. Send complete Unicode characters.',
} as const

type Problem = keyof typeof PROBLEMS

/** `perhaps`: a large number that only the source text can decide. */
type Finding = Problem | 'perhaps' | undefined

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )

export const quoteName = (name: string): string =>
  name.length <= MAX_QUOTED_NAME_CHARACTERS && name.isWellFormed()
    ? name
    : Array.from(name.slice(0, 2 * MAX_QUOTED_NAME_CHARACTERS).toWellFormed())
        .slice(0, MAX_QUOTED_NAME_CHARACTERS)
        .join('')

export const listNames = (names: Iterable<string>): string => Array.from(names, (name) => `\`${name}\``).join(', ')

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const inner of Object.values(value)) if (isDeeperThan(inner, levels - 1)) return true
  return false
}

/**
 * Refuses with invalid_json (not UTF-8, BOM, not an object) or invalid_field (lone surrogates, inexact numbers, too
 * deep). The last of duplicate keys wins. `__proto__` is an ordinary own property: never spread or assign it.
 */
export function parseJsonObject(bytes: Uint8Array): ParsedObject {
  const text = decodeText(bytes)
  return text === null ? { refused: refuseText(null) } : parseJsonText(text)
}

export function parseJsonText(text: string): ParsedObject {
  const object = parseText(text)
  if (!isJsonObject(object)) return { refused: refuseText(text) }
  const refused = createChecker(text, MAX_FIELD_DEPTH)(object, [])
  return refused ? { refused } : { object }
}

/** Like parseJsonObject, except that the items of the list under `name` are neither parsed into it nor checked. */
export function parseJsonList(bytes: Uint8Array, name: string): ParsedList {
  const text = decodeText(bytes)
  const object = text === null ? undefined : parseText(text)
  if (text === null || !isJsonObject(object)) return { refused: refuseText(text) }
  const deep = Object.keys(object).find((field) => isDeeperThan(object[field], MAX_BATCH_FIELD_DEPTH))
  if (deep !== undefined) return { refused: refuseFault({ field: deep, problem: 'deep' }) }
  const list = cutList(text, name)
  const around = list ? `${text.slice(0, list.from)}[]${text.slice(list.to)}` : text
  const parsed = parseJsonText(around)
  if ('refused' in parsed) return parsed
  return { object, items: list && list.items, repeated: findRepeatedKeys(around, parsed.object) }
}

/** Checks only the object at `path`, and reports its problem as `fault`. */
export function parseJsonMessage(
  bytes: Uint8Array,
  path: readonly string[],
): { body: unknown; fault: Refusal | null; repeated: KeyPath[] } | { refused: Refusal } {
  const text = decodeText(bytes)
  const body = text === null ? undefined : parseText(text)
  if (text === null || body === undefined) return { refused: refuseText(text) }
  if (isDeeperThan(body, MAX_FIELD_DEPTH + WRAPPER_DEPTH)) return { refused: refuse('invalid_json', TOO_DEEP) }
  const fields = path.reduce<unknown>((value, key) => (isJsonObject(value) ? value[key] : undefined), body)
  const fault = isJsonObject(fields) ? createChecker(text, MAX_FIELD_DEPTH)(fields, path) : null
  return { body, fault, repeated: findRepeatedKeys(text, body) }
}

/** Says where JSON is broken. `text`: null if it was not UTF-8. */
function refuseText(text: string | null): Refusal {
  if (text === null || text.startsWith('\uFEFF')) return refuse('invalid_json', NOT_UTF8)
  const offset = text.length > MAX_LOCATED_CHARACTERS ? null : findSyntaxError(text)
  if (offset === null) return refuse('invalid_json')
  const before = text.slice(0, offset).split('\n')
  const column = (before.at(-1)?.length ?? 0) + 1
  const message = `The body is not valid JSON. The first error is on line ${before.length}, at character ${column}.`
  return refuse('invalid_json', { message })
}

function findSyntaxError(text: string): number | null {
  let first: number | null = null
  const onError = (_: unknown, offset: number): void => void (first ??= offset)
  try {
    visit(text, { onError }, { disallowComments: true })
  } catch {
    // nested too deeply to be located
  }
  return first
}

/** Checks objects of one text; scans the text at most once. */
function createChecker(text: string, levels: number) {
  const hasEscapes = SURROGATE_ESCAPE.test(text)
  let lost: LostNumbers | undefined
  return (object: Record<string, unknown>, path: KeyPath): Refusal | null => {
    const problem = findFault(object, levels, hasEscapes)
    if (problem !== 'perhaps') return problem ? refuseFault(problem) : null
    lost ??= scanJson(text).lost
    const inside = path.reduce<LostNumbers | undefined>((numbers, step) => numbers?.get(step), lost)
    const field = Object.keys(object).find((name) => inside?.has(name))
    return field === undefined ? null : refuseFault({ field, problem: 'number' })
  }
}

/** null: not UTF-8. */
export function decodeText(bytes: Uint8Array): string | null {
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

type Fault = { field: string; problem: Problem }

/** The first bad field; if none is certain, whether one is possible. */
function findFault(
  object: Record<string, unknown>,
  levels: number,
  hasEscapes: boolean,
): Fault | 'perhaps' | undefined {
  let perhaps: 'perhaps' | undefined
  for (const field of Object.keys(object)) {
    if (hasEscapes && !field.isWellFormed()) return { field, problem: 'surrogate' }
    const problem = inspect(object[field], levels, hasEscapes)
    if (problem === 'perhaps') perhaps = problem
    else if (problem) return { field, problem }
  }
  return perhaps
}

/** At most `levels` deep, so that hostile input can't exhaust the stack. */
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

const refuseFault = ({ field, problem }: Fault): Refusal =>
  refuseFields([{ field: quoteName(field), code: 'invalid', message: PROBLEMS[problem] }])

/** Compares key counts first: 0.5 µs for a usual event without duplicates. */
export const findRepeatedKeys = (text: string, parsed: unknown): KeyPath[] =>
  countWrittenKeys(text) === countKeys(parsed) ? [] : scanJson(text).repeated

export function warnOfRepeated(repeated: KeyPath[], prefix: KeyPath = []): Warning[] {
  if (repeated.length === 0) return []
  const isWhole = new Map<string, boolean>()
  for (const path of repeated) {
    const steps = Math.min(path.length, prefix.length)
    if (!prefix.slice(0, steps).every((step, index) => step === path[index])) continue
    const name = path[prefix.length]
    // earlier findings were in a value that a later duplicate replaced
    if (name === undefined) isWhole.clear()
    else isWhole.set(String(name), isWhole.get(String(name)) || path.length === prefix.length + 1)
  }
  return Array.from(isWhole, ([name, whole]) => {
    const what = whole ? 'This field' : 'A key in this field'
    const message = `${what} is in the JSON more than once. Only the last value was used.`
    return { field: quoteName(name), code: 'duplicate_key', message }
  }).slice(0, MAX_UNKNOWN_FIELD_WARNINGS)
}

/** One warning per field; none about duplicates of an unknown field. */
export const joinWarnings = (ofRepeated: Warning[], others: Warning[]): Warning[] =>
  ofRepeated
    .filter(({ field }) => !others.some((other) => other.code === 'unknown_field' && other.field === field))
    .concat(others)

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (const inner of value) keys += countKeys(inner)
    return keys
  }
  for (const inner of Object.values(value)) keys += typeof inner === 'object' ? 1 + countKeys(inner) : 1
  return keys
}

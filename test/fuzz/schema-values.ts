/** Values made from a JSON Schema, which is what TypeBox writes: valid, nearly valid and hostile ones. */
import fc from 'fast-check'
import { HOSTILE, INHERITED } from './hostile.ts'

export type Schema = {
  $ref?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  type?: string
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  /** with names of properties: one of them is required */
  not?: Schema
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minimum?: number
  maximum?: number
  examples?: unknown[]
}

/** `known`: what fits a field of this name, besides what its schema allows. `resolve`: the schema of a `$ref`. */
export type Making = { known: (name: string) => readonly unknown[]; resolve?: (ref: string) => Schema }

/** Stands for text that is no JSON of JavaScript, such as 1e999; `toJson` puts it in. */
const RAW = 'raw-number:'
const RAW_NUMBERS = ['1e999', '-1e999', '12345678901234567890', '1e-400', '-0.0', '9007199254740993', '1E+2']

/** JSON text with the numbers that JavaScript cannot hold. */
export const toJson = (value: unknown): string =>
  (JSON.stringify(value) ?? '').replaceAll(new RegExp(`"${RAW}([^"]*)"`, 'g'), '$1')

const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

const FRAGMENTS = [
  '=1+1',
  '+SUM(A1)',
  '@SUM(1)',
  '\t=cmd',
  '-2+3',
  '=HYPERLINK("http://evil.example","x")',
  "' OR '1'='1",
  '1; ATTACH DATABASE "x" AS y',
  'a\r\nBcc: b@evil.example',
  '{{ "x" | append: "y" }}',
  '{% assign a = 1 %}{{ a }}',
  '\uDC00\uD800',
  'e\u0301'.repeat(60),
  '\u{1F600}'.repeat(64),
  '\u0000',
]

const TEXTS: readonly string[] = [...HOSTILE, ...FRAGMENTS]

const HOSTILE_VALUES: readonly unknown[] = [
  ...TEXTS,
  ...RAW_NUMBERS.map((number) => RAW + number),
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e21,
  Number.MIN_VALUE,
  Number.MAX_VALUE,
  [],
  {},
  [null],
  [[]],
  ['x', 1, null],
  JSON.parse(deep(33)),
  JSON.parse(deep(400)),
]

export const hostileText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 80 }) },
)

const hostileKey = fc.oneof(fc.constantFrom(...INHERITED), hostileText)

export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...HOSTILE_VALUES) },
  { weight: 1, arbitrary: fc.dictionary(hostileKey, fc.constantFrom(...HOSTILE_VALUES), { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3, noUnicodeString: false } as fc.JsonSharedConstraints) },
)

/** Deeper, an optional part is left out. */
const MOST_DEPTH = 7

/** Mostly what the schema allows, now and then with one or several parts that it does not allow. */
export const valuesOf = (schema: Schema, making: Making, name = ''): fc.Arbitrary<unknown> => {
  const given = { ...making, resolve: making.resolve ?? refuseRef }
  return fc.oneof(
    { weight: 8, arbitrary: validOf(schema, given, name, 0) },
    { weight: 4, arbitrary: nearlyOf(schema, given, name, 0) },
    { weight: 1, arbitrary: hostileValue },
  )
}

const refuseRef = (ref: string): never => {
  throw new Error(`${ref} is not known`)
}

type Given = Required<Making>

export const validOf = (schema: Schema, given: Given, name: string, depth: number): fc.Arbitrary<unknown> => {
  const known = takesText(schema) ? given.known(name) : []
  const allowed = ofSchema(schema, given, name, depth)
  return known.length === 0 ? allowed : fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...known) }, allowed)
}

const takesText = ({ type, anyOf }: Schema): boolean => type === 'string' || anyOf?.some(takesText) === true

function ofSchema(schema: Schema, given: Given, name: string, depth: number): fc.Arbitrary<unknown> {
  const { $ref, anyOf, oneOf, type } = schema
  if ($ref !== undefined) return ofSchema(given.resolve($ref), given, name, depth)
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const options = anyOf ?? oneOf
  if (options) {
    const plain = depth < MOST_DEPTH ? options : options.filter((option) => isPlain(option))
    return fc.oneof(...(plain.length > 0 ? plain : options).map((option) => ofSchema(option, given, name, depth)))
  }
  if (type === 'object') return ofObject(schema, given, depth)
  if (type === 'array') return ofArray(schema, given, name, depth)
  if (type === 'string') return ofText(schema)
  if (type === 'integer' || type === 'number') return ofNumber(schema)
  if (type === 'boolean') return fc.boolean()
  return type === 'null' ? fc.constant(null) : fc.jsonValue({ maxDepth: 2 })
}

const isPlain = ({ type, $ref }: Schema): boolean => type !== 'object' && type !== 'array' && $ref === undefined

function ofText({ minLength = 0, maxLength = 200, pattern, examples = [] }: Schema): fc.Arbitrary<string> {
  const texts = examples.filter((one) => typeof one === 'string')
  const isValid = (text: string): boolean =>
    text.length >= minLength && text.length <= maxLength && (pattern === undefined || new RegExp(pattern).test(text))
  const made =
    pattern === undefined
      ? fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 60)), unit: 'grapheme' })
      : fc.stringMatching(new RegExp(pattern, 'u')).filter(isValid)
  const longest = maxLength <= 5_000 ? ['x'.repeat(maxLength), 'x'.repeat(Math.max(1, minLength))] : []
  const fixed = [...texts, ...longest.filter(isValid)]
  return fixed.length === 0 ? made : fc.oneof(made, fc.constantFrom(...fixed))
}

const ofNumber = ({ type, minimum = -1_000, maximum = 1_000 }: Schema): fc.Arbitrary<number> =>
  type === 'integer'
    ? fc.integer({ min: Math.ceil(minimum), max: Math.floor(Math.max(minimum, maximum)) })
    : fc.double({ min: minimum, max: Math.max(minimum, maximum), noNaN: true })

const ofArray = ({ items = {}, minItems = 0, maxItems = 4 }: Schema, given: Given, name: string, depth: number) =>
  fc.array(validOf(items, given, name, depth + 1), {
    minLength: minItems,
    maxLength: Math.max(minItems, Math.min(maxItems, depth < MOST_DEPTH ? 4 : 0)),
  })

/** More of them rarely go together. */
const MOST_OPTIONAL = 4

const pick = (value: object, names: string[]): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)))

/** A few of the optional properties. */
function ofObject(schema: Schema, given: Given, depth: number): fc.Arbitrary<object> {
  const { properties = {} } = schema
  const [either] = Object.keys(schema.not?.properties ?? {})
  const required = [...(schema.required ?? []), ...(either === undefined ? [] : [either])]
  const parts = Object.entries(properties).filter(([name]) => depth < MOST_DEPTH || required.includes(name))
  const model = Object.fromEntries(parts.map(([name, part]) => [name, validOf(part, given, name, depth + 1)]))
  const alternatives = Object.keys(schema.not?.properties ?? {})
  const optional = Object.keys(model).filter((name) => !required.includes(name))
  const named = fc
    .tuple(
      fc.record(model),
      fc.subarray(optional, { maxLength: Math.min(MOST_OPTIONAL, optional.length) }),
      fc.integer({ min: 0, max: 9 }),
    )
    .map(([all, kept, turn]) => pickName(pick(all, [...required, ...kept]), alternatives, turn))
  const more = ofMore(schema, given, depth)
  return more === null ? named : fc.tuple(named, more).map(([own, others]) => ({ ...others, ...own }))
}

/** Mostly one of several names of the same thing. */
function pickName(own: object, names: string[], turn: number): object {
  const given = names.filter((name) => Object.hasOwn(own, name))
  const kept = turn === 0 ? given : given.filter((_, index) => index === turn % given.length)
  return Object.fromEntries(Object.entries(own).filter(([name]) => !given.includes(name) || kept.includes(name)))
}

/** Properties whose names are free. */
function ofMore({ patternProperties, additionalProperties }: Schema, given: Given, depth: number) {
  const [pattern, schema] = Object.entries(patternProperties ?? {})[0] ?? []
  if (pattern !== undefined && schema)
    return fc.dictionary(fc.stringMatching(new RegExp(pattern, 'u')), validOf(schema, given, '', depth + 1), {
      maxKeys: 3,
    })
  if (additionalProperties === undefined || additionalProperties === false || depth >= MOST_DEPTH) return null
  const value =
    additionalProperties === true ? fc.jsonValue({ maxDepth: 2 }) : validOf(additionalProperties, given, '', depth + 1)
  return fc.dictionary(fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom(...INHERITED)), value, { maxKeys: 3 })
}

/** Valid but for one part: a wrong type, a text that is a character too long, a name that nobody expects. */
function nearlyOf(schema: Schema, given: Given, name: string, depth: number): fc.Arbitrary<unknown> {
  const { $ref, anyOf, oneOf, type, properties = {}, items } = schema
  if ($ref !== undefined) return nearlyOf(given.resolve($ref), given, name, depth)
  const options = anyOf ?? oneOf
  if (options && depth < MOST_DEPTH) return fc.oneof(...options.map((one) => nearlyOf(one, given, name, depth)))
  if (type === 'string') return nearlyText(schema)
  if (type === 'integer' || type === 'number') return nearlyNumber(schema)
  if (type === 'array' && items && depth < MOST_DEPTH) return nearlyArray(schema, items, { given, name, depth })
  const names = Object.keys(properties)
  if (type !== 'object' || depth >= MOST_DEPTH) return hostileValue
  const valid = ofObject(schema, given, depth)
  const replaced = names.map((one) =>
    fc
      .tuple(valid, fc.oneof(nearlyOf(properties[one] ?? {}, given, one, depth + 1), hostileValue))
      .map(([own, value]) => ({ ...own, [one]: value })),
  )
  const added = fc.tuple(valid, hostileKey, hostileValue).map(([own, key, value]) => ({ ...own, [key]: value }))
  const removed = names.map((one) =>
    valid.map((own) => Object.fromEntries(Object.entries(own).filter(([key]) => key !== one))),
  )
  return fc.oneof(added, ...replaced, ...(removed.length > 0 ? [fc.oneof(...removed)] : []))
}

function nearlyText({ minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<unknown> {
  const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter((one) => one >= 0 && one <= 20_000)
  const edges = lengths.flatMap((length) => ['x', ' ', 'é', '\u{1F600}'].map((character) => character.repeat(length)))
  return fc.oneof(fc.constantFrom(...edges), hostileText, hostileValue)
}

const nearlyNumber = ({ minimum = 0, maximum = 100 }: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(fc.constantFrom(minimum, minimum - 1, maximum, maximum + 1, minimum + 0.5, String(maximum)), hostileValue)

function nearlyArray(
  { maxItems = 10 }: Schema,
  items: Schema,
  { given, name, depth }: { given: Given; name: string; depth: number },
): fc.Arbitrary<unknown> {
  const item = validOf(items, given, name, depth + 1)
  const spoiled = fc
    .tuple(fc.array(item, { maxLength: 3 }), nearlyOf(items, given, name, depth + 1))
    .map(([all, one]) => [...all, one])
  const many = fc
    .tuple(item, fc.constantFrom(maxItems, maxItems + 1))
    .map(([one, count]) => Array.from({ length: Math.min(count, 300) }, () => one))
  return fc.oneof(
    { weight: 4, arbitrary: spoiled },
    { weight: 1, arbitrary: many },
    { weight: 1, arbitrary: hostileValue },
  )
}

/** A valid document with one leaf replaced or taken away. */
export const alteredOf = (value: unknown): fc.Arbitrary<unknown> => {
  const places = placesIn(value)
  return fc
    .tuple(fc.constantFrom(...places), fc.oneof(hostileValue, fc.constant(undefined)))
    .map(([place, put]) => replaceAt(value, place, put) ?? null)
}

type Place = readonly (string | number)[]

function placesIn(value: unknown, here: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [here]
  return [here, ...Object.entries(value).flatMap(([name, inner]) => placesIn(inner, [...here, name]))]
}

function replaceAt(value: unknown, [name, ...rest]: Place, put: unknown): unknown {
  if (name === undefined) return put
  if (Array.isArray(value))
    return value.map((inner, index) => (String(index) === name ? replaceAt(inner, rest, put) : inner))
  return Object.fromEntries(
    Object.entries(value as object).map(([key, inner]) => [key, key === name ? replaceAt(inner, rest, put) : inner]),
  )
}

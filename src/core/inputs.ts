/**
 * Validates inputs by their TypeBox schemas. A compiled check accepts valid inputs; only others are walked to list every
 * invalid field. Messages come from the schema (`say`) and never echo input.
 */
import { Kind, type Static, type TObject, type TSchema, TypeRegistry } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { MAX_UNKNOWN_FIELD_WARNINGS } from './field-limits.ts'
import { isJsonObject, listNames, quoteName } from './json.ts'
import type { FieldError, Warning } from './refusals.ts'

export type Body = Record<string, unknown>

/** Errors name every invalid field, in schema order. */
export type Reading<T> = { input: T; warnings: Warning[] } | { errors: FieldError[] }

/** `field`: the invalid part, if it isn't the whole field. */
export type Fault = { code: string; message: string; field?: string }

type Sentence = string | ((value: unknown) => string)

/**
 * Error messages of a schema: one for all codes, or one per code. A code without a message is reported as `invalid`, and
 * so is `key`, which is about the names in a record.
 */
export type Say =
  Sentence | ({ invalid: Sentence } & Partial<Record<'missing' | 'too_long' | 'too_large' | 'key', Sentence>>)

/** `isKind`: the property that distinguishes the variants of a union. `isByName`: errors in a record name their key. */
type Node = TSchema & { say?: Say; isKind?: boolean; isByName?: boolean }

/** A list of words as `enum`. TypeBox publishes `enum` without checking it. */
export const WORD = 'Word'
TypeRegistry.Set<{ enum: unknown[] }>(WORD, (schema, value) => schema.enum.includes(value))

/** Further problems of an input are not listed. */
const MAX_PROBLEMS = 50

const sentence = (say: Sentence, value: unknown): string => (typeof say === 'string' ? say : say(value))

type Code = 'invalid' | 'missing' | 'too_long' | 'too_large' | 'key'

/** The error of a schema for a value. */
export function faultOf(schema: Node, code: Code, value: unknown): Fault {
  const say = schema.say ?? (code === 'missing' ? 'This field is missing.' : 'Enter another value.')
  if (typeof say !== 'object') return { code: code === 'missing' ? code : 'invalid', message: sentence(say, value) }
  const said = say[code]
  return said === undefined || code === 'key'
    ? { code: 'invalid', message: sentence(said ?? say.invalid, value) }
    : { code, message: sentence(said, value) }
}

export const isFault = (value: unknown): value is Fault =>
  typeof value === 'object' && value !== null && 'code' in value && 'message' in value

/** Rules beyond the schema, by field. Each runs if the field fits its schema; undefined means absent. */
export type Rules = Record<string, (value: unknown, body: Body) => Fault | null>

/** The first error of each field, in schema order. */
export function listErrors({ properties, required = [] }: TObject, body: Body, rules: Rules = {}): FieldError[] {
  const errors: FieldError[] = []
  for (const [field, schema] of Object.entries(properties)) {
    const value = body[field]
    if (isNested(schema) && isJsonObject(value)) {
      visit(schema, value, field, errors)
      continue
    }
    const fault = findFault(schema, value, required.includes(field)) ?? rules[field]?.(value, body)
    if (fault) errors.push({ field: fault.field ?? field, code: fault.code, message: fault.message })
  }
  return errors
}

/** An object of known fields, each of which is reported by its path. */
const isNested = ({ type, properties, additionalProperties }: TSchema): boolean =>
  type === 'object' && properties !== undefined && additionalProperties === false

function findFault(schema: Node, value: unknown, isRequired: boolean): Fault | undefined {
  if (value === undefined) return isRequired ? faultOf(schema, 'missing', value) : undefined
  const [problem] = findProblems(schema, value)
  return problem && { code: problem.code, message: problem.message }
}

/** Undefined is invalid. */
export const isFine = (schema: TSchema, value: unknown): boolean =>
  value !== undefined && findProblems(schema, value).length === 0

/** `clean` returns null for inputs that `rules` refuse. */
export type Input<T extends TObject, C, R> = {
  schema: T
  clean: (body: Static<T>, context: C) => R | null
  rules: (context: C) => Rules
}

/** The schema is compiled at the first input. */
export function createReader<T extends TObject, C, R>({ schema, clean, rules }: Input<T, C, R>) {
  let compiled: TypeCheck<T> | undefined
  return (body: Body, context: C): { input: R } | { errors: FieldError[] } => {
    compiled ??= TypeCompiler.Compile(withoutRuled(schema, rules(context)))
    const input = compiled.Check(body) ? clean(body, context) : null
    if (input !== null) return { input }
    const errors = listErrors(schema, body, rules(context))
    if (errors.length > 0) return { errors }
    // TypeBox counts UTF-16 units and may refuse a text of rare characters that is short enough
    const cleaned = clean(body as Static<T>, context)
    if (cleaned === null) throw new Error('an input was refused without an error')
    return { input: cleaned }
  }
}

/** A text with its own rule needs no pattern check: the rule is stricter. */
function withoutRuled<T extends TObject>(schema: T, rules: Rules): T {
  const isRuled = (name: string, { type }: TSchema): boolean => type === 'string' && name in rules
  const bare = ({ pattern: _, ...rest }: TSchema): TSchema => rest as TSchema
  const fields = Object.entries(schema.properties as Record<string, TSchema>)
  const properties = fields.map(([name, field]) => [name, isRuled(name, field) ? bare(field) : field])
  return { ...schema, properties: Object.fromEntries(properties) }
}

/**
 * Every invalid part of a value, by its path (`onlyIf[0].minutes`). A union is checked as the variant whose literals fit,
 * or which shares the most names with the value.
 */
export function findProblems(schema: TSchema, value: unknown): FieldError[] {
  const problems: FieldError[] = []
  visit(schema, value, '', problems)
  return problems.slice(0, MAX_PROBLEMS)
}

/** The problems of a whole value. A compiled check skips the search for valid values. */
export function checkWhole(schema: TSchema): (value: unknown) => FieldError[] {
  let compiled: TypeCheck<TSchema> | undefined
  return (value) => {
    compiled ??= TypeCompiler.Compile(schema)
    return compiled.Check(value) ? [] : findProblems(schema, value)
  }
}

function visit(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (Array.isArray(schema.anyOf)) return visitUnion(schema, value, path, problems)
  if (schema.patternProperties) return visitRecord(schema, value, path, problems)
  if (schema.type === 'object') return visitObject(schema, value, path, problems)
  if (schema.type === 'array') return visitArray(schema, value, path, problems)
  if (!fits(schema, value))
    problems.push(problem(schema, isTooLong(schema, value) ? 'too_long' : 'invalid', path, value))
}

const problem = (schema: Node, code: Code, path: string, value: unknown): FieldError => ({
  field: path,
  ...faultOf(schema, code, value),
})

/** Like TypeBox, except for lengths: JSON Schema counts characters. */
function fits(schema: Node, value: unknown): boolean {
  return !(schema[Kind] === 'String' && isTooLong(schema, value)) && leafOf(schema).Check(value)
}

/** Compiled leaves: interpreting one compiles its pattern each time. */
const leaves = new WeakMap<TSchema, TypeCheck<TSchema>>()

function leafOf(schema: Node): TypeCheck<TSchema> {
  const known = leaves.get(schema)
  if (known) return known
  const { maxLength: _, ...rest } = schema
  const compiled = TypeCompiler.Compile(rest as TSchema)
  leaves.set(schema, compiled)
  return compiled
}

/** Whether a text has more than `max` code points. Almost always the length in UTF-16 units decides. */
export const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max)

const isTooLong = (schema: Node, value: unknown): boolean =>
  typeof value === 'string' && schema.maxLength !== undefined && isLongerThan(value, Number(schema.maxLength))

function visitUnion(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  const variants = schema.anyOf as Node[]
  const meant = isJsonObject(value)
    ? findMeant(variants, value)
    : variants.find((variant) => variant.type !== 'object' && fits(variant, value))
  if (meant) return visit(meant, value, path, problems)
  const isLong = variants.some((variant) => isTooLong(variant, value))
  problems.push(problem(schema, isLong ? 'too_long' : 'invalid', path, value))
}

/** The variant that shares the most names, then the one that lacks the fewest; never one of another kind. */
function findMeant(variants: Node[], value: Record<string, unknown>): Node | undefined {
  const scored = variants
    .filter((variant) => variant.type === 'object')
    .map((variant) => ({ variant, score: scoreOf(variant, value), missing: countMissing(variant, value) }))
    .sort((a, b) => b.score - a.score || a.missing - b.missing)
  const [best] = scored
  return best && best.score > 0 ? best.variant : undefined
}

const countMissing = ({ required = [] }: Node, value: Record<string, unknown>): number =>
  (required as string[]).filter((name) => !Object.hasOwn(value, name)).length

function scoreOf(variant: Node, value: Record<string, unknown>): number {
  const shared = Object.entries(variant.properties as Record<string, Node>).filter(
    ([name]) => Object.hasOwn(value, name) && value[name] !== undefined,
  )
  const other = shared.find(([name, property]) => isOtherKind(property, value[name]))?.[1]
  // a literal with its own message may be misspelt, and is then reported itself
  return other ? (other.say === undefined ? 0 : 0.5) : shared.length
}

const isOtherKind = (property: Node, value: unknown): boolean =>
  (property.const !== undefined || property.isKind === true) && !fits(property, value)

function visitObject(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (!isJsonObject(value)) return void problems.push(problem(schema, 'invalid', path, value))
  const properties = schema.properties as Record<string, Node>
  const required = (schema.required ?? []) as string[]
  for (const [name, property] of Object.entries(properties)) {
    const field = join(path, name)
    // programs may write `undefined` for an absent field
    if (Object.hasOwn(value, name) && value[name] !== undefined) visit(property, value[name], field, problems)
    else if (required.includes(name)) problems.push(problem(property, 'missing', field, undefined))
  }
  if (schema.additionalProperties !== false) return
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) continue
    const message = `Unknown field. Known fields: ${listNames(Object.keys(properties))}.`
    problems.push({ field: join(path, quoteName(name)), code: 'unknown_field', message })
  }
}

/** Checks the number of keys, then their names, types and lengths. */
function visitRecord(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (!isJsonObject(value)) return void problems.push(problem(schema, 'invalid', path, value))
  const [pattern, inner] = Object.entries(schema.patternProperties as Record<string, Node>)[0] ?? []
  if (pattern === undefined || inner === undefined) return
  const names = Object.keys(value)
  const key = new RegExp(pattern)
  if (names.length > Number(schema.maxProperties)) return void problems.push(problem(schema, 'too_large', path, value))
  if (!names.every((name) => key.test(name))) return void problems.push(problem(schema, 'key', path, value))
  const found: FieldError[] = []
  if (schema.isByName) {
    for (const [name, one] of Object.entries(value)) visit(inner, one, join(path, name), problems)
    return
  }
  for (const one of Object.values(value)) visit(inner, one, path, found)
  const first = found.find(({ code }) => code === 'invalid') ?? found[0]
  if (first) problems.push(first)
}

function visitArray(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (!Array.isArray(value)) return void problems.push(problem(schema, 'invalid', path, value))
  if (value.length > Number(schema.maxItems)) return void problems.push(problem(schema, 'too_long', path, value))
  if (value.length < Number(schema.minItems)) return void problems.push(problem(schema, 'invalid', path, value))
  for (const [index, item] of value.entries()) visit(schema.items as Node, item, `${path}[${index}]`, problems)
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** An older name of `app`, which is accepted but not proposed. */
const OLDER_NAME = 'newsletter'

export const nameKnown = (known: ReadonlySet<string>): string =>
  listNames([...known].filter((name) => name !== OLDER_NAME))

/** A warning for each unknown field, up to MAX_UNKNOWN_FIELD_WARNINGS. */
export function warnOfUnknown(body: Body, known: ReadonlySet<string>): Warning[] {
  const warnings: Warning[] = []
  for (const name of Object.keys(body)) {
    if (known.has(name)) continue
    if (warnings.length === MAX_UNKNOWN_FIELD_WARNINGS) break
    const message = `Unknown field, ignored. Known fields: ${nameKnown(known)}.`
    warnings.push({ field: quoteName(name), code: 'unknown_field', message })
  }
  return warnings
}

/** Whether a request has no email. */
export const lacksEmail = ({ email }: Body): boolean => email === undefined || email === null || email === ''

import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isJsonObject, listNames, quoteName } from '../core/json.ts'
import type { FieldError } from '../core/refusals.ts'

const MAX_PROBLEMS = 50

type Node = TSchema & { say?: string; isKind?: boolean }

/**
 * Problems by path (`onlyIf[0].minutes`). For a union, picks the variant with matching literals or most shared names.
 * Messages come from the schema's `say` and never echo input.
 */
export function findProblems(schema: TSchema, value: unknown): FieldError[] {
  const problems: FieldError[] = []
  visit(schema, value, '', problems)
  return problems.slice(0, MAX_PROBLEMS)
}

function visit(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (Array.isArray(schema.anyOf)) return visitUnion(schema, value, path, problems)
  if (schema.type === 'object') return visitObject(schema, value, path, problems)
  if (schema.type === 'array') return visitArray(schema, value, path, problems)
  if (!fits(schema, value)) problems.push(invalid(schema, path))
}

const invalid = (schema: Node, path: string): FieldError => ({
  field: path,
  code: 'invalid',
  message: schema.say ?? 'Give another value.',
})

/** TypeBox doesn't check `enum`. */
const fits = (schema: Node, value: unknown): boolean =>
  Array.isArray(schema.enum) ? schema.enum.includes(value) : Value.Check(schema, value)

function visitUnion(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  const variants = schema.anyOf as Node[]
  const meant = isJsonObject(value)
    ? findMeant(variants, value)
    : variants.find((variant) => variant.type !== 'object' && fits(variant, value))
  if (meant) visit(meant, value, path, problems)
  else problems.push(invalid(schema, path))
}

function findMeant(variants: Node[], value: Record<string, unknown>): Node | undefined {
  const scored = variants
    .filter((variant) => variant.type === 'object')
    .map((variant) => ({ variant, score: scoreOf(variant, value) }))
    .sort((a, b) => b.score - a.score)
  const [best] = scored
  return best && best.score > 0 ? best.variant : undefined
}

function scoreOf(variant: Node, value: Record<string, unknown>): number {
  const shared = Object.entries(variant.properties as Record<string, Node>).filter(
    ([name]) => Object.hasOwn(value, name) && value[name] !== undefined,
  )
  const other = shared.find(([name, property]) => isOtherKind(property, value[name]))?.[1]
  // a literal with its own message may be misspelt, and is then named itself
  return other ? (other.say === undefined ? 0 : 0.5) : shared.length
}

const isOtherKind = (property: Node, value: unknown): boolean =>
  (property.const !== undefined || property.isKind === true) && !fits(property, value)

function visitObject(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (!isJsonObject(value)) return void problems.push(invalid(schema, path))
  const properties = schema.properties as Record<string, Node>
  const required = (schema.required ?? []) as string[]
  for (const [name, property] of Object.entries(properties)) {
    const field = join(path, name)
    // programs may write `undefined` where files have nothing
    if (Object.hasOwn(value, name) && value[name] !== undefined) visit(property, value[name], field, problems)
    else if (required.includes(name)) problems.push({ ...invalid(property, field), code: 'missing' })
  }
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) continue
    const message = `There is no such field here. Known are ${listNames(Object.keys(properties))}.`
    problems.push({ field: join(path, quoteName(name)), code: 'unknown_field', message })
  }
}

function visitArray(schema: Node, value: unknown, path: string, problems: FieldError[]): void {
  if (!Array.isArray(value) || value.length > Number(schema.maxItems)) return void problems.push(invalid(schema, path))
  for (const [index, item] of value.entries()) visit(schema.items as Node, item, `${path}[${index}]`, problems)
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

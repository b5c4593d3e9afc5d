import { readDate } from '../core/dates.ts'
import type { Compared, Condition } from '../store/message-types.ts'

/**
 * `3` equals `"3"`, because form input is text. `contains` searches text and lists; `above` and `below` compare numbers,
 * numeric text and dates.
 */
export function compares(value: unknown, { is, to }: Compared): boolean {
  const isPresent = value !== undefined && value !== null && value !== ''
  if (is === 'present') return isPresent
  if (is === 'absent') return !isPresent
  if (is === 'notEqual') return !isEqual(value, to)
  if (!isPresent || to === undefined) return false
  switch (is) {
    case 'equal':
      return isEqual(value, to)
    case 'in':
      return [to].flat().some((one) => isEqual(value, one))
    case 'contains':
      return contains(value, to)
    case 'startsWith':
      return isPlain(value) && String(value).startsWith(String(to))
    case 'above':
      return compareAmounts(value, to) > 0
    case 'below':
      return compareAmounts(value, to) < 0
  }
}

/** Joined by `or`, one of a group is enough. */
export function allHold(conditions: readonly Condition[], properties: Record<string, unknown>): boolean {
  let isMet = true
  for (const condition of conditions) {
    if (condition.or !== true) {
      if (!isMet) return false
      isMet = holds(condition, properties)
    } else isMet ||= holds(condition, properties)
  }
  return isMet
}

/** Conditions or rules joined by `or`, in groups. */
export function groupAlternatives<One extends object>(conditions: readonly One[]): One[][] {
  const groups: One[][] = []
  for (const condition of conditions) {
    const last = groups.at(-1)
    if ('or' in condition && condition.or === true && last) last.push(condition)
    else groups.push([condition])
  }
  return groups
}

/** The first group of which no condition holds. */
export const findUnmet = (
  conditions: readonly Condition[],
  properties: Record<string, unknown>,
): Condition[] | undefined =>
  groupAlternatives(conditions).find((group) => !group.some((condition) => holds(condition, properties)))

const holds = (condition: Condition, properties: Record<string, unknown>): boolean =>
  compares(propertyOf(properties, condition.property), condition)

/**
 * Own properties only, never inherited ones such as `constructor`. `plan.name` is a value inside another, unless a
 * property has this name.
 */
export function propertyOf(properties: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(properties, name)) return properties[name]
  if (!name.includes('.')) return undefined
  return name.split('.').reduce<unknown>((value, key) => (hasOwn(value, key) ? value[key] : undefined), properties)
}

const hasOwn = (value: unknown, key: string): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)

export const parseProperties = (text: string | null): Record<string, unknown> =>
  text === null ? {} : (JSON.parse(text) as Record<string, unknown>)

export const isEqual = (value: unknown, to: unknown): boolean => isPlain(value) && String(value) === String(to)

const contains = (value: unknown, to: unknown): boolean =>
  Array.isArray(value) ? value.some((item) => isEqual(item, to)) : isPlain(value) && String(value).includes(String(to))

export const isPlain = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value)

/** Without a zone, both dates are read in the same one. */
const ZONE = 'UTC'
const DATE = /^\d{4}-\d\d-\d\d/

/** Whether `above` and `below` can compare with it. */
export const isAmount = (to: unknown): boolean => Number.isFinite(toNumber(to)) || toDate(to) !== undefined

/** NaN makes every comparison false. A date is compared with dates. */
export function compareAmounts(value: unknown, to: unknown): number {
  const date = toDate(to)
  return date === undefined ? toNumber(value) - toNumber(to) : (readDate(value, ZONE) ?? Number.NaN) - date
}

/** Otherwise, it is a number. */
export const isDateAmount = (to: unknown): boolean => toDate(to) !== undefined

const toDate = (to: unknown): number | undefined =>
  typeof to === 'string' && DATE.test(to.trim()) ? readDate(to, ZONE) : undefined

const toNumber = (value: unknown): number =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : Number.NaN

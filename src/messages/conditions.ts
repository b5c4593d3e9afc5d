import type { Compared, Condition } from '../store/message-types.ts'

/**
 * `3` equals `"3"`, because form input is text. `contains` searches text and lists; `above` and `below` accept
 * numbers and numeric text.
 */
export function compares(value: unknown, { is, to }: Compared): boolean {
  const isPresent = value !== undefined && value !== null && value !== ''
  if (is === 'present') return isPresent
  if (is === 'absent') return !isPresent
  if (is === 'notEqual') return !isEqual(value, to)
  if (!isPresent || to === undefined) return false
  if (is === 'equal') return isEqual(value, to)
  if (is === 'contains') return contains(value, to)
  const [left, right] = [toNumber(value), toNumber(to)]
  return is === 'above' ? left > right : left < right
}

export const allHold = (conditions: readonly Condition[], properties: Record<string, unknown>): boolean =>
  conditions.every((condition) => compares(propertyOf(properties, condition.property), condition))

/** Own properties only, never inherited ones such as `constructor`. */
export const propertyOf = (properties: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(properties, name) ? properties[name] : undefined

export const parseProperties = (text: string | null): Record<string, unknown> =>
  text === null ? {} : (JSON.parse(text) as Record<string, unknown>)

const isEqual = (value: unknown, to: unknown): boolean => isPlain(value) && String(value) === String(to)

const contains = (value: unknown, to: unknown): boolean =>
  Array.isArray(value) ? value.some((item) => isEqual(item, to)) : isPlain(value) && String(value).includes(String(to))

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

/** NaN makes every comparison false. */
const toNumber = (value: unknown): number =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : Number.NaN

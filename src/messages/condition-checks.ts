/** Refuses conditions that are incomplete or can never hold. */
import type { Compared, Condition, Rule } from '../store/message-types.ts'
import { compareAmounts, compares, groupAlternatives, isAmount } from './conditions.ts'

/** `field`: its path in the message. */
type Fault = { field: string; message: string }

/** `name`: of the property or field. `at`: its path in the message. */
type Placed = Compared & { or?: true; name: string; at: string }

export const checkConditions = (where: readonly Condition[]): Fault[] =>
  checkPlaced(
    where.map(({ property: name, ...condition }, index) => ({ ...condition, name, at: `trigger.where[${index}]` })),
  )

export function checkFieldRules(onlyIf: readonly Rule[]): Fault[] {
  const placed = onlyIf.map((rule, index) => ({ ...rule, at: `onlyIf[${index}]` }))
  const isAfterField = (index: number): boolean => onlyIf[index - 1]?.rule === 'field'
  const rules = placed.flatMap((rule, index) =>
    rule.rule !== 'field' || (rule.or && !isAfterField(index)) ? [] : [{ ...rule, name: rule.field }],
  )
  const misplaced = placed.filter((rule, index) => rule.rule === 'field' && rule.or && !isAfterField(index))
  return [...misplaced.map(({ at }) => ({ field: `${at}.or`, message: NO_FIELD_BEFORE })), ...checkPlaced(rules)]
}

const NO_FIELD_BEFORE = 'There is no field rule right before this one. Leave this out.'
const NOTHING_BEFORE = 'There is no condition before this one. Leave this out.'

function checkPlaced(conditions: readonly Placed[]): Fault[] {
  const [first] = conditions
  if (first?.or) return [{ field: `${first.at}.or`, message: NOTHING_BEFORE }]
  const incomplete = conditions.flatMap((one) => {
    const message = findValueFault(one)
    return message === null ? [] : [{ field: `${one.at}.to`, message }]
  })
  return incomplete.length > 0 ? incomplete : findContradictions(conditions)
}

function findValueFault({ is, to }: Compared): string | null {
  if (is === 'present' || is === 'absent') return to === undefined ? null : `Leave this out: "${is}" takes no value.`
  if (to === undefined || to === '') return 'Enter a value to compare with.'
  if (is === 'in') return Array.isArray(to) ? null : 'Enter a list of values, such as ["pro", "team"].'
  if (Array.isArray(to)) return 'Only "in" takes a list. Enter one value.'
  const isOrder = is === 'above' || is === 'below'
  return isOrder && !isAmount(to)
    ? `"${is}" compares numbers and dates. Enter a number, or a date such as 2026-12-31.`
    : null
}

/** Of a group, every alternative must be impossible. */
function findContradictions(conditions: readonly Placed[]): Fault[] {
  const groups = groupAlternatives(conditions)
  const required = groups.flatMap((group) => (group.length === 1 ? group : []))
  const isImpossible = (one: Placed): boolean => {
    const others = required.filter((other) => other !== one && other.name === one.name)
    return others.length > 0 && contradicts(one, others)
  }
  const found = groups.find((group) => group.every(isImpossible))?.[0]
  return found ? [{ field: `${found.at}.is`, message: describeContradiction(found) }] : []
}

const describeContradiction = ({ name }: Placed): string =>
  `No value meets all conditions for \`${name}\`, so nobody would get this email. Change or remove one of them.`

/** Whether no value meets the condition and all others. */
function contradicts(one: Placed, others: readonly Placed[]): boolean {
  const values = listValues(one)
  if (values) return !values.some((value) => others.every((other) => compares(value, other)))
  if (one.is === 'startsWith') return others.some((other) => other.is === 'startsWith' && !isSameStart(one, other))
  return one.is === 'above' && others.some((other) => other.is === 'below' && compareAmounts(one.to, other.to) >= 0)
}

/** The only values that meet it; null: there are more. */
function listValues({ is, to }: Compared): unknown[] | null {
  if (is === 'absent') return [undefined]
  return is === 'equal' || is === 'in' ? [to].flat() : null
}

const isSameStart = (one: Compared, other: Compared): boolean =>
  String(one.to).startsWith(String(other.to)) || String(other.to).startsWith(String(one.to))

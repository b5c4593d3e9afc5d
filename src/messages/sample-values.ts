/** Made-up values for previews, by what their names say. */
import { DAY_MS } from '../core/clock.ts'
import type { UsedProperty } from './templates.ts'

/** `at`: now (ms UTC). `home`: the start of a URL. `locale` and `timezone`: as in fields that Eventpost reads. */
export type Making = { at: number; home: string; locale: string; timezone: string }
type Value = string | number

/** By the last word of the name. */
const VALUES: [words: string[], make: (making: Making) => Value][] = [
  [['at', 'on', 'date', 'day', 'time', 'until', 'deadline'], makeDate],
  [['url', 'link'], ({ home }) => new URL('/results', home).href],
  [['total', 'amount', 'price', 'cost', 'fee', 'balance'], () => '$49.00'],
  [['count', 'limit', 'quantity', 'size', 'seats', 'days', 'hours', 'minutes'], () => 12],
  [['id', 'number', 'code'], () => '1042'],
  [['locale'], ({ locale }) => locale],
  [['timezone'], ({ timezone }) => timezone],
  [['plan'], () => 'Pro'],
  [['email'], () => 'grace@example.com'],
  [['name', 'author', 'member', 'user'], () => 'Grace Hopper'],
  [['title', 'headline', 'subject'], () => 'Spring report'],
]

function makeDate({ at }: Making): string {
  return new Date(at + 3 * DAY_MS).toISOString()
}

/** Of another name, its words. */
export function makeSampleValue({ name, kind }: Pick<UsedProperty, 'name' | 'kind'>, making: Making): Value {
  if (kind === 'date') return makeDate(making)
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '')
  const known = VALUES.find(([ends]) => ends.includes(words.at(-1) ?? ''))
  const value = known ? known[1](making) : words.join(' ') || name
  if (kind === 'text') return value
  return typeof value === 'number' ? value : Number.parseFloat(value.replace(/^\$/, '')) || 12
}

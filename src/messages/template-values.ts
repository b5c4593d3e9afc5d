/** Formats numbers, money and dates by the app's locale and timezone. */
import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { readDate } from '../core/dates.ts'
import { readLocale, readTimezone } from '../core/local-time.ts'

export type Place = { locale: string; timezone: string }

export const DEFAULT_PLACE: Place = { locale: readLocale(null), timezone: readTimezone(null) }

/** Creating one takes 50 times as long as using it. */
const FORMATS_MAX = 500

function createFormats<Format>() {
  const formats = new Map<string, Format>()
  return (key: string, make: () => Format): Format => {
    const known = formats.get(key)
    if (known !== undefined) return known
    if (formats.size >= FORMATS_MAX) formats.clear()
    const made = make()
    formats.set(key, made)
    return made
  }
}

const [numberFormat, dateFormat] = [createFormats<Intl.NumberFormat>(), createFormats<Intl.DateTimeFormat>()]

let currencies: Set<string> | undefined

export const isCurrency = (code: string): boolean =>
  (currencies ??= new Set(Intl.supportedValuesOf('currency'))).has(code.toUpperCase())

export const formatMoney = (amount: number, currency: string, { locale }: Place): string =>
  numberFormat(
    `${locale} ${currency}`,
    () => new Intl.NumberFormat(locale, { style: 'currency', currency, signDisplay: 'negative' }),
  ).format(amount)

/** More would show floating-point noise: 0.30000000000000004. */
const MOST_DECIMALS = 10

export const formatNumber = (number: number, { locale }: Place): string =>
  numberFormat(
    locale,
    () => new Intl.NumberFormat(locale, { maximumFractionDigits: MOST_DECIMALS, signDisplay: 'negative' }),
  ).format(number)

/** As core/dates.ts. Without a zone, the app's. `now` and `today` are words of Liquid. */
export const readTime = (value: unknown, { timezone }: Place, now: number): number | undefined =>
  isNow(value) ? now : readDate(value, timezone)

const isNow = (value: unknown): boolean => typeof value === 'string' && ['now', 'today'].includes(value.trim())

const STYLES = new Map<string, Intl.DateTimeFormatOptions>([
  ['short', { dateStyle: 'short' }],
  ['medium', { dateStyle: 'medium' }],
  ['long', { dateStyle: 'long' }],
  ['full', { dateStyle: 'full' }],
  ['time', { timeStyle: 'short' }],
  ['datetime', { dateStyle: 'medium', timeStyle: 'short' }],
])

export const isDateStyle = (style: string): boolean => STYLES.has(style) || style.includes('%')

export const DATE_STYLES = [...STYLES.keys()]

/** A named style, or a pattern such as `%d.%m.%Y`. */
export function formatDate(at: number, style: string, place: Place): string {
  const options = STYLES.get(style)
  return options === undefined ? writePattern(at, style, place) : formatIn(at, options, place)
}

function formatIn(at: number, options: Intl.DateTimeFormatOptions, { locale, timezone }: Place): string {
  const key = `${locale} ${timezone} ${JSON.stringify(options)}`
  return dateFormat(key, () => new Intl.DateTimeFormat(locale, { ...options, timeZone: timezone })).format(at)
}

/** `local`: the local time as if it were UTC. */
type Moment = { at: number; local: Date; place: Place }

const dayOfYear = ({ local }: Moment): number =>
  Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0)) / DAY_MS) + 1
const hours12 = ({ local }: Moment): number => local.getUTCHours() % 12 || 12
const named =
  (options: Intl.DateTimeFormatOptions) =>
  ({ at, place }: Moment): string =>
    formatIn(at, options, place)

function offsetOf({ at, local }: Moment): string {
  const minutes = Math.round((local.getTime() - at) / MINUTE_MS)
  const two = (count: number): string => String(count).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}${two(Math.abs(minutes) % 60)}`
}

type Code = [write: (moment: Moment) => string | number, width?: number, fill?: string]
const CODES = new Map<string, Code>([
  ['Y', [({ local }) => local.getUTCFullYear()]],
  ['y', [({ local }) => local.getUTCFullYear() % 100, 2]],
  ['m', [({ local }) => local.getUTCMonth() + 1, 2]],
  ['d', [({ local }) => local.getUTCDate(), 2]],
  ['e', [({ local }) => local.getUTCDate(), 2, ' ']],
  ['j', [dayOfYear, 3]],
  ['H', [({ local }) => local.getUTCHours(), 2]],
  ['k', [({ local }) => local.getUTCHours(), 2, ' ']],
  ['I', [hours12, 2]],
  ['l', [hours12, 2, ' ']],
  ['M', [({ local }) => local.getUTCMinutes(), 2]],
  ['S', [({ local }) => local.getUTCSeconds(), 2]],
  ['L', [({ local }) => local.getUTCMilliseconds(), 3]],
  ['p', [({ local }) => (local.getUTCHours() < 12 ? 'AM' : 'PM')]],
  ['P', [({ local }) => (local.getUTCHours() < 12 ? 'am' : 'pm')]],
  ['u', [({ local }) => local.getUTCDay() || 7]],
  ['w', [({ local }) => local.getUTCDay()]],
  ['B', [named({ month: 'long' })]],
  ['b', [named({ month: 'short' })]],
  ['h', [named({ month: 'short' })]],
  ['A', [named({ weekday: 'long' })]],
  ['a', [named({ weekday: 'short' })]],
  ['x', [named({ dateStyle: 'short' })]],
  ['X', [named({ timeStyle: 'medium' })]],
  ['c', [named({ dateStyle: 'medium', timeStyle: 'medium' })]],
  ['s', [({ at }) => Math.floor(at / 1_000)]],
  ['z', [offsetOf]],
  ['Z', [({ place }) => place.timezone]],
  ['%', [() => '%']],
])

const WIDTH_MAX = 40
const CODE = /%([-_0^#]*)(\d*)([A-Za-z%])/g

/** Unknown letters stay. @throws Error for an excessive width */
function writePattern(at: number, pattern: string, place: Place): string {
  const moment = { at, local: new Date(at + offsetMs(at, place)), place }
  return pattern.replaceAll(CODE, (whole, flags: string, asked: string, letter: string) => {
    const [write, usual = 0, usualFill = '0'] = CODES.get(letter) ?? []
    if (!write) return whole
    const width = flags.includes('-') ? 0 : Number(asked || usual)
    if (width > WIDTH_MAX) throw new Error('length limit exceeded')
    const fill = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : usualFill
    const text = String(write(moment)).padStart(width, fill)
    return flags.includes('^') || flags.includes('#') ? text.toUpperCase() : text
  })
}

const CLOCK = {
  hourCycle: 'h23',
  calendar: 'gregory',
  numberingSystem: 'latn',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const

function offsetMs(at: number, { timezone }: Place): number {
  const format = dateFormat(
    `clock ${timezone}`,
    () => new Intl.DateTimeFormat('en-US', { ...CLOCK, timeZone: timezone }),
  )
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
  const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  return local - (at - (((at % 1_000) + 1_000) % 1_000))
}

import { MINUTE_MS } from './clock.ts'
import { fromLocalTime } from './local-time.ts'

/** Larger numbers are milliseconds; as seconds, this is the year 5138. */
const MILLISECONDS_FROM = 1e11
const DATE_MAX_MS = 8.64e15
const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?$/
/** A year or compact date, not a Unix time. */
const COMPACT = /^([12]\d{3})(?:(\d\d)(\d\d))?$/
const HAS_ZONE = /(?:Z|GMT|UTC|[+-]\d\d:?\d\d)$/i

/** ISO 8601, Unix time or RFC 2822 as ms UTC. Without a zone, the given one; a date is its midnight. */
export function readDate(value: unknown, timezone: string): number | undefined {
  const text = typeof value === 'string' ? value.trim() : value
  const [isCompact, year, month = '01', day = '01'] = COMPACT.exec(String(text)) ?? []
  if (isCompact !== undefined) return readDate(`${year}-${month}-${day}`, timezone)
  const number =
    typeof text === 'number' ? text : typeof text === 'string' && /^-?\d+$/.test(text) ? Number(text) : null
  const at = number !== null ? fromUnix(number) : typeof text === 'string' ? readText(text, timezone) : Number.NaN
  return Math.abs(at) <= DATE_MAX_MS ? at : undefined
}

const fromUnix = (number: number): number => (Math.abs(number) < MILLISECONDS_FROM ? number * 1_000 : number)

function readText(text: string, timezone: string): number {
  const [, year, month, day, hours = 0, minutes = 0, seconds = 0] = LOCAL.exec(text) ?? []
  if (year === undefined) return HAS_ZONE.test(text) ? Date.parse(text) : fromLocal(Date.parse(`${text} UTC`), timezone)
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hours), Number(minutes), Number(seconds))
  // rejects 31 February and 25:00
  const isDate = new Date(local).toISOString().startsWith(`${year}-${month}-${day}`) && Number(minutes) < 60
  return isDate ? fromLocal(local, timezone) : Number.NaN
}

function fromLocal(local: number, timezone: string): number {
  if (!(Math.abs(local) <= DATE_MAX_MS)) return Number.NaN
  const rest = ((local % MINUTE_MS) + MINUTE_MS) % MINUTE_MS
  return fromLocalTime(local - rest, timezone) + rest
}

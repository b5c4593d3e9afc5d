import { MINUTE_MS } from './clock.ts'
import { fromLocalTime } from './local-time.ts'

/** Larger numbers are milliseconds; as seconds, this is the year 5138. */
const MILLISECONDS_FROM = 1e11
const DATE_MAX_MS = 8.64e15
/** As of ISO 8601; a space may replace the T. Then the zone, if any. */
const DATE_AND_TIME = /^(\d{4})-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?)?(.*)$/i
/** As of RFC 2822, also without the time. */
const WRITTEN_OUT =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d\d?) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4})(?: (\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(.*)$/i
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const ZONE = /^ ?(?:(Z|GMT|UTC)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)$/i
/** A year or compact date, not a Unix time. */
const COMPACT = /^([12]\d{3})(?:(\d\d)(\d\d))?$/

/** ISO 8601, Unix time or RFC 2822 as ms UTC. Without a zone, the given one; a date is its midnight. */
export function readDate(value: unknown, timezone: string): number | undefined {
  const text = typeof value === 'string' ? value.trim() : value
  if (typeof text !== 'string' && typeof text !== 'number') return undefined
  const [isCompact, year, month = '01', day = '01'] = COMPACT.exec(String(text)) ?? []
  if (isCompact !== undefined) return readDate(`${year}-${month}-${day}`, timezone)
  const number = typeof text === 'number' ? text : /^-?\d+$/.test(text) ? Number(text) : null
  const at = number === null ? readText(String(text), timezone) : fromUnix(number)
  return Math.abs(at) <= DATE_MAX_MS ? at : undefined
}

const fromUnix = (number: number): number => (Math.abs(number) < MILLISECONDS_FROM ? number * 1_000 : number)

function readText(text: string, timezone: string): number {
  const parts = readParts(text)
  const [found, year, month, day = '01', hours, minutes = '00', seconds = '00', fraction = '', zone = ''] = parts
  if (found === undefined) return Number.NaN
  const local = Date.parse(
    `${year}-${month}-${day}T${hours ?? '00'}:${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`,
  )
  // rejects 31 February and 24:00
  const isDate = !Number.isNaN(local) && new Date(local).toISOString().startsWith(`${year}-${month}-${day}`)
  if (!isDate) return Number.NaN
  if (zone === '') return fromLocal(local, timezone)
  const [isZone, isUtc, sign, zoneHours, zoneMinutes = 0] = ZONE.exec(zone) ?? []
  if (isZone === undefined || hours === undefined) return Number.NaN
  const offsetMs = isUtc === undefined ? (Number(zoneHours) * 60 + Number(zoneMinutes)) * MINUTE_MS : 0
  return sign === '-' ? local + offsetMs : local - offsetMs
}

/** The text, year, month, day, hours, minutes, seconds, fraction and zone. */
function readParts(text: string): (string | undefined)[] {
  const [found, day = '', name = '', year, ...time] = WRITTEN_OUT.exec(text) ?? []
  if (found === undefined) return DATE_AND_TIME.exec(text) ?? []
  const month = String(MONTHS.indexOf(name.toLowerCase()) + 1).padStart(2, '0')
  return [found, year, month, day.padStart(2, '0'), ...time]
}

function fromLocal(local: number, timezone: string): number {
  if (!(Math.abs(local) <= DATE_MAX_MS)) return Number.NaN
  const rest = ((local % MINUTE_MS) + MINUTE_MS) % MINUTE_MS
  return fromLocalTime(local - rest, timezone) + rest
}

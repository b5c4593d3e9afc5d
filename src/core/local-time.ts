/** Local time and locale. Zones are IANA names; an unknown zone throws. */
import { DAY_MS, MINUTE_MS } from './clock.ts'

/** Creating a format takes 50 times as long as using it. */
const formats = new Map<string, Intl.DateTimeFormat>()
/** More than there are zones, but names of zones can be spelled in many ways. */
const MOST_FORMATS = 1_000

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  if (formats.size >= MOST_FORMATS) formats.clear()
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const made = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', era: 'short', ...numeric })
  formats.set(zone, made)
  return made
}

/** Local time to the minute, encoded as if it were UTC milliseconds. */
export function localTime(at: number, zone: string): number {
  if (zone === 'UTC') return at - (at % MINUTE_MS)
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  )
  return Date.UTC(parts.year ?? 0, (parts.month ?? 1) - 1, parts.day, parts.hour, parts.minute)
}

/**
 * The first match if clocks go back and the local time occurs twice; an hour later if clocks go forward and it is
 * skipped.
 */
export function fromLocalTime(local: number, zone: string): number {
  const [before, after] = [local - DAY_MS, local + DAY_MS].map((near) => local - (localTime(near, zone) - near))
  const times = [before ?? local, after ?? local].sort((a, b) => a - b)
  return times.find((time) => localTime(time, zone) === local) ?? before ?? local
}

export function readTimeOfDay(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return (hours * 60 + minutes) * MINUTE_MS
}

/** First time at or after `after` (ms UTC) when local clocks show a time such as "09:00". */
export function nextTimeOfDay(after: number, time: string, zone: string): number {
  const local = localTime(after, zone)
  const today = local - (local % DAY_MS) + readTimeOfDay(time)
  const days = [0, 1, 2].map((day) => fromLocalTime(today + day * DAY_MS, zone))
  return days.find((candidate) => candidate >= after) ?? after + DAY_MS
}

export const readTimezone = (zone: string | null | undefined): string => (zone && isTimezone(zone) ? zone : 'UTC')

export function isTimezone(zone: string): boolean {
  try {
    formatOf(zone)
    return true
  } catch {
    return false
  }
}

const DEFAULT_LOCALE = 'en-US'

export const readLocale = (locale: string | null | undefined): string =>
  locale && isLocale(locale) ? locale : DEFAULT_LOCALE

export function isLocale(locale: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0
  } catch {
    return false
  }
}

import { DAY_MS, HOUR_MS, MINUTE_MS } from './clock.ts'
import { MAX_OCCURRED_AHEAD_MS } from './field-limits.ts'

/** Creating one takes longer than a table row (20 µs). */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
  formats.set(timeZone, format)
  return format
}

export const timeParts = (at: number, timeZone: string): Record<string, string> =>
  Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )

/** "3 May 2026" */
export function formatDate(at: number, timeZone = 'UTC'): string {
  const { day, month, year } = timeParts(at, timeZone)
  return `${day} ${month} ${year}`
}

/** "3 May 2026, 14:05" */
export function formatTime(at: number, timeZone = 'UTC'): string {
  const { day, month, year, hour, minute } = timeParts(at, timeZone)
  return `${day} ${month} ${year}, ${hour}:${minute}`
}

const count = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? '' : 's'}`

export const formatZone = (timeZone: string): string => timeZone.replaceAll('_', ' ')

/** "3 May 2026, 14:05 UTC", "3 May 2026, 16:05 Europe/Zurich" */
export const formatTimeInZone = (at: number, timeZone: string): string =>
  `${formatTime(at, timeZone)} ${formatZone(timeZone)}`

/** Smallest duration (ms) for each unit: 36 hours still shows hours. */
const UNITS: [unit: string, ms: number, from: number][] = [
  ['day', DAY_MS, 2 * DAY_MS],
  ['hour', HOUR_MS, HOUR_MS],
  ['minute', MINUTE_MS, MINUTE_MS],
]
const RELATIVE_DAYS = 30

/** Rounded to the nearest minute, so that a countdown changes soon after it starts. */
const roundMinutes = (ms: number): number => Math.round(ms / MINUTE_MS) * MINUTE_MS

/** Of what has happened: "just now" or "5 minutes ago"; null beyond 30 days, or if it is more than 10 minutes ahead. A clock may be
 * ahead by less. */
export const formatPast = (at: number, now: number): string | null =>
  at > now + MAX_OCCURRED_AHEAD_MS ? null : formatDistance(Math.min(at, now), now)

/** "just now", "5 minutes ago" or "in 23 hours"; null beyond 30 days. */
export function formatDistance(at: number, now: number): string | null {
  const distance = at > now ? roundMinutes(at - now) : now - at
  const [unit, ms] = UNITS.find(([, , from]) => distance >= from) ?? ['', 0]
  if (unit === '') return at > now ? 'in less than a minute' : 'just now'
  const number = at > now ? Math.round(distance / ms) : Math.floor(distance / ms)
  if (unit === 'day' && number > RELATIVE_DAYS) return null
  return at > now ? `in ${count(number, unit)}` : `${count(number, unit)} ago`
}

/** `over`: the text from `at` on. */
export type Countdown = { at: number; over: string }

/** "in 10 min", rounded as by `formatDistance`, then such as "now" */
export function formatCountdown({ at, over }: Countdown, now: number): string {
  if (at <= now) return over
  const ms = at - now
  return `in ${formatShortDuration(ms < MINUTE_MS ? ms : roundMinutes(ms), Math.round)}`
}

export function formatDuration(ms: number): string {
  if (ms < MINUTE_MS) return 'less than a minute'
  if (ms < 2 * HOUR_MS) return count(Math.floor(ms / MINUTE_MS), 'minute')
  return ms < 2 * DAY_MS ? count(Math.floor(ms / HOUR_MS), 'hour') : count(Math.floor(ms / DAY_MS), 'day')
}

/** "20 s", "3 min", "5 h" or "2 days" */
export function formatShortDuration(ms: number, round = Math.floor): string {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / 1_000))} s`
  if (ms < 2 * HOUR_MS) return `${round(ms / MINUTE_MS)} min`
  return ms < 2 * DAY_MS ? `${round(ms / HOUR_MS)} h` : count(round(ms / DAY_MS), 'day')
}

/** @jsxImportSource preact */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { formatTime, formatTimeInZone, timeParts } from '../../core/format-time.ts'

/** A unit is used from the last number of milliseconds on: a day and a half is better said in hours. */
const UNITS: [unit: string, ms: number, from: number][] = [
  ['day', 86_400_000, 2 * 86_400_000],
  ['hour', 3_600_000, 3_600_000],
  ['minute', 60_000, 60_000],
]
/** Beyond this a date says more than a count of days. */
const RELATIVE_DAYS = 30

/** "3 May 2026" */
export function formatDate(at: number, timeZone = 'UTC'): string {
  const { day, month, year } = timeParts(at, timeZone)
  return `${day} ${month} ${year}`
}

/** "3 May", the month in three letters */
export function formatDay(at: number, timeZone = 'UTC'): string {
  const { day, month } = timeParts(at, timeZone)
  return `${day} ${month?.slice(0, 3)}`
}

/** "14:05", with seconds "14:05:32" */
export function formatClock(at: number, { seconds }: { seconds: boolean }, timeZone = 'UTC'): string {
  const { hour, minute, second } = timeParts(at, timeZone)
  return seconds ? `${hour}:${minute}:${second}` : `${hour}:${minute}`
}

/** "just now", "5 minutes ago", "in 23 hours", or the date when that is far away. */
export function formatAge(at: number, now: number, timeZone = 'UTC'): string {
  const distance = Math.abs(now - at)
  const [unit, ms] = UNITS.find(([, , from]) => distance >= from) ?? ['', 0]
  if (unit === '') return at > now ? 'in less than a minute' : 'just now'
  const count = Math.floor(distance / ms)
  if (unit === 'day' && count > RELATIVE_DAYS) return formatTime(at, timeZone)
  const words = `${count} ${unit}${count === 1 ? '' : 's'}`
  return at > now ? `in ${words}` : `${words} ago`
}

/** The zone by which a page tells times (IANA name): that of the app it is about. */
export const Zone = createContext('UTC')

/** A time (ms UTC) as people say it, exact where the pointer rests. */
export function Time({ at, now }: { at: number; now: number }) {
  const timeZone = useContext(Zone)
  return (
    <time datetime={new Date(at).toISOString()} title={formatTimeInZone(at, timeZone)}>
      {formatAge(at, now, timeZone)}
    </time>
  )
}

/** A time (ms UTC) in full, where the minute matters. */
export function ExactTime({ at }: { at: number }) {
  const timeZone = useContext(Zone)
  return <time datetime={new Date(at).toISOString()}>{formatTimeInZone(at, timeZone)}</time>
}

/** A time (ms UTC) in a list where seconds matter and rows stay long: "3 May 14:05:32". */
export function Moment({ at }: { at: number }) {
  const timeZone = useContext(Zone)
  return (
    <time datetime={new Date(at).toISOString()} title={formatTimeInZone(at, timeZone)}>
      <span class="hint">{formatDay(at, timeZone)}</span> {formatClock(at, { seconds: true }, timeZone)}
    </time>
  )
}

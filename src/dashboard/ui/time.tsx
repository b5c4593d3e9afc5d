/** @jsxImportSource preact */
import { DAY_MS } from '../../core/clock.ts'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { formatTimeInZone, timeParts } from '../../core/format-time.ts'

/** Smallest duration (ms) for each unit: 36 hours still shows hours. */
const UNITS: [unit: string, ms: number, from: number][] = [
  ['day', 86_400_000, 2 * 86_400_000],
  ['hour', 3_600_000, 3_600_000],
  ['minute', 60_000, 60_000],
]
/** Beyond this, the date is shown. */
const RELATIVE_DAYS = 30

/** "3 May 2026" */
export function formatDate(at: number, timeZone = 'UTC'): string {
  const { day, month, year } = timeParts(at, timeZone)
  return `${day} ${month} ${year}`
}

/** "3 May" */
export function formatDay(at: number, timeZone = 'UTC'): string {
  const { day, month } = timeParts(at, timeZone)
  return `${day} ${month?.slice(0, 3)}`
}

/** "Today", "Yesterday", or "3 May 2026" */
export function formatLongDay(at: number, now: number, timeZone = 'UTC'): string {
  const date = formatDate(at, timeZone)
  if (date === formatDate(now, timeZone)) return 'Today'
  return date === formatDate(now - DAY_MS, timeZone) ? 'Yesterday' : date
}

/** "14:05", or "14:05:32" with seconds */
export function formatClock(at: number, { seconds }: { seconds: boolean }, timeZone = 'UTC'): string {
  const { hour, minute, second } = timeParts(at, timeZone)
  return seconds ? `${hour}:${minute}:${second}` : `${hour}:${minute}`
}

/** "just now", "5 minutes ago", "in 23 hours", or "3 May 2026" with a short month. */
export function formatAge(at: number, now: number, timeZone = 'UTC'): string {
  // to the nearest: the time until then shrinks at once
  const distance = at > now ? Math.round((at - now) / 60_000) * 60_000 : now - at
  const [unit, ms] = UNITS.find(([, , from]) => distance >= from) ?? ['', 0]
  if (unit === '') return at > now ? 'in less than a minute' : 'just now'
  const count = at > now ? Math.round(distance / ms) : Math.floor(distance / ms)
  if (unit === 'day' && count > RELATIVE_DAYS) return `${formatDay(at, timeZone)} ${timeParts(at, timeZone).year}`
  const text = `${count} ${unit}${count === 1 ? '' : 's'}`
  return at > now ? `in ${text}` : `${text} ago`
}

/** The app's timezone (IANA name). */
export const Zone = createContext('UTC')

/** Relative, exact on hover. `at` is in ms UTC. */
export function Time({ at, now }: { at: number; now: number }) {
  const timeZone = useContext(Zone)
  return (
    <time datetime={new Date(at).toISOString()} title={formatTimeInZone(at, timeZone)}>
      {formatAge(at, now, timeZone)}
    </time>
  )
}

/** Exact time (ms UTC). */
export function ExactTime({ at }: { at: number }) {
  const timeZone = useContext(Zone)
  return <time datetime={new Date(at).toISOString()}>{formatTimeInZone(at, timeZone)}</time>
}

/** For lists: "3 May 14:05:32" (ms UTC). */
export function Moment({ at }: { at: number }) {
  const timeZone = useContext(Zone)
  return (
    <time datetime={new Date(at).toISOString()} title={formatTimeInZone(at, timeZone)}>
      <span class="hint">{formatDay(at, timeZone)}</span> {formatClock(at, { seconds: true }, timeZone)}
    </time>
  )
}

/** "14:05" or "Due 14:05", under a heading with the day (ms UTC). */
export function ClockTime({ at, isDue = false }: { at: number; isDue?: boolean }) {
  const timeZone = useContext(Zone)
  return (
    <time datetime={new Date(at).toISOString()} title={formatTimeInZone(at, timeZone)}>
      {`${isDue ? 'Due ' : ''}${formatClock(at, { seconds: false }, timeZone)}`}
    </time>
  )
}

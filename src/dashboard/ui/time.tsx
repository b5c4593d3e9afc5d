/** @jsxImportSource preact */
import { DAY_MS } from '../../core/clock.ts'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import {
  type Countdown,
  formatCountdown,
  formatDate,
  formatDistance,
  formatPast,
  formatTimeInZone,
  timeParts,
} from '../../core/format-time.ts'

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

/** "3 May 2026" with a short month */
const formatShortDate = (at: number, timeZone: string): string =>
  `${formatDay(at, timeZone)} ${timeParts(at, timeZone).year}`

/** Of what has happened: "just now", "5 minutes ago", or "3 May 2026" with a short month. */
export const formatAge = (at: number, now: number, timeZone = 'UTC'): string =>
  formatPast(at, now) ?? formatShortDate(at, timeZone)

/** The app's timezone (IANA name). */
export const Zone = createContext('UTC')

type TimeProps = { at: number; now: number }

/** Of what has happened: relative, exact on hover; islands/ages.ts updates it. `at` is in ms UTC. */
export const Time = ({ at, now }: TimeProps) => <RelativeTime at={at} text={formatPast(at, now)} age="" />

/** Like `Time`, of what is planned: "in 23 hours", or "5 minutes ago" once it is over. */
export const PlannedTime = ({ at, now }: TimeProps) => (
  <RelativeTime at={at} text={formatDistance(at, now)} age="planned" />
)

function RelativeTime({ at, text, age }: { at: number; text: string | null; age: '' | 'planned' }) {
  const timeZone = useContext(Zone)
  return (
    <time
      datetime={new Date(at).toISOString()}
      title={formatTimeInZone(at, timeZone)}
      data-age={text === null ? undefined : age}
    >
      {text ?? formatShortDate(at, timeZone)}
    </time>
  )
}

/** "in 10 min", then such as "now"; islands/ages.ts counts on. */
export const CountdownTime = ({ at, over, now }: Countdown & { now: number }) => (
  <time datetime={new Date(at).toISOString()} data-over={over}>
    {formatCountdown({ at, over }, now)}
  </time>
)

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

/** "14:05" on the day of `now`, else "3 May", or "3 May 2025" of another year (ms UTC). */
export function ShortTime({ at, now }: { at: number; now: number }) {
  const timeZone = useContext(Zone)
  const [{ year }, isToday] = [timeParts(at, timeZone), formatDate(at, timeZone) === formatDate(now, timeZone)]
  const day = `${formatDay(at, timeZone)}${year === timeParts(now, timeZone).year ? '' : ` ${year}`}`
  return (
    <time datetime={new Date(at).toISOString()} title={formatTimeInZone(at, timeZone)}>
      {isToday ? formatClock(at, { seconds: false }, timeZone) : day}
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

import { fromLocalTime, localTime, readTimeOfDay } from '../store/local-time.ts'
import type { SendWindow } from '../store/message-types.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How long a delivery is tried before it is given up. */
const GIVE_UP_HOURS = 72
const MINUTE_MS = 60_000

/** When a mail that was planned for a time is given up (both ms UTC); `hours` null: the app has set nothing. */
export const giveUpTime = (plannedAt: number, hours: number | null): number =>
  plannedAt + (hours ?? GIVE_UP_HOURS) * HOUR_MS

/**
 * When mail may go out: now, or when the window next opens (ms UTC). A window over midnight (22:00 to 06:00) belongs to
 * the day on which it opens. One without days or hours never opens: it is taken as always open.
 */
export function nextOpening(now: number, window: SendWindow | null, zone: string): number {
  if (window === null || window.days.length === 0 || window.from === window.until) return now
  const local = localTime(now, zone)
  const midnight = local - (local % DAY_MS)
  // the window of yesterday may still be open
  for (let day = -1; day <= 7; day++) {
    const start = midnight + day * DAY_MS
    if (!window.days.includes(new Date(start).getUTCDay())) continue
    const { opens, closes } = hoursOf(start, window)
    if (local < closes) return local >= opens ? now : laterOf(fromLocalTime(opens, zone), now)
  }
  return now
}

function hoursOf(midnight: number, { from, until }: SendWindow): { opens: number; closes: number } {
  const opens = midnight + readTimeOfDay(from)
  const closes = midnight + readTimeOfDay(until)
  return { opens, closes: closes > opens ? closes : closes + DAY_MS }
}

/** Where the clocks are set back an hour is there twice: never before now. */
const laterOf = (at: number, now: number): number => (at > now ? at : now + MINUTE_MS)

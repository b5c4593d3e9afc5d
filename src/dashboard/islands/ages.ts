/// <reference lib="dom" />
/** Keeps relative times and countdowns (ui/time.tsx) as the server would write them now. */
import { formatCountdown, formatDistance } from '../../core/format-time.ts'

const LOOK_MS = 10_000

const main = document.querySelector<HTMLElement>('main[data-now]')
/** How far the server's clock is ahead, less the moment that the page took to arrive. */
const aheadMs = main ? Number(main.dataset.now) - Date.now() : 0

function textOf({ dateTime, dataset: { over } }: HTMLTimeElement): string | null {
  const [at, now] = [Date.parse(dateTime), Date.now() + aheadMs]
  return over === undefined ? formatDistance(at, now) : formatCountdown({ at, over }, now)
}

function age(): void {
  if (document.hidden) return
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-age], time[data-over]')) {
    const text = textOf(time)
    if (text === null || text === time.textContent) continue
    // not announced, even inside a part whose changes are
    time.ariaLive = 'off'
    time.textContent = text
  }
}

if (main) {
  setInterval(age, LOOK_MS)
  document.addEventListener('visibilitychange', age)
}

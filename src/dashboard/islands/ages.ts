/// <reference lib="dom" />
/** Updates relative times and countdowns to what the server would write now (ui/time.tsx). */
import { formatCountdown, formatDistance, formatPast } from '../../core/format-time.ts'

const LOOK_MS = 10_000

const main = document.querySelector<HTMLElement>('main[data-now]')
/** How far the server's clock is ahead, without the time that the page took to arrive. */
const aheadMs = main ? Number(main.dataset.now) - Date.now() : 0

function textOf({ dateTime, dataset: { age, over } }: HTMLTimeElement): string | null {
  const [at, now] = [Date.parse(dateTime), Date.now() + aheadMs]
  if (over !== undefined) return formatCountdown({ at, over }, now)
  return age === 'planned' ? formatDistance(at, now) : formatPast(at, now)
}

function age(): void {
  if (document.hidden) return
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-age], time[data-over]')) {
    const text = textOf(time)
    if (text === null || text === time.textContent) continue
    // screen readers don't announce it, even inside a live region
    time.ariaLive = 'off'
    time.textContent = text
  }
}

if (main) {
  setInterval(age, LOOK_MS)
  document.addEventListener('visibilitychange', age)
}

/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import { DAY_MS } from '../../core/clock.ts'
import type { Results } from '../../deliveries/results.ts'
import { formatDate } from '../../core/format-time.ts'

const WIDTH = 640
const HEIGHT = 120

/** More bars would be too thin to see and hit. */
const MOST_BARS = 92
const WEEK_DAYS = 7

type Day = Results['days'][number]

/** A day or a week. */
type Period = { from: number; until: number; started: number; sent: number; cameBack: number }

export function groupDays(days: readonly Day[]): Period[] {
  const length = days.length > MOST_BARS ? WEEK_DAYS : 1
  const periods: Period[] = []
  for (let index = 0; index < days.length; index += length) {
    const part = days.slice(index, index + length)
    const sum = (name: 'started' | 'sent' | 'cameBack'): number => part.reduce((total, day) => total + day[name], 0)
    const from = days[index]?.day ?? 0
    const until = from + part.length - 1
    periods.push({ from, until, started: sum('started'), sent: sum('sent'), cameBack: sum('cameBack') })
  }
  return periods
}

const nameOf = ({ from, until }: Period): string =>
  from === until ? formatDate(from * DAY_MS) : `${formatDate(from * DAY_MS)} to ${formatDate(until * DAY_MS)}`

const describe = (period: Period): string =>
  `${nameOf(period)}: ${formatCount(period.started)} triggered, ${formatCount(period.sent)} sent, ${formatCount(period.cameBack)} came back`

type ChartProps = { days: readonly Day[]; linkOf(from: number, until: number): string }

/** Keyboards and screen readers get the table. */
export function DayChart({ days, linkOf }: ChartProps) {
  const periods = groupDays(days)
  const isByWeek = periods[0] !== undefined && periods[0].from !== periods[0].until
  const label = `Triggered, sent and came back by ${isByWeek ? 'week' : 'day'} (UTC)`
  const most = Math.max(1, ...periods.map(({ started }) => started))
  const [first, last] = [periods[0], periods.at(-1)]
  return (
    <section>
      <h2>{isByWeek ? 'By week of creation' : 'By day of creation'}</h2>
      <figure class="chart day-bars">
        <figcaption>
          <ul class="legend">
            <li class="started">Triggered</li>
            <li class="sent">of these, sent</li>
            <li class="came-back">of these, came back</li>
          </ul>
          <span class="hint">{`Peak: ${formatCount(most)}. Days in UTC.`}</span>
        </figcaption>
        <div class="plot" aria-hidden="true">
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
            {periods.map((period, index) => (
              <a key={period.from} href={linkOf(period.from, period.until)} tabindex={-1}>
                <title>{describe(period)}</title>
                <Column index={index} count={periods.length} />
              </a>
            ))}
            {SERIES.map(({ name, style }) => (
              <path key={name} class={style} d={pathOf(periods, name, most)} />
            ))}
            <path class="rule" d={`M0,${HEIGHT}H${WIDTH}`} vector-effect="non-scaling-stroke" />
          </svg>
          <div class="axis">
            <span>{first && nameOf(first)}</span>
            <span>{last && nameOf(last)}</span>
          </div>
        </div>
        <details>
          <summary>Show as table</summary>
          <div class="long" tabindex={0} role="region" aria-label={label}>
            <table class="table" aria-label={label}>
              <thead>
                <tr>
                  <th scope="col">{isByWeek ? 'Week' : 'Day'}</th>
                  <th scope="col" class="number">
                    Triggered
                  </th>
                  <th scope="col" class="number">
                    Sent
                  </th>
                  <th scope="col" class="number">
                    Came back
                  </th>
                </tr>
              </thead>
              <tbody>
                {periods.toReversed().map((period) => (
                  <tr key={period.from}>
                    <th scope="row">
                      <a href={linkOf(period.from, period.until)}>{nameOf(period)}</a>
                    </th>
                    <td class="number" data-label="Triggered">
                      {formatCount(period.started)}
                    </td>
                    <td class="number" data-label="Sent">
                      {formatCount(period.sent)}
                    </td>
                    <td class="number" data-label="Came back">
                      {formatCount(period.cameBack)}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      </figure>
    </section>
  )
}

/** The whole column is a target. */
const Column = ({ index, count }: { index: number; count: number }) => (
  <rect x={((index * WIDTH) / count).toFixed(1)} width={(WIDTH / count).toFixed(1)} height={HEIGHT} />
)

/** Sent lies over started, and who came back over sent. */
const SERIES = [
  { name: 'started', style: 'started' },
  { name: 'sent', style: 'sent' },
  { name: 'cameBack', style: 'came-back' },
] as const

/** All bars of a series in one element, which keeps the page small. */
function pathOf(periods: readonly Period[], name: (typeof SERIES)[number]['name'], most: number): string {
  const step = WIDTH / periods.length
  const width = (step * 0.8).toFixed(1)
  const bars = periods.map((period, index) => {
    if (period[name] === 0) return ''
    const height = Math.max(1, (HEIGHT * period[name]) / most)
    return `M${((index + 0.1) * step).toFixed(1)},${HEIGHT}v-${height.toFixed(1)}h${width}V${HEIGHT}z`
  })
  return bars.join('')
}

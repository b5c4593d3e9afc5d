/** @jsxImportSource preact */
import { formatCount } from '../../core/count.ts'
import type { CountPoint, CountRange, NameCount } from '../../events/counts.ts'
import { formatDate, formatZone } from '../../core/format-time.ts'
import { PAGE_NAME } from '../../store/visit-reports.ts'
import { describeEventName } from './event-labels.ts'
import { type CountsProps, eventsPath } from './events-view.ts'
import { Button, HiddenFields } from '../ui/button.tsx'
import { AreaChart, type Point } from '../ui/chart.tsx'
import { SentText } from '../ui/text.tsx'
import { formatClock, formatDay } from '../ui/time.tsx'

export const RANGE_WORDS: Record<CountRange, { name: string; last: string }> = {
  hours: { name: '48 hours', last: 'the last 48 hours' },
  days: { name: '30 days', last: 'the last 30 days' },
  weeks: { name: '26 weeks', last: 'the last 26 weeks' },
}

/** Days and weeks start in UTC; hours use the app's timezone. */
const zoneOf = (range: CountRange, { timezone }: { timezone: string }): string => (range === 'hours' ? timezone : 'UTC')

const toPoint = (range: CountRange, zone: string, { at, count }: CountPoint): Point => {
  const day = formatDay(at, zone)
  const clock = formatClock(at, { seconds: false }, zone)
  if (range === 'hours') return { label: `${day}, ${clock}`, tick: clock.startsWith('00:') ? day : clock, value: count }
  return { label: range === 'weeks' ? `Week of ${formatDate(at)}` : formatDate(at), tick: day, value: count }
}

export const countViews = ({ names }: Pick<CountsProps['counts'], 'names'>): number =>
  names.find(({ name }) => name === PAGE_NAME)?.count ?? 0

/** Page views are counted with the events. */
const nameAll = (counts: CountsProps['counts']): string =>
  countViews(counts) === 0 ? 'All events' : 'Events and page views'

export const CountsSection = (props: CountsProps) => (
  <section class="counts" aria-label="Event counts">
    <nav class="ranges" aria-label="Time range">
      {Object.entries(RANGE_WORDS).map(([range, { name }]) => (
        <a
          key={range}
          href={eventsPath(props.viewer.app.publicId, { ...props.view, range: range as CountRange })}
          aria-current={range === props.view.range ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
    <CountsChart {...props} />
  </section>
)

export function CountsChart({ viewer, view, counts }: CountsProps) {
  const zone = zoneOf(view.range, viewer.app)
  const what = view.name === null ? nameAll(counts) : describeEventName(view.name)
  return (
    <AreaChart
      label={`${what} by ${UNITS[view.range]} of arrival (${formatZone(zone)})`}
      points={counts.points.map((point) => toPoint(view.range, zone, point))}
    />
  )
}

const UNITS: Record<CountRange, string> = { hours: 'hour', days: 'day', weeks: 'week' }

export const NamesSection = (props: CountsProps) => (
  <section>
    <h2>Names</h2>
    <NamesFilter {...props} />
    <ul class="names" data-feed-counts="names">
      <NamesList {...props} />
    </ul>
    {!props.counts.isWhole && (
      <p class="hint">
        Too many event names, so the oldest part of the range isn't counted here. Put changing values in properties, not
        in names.
      </p>
    )}
  </section>
)

export const NamesList = (props: CountsProps) => (
  <>
    <NameItem {...props} name={null} count={props.counts.total} />
    {props.counts.names.map(({ name, count }) => (
      <NameItem key={name} {...props} name={name} count={count} />
    ))}
  </>
)

const NameItem = ({ viewer, view, counts, name, count }: CountsProps & { name: string | null; count: number }) => (
  <li>
    <a href={eventsPath(viewer.app.publicId, { ...view, name })} aria-current={name === view.name ? 'true' : undefined}>
      <Share count={count} of={counts.total} />
      <span>{name === null ? nameAll(counts) : <SentText>{describeEventName(name)}</SentText>}</span>
      <span class="number">{formatCount(count)}</span>
    </a>
  </li>
)

/** The bar's share of the total. */
const Share = ({ count, of }: { count: number; of: number }) => (
  <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
    <rect width={of === 0 ? 0 : Math.max(0.5, (100 * count) / of).toFixed(1)} height="1" />
  </svg>
)

/** On phones the names collapse, so that the events are near the top. */
const NamesFilter = ({ view, counts }: CountsProps) => (
  <form class="names-filter" method="get">
    <HiddenFields fields={view.range === 'hours' ? {} : { range: view.range }} />
    <label class="unseen" for="event">
      Name
    </label>
    <select id="event" name="event">
      <option value="">{nameAll(counts)}</option>
      {withCurrent(counts.names, view.name).map(({ name, count }) => (
        <option key={name} value={name} selected={name === view.name}>
          {`${describeEventName(name)} (${formatCount(count)})`}
        </option>
      ))}
    </select>
    <Button>Show</Button>
  </form>
)

const withCurrent = (names: NameCount[], current: string | null): NameCount[] =>
  current === null || names.some(({ name }) => name === current) ? names : [{ name: current, count: 0 }, ...names]

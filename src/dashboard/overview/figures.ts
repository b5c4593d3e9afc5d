import { DAY_HOURS } from '../../core/clock.ts'
import type { AppResults, DayRange } from '../../deliveries/results.ts'
import type { HourCount, PeopleCount } from '../../store/counters.ts'
import { PAGE_NAME } from '../../store/visit-reports.ts'
import { deliveriesPath } from '../deliveries/deliveries-view.ts'
import { eventsPath } from '../events/events-view.ts'
import { pathOf } from '../layout/frame.tsx'
import { writeDay } from '../layout/days.ts'
import { peoplePath } from '../people/people-view.ts'

/** `values`: one per day of the range. */
export type Figure = { name: string; total: number; values: number[]; href: string }

type Counts = {
  range: DayRange
  /** whether the link to the deliveries must say that days are UTC */
  isUtc: boolean
  people: PeopleCount[]
  all: HourCount[]
  /** page views, which `all` contains */
  views: HourCount[]
  results: Pick<AppResults, 'days'>
}

export function listFigures(appId: string, { range, isUtc, people, all, views, results }: Counts): Figure[] {
  const ofDays = (counts: { day: number; count: number }[]): number[] => {
    const values = Array.from({ length: range.until - range.from + 1 }, () => 0)
    for (const { day, count } of counts) values[day - range.from] = (values[day - range.from] ?? 0) + count
    return values.slice(0, range.until - range.from + 1)
  }
  const ofHours = (counts: HourCount[]): number[] =>
    ofDays(counts.map(({ hour, count }) => ({ day: Math.floor(hour / DAY_HOURS), count })))
  const viewed = ofHours(views)
  const events = ofHours(all).map((count, index) => Math.max(0, count - (viewed[index] ?? 0)))
  return [
    figure('New people', ofDays(people.map(({ day, people: count }) => ({ day, count }))), pathOf(appId, 'people')),
    figure('Events', events, eventsPath(appId, { range: 'days', name: null })),
    figure('Page views', viewed, eventsPath(appId, { range: 'days', name: PAGE_NAME })),
    figure(
      'Emails sent',
      results.days.map(({ sent }) => sent),
      deliveriesPath(appId, { state: 'left', from: writeDay(range.from), isUtc, isLead: true }),
    ),
    figure(
      'Came back',
      results.days.map(({ cameBack }) => cameBack),
      peoplePath(appId, { emails: 'returned', days: '30' }),
    ),
  ]
}

const figure = (name: string, values: number[], href: string): Figure => ({
  name,
  total: values.reduce((sum, value) => sum + value, 0),
  values,
  href,
})

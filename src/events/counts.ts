import { DAY_HOURS, HOUR_MS, type Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { HourCount, NameCount } from '../store/counters.ts'
import type { AppRow } from '../accounts/access.ts'

export type { NameCount }

const WEEK_DAYS = 7
/** 1 January 1970 was a Thursday. */
const FIRST_MONDAY = 4

/** `length` units of `unitHours` up to the current one; weeks begin on Monday (UTC). */
const RANGES = {
  hours: { length: 48, unitHours: 1, firstUnitHour: 0 },
  days: { length: 30, unitHours: DAY_HOURS, firstUnitHour: 0 },
  weeks: { length: 26, unitHours: WEEK_DAYS * DAY_HOURS, firstUnitHour: FIRST_MONDAY * DAY_HOURS },
} as const

export type CountRange = keyof typeof RANGES

export const isCountRange = (text: string): text is CountRange => Object.hasOwn(RANGES, text)

/** `at`: the unit's start (ms UTC). */
export type CountPoint = { at: number; count: number }

export type Counts = {
  points: CountPoint[]
  /** the most frequent names of the range */
  names: NameCount[]
  /** of all names */
  total: number
  /** false: too many names, only the newest days were counted */
  isWhole: boolean
}

/** Counts an app's events by time and by name. `name` filters the counts by time. */
export async function readCounts(
  { store, clock }: { store: Store; clock: Clock },
  app: AppRow,
  range: CountRange,
  name: string | null,
): Promise<Counts> {
  const { length, unitHours, firstUnitHour } = RANGES[range]
  const unitOf = (hour: number): number => Math.floor((hour - firstUnitHour) / unitHours)
  const lastUnit = unitOf(Math.floor(clock.now() / HOUR_MS))
  const fromUnit = lastUnit - length + 1
  const fromHour = fromUnit * unitHours + firstUnitHour
  const [counted, hours] = await Promise.all([
    store.countNames(app.id, fromHour),
    range === 'hours'
      ? store.countByHour(app.id, name, fromHour)
      : store.countByDay(app.id, name, Math.floor(fromHour / DAY_HOURS)),
  ])
  const sums = sumBy(hours, unitOf)
  const points = Array.from({ length }, (_, index) => ({
    at: (fromHour + index * unitHours) * HOUR_MS,
    count: sums.get(fromUnit + index) ?? 0,
  }))
  return { ...counted, points }
}

function sumBy(hours: HourCount[], unitOf: (hour: number) => number): Map<number, number> {
  const sums = new Map<number, number>()
  for (const { hour, count } of hours) sums.set(unitOf(hour), (sums.get(unitOf(hour)) ?? 0) + count)
  return sums
}

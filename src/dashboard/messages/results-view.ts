import { type DayRange, lastDays } from '../../deliveries/results.ts'
import { findOrderFault, RANGE_DAYS, readDay, writeDay } from '../layout/days.ts'

const USUAL_DAYS = 30

/** Of a custom range. */
const MOST_DAYS = 366

/** `days`: one of the usual ranges; null: a custom one, with `from` and `to` as typed. */
export type ResultsView = { range: DayRange; days: number | null; from: string; to: string; error: string | null }

export function readView(query: URLSearchParams, now: number): ResultsView {
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  if (from === '' && to === '') {
    const days = RANGE_DAYS.find((one) => String(one) === query.get('range')) ?? USUAL_DAYS
    const range = lastDays(days, now)
    return { range, days, from: writeDay(range.from), to: writeDay(range.until), error: null }
  }
  const [first, last] = [readDay(from), readDay(to)]
  const error = findError(first, last)
  const isValid = error === null && first !== null && last !== null
  const range = isValid ? { from: first, until: last } : lastDays(USUAL_DAYS, now)
  return { range, days: null, from, to, error }
}

function findError(first: number | null, last: number | null): string | null {
  if (first === null || last === null) return 'Enter both dates, such as 2026-05-03.'
  return findOrderFault(first, last) ?? (last - first >= MOST_DAYS ? `Choose at most ${MOST_DAYS} days.` : null)
}

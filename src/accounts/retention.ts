/** How long an app keeps events, page views and captured emails. */
import { DAY_MS } from '../core/clock.ts'
import { formatLimit } from '../core/count.ts'
import type { FieldError } from '../core/refusals.ts'
import type { Expired, RetentionRules } from '../store/retention.ts'
import type { Retention } from '../store/types.ts'

export type { Expired, Retention }

/** Below a week of events, rules and results would miss what people did. */
const LEAST_DAYS = { eventDays: 7, pageViewDays: 7, capturedDays: 1 } satisfies Record<keyof Retention, number>
const MOST_DAYS = 3_650
/** So that a clock that is a day off deletes nothing early. */
const CLOCK_ERROR_MS = DAY_MS
/** Longer than returns count as results of an email. */
const NOTED_MS = 8 * DAY_MS

export const DEFAULT_RETENTION: Retention = { eventDays: null, pageViewDays: null, capturedDays: 30 }

export const RETENTION_RULES: RetentionRules = {
  defaultRetention: DEFAULT_RETENTION,
  expiredBefore: (days, at) => at - days * DAY_MS - CLOCK_ERROR_MS,
  notedSince: (at) => at - NOTED_MS,
}

/** As a form or a command gives it; empty: until the person is erased. */
export type RetentionText = Record<keyof Retention, string>

export const writeRetention = ({ eventDays, pageViewDays, capturedDays }: Retention): RetentionText => ({
  eventDays: eventDays?.toString() ?? '',
  pageViewDays: pageViewDays?.toString() ?? '',
  capturedDays: capturedDays?.toString() ?? '',
})

export const readRetention = (text: RetentionText, errors: FieldError[]): Retention => ({
  eventDays: readDays('eventDays', text, errors),
  pageViewDays: readDays('pageViewDays', text, errors),
  capturedDays: readDays('capturedDays', text, errors),
})

/** Such as "7 to 3,650". */
export const describeDays = (field: keyof Retention): string => `${LEAST_DAYS[field]} to ${formatLimit(MOST_DAYS)}`

function readDays(field: keyof Retention, text: RetentionText, errors: FieldError[]): number | null {
  const typed = text[field].trim()
  if (typed === '') return null
  const days = /^\d{1,5}$/.test(typed) ? Number(typed) : 0
  if (days >= LEAST_DAYS[field] && days <= MOST_DAYS) return days
  const message = `Enter a whole number of days from ${describeDays(field)}, or leave this empty to keep them.`
  errors.push({ field, code: 'invalid', message })
  return null
}

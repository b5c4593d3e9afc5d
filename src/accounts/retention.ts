/** How long an app keeps events, page views, captured emails, its request log and responses for Idempotency-Keys. */
import { DAY_MS } from '../core/clock.ts'
import { formatLimit, readWholeNumber } from '../core/count.ts'
import { formatDate } from '../core/format-time.ts'
import type { FieldError } from '../core/refusals.ts'
import { upperFirst } from '../core/text.ts'
import type { Expired, RetentionRules, StoredKind } from '../store/retention.ts'
import type { Store } from '../store/store.ts'
import type { Retention } from '../store/types.ts'

export type { Expired, Retention }

export const REQUEST_DAYS = 7
/** The API promises 24 hours to callers. */
export const RESPONSE_DAYS = 1

type Days = { least: number; most: number; ifEmpty: string }
const MOST_DAYS = 3_650
const UNLIMITED = 'leave this empty for no limit'
const byDefault = (days: number): string => `leave this empty for ${days}`

/** Below a week of events, rules and results would miss what people did. */
const DAYS: Record<keyof Retention, Days> = {
  eventDays: { least: 7, most: MOST_DAYS, ifEmpty: UNLIMITED },
  pageViewDays: { least: 7, most: MOST_DAYS, ifEmpty: UNLIMITED },
  capturedDays: { least: 1, most: MOST_DAYS, ifEmpty: UNLIMITED },
  requestDays: { least: 1, most: 90, ifEmpty: byDefault(REQUEST_DAYS) },
  responseDays: { least: RESPONSE_DAYS, most: 30, ifEmpty: byDefault(RESPONSE_DAYS) },
}
/** So that a clock that is a day off deletes nothing early. */
const CLOCK_ERROR_MS = DAY_MS
/** Longer than returns count as results of an email. */
const NOTED_MS = 8 * DAY_MS

export const DEFAULT_RETENTION: Retention = {
  eventDays: null,
  pageViewDays: null,
  capturedDays: 30,
  requestDays: null,
  responseDays: null,
}

export const RETENTION_RULES: RetentionRules = {
  defaultRetention: DEFAULT_RETENTION,
  defaultRequestDays: REQUEST_DAYS,
  defaultResponseDays: RESPONSE_DAYS,
  expiredBefore: (days, at) => at - days * DAY_MS - CLOCK_ERROR_MS,
  notedSince: (at) => at - NOTED_MS,
}

/** As a form or a command gives it; empty: null. */
export type RetentionText = Record<keyof Retention, string>

const ofEach = <Value>(valueOf: (field: keyof Retention) => Value): Record<keyof Retention, Value> => ({
  eventDays: valueOf('eventDays'),
  pageViewDays: valueOf('pageViewDays'),
  capturedDays: valueOf('capturedDays'),
  requestDays: valueOf('requestDays'),
  responseDays: valueOf('responseDays'),
})

/** `textOf`: the text of a field. */
export const readRetentionText = (textOf: (field: keyof Retention) => string): RetentionText => ofEach(textOf)

export const writeRetention = (retention: Retention): RetentionText =>
  ofEach((field) => retention[field]?.toString() ?? '')

export const readRetention = (text: RetentionText, errors: FieldError[]): Retention =>
  ofEach((field) => readDays(field, text, errors))

/** Such as "7 to 3,650". */
export const describeDays = (field: keyof Retention): string =>
  `${DAYS[field].least} to ${formatLimit(DAYS[field].most)}`

function readDays(field: keyof Retention, text: RetentionText, errors: FieldError[]): number | null {
  const typed = text[field].trim()
  if (typed === '') return null
  const { least, most, ifEmpty } = DAYS[field]
  const days = readWholeNumber(typed)
  if (days >= least && days <= most) return days
  errors.push({
    field,
    code: 'invalid',
    message: `Enter a whole number of days from ${describeDays(field)}, or ${ifEmpty}.`,
  })
  return null
}

/** `before`: what came until then is deleted (ms UTC). */
export type Deletion = { name: string; before: number }

const STORED: { field: keyof Retention; what: StoredKind; name: string }[] = [
  { field: 'eventDays', what: 'events', name: 'events' },
  { field: 'pageViewDays', what: 'pageViews', name: 'page views' },
  { field: 'capturedDays', what: 'captured', name: 'captured emails' },
]

type Change = { appId: number; before: Retention; after: Retention; now: number }

/** What a lower number of days deletes of the stored data. */
export async function findDeletions(
  { hasStored }: Pick<Store, 'hasStored'>,
  { appId, before, after, now }: Change,
): Promise<Deletion[]> {
  const found = await Promise.all(
    STORED.map(async ({ field, what, name }) => {
      const days = after[field]
      if (days === null || days >= (before[field] ?? Number.POSITIVE_INFINITY)) return []
      const until = now - days * DAY_MS
      return (await hasStored(appId, what, until)) ? [{ name, before: until }] : []
    }),
  )
  return found.flat()
}

/** "Events before 3 May 2026 and captured emails before 2 June 2026 will be deleted." */
export function describeDeletions(deletions: readonly Deletion[], timezone: string): string {
  const named = deletions.map(({ name, before }) => `${name} before ${formatDate(before, timezone)}`)
  return `${upperFirst(new Intl.ListFormat('en').format(named))} will be deleted.`
}

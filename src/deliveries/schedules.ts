/** When triggers without an event are due: dates of people, and inactivity. Pure. */
import { DAY_MS } from '../core/clock.ts'
import { readDate } from '../core/dates.ts'
import { triggerOfKey } from '../messages/again.ts'
import { propertyOf } from '../messages/conditions.ts'
import { ownTimezone } from '../people/timezone.ts'
import type { DateTrigger, InactiveTrigger, MessageContent, Trigger, Verdict } from '../store/message-types.ts'
import type { ScheduleRules } from '../store/schedules.ts'
import type { FieldValue } from '../store/types.ts'

type Fields = Readonly<Record<string, FieldValue>>

export const isDateTrigger = (trigger: Trigger): trigger is DateTrigger => 'date' in trigger
export const isInactiveTrigger = (trigger: Trigger): trigger is InactiveTrigger => 'inactiveDays' in trigger

/** The date of a person (ms UTC); null: the field has none. Without a time zone, their own, else the app's. */
const dateOf = ({ date }: DateTrigger, fields: Fields, timezone: string): number | null =>
  readDate(propertyOf(fields, date), ownTimezone(fields) ?? timezone) ?? null

const distanceMs = ({ days, when }: DateTrigger): number => (when === 'before' ? -days : days) * DAY_MS

/** When the trigger of a person is due (ms UTC); null: never. */
export function dueByDate(trigger: DateTrigger, fields: Fields, timezone: string): number | null {
  const at = dateOf(trigger, fields, timezone)
  return at === null ? null : at + distanceMs(trigger)
}

export const dueByInactivity = ({ inactiveDays }: InactiveTrigger, lastActiveAt: number): number =>
  lastActiveAt + inactiveDays * DAY_MS

/** The date by which it was due. */
export const dateOfDue = (trigger: DateTrigger, dueAt: number): number => dueAt - distanceMs(trigger)

/** A zone may have changed, which moves a date without a time by less. */
const SAME_DATE_MS = DAY_MS

export const isSameDate = (one: number, other: number): boolean => Math.abs(one - other) < SAME_DATE_MS

type DateFacts = { fields: Fields; timezone: string; triggeredAt: number; at: number }

/** Whether the date that triggered an email still says so: it was neither removed nor moved by a day or more. */
export function checkDate(trigger: DateTrigger, { fields, timezone, triggeredAt, at }: DateFacts): Verdict {
  const dueAt = dueByDate(trigger, fields, timezone)
  const isDue = dueAt !== null && dueAt <= at && dueAt > triggeredAt - SAME_DATE_MS
  return {
    rule: 'date',
    about: trigger.date,
    value: dueAt === null ? null : dateOfDue(trigger, dueAt),
    verdict: isDue ? 'pass' : 'fail',
  }
}

type InactiveFacts = { lastActiveAt: number | null; triggeredAt: number }

/** Whether the person has stayed inactive since the trigger. */
export function checkInactive(trigger: InactiveTrigger, { lastActiveAt, triggeredAt }: InactiveFacts): Verdict {
  const isInactive = lastActiveAt === null || dueByInactivity(trigger, lastActiveAt) <= triggeredAt
  return {
    rule: 'inactive',
    about: String(trigger.inactiveDays),
    value: lastActiveAt,
    verdict: isInactive ? 'pass' : 'fail',
  }
}

type Due = { dueAt: number; trigger: string }

type DueFacts = {
  fields: Fields
  timezone: string
  createdAt: number
  /** events and page views since then, in order of arrival */
  listActivity: (since: number) => Promise<readonly { at: number; occurredAt: number }[]>
  from: number
  until: number
}

/** When a person would have triggered the message, as if it had been live, with today's date. */
export async function listDue(trigger: DateTrigger | InactiveTrigger, facts: DueFacts): Promise<Due[]> {
  const { fields, timezone, createdAt, from, until } = facts
  const isWithin = (dueAt: number): boolean => dueAt >= from && dueAt <= until
  if (isInactiveTrigger(trigger)) return (await listInactive(trigger, facts)).filter(({ dueAt }) => isWithin(dueAt))
  const dueAt = dueByDate(trigger, fields, timezone)
  return dueAt !== null && dueAt > createdAt && isWithin(dueAt) ? [{ dueAt, trigger: nameDate(trigger, dueAt) }] : []
}

async function listInactive(
  trigger: InactiveTrigger,
  { createdAt, listActivity, from, until }: DueFacts,
): Promise<Due[]> {
  const since = from - trigger.inactiveDays * DAY_MS
  const found: Due[] = []
  let lastAt = createdAt >= since ? createdAt : null
  let nextAt = Number.NEGATIVE_INFINITY
  const endAt = (at: number): void => {
    if (lastAt === null) return
    const dueAt = dueByInactivity(trigger, lastAt)
    if (dueAt >= at || dueAt < nextAt) return
    found.push({ dueAt, trigger: nameInactivity(lastAt) })
    nextAt = dueByInactivity(trigger, dueAt)
  }
  for (const { at, occurredAt } of await listActivity(since)) {
    endAt(at)
    // inactive for longer than is known: what happened too long ago ends nothing
    if (lastAt === null) nextAt = at
    lastAt = Math.max(lastAt ?? occurredAt, occurredAt)
  }
  endAt(until + 1)
  return found
}

/** Distinguishes one date, or one time of inactivity, from another. */
const nameDate = (trigger: DateTrigger, dueAt: number): string => `date ${dateOfDue(trigger, dueAt)}`
const DATE_NAME = /^date (-?\d+)$/
const dateOfKey = (key: string): number => Number(DATE_NAME.exec(triggerOfKey(key) ?? '')?.[1] ?? Number.NaN)
const nameInactivity = (lastActiveAt: number): string => `inactive ${lastActiveAt}`

/** Whether a message was triggered with this key, or by the same date with another. */
export function isKeyUsed(used: ReadonlySet<string>, key: string): boolean {
  if (used.has(key)) return true
  const date = dateOfKey(key)
  return !Number.isNaN(date) && [...used].some((one) => isSameDate(dateOfKey(one), date))
}

/** The schedule that a live message needs; null: none. */
const planSchedule: ScheduleRules['planSchedule'] = ({ trigger }: Pick<MessageContent, 'trigger'>, timezone) => {
  if (isDateTrigger(trigger)) return { trigger, timezone, isFilledByWrites: true }
  return isInactiveTrigger(trigger) ? { trigger, timezone: null, isFilledByWrites: false } : null
}

/** When a person is first checked, if that is after `since`. */
const planFirstLook: ScheduleRules['planFirstLook'] = (trigger, { fields, timezone, lastActiveAt, since, at }) => {
  if (isDateTrigger(trigger)) {
    const dueAt = dueByDate(trigger, fields, timezone)
    return dueAt !== null && dueAt > since ? dueAt : null
  }
  const dueAt = dueByInactivity(trigger, lastActiveAt())
  // inactive before the message was live: checked again when they could next be inactive
  return dueAt > since ? dueAt : dueByInactivity(trigger, at)
}

/** The result of checking a person: whether they trigger the message, and when to check again (null: never). */
const planLook: ScheduleRules['planLook'] = (trigger, { dueAt, lastActiveAt, at }) => {
  if (isDateTrigger(trigger)) {
    return { starts: { occurredAt: dueAt, trigger: nameDate(trigger, dueAt) }, nextAt: null }
  }
  const activeAt = lastActiveAt()
  const triggeredAt = dueByInactivity(trigger, activeAt)
  if (triggeredAt > at) return { starts: null, nextAt: triggeredAt }
  const nextAt = dueByInactivity(trigger, at)
  // an earlier time has triggered it already, or was before the message went live
  const starts = triggeredAt >= dueAt ? { occurredAt: triggeredAt, trigger: nameInactivity(activeAt) } : null
  return { starts, nextAt }
}

/** A check can't be so far ahead, unless the clock was set back. */
const latestLook: ScheduleRules['latestLook'] = (trigger, at) =>
  isInactiveTrigger(trigger) ? dueByInactivity(trigger, at) : Number.POSITIVE_INFINITY

export const SCHEDULE_RULES: ScheduleRules = { planSchedule, planFirstLook, planLook, latestLook }

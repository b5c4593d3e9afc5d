import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import { isTooOld } from '../events/event-input.ts'
import { collectMsOf, isPerPerson, dedupeKeyOf, hasValue, sameValueOf, whenDue } from '../messages/again.ts'
import type {
  Cancellable,
  Cancelled,
  DateArrival,
  DecideStart,
  FindCancelled,
  Lead,
  RuleArrival,
  StartFacts,
  WaitingEvent,
} from '../store/delivery-rules.ts'
import { fromLocalTime, localTime, readTimeOfDay, readTimezone } from '../core/local-time.ts'
import { ownTimezone } from '../people/timezone.ts'
import { checkDate, checkInactive, dateOfDue, isDateTrigger, isInactiveTrigger, isSameDate } from './schedules.ts'
import {
  type Again,
  LISTED_EVENTS,
  type Mail,
  type MailSettings,
  type MessageContent,
  type MessageStatus,
  type SendWindow,
  type SuppressionReason,
  type Trigger,
  type UnwantedReason,
  type Verdict,
} from '../store/message-types.ts'
import { UNSURE } from '../store/delivery-states.ts'
import type { Brake } from '../store/brake-rules.ts'
import type { ContactStatus } from '../store/types.ts'
import { isSamePath } from '../visits/paths.ts'
import { BRAKE, BRAKED_MS, formatPercent, percentOf } from './brake.ts'
import {
  checkRules,
  type EventFacts,
  findFailed,
  isSettled,
  NOTHING_DONE,
  type RuleFacts,
  reasonOfRule,
  rulesOfEvent,
} from './rules.ts'

/** Older emails don't count towards the limits per person. */
export const LIMITED_MS = 7 * DAY_MS
/** By default. */
export const GIVE_UP_HOURS = 72

export type SendingSettings = Pick<
  MailSettings,
  'sendWindow' | 'timezone' | 'giveUpHours' | 'perPersonDay' | 'perPersonWeek'
>
export type DecidedMessage = { content: MessageContent; status: MessageStatus; settings: SendingSettings }

export type Facts = RuleFacts & {
  plannedAt: number
  /** how long it waited for a limit of the mail server or the brake, which doesn't count towards giving up */
  limitedMs: number
  /** a member sends it despite the rules */
  isByHand: boolean
  suppression: SuppressionReason | null
  /** when the person ended the message's topic; null: they didn't, or it has none */
  topicEndedAt: number | null
  /** null for emails that don't wait for it */
  brake: Brake | null
  lastHandedAt: number | null
  handed: readonly number[]
  /** in the message (facts.ts); null if it holds nobody back */
  place: number | null
  /** the last event or page view; read only if inactivity triggers the message */
  lastActiveAt: number | null
  /** further events that the email lists; read only if a rule is about each event */
  joined: readonly EventFacts[]
  /** earlier verdicts of the message's rules, when their facts haven't changed */
  known?: readonly Verdict[]
}

/** An event that the email must not list; `index` is its place in `joined`. */
type Unfit = { index: number; reason: string; verdicts: Verdict[] }

/**
 * `verdicts`: of every rule, in order. `dueAt`: when to decide again (ms UTC). `isOfEvent`: the reason is about the
 * first event alone, and the others stay.
 */
export type Decision = { verdicts: Verdict[]; unfit: Unfit[] } & (
  | { outcome: 'send' }
  | { outcome: 'wait'; reason: string; dueAt: number }
  | { outcome: 'skip'; reason: string; isOfEvent: boolean }
)

/**
 * Checks suppression, consent, status, the message's rules, the brake, frequency, send window, limits per person and giving up, and last
 * whether the person is held back. All rules run, so that the record is complete. A manual resend checks suppression
 * and consent only, and the brake in bulk.
 */
export function decide(message: DecidedMessage, facts: Facts): Decision {
  const wanted = [
    suppressionVerdict(refusedBy({ contact: facts.contact, message }, facts)),
    ...checkConsent(message, facts),
  ]
  if (facts.isByHand) return decideByHand(wanted, facts)
  const { content } = message
  const rules = facts.known ?? checkRules(content, facts)
  const before = [...wanted, checkStatus(message), ...checkTrigger(message, facts)]
  const verdicts = [...before, ...rules]
  const refused = before.find(isSettled)
  if (refused) return skip(reasonOf(refused), verdicts)
  const found = findFailed(content, rules)
  if (found && !found.isOfEvent) return skip(reasonOf(found.failed), verdicts)
  const joined = facts.known ? NOTHING_NEW : checkJoined(content, facts)
  if (found) return { ...skip(reasonOf(found.failed), verdicts, true), unfit: joined.unfit }
  const all = [...verdicts, ...joined.verdicts]
  const decided = facts.brake ? waitForBrake(facts.brake, facts, all) : decideTime(message, facts, all)
  return { ...decided, unfit: joined.unfit }
}

/** Waits as long as the brake is on, which doesn't count towards giving up. */
function waitForBrake({ kind, failures, emails }: Brake, { at }: Facts, verdicts: Verdict[]): Decision {
  const value = formatPercent(percentOf(failures, emails))
  const verdict: Verdict = { rule: BRAKE satisfies Check, about: kind, value, verdict: 'fail' }
  return { outcome: 'wait', reason: BRAKE, dueAt: at + BRAKED_MS, verdicts: [...verdicts, verdict], unfit: [] }
}

const skip = (reason: string, verdicts: Verdict[], isOfEvent = false): Decision => ({
  outcome: 'skip',
  reason,
  isOfEvent,
  verdicts,
  unfit: [],
})

function decideByHand(wanted: Verdict[], facts: Facts): Decision {
  const refused = wanted.find(isSettled)
  if (refused) return skip(reasonOf(refused), wanted)
  return facts.brake ? waitForBrake(facts.brake, facts, wanted) : { outcome: 'send', verdicts: wanted, unfit: [] }
}

const reasonOf = (failed: Verdict): string => {
  if (failed.rule === 'suppression') return String(failed.value)
  if (failed.rule === 'consent') return NOT_PENDING
  if (failed.rule === 'date') return 'date_changed'
  if (failed.rule === 'inactive') return 'active_again'
  return failed.rule === 'message' ? 'message_paused' : reasonOfRule(failed)
}

/** The reason of a request to confirm an address that no longer needs confirmation. */
const NOT_PENDING = 'not_pending'

export type Check =
  | 'suppression'
  | 'consent'
  | 'message'
  | 'date'
  | 'inactive'
  | typeof BRAKE
  | 'again'
  | 'window'
  | 'perDay'
  | 'perWeek'
  | 'giveUp'
  | 'holdback'

/** Why an email waits for its next check. */
export const WAIT_REASONS = [BRAKE, 'window', 'perDay', 'perWeek', UNSURE] as const satisfies (Check | typeof UNSURE)[]

/** The reason of an email that is not sent because its person is held back. */
export const HELD_BACK = 'holdback' satisfies Check

const checkStatus = ({ status }: DecidedMessage): Verdict => ({
  rule: 'message',
  about: null,
  value: status,
  verdict: status === 'live' ? 'pass' : 'fail',
})

/** People who confirmed the address, or want no email, are not asked again. */
const checkConsent = ({ content }: DecidedMessage, { contact: { status } }: Facts): Verdict[] =>
  content.asksConsent
    ? [
        {
          rule: 'consent' satisfies Check,
          about: null,
          value: status,
          verdict: status === 'pending' ? 'pass' : 'fail',
        },
      ]
    : []

/** The date may have moved since, and an inactive person may have come back. */
function checkTrigger({ content: { trigger }, settings }: DecidedMessage, facts: Facts): Verdict[] {
  if (isDateTrigger(trigger)) {
    const { contact, triggeredAt, at } = facts
    const timezone = readTimezone(settings.timezone)
    return [checkDate(trigger, { fields: contact.fields, timezone, triggeredAt, at })]
  }
  return isInactiveTrigger(trigger) ? [checkInactive(trigger, facts)] : []
}

type Joined = { verdicts: Verdict[]; unfit: Unfit[] }

const NOTHING_NEW: Joined = { verdicts: [], unfit: [] }

function checkJoined(content: MessageContent, facts: Facts): Joined {
  const ofEvent = rulesOfEvent(content)
  const joined: Joined = { verdicts: [], unfit: [] }
  for (const [index, event] of ofEvent.length === 0 ? [] : facts.joined.entries()) {
    const verdicts = checkRules(content, { ...facts, ...event }, ofEvent)
    const failed = verdicts.find(isSettled)
    if (failed === undefined)
      joined.verdicts.push(...verdicts.map((verdict) => ({ ...verdict, eventAt: event.triggeredAt })))
    else joined.unfit.push({ index, reason: reasonOf(failed), verdicts })
  }
  return joined
}

function decideTime(message: DecidedMessage, facts: Facts, rules: Verdict[]): Decision {
  const { content, settings } = message
  const { at } = facts
  const ownZone = ownTimezone(facts.contact.fields)
  const limits = isLifecycle(content) ? [checkWindow(settings, at, ownZone), ...checkLimits(settings, facts)] : []
  const asked = [checkAgain(content.again, facts), ...limits].filter((wait) => wait !== null)
  const verdicts = [...rules, ...asked.map(({ verdict }) => verdict)]
  const failed = [...rules.flatMap(toWait), ...asked].filter(({ verdict }) => verdict.verdict === 'fail')
  const until = Math.max(at, ...failed.map((wait) => wait.until))
  const isOpening = failed.some((wait) => wait.verdict.rule === 'window' && wait.until === until)
  const dueAt = until === at || isOpening ? until : openingFor(message, until, ownZone).from
  // reading the send window takes time, and most emails are in time without it
  const giveUpAt = dueAt > facts.plannedAt + hoursMsOf(settings) ? giveUpTime(message, facts) : dueAt
  const isTooLate = dueAt > giveUpAt
  if (isTooLate) verdicts.push({ rule: 'giveUp' satisfies Check, about: null, value: giveUpAt, verdict: 'fail' })
  if (failed.some(({ verdict }) => verdict.rule === 'again')) return skip('again', verdicts)
  if (isTooLate) return skip('gave_up', verdicts)
  const [first] = failed
  if (!first) return decideHoldback(content, facts, verdicts)
  const reason = first.verdict.until === undefined ? first.verdict.rule : UNSURE
  return { outcome: 'wait', reason, dueAt, verdicts, unfit: [] }
}

/** Transactional emails hold nobody back. */
function decideHoldback(content: MessageContent, { place }: Facts, verdicts: Verdict[]): Decision {
  const { holdback } = content
  if (holdback === undefined || place === null || !isLifecycle(content)) return { outcome: 'send', verdicts, unfit: [] }
  const value = place < holdback
  verdicts.push({ rule: HELD_BACK, about: String(holdback), value, verdict: value ? 'fail' : 'pass' })
  return value ? skip(HELD_BACK, verdicts) : { outcome: 'send', verdicts, unfit: [] }
}

/** Unsubscribing, topics and missing consent do not affect transactional mail. */
export const isLifecycle = ({ mail }: { mail: Pick<Mail, 'category'> }): boolean => mail.category !== 'transactional'

/** Why this person must not get the email: the suppression of the address, their status or topics. Null: they may. */
export function refusedBy(
  { contact, message }: { contact: { status: ContactStatus }; message: { content: Pick<MessageContent, 'mail'> } },
  { suppression, topicEndedAt }: Pick<Facts, 'suppression' | 'topicEndedAt'>,
): UnwantedReason | null {
  const reasons = [suppression, contact.status]
  const blocking = reasons.find((reason) => reason === 'bounced' || reason === 'complained')
  if (blocking === 'bounced' || blocking === 'complained') return blocking
  if (!isLifecycle(message.content)) return null
  if (reasons.includes('unsubscribed')) return 'unsubscribed'
  if (contact.status === 'pending') return 'pending'
  return topicEndedAt === null ? null : 'topic'
}

/** For lists: suppressions and ended topics cancel what waits at once. */
export const NOT_LOOKED_UP = { suppression: null, topicEndedAt: null }

type Wait = { verdict: Verdict; until: number }

const toWait = (verdict: Verdict): Wait[] => (verdict.until === undefined ? [] : [{ verdict, until: verdict.until }])

const wait = (rule: Check, about: string | null, value: number | null, at: number, until: number): Wait => ({
  verdict: { rule, about, value, verdict: until <= at ? 'pass' : 'fail' },
  until,
})

/**
 * Counts from when the email may first be sent: planned, and its send window open. If the window closes before, the
 * email gets the whole next opening too.
 */
export function giveUpTime(
  message: Pick<DecidedMessage, 'content' | 'settings'>,
  { plannedAt, isByHand, limitedMs, contact }: Pick<Facts, 'plannedAt' | 'isByHand' | 'limitedMs'> & Zoned,
): number {
  const hoursMs = hoursMsOf(message.settings) + limitedMs
  if (isByHand) return plannedAt + hoursMs
  const ownZone = ownTimezone(contact.fields)
  const first = openingFor(message, plannedAt, ownZone)
  const [overAt, closesAt] = [first.from + hoursMs, first.closesAt()]
  return overAt <= closesAt ? overAt : Math.max(overAt, openingFor(message, closesAt, ownZone).closesAt())
}

type Zoned = { contact: { fields: Readonly<Record<string, unknown>> | null } }

const hoursMsOf = ({ giveUpHours }: SendingSettings): number => (giveUpHours ?? GIVE_UP_HOURS) * HOUR_MS

export const isTimed = (again: Again | undefined): again is { everyHours: number } =>
  again !== undefined && 'everyHours' in again

const nextAgain = ({ everyHours }: { everyHours: number }, lastHandedAt: number | null): number =>
  lastHandedAt === null ? Number.NEGATIVE_INFINITY : lastHandedAt + everyHours * HOUR_MS

const checkAgain = (again: Again | undefined, { at, lastHandedAt }: Facts): Wait | null =>
  isTimed(again) ? wait('again', String(again.everyHours), lastHandedAt, at, nextAgain(again, lastHandedAt)) : null

function checkWindow({ sendWindow, timezone }: SendingSettings, at: number, ownZone: string | null): Wait | null {
  if (sendWindow === null) return null
  const { from: opensAt } = nextOpening(at, sendWindow, ownZone ?? readTimezone(timezone))
  const { verdict, until } = wait('window', `${sendWindow.from}-${sendWindow.until}`, opensAt, at, opensAt)
  return { verdict: ownZone === null ? verdict : { ...verdict, zone: ownZone }, until }
}

type Opening = { from: number; closesAt: () => number }

/** When the email's window is next open, at `now` or later. Only lifecycle emails have a window. */
function openingFor(
  { content, settings }: Pick<DecidedMessage, 'content' | 'settings'>,
  now: number,
  ownZone: string | null,
): Opening {
  const { sendWindow, timezone } = settings
  return sendWindow !== null && isLifecycle(content)
    ? nextOpening(now, sendWindow, ownZone ?? readTimezone(timezone))
    : { from: now, closesAt: never }
}

const never = (): number => Number.POSITIVE_INFINITY

/**
 * The rest of the opening at `now`, else the next one (ms UTC). A window over midnight belongs to the day it opens. One
 * without days or hours counts as always open.
 */
function nextOpening(now: number, window: SendWindow, zone: string): Opening {
  const always = { from: now, closesAt: never }
  if (window.days.length === 0 || window.from === window.until) return always
  const local = localTime(now, zone)
  const midnight = local - (local % DAY_MS)
  for (let day = -1; day <= 7; day++) {
    const start = midnight + day * DAY_MS
    if (!window.days.includes(new Date(start).getUTCDay())) continue
    const { opens, closes } = hoursOf(start, window)
    if (local >= closes) continue
    const from = local >= opens ? now : laterOf(fromLocalTime(opens, zone), now)
    return { from, closesAt: () => laterOf(fromLocalTime(closes, zone), from) }
  }
  return always
}

function hoursOf(midnight: number, { from, until }: SendWindow): { opens: number; closes: number } {
  const opens = midnight + readTimeOfDay(from)
  const closes = midnight + readTimeOfDay(until)
  return { opens, closes: closes > opens ? closes : closes + DAY_MS }
}

/** When clocks go back, an hour repeats: never before now. */
const laterOf = (at: number, now: number): number => (at > now ? at : now + MINUTE_MS)

/** The oldest email that fills the limit must leave the day or week. */
function checkLimits({ perPersonDay, perPersonWeek }: SendingSettings, { at, handed }: Facts): Wait[] {
  const limits = [
    { rule: 'perDay', most: perPersonDay, ms: DAY_MS },
    { rule: 'perWeek', most: perPersonWeek, ms: LIMITED_MS },
  ] as const
  return limits.flatMap(({ rule, most, ms }) => {
    if (most === null) return []
    const within = handed.filter((time) => time > at - ms)
    const blocking = within[most - 1]
    return [wait(rule, String(most), within.length, at, blocking === undefined ? at : blocking + ms)]
  })
}

/** A new date cancels emails for the previous one. Everything else cancels by rules. */
export const findCancelled: FindCancelled = (content, waiting, arrival) =>
  'field' in arrival ? findMoved(content, waiting, arrival) : findBroken(content, waiting, arrival)

/**
 * Emails of a date that was moved are decided when they are due, because it may be moved back. The new date doesn't
 * wait for that.
 */
function findMoved(
  { trigger }: Cancellable,
  { triggeredAt }: WaitingEvent,
  { field, date }: DateArrival,
): Cancelled | null {
  if (!isDateTrigger(trigger) || trigger.date !== field || isSameDate(dateOfDue(trigger, triggeredAt), date))
    return null
  const verdict: Verdict = { rule: 'date', about: field, value: date, verdict: 'fail' }
  return { reason: reasonOf(verdict), verdict, isOfEvent: false }
}

/**
 * The first rule that passes without the arrival and fails for good with it. Rules that would fail anyway cancel
 * nothing.
 */
function findBroken(content: Cancellable, waiting: WaitingEvent, arrival: RuleArrival): Cancelled | null {
  const onlyIf = waiting.isJoined ? rulesOfEvent(content) : (content.onlyIf ?? [])
  if (onlyIf.length === 0) return null
  const { before, after } = factsAround(waiting, arrival)
  const passed = checkRules(content, before, onlyIf)
  const verdicts = checkRules(content, after, onlyIf)
  const found = findFailed(
    { onlyIf: onlyIf.filter((_, index) => passed[index]?.verdict === 'pass') },
    verdicts.filter((_, index) => passed[index]?.verdict === 'pass'),
  )
  return found && { reason: reasonOfRule(found.failed), verdict: found.failed, isOfEvent: found.isOfEvent }
}

function factsAround(waiting: WaitingEvent, arrival: RuleArrival): { before: RuleFacts; after: RuleFacts } {
  const { triggeredAt, dueAt: at } = waiting
  const sameValue = (name: string) => sameValueOf(waiting.properties(), name)
  const nothing: RuleFacts = {
    ...NOTHING_DONE,
    at,
    triggeredAt,
    sameValue,
    contact: { status: 'subscribed', tags: [], fields: {} },
  }
  if ('addedTags' in arrival) {
    const { removedTags, addedTags, fieldsBefore, fieldsAfter } = arrival
    return {
      before: { ...nothing, contact: { status: 'subscribed', tags: removedTags, fields: fieldsBefore } },
      after: { ...nothing, contact: { status: 'subscribed', tags: addedTags, fields: fieldsAfter } },
    }
  }
  const { occurredAt } = arrival
  const happenedAt = (isIt: boolean, since: number): number | null => (isIt && occurredAt >= since ? occurredAt : null)
  if ('event' in arrival) {
    const isSame = (property: string | undefined): boolean => {
      const value = property === undefined ? null : sameValue(property)
      return property === undefined || (value !== null && hasValue(arrival.properties(), property, value))
    }
    return {
      before: nothing,
      after: {
        ...nothing,
        doneAt: (name, since, same) => happenedAt(name === arrival.event && isSame(same), since),
      },
    }
  }
  const before = { ...nothing, resultPath: waiting.resultPath(), firstReportedAt: occurredAt }
  return {
    before,
    after: { ...before, firstOnPageSince: (path, since) => happenedAt(isSamePath(arrival.path, path), since) },
  }
}

/**
 * Starts an email, joins a waiting one, or neither. Once per value: a used value is in an email already. Once per
 * person: every event joins the waiting email.
 */
export const decideStart: DecideStart = ({ trigger, wait, again }, facts) => {
  if (comesTooLate(trigger, facts)) return { outcome: 'none', reason: 'too_old' }
  const lead = findLead(again, facts)
  if (lead && isPerPerson(again)) return { outcome: 'join', lead, key: null, dueAt: lead.dueAt }
  const key = dedupeKeyOf(again, facts.properties, facts.trigger)
  if (facts.isUsedUp(key) || (isPerPerson(again) && facts.hasAny())) return { outcome: 'none', reason: 'again' }
  if (lead) return { outcome: 'join', lead, key, dueAt: lead.dueAt }
  const { occurredAt } = facts
  const dueAt = whenDue(wait, isOfTime(trigger) ? { at: occurredAt, occurredAt } : facts, facts.timezone)
  const isTooSoon = isTimed(again) && dueAt < nextAgain(again, facts.lastHandedAt())
  return isTooSoon ? { outcome: 'none', reason: 'again' } : { outcome: 'start', key, dueAt }
}

const isOfTime = (trigger: Trigger): boolean => isDateTrigger(trigger) || isInactiveTrigger(trigger)

/** Dates and inactivity that are found late, after an outage, start an email that is given up if it is too late. */
export const comesTooLate = (trigger: Trigger, when: { at: number; occurredAt: number }): boolean =>
  !isOfTime(trigger) && isTooOld(when)

/** The waiting email that the event joins: by time, else one that waits for a limit per person. */
function findLead<L extends Lead>(again: Again | undefined, { leads }: StartFacts<L>): L | null {
  const withinMs = collectMsOf(again)
  if (withinMs === null || leads === null) return null
  // once per person, it joins however full the email is
  const hasRoom = ({ joined }: Lead): boolean => joined < LISTED_EVENTS - 1 || isPerPerson(again)
  return leads.near(withinMs).find(hasRoom) ?? leads.limited().find(hasRoom) ?? null
}

export const suppressionVerdict = (reason: UnwantedReason | null): Verdict => ({
  rule: 'suppression',
  about: null,
  value: reason,
  verdict: reason === null ? 'pass' : 'fail',
})

/** Plans which of one person's emails an arrival starts, extends or cancels, and records that the person came back. Pure. */
import { DAY_MS } from '../core/clock.ts'
import { collectMsOf, isPerPerson } from '../messages/again.ts'
import { isStartedBy } from '../messages/triggers.ts'
import { parseProperties } from '../messages/conditions.ts'
import type { DecisionRecord } from '../store/decision-records.ts'
import type { Arrival, Cancelled, Finish } from '../store/delivery-rules.ts'
import { takesEvents, TIMED_KEY, UNSURE } from '../store/delivery-states.ts'
import type { LiveMessage } from '../store/live-messages.ts'
import type { UsedFacts } from '../store/message-uses.ts'
import { isSamePath } from '../visits/paths.ts'
import type {
  AppFacts,
  AwaitedGoal,
  DeliveryChange,
  EmailFacts,
  JoinedFacts,
  Matched,
  NewDelivery,
  SentFacts,
  WaitingFacts,
} from '../store/plan-types.ts'
import type { Verdict } from '../store/message-types.ts'
import type { EventType } from '../store/types.ts'
import { decideStart, findCancelled, HELD_BACK } from './decide.ts'
import { planEnd } from './ends.ts'
import { longestAwayMs, resultPathOf } from './rules.ts'
import { isKeyUsed } from './schedules.ts'

/** A visit within this time after an email counts as its result. */
export const CAME_BACK_MS = 7 * DAY_MS

/** One person's emails, with the batch's changes so far. */
export type Emails = { waiting: WaitingFacts[]; sent: SentFacts[]; goals: AwaitedGoal[]; used: Map<number, UsedFacts> }

/** A mutable copy. */
export function emailsOf(facts: EmailFacts | null): Emails {
  const used = new Map<number, UsedFacts>()
  if (facts === null) return { waiting: [], sent: [], goals: [], used }
  for (const [id, { keys, ...rest }] of facts.used) used.set(id, { ...rest, keys: new Set(keys) })
  return {
    waiting: facts.waiting.map((one) => ({ ...one, parts: [...one.parts] })),
    sent: facts.sent.map((one) => ({ ...one })),
    goals: [...facts.goals],
    used,
  }
}

type Happened = {
  type: EventType
  name: string
  properties: string | null
  path: string | null
  at: number
  occurredAt: number | null
}

/** The live messages that an event, page view or action concerns; null: none. */
export function matchEvent(app: Pick<AppFacts, 'rules' | 'hasDeliveries'>, event: Happened): Matched | null {
  const { rules } = app
  const { type, name, properties, path } = event
  const occurredAt = event.occurredAt ?? event.at
  if (type === 'page') return path === null ? null : matchPage(app, { ...event, path, occurredAt })
  const messages = rules.byEvent.get(name)
  const isCancelling = rules.cancellingEvents.has(name)
  const withinMs = rules.goalEvents.get(name)
  if (messages === undefined && !isCancelling && withinMs === undefined) return null
  const parse = parseOnce(properties)
  return {
    starts: messages?.filter(({ content }) => isStartedBy(content.trigger, event, parse)) ?? [],
    properties: parse,
    cancels: isCancelling ? { event: name, occurredAt, properties: parse } : null,
    seen: null,
    goal: withinMs === undefined ? null : { event: name, occurredAt, withinMs },
  }
}

/** Parses on first use. */
function parseOnce(properties: string | null): () => Record<string, unknown> {
  let parsed: Record<string, unknown> | null = null
  return () => (parsed ??= parseProperties(properties))
}

const NO_PROPERTIES = (): Record<string, unknown> => ({})

function matchPage(
  app: Pick<AppFacts, 'rules' | 'hasDeliveries'>,
  view: Happened & { path: string; occurredAt: number },
): Matched | null {
  const { byPage } = app.rules
  const starts = byPage.length === 0 ? byPage : byPage.filter(({ content }) => isStartedBy(content.trigger, view))
  const matched = matchReturn(app, view.path, view.occurredAt)
  return starts.length === 0 ? matched : { ...(matched ?? matchMessages([])), starts }
}

/** An open page became visible again: a return without a page view. */
export function matchReturn(
  { rules, hasDeliveries }: Pick<AppFacts, 'rules' | 'hasDeliveries'>,
  path: string,
  occurredAt: number,
): Matched | null {
  const isCancelling = rules.cancelledBy.has('notSeen')
  if (!isCancelling && !hasDeliveries) return null
  const seen = { path, occurredAt }
  return { starts: [], properties: NO_PROPERTIES, cancels: isCancelling ? seen : null, seen, goal: null }
}

/** For triggers other than events. */
export const matchMessages = (starts: LiveMessage[], cancels: Arrival | null = null): Matched => ({
  starts,
  properties: NO_PROPERTIES,
  cancels,
  seen: null,
  goal: null,
})

/** A page was left or hidden. */
export const matchLeave = (): Matched => ({ ...matchMessages([]), isLeave: true })

/** `eventId` null: not an event. Times are ms UTC. */
export type Cause = {
  appId: number
  contactId: number
  /** of the person, else of the app */
  timezone: string
  hosts: readonly string[]
  eventId: number | null
  /** JSON */
  properties: string | null
  at: number
  occurredAt: number
}

export type Changing = { emails: Emails; changes: DeliveryChange[]; takeId: () => number }

/** Cancels first, then records the return or goal, then starts emails. */
export function planArrival(changing: Changing, matched: Matched, cause: Cause): void {
  if (matched.isLeave) checkEarlier(changing, cause)
  if (matched.cancels) cancelBy(changing, cause, matched.cancels)
  if (matched.seen) noteReturn(changing, matched.seen, cause.hosts)
  if (matched.goal) noteGoal(changing, matched.goal)
  for (const message of matched.starts) start(changing, { message, matched }, cause)
}

function start(
  { emails, changes, takeId }: Changing,
  { message, matched }: { message: LiveMessage; matched: Matched },
  cause: Cause,
): void {
  const { id: messageId, version, content } = message
  const { appId, contactId, eventId, at, occurredAt, timezone } = cause
  const used = usedOf(emails, messageId)
  const started = decideStart(content, {
    at,
    occurredAt,
    timezone,
    properties: matched.properties,
    trigger: matched.trigger,
    leads: eventId === null ? null : leadsOf(emails, message, occurredAt),
    isUsedUp: (key) => isKeyUsed(used.keys, key),
    // the dedupe key covers version 1; a later version may have another key
    hasAny: () => version > 1 && used.count > 0,
    lastHandedAt: () => used.lastHandedAt,
  })
  if (started.outcome === 'none') return
  const { key: dedupeKey, dueAt } = started
  const id = takeId()
  const lead = started.outcome === 'join' ? started.lead : null
  const row = { id, appId, contactId, messageId, version, eventId, dedupeKey, triggeredAt: occurredAt, dueAt, at }
  const change: NewDelivery = { change: started.outcome, ...row, joinedTo: lead?.id ?? null }
  changes.push(change)
  used.count += 1
  if (dedupeKey !== null) used.keys.add(dedupeKey)
  const part: JoinedFacts = { id, eventId, dedupeKey, triggeredAt: occurredAt, properties: cause.properties }
  if (lead) {
    lead.joined += 1
    lead.parts.push(part)
  } else {
    const waiting = { state: 'waiting' as const, reason: null, handedAt: null, joined: 0, parts: [] }
    emails.waiting.push({ ...part, ...waiting, messageId, version, content, plannedAt: dueAt, dueAt })
  }
}

function usedOf({ used }: Emails, messageId: number): UsedFacts {
  const known = used.get(messageId)
  if (known) return known
  const none: UsedFacts = { keys: new Set(), count: 0, lastHandedAt: null }
  used.set(messageId, none)
  return none
}

/** Emails of this version that can take another event, oldest first. */
function leadsOf({ waiting }: Emails, { id, version }: LiveMessage, occurredAt: number) {
  const leads = (fits: (one: WaitingFacts) => boolean): WaitingFacts[] =>
    waiting
      .filter((one) => one.messageId === id && one.version === version && takesEvents({ ...one, byHand: false }))
      .filter(fits)
      .sort((a, b) => a.id - b.id)
  return {
    near: (withinMs: number) => leads(({ triggeredAt }) => Math.abs(triggeredAt - occurredAt) <= withinMs),
    limited: () => leads(({ state, reason }) => state === 'deferred' && (reason === 'perDay' || reason === 'perWeek')),
  }
}

function cancelBy(changing: Changing, { eventId, at, hosts }: Cause, arrival: Arrival): void {
  // an event never cancels an email that it started itself
  const findIn = (part: JoinedFacts, email: WaitingFacts, isJoined: boolean): Cancelled | null => {
    if (part.eventId !== null && part.eventId === eventId) return null
    const waiting = {
      triggeredAt: part.triggeredAt,
      dueAt: email.dueAt,
      isJoined,
      resultPath: () => resultPathOf(part.properties, hosts),
      properties: () => parseProperties(part.properties),
    }
    return findCancelled(email.content, waiting, arrival)
  }
  for (const email of changing.emails.waiting) {
    const found = findIn(email, email, false)
    // joined events first, so that the email passes to one that stays. A claimed email is checked again before it is
    // handed over
    if (collectMsOf(email.content.again) !== null && (found || email.state !== 'claimed')) {
      for (const part of email.parts) {
        const cancelled = findIn(part, email, true)
        if (cancelled) dropEvent(changing, { email, part }, { ...cancelled, at, verdicts: [cancelled.verdict] })
      }
    }
    if (found) endEmail(changing, email, { ...found, at, verdicts: [found.verdict] })
  }
}

/** `at`: ms UTC. `isOfEvent`: the reason concerns only the first event. */
export type Ending = { at: number; reason: string; verdicts: Verdict[]; isOfEvent: boolean }

function toFinish({ at, reason, verdicts, isOfEvent }: Ending): Finish {
  const record: DecisionRecord = { at, verdicts }
  return { state: 'skipped', reason, record: JSON.stringify(record), isOfEvent }
}

const releaseKey = (used: UsedFacts, key: string | null): void => void (key !== null && used.keys.delete(key))

/** The email no longer lists one of its further events. */
export function dropEvent(
  { emails, changes }: Changing,
  { email, part }: { email: WaitingFacts; part: JoinedFacts },
  ending: Ending,
): void {
  const finish = toFinish(ending)
  const plan = planEnd(finish, { delivery: null, attempt: null, joined: [] })
  changes.push({ change: 'cancel', id: part.id, at: ending.at, finish, plan })
  const used = usedOf(emails, email.messageId)
  email.parts = email.parts.filter((one) => one !== part)
  email.joined -= 1
  used.count -= 1
  releaseKey(used, part.dedupeKey)
}

/** Ends the email, or passes it to another of its events if only the first is concerned. */
export function endEmail({ emails, changes }: Changing, email: WaitingFacts, ending: Ending): void {
  const finish = toFinish(ending)
  const plan = planEnd(finish, { delivery: email, attempt: null, joined: email.parts })
  changes.push({ change: 'cancel', id: email.id, at: ending.at, finish, plan })
  const { heir } = plan
  const used = usedOf(emails, email.messageId)
  emails.waiting = emails.waiting.filter((one) => one !== email)
  if (ending.reason === HELD_BACK) return useUp(used, email, ending.at)
  // a mail server may have accepted it, so its key can't be used again
  if (email.handedAt === null) {
    releaseKey(used, email.dedupeKey)
    used.count -= heir ? 1 : 1 + email.joined
    if (!heir) for (const part of email.parts) releaseKey(used, part.dedupeKey)
  }
  const part = email.parts.find(({ id }) => id === heir?.id)
  if (!heir || !part) return
  const parts = email.parts.filter((one) => one !== part)
  if (heir.dedupeKey !== null) used.keys.add(heir.dedupeKey)
  const rest = { state: 'waiting' as const, reason: null, handedAt: null, joined: parts.length, parts }
  emails.waiting.push({ ...email, ...part, ...heir, ...rest })
}

/** The email was handed over: it takes no more events, and releases its key if that is time-based. */
export function handOver(emails: Emails, email: WaitingFacts, at: number): void {
  const used = usedOf(emails, email.messageId)
  emails.waiting = emails.waiting.filter((one) => one !== email)
  useUp(used, email, at)
}

function useUp(used: UsedFacts, email: WaitingFacts, at: number): void {
  used.lastHandedAt = Math.max(used.lastHandedAt ?? at, at)
  if (email.dedupeKey === TIMED_KEY) releaseKey(used, TIMED_KEY)
}

function noteReturn(
  { emails, changes }: Changing,
  { path, occurredAt }: { path: string; occurredAt: number },
  hosts: readonly string[],
): void {
  const isResult = (properties: string | null): boolean => {
    const result = resultPathOf(properties, hosts)
    return result !== null && isSamePath(path, result)
  }
  for (const email of emails.sent) {
    if (email.decidedAt > occurredAt || email.decidedAt < occurredAt - CAME_BACK_MS) continue
    const isOpening = email.openedAt === null && email.properties.some(isResult)
    if (email.cameBackAt !== null && !isOpening) continue
    email.cameBackAt ??= occurredAt
    if (isOpening) email.openedAt = occurredAt
    changes.push({ change: 'cameBack', of: email.of, id: email.id, at: occurredAt, isResult: isOpening })
  }
}

function noteGoal({ emails, changes }: Changing, { event, occurredAt }: NonNullable<Matched['goal']>): void {
  const isReached = (goal: AwaitedGoal): boolean =>
    goal.event === event && goal.decidedAt <= occurredAt && occurredAt <= goal.decidedAt + goal.days * DAY_MS
  for (const { of, id } of emails.goals.filter(isReached)) changes.push({ change: 'goal', of, id, at: occurredAt })
  emails.goals = emails.goals.filter((goal) => !isReached(goal))
}

/** Emails that wait until the person has left are checked once the person has been away long enough. */
function checkEarlier({ emails, changes }: Changing, { at, occurredAt }: Cause): void {
  for (const email of emails.waiting) {
    const dueAt = Math.max(at, occurredAt + longestAwayMs(email.content.onlyIf ?? []))
    if (email.state !== 'deferred' || email.reason !== UNSURE || dueAt >= email.dueAt) continue
    email.dueAt = dueAt
    changes.push({ change: 'checkEarlier', id: email.id, at, dueAt })
  }
}

/** Whether any earlier email of the message, of any version, can prevent another one. */
export const countsEarlierVersions = ({ version, content }: LiveMessage): boolean =>
  version > 1 && isPerPerson(content.again)

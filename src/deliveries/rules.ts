import { isSentUnknown } from '../messages/message-words.ts'
import { type MessageContent, type Rule, type Since, STOP_REASONS, type Verdict } from '../store/message-types.ts'
import { compares, propertyOf } from '../store/conditions.ts'
import { isSamePath } from '../store/paths.ts'
import type { ContactStatus, FieldValue } from '../store/types.ts'
import { PRESENCE_MS, type Presence, presenceAt } from '../visits/presence.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** What a rule looks at of the event that an email is about; where it comes from is not its concern. */
export type EventFacts = {
  /** when it happened (ms UTC) */
  triggeredAt: number
  /** the path of its `url`; null where it has none */
  resultPath: string | null
  /** `isEstimated`: a simulation knows it by page views alone */
  presence(at: number, quietMs: number): Presence & { isEstimated?: true }
  /** when the person first opened a path, or came back to it where it was open, at `since` or later */
  viewedAt(path: string, since: number): number | null
  /** when an event last happened, at `since` or later, not counting this one */
  doneAt(event: string, since: number): number | null
}

/** What rules look at, as of the moment `at` (ms UTC). */
export type RuleFacts = EventFacts & {
  at: number
  contact: { status: ContactStatus; tags: readonly string[]; fields: Record<string, FieldValue> }
  /** when the browser script first saw the person, by a page view or a return to an open page; null = never */
  firstViewAt: number | null
}

/** Of somebody who did nothing. */
export const NOTHING_DONE: Omit<EventFacts, 'triggeredAt'> & Pick<RuleFacts, 'firstViewAt'> = {
  resultPath: null,
  firstViewAt: null,
  presence: () => presenceAt([], 0),
  viewedAt: () => null,
  doneAt: () => null,
}

type Rules = Pick<MessageContent, 'onlyIf'>

/** What every rule of a message finds. All are looked at, so that the record says everything. */
export const checkRules = ({ onlyIf = [] }: Rules, facts: RuleFacts): Verdict[] =>
  onlyIf.map((rule) => checkRule(rule, facts))

function checkRule(rule: Rule, facts: RuleFacts): Verdict {
  switch (rule.rule) {
    case 'away':
      return checkAway(rule, facts)
    case 'seen':
    case 'notSeen':
      return checkSeen(rule, facts)
    case 'done':
    case 'notDone': {
      const at = facts.doneAt(rule.event, sinceWhen(rule.since, facts.triggeredAt, facts.at))
      return verdict(rule, rule.event, at, (at !== null) === (rule.rule === 'done'))
    }
    case 'tag': {
      const tag = 'has' in rule ? rule.has : rule.lacks
      const has = facts.contact.tags.includes(tag)
      return verdict(rule, tag, has, has === 'has' in rule)
    }
    case 'field': {
      const value = propertyOf(facts.contact.fields, rule.field)
      return verdict(rule, rule.field, (value as FieldValue | undefined) ?? null, compares(value, rule))
    }
    case 'status':
      return verdict(rule, rule.is, facts.contact.status, facts.contact.status === rule.is)
  }
}

const verdict = (rule: Rule, about: string | null, value: Verdict['value'], passes: boolean): Verdict => ({
  rule: rule.rule,
  about,
  value,
  verdict: passes ? 'pass' : 'fail',
})

/** What failed for good. Of what cannot be told yet, `until` says when it can. */
export const isSettled = ({ verdict, until }: Verdict): boolean => verdict === 'fail' && until === undefined

/**
 * Whether a rule is about one event: the page that its `url` names, or the time since it happened. Of the events of one
 * email each is asked, and what fails leaves the email to the others. Any other rule is about the person at sending.
 */
function isOfEvent(rule: Rule): boolean {
  switch (rule.rule) {
    case 'seen':
    case 'notSeen':
      return true
    case 'away':
      return rule.at === 'trigger'
    case 'done':
    case 'notDone':
      return rule.since === undefined || rule.since === 'trigger'
    default:
      return false
  }
}

/** From when on a rule about a past event looks (ms UTC). `at`: when the delivery is judged. */
export function sinceWhen(since: Since | undefined, triggeredAt: number, at: number): number {
  if (since === 'ever') return 0
  return since === undefined || since === 'trigger' ? triggeredAt : at - since.days * DAY_MS
}

/** The rules of a message that each event of an email is asked. */
export const rulesOfEvent = ({ onlyIf = [] }: Rules): Rule[] => onlyIf.filter(isOfEvent)

/**
 * The first rule that failed for good, if any; `verdicts` are those of all rules, in their order. `isOfEvent`: it is
 * about the event by which the email was judged, and not about the others that it lists.
 */
export function findFailed({ onlyIf = [] }: Rules, verdicts: readonly Verdict[]) {
  const index = verdicts.findIndex(isSettled)
  const [failed, rule] = [verdicts[index], onlyIf[index]]
  return failed && rule ? { failed, isOfEvent: isOfEvent(rule) } : null
}

/** Of a person whom the browser script never saw, the rule itself says what to do. */
const unknown = (rule: Extract<Rule, { ifUnknown?: unknown }>, about: string | null): Verdict => ({
  ...verdict(rule, about, null, isSentUnknown(rule)),
  isUnknown: true,
})

/**
 * The reason of what a rule of the message stopped, as a code. That nothing is known is no finding: the person was never
 * reported by the browser script, or what triggered it named no page.
 */
export function reasonOfRule({ rule, about, isUnknown }: Verdict): string {
  if (!isUnknown) return STOP_REASONS[rule as Rule['rule']]
  return about === null ? 'no_page' : 'never_reported'
}

/**
 * A page was open when it was triggered, and nothing proves yet that someone was before it: a tab may have crashed, or
 * lost its network, without a word. If nothing is heard of it for as long as a page may be silent, it had gone.
 */
function awaitProof(rule: Rule, about: string, facts: RuleFacts, quietMs: number): Verdict | null {
  const until = facts.triggeredAt + quietMs
  return facts.at < until ? { ...verdict(rule, about, facts.triggeredAt, false), until } : null
}

type Away = Extract<Rule, { rule: 'away' }>

/** How long a page may be open without a sign until its reader counts as gone (ms). */
export const quietMsOf = ({ quietMinutes }: Away): number =>
  quietMinutes === undefined ? PRESENCE_MS : quietMinutes * MINUTE_MS

/** Gone: the last report is a leave at least so many minutes old, or nothing was reported for a while. */
function checkAway(rule: Away, facts: RuleFacts): Verdict {
  const about = rule.at ?? 'sending'
  const at = about === 'trigger' ? facts.triggeredAt : facts.at
  if (facts.firstViewAt === null || facts.firstViewAt > at) return unknown(rule, about)
  const quietMs = quietMsOf(rule)
  const presence = facts.presence(at, quietMs)
  const judged = presence.isHere ? checkHere(rule, presence, facts, quietMs) : checkGone(rule, presence, at)
  return markEstimated(judged, presence)
}

function checkHere(rule: Away, { pages, lastReportAt }: Presence, facts: RuleFacts, quietMs: number): Verdict {
  const about = rule.at ?? 'sending'
  const proven = pages.find(({ heardAt }) => heardAt > facts.triggeredAt)
  if (proven) return verdict(rule, about, proven.path, false)
  return awaitProof(rule, about, facts, quietMs) ?? { ...verdict(rule, about, lastReportAt, true), isSilent: true }
}

function checkGone(rule: Away, { lastLeftAt, lastReportAt }: Presence, at: number): Verdict {
  const isLongAgo = lastLeftAt === null || lastLeftAt <= at - (rule.minutes ?? 0) * MINUTE_MS
  const left = verdict(rule, rule.at ?? 'sending', lastLeftAt ?? lastReportAt, isLongAgo)
  return lastLeftAt === null ? { ...left, isSilent: true } : left
}

const markEstimated = (judged: Verdict, { isEstimated }: { isEstimated?: true }): Verdict =>
  isEstimated ? { ...judged, isEstimated } : judged

/** The page of the event's `url`: opened since, or open already when the event came. */
function checkSeen(rule: Extract<Rule, { rule: 'seen' | 'notSeen' }>, facts: RuleFacts): Verdict {
  const path = facts.resultPath
  if (path === null || facts.firstViewAt === null) return unknown(rule, path)
  const { triggeredAt } = facts
  const presence = facts.presence(triggeredAt, PRESENCE_MS)
  const pages = presence.pages.filter((page) => isSamePath(page.path, path))
  const wasThere = pages.some(({ heardAt }) => heardAt > triggeredAt)
  const openedAt = facts.viewedAt(path, triggeredAt)
  const seenAt = wasThere ? triggeredAt : openedAt
  const awaited = seenAt === null && pages.length > 0 ? awaitProof(rule, path, facts, PRESENCE_MS) : null
  if (awaited) return awaited
  const judged = verdict(rule, path, seenAt, (seenAt !== null) === (rule.rule === 'seen'))
  // a view that is stored is proof, whatever is known of the time before
  return openedAt === null ? markEstimated(judged, presence) : judged
}

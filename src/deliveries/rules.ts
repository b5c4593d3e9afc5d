import { isSentUnknown } from '../messages/message-words.ts'
import { type MessageContent, type Rule, type Since, STOP_REASONS, type Verdict } from '../store/message-types.ts'
import { compares, propertyOf } from '../store/conditions.ts'
import { isSamePath } from '../store/paths.ts'
import type { ContactStatus, FieldValue } from '../store/types.ts'
import { PRESENCE_MS, type Presence, presenceAt } from '../visits/presence.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** What a rule needs to know of one event, independent of the source. */
export type EventFacts = {
  /** when it happened (ms UTC) */
  triggeredAt: number
  /** the path of its `url`, if any */
  resultPath: string | null
  /** `isEstimated`: a simulation knows page views only */
  presence(at: number, quietMs: number): Presence & { isEstimated?: true }
  /** when the person first was on the path, at `since` or later */
  viewedAt(path: string, since: number): number | null
  /** when the event last happened, at `since` or later, without this one */
  doneAt(event: string, since: number): number | null
}

/** As of `at` (ms UTC). */
export type RuleFacts = EventFacts & {
  at: number
  contact: { status: ContactStatus; tags: readonly string[]; fields: Record<string, FieldValue> }
  /** when the browser script first reported the person; null: never */
  firstViewAt: number | null
}

export const NOTHING_DONE: Omit<EventFacts, 'triggeredAt'> & Pick<RuleFacts, 'firstViewAt'> = {
  resultPath: null,
  firstViewAt: null,
  presence: () => presenceAt([], 0),
  viewedAt: () => null,
  doneAt: () => null,
}

type Rules = Pick<MessageContent, 'onlyIf'>

/** All rules run, so that the record is complete. */
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

/** With `until`, the result isn't known yet. */
export const isSettled = ({ verdict, until }: Verdict): boolean => verdict === 'fail' && until === undefined

/**
 * Rules about one event (its page, or the time since) are checked for each event of an email; other rules are about the
 * person.
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

/** `at`: when the delivery is decided (ms UTC). */
export function sinceWhen(since: Since | undefined, triggeredAt: number, at: number): number {
  if (since === 'ever') return 0
  return since === undefined || since === 'trigger' ? triggeredAt : at - since.days * DAY_MS
}

export const rulesOfEvent = ({ onlyIf = [] }: Rules): Rule[] => onlyIf.filter(isOfEvent)

/** `isOfEvent`: about the first event only, not the others listed. */
export function findFailed({ onlyIf = [] }: Rules, verdicts: readonly Verdict[]) {
  const index = verdicts.findIndex(isSettled)
  const [failed, rule] = [verdicts[index], onlyIf[index]]
  return failed && rule ? { failed, isOfEvent: isOfEvent(rule) } : null
}

/** For people never reported by the script, the rule says what to do. */
const unknown = (rule: Extract<Rule, { ifUnknown?: unknown }>, about: string | null): Verdict => ({
  ...verdict(rule, about, null, isSentUnknown(rule)),
  isUnknown: true,
})

/** Unknown data has its own reason: the person was never reported, or the event named no page. */
export function reasonOfRule({ rule, about, isUnknown }: Verdict): string {
  if (!isUnknown) return STOP_REASONS[rule as Rule['rule']]
  return about === null ? 'no_page' : 'never_reported'
}

/**
 * A page was open and nothing shows that someone saw the event: the tab may have crashed. After `quietMs` of silence,
 * the person counts as gone.
 */
function awaitProof(rule: Rule, about: string, facts: RuleFacts, quietMs: number): Verdict | null {
  const until = facts.triggeredAt + quietMs
  return facts.at < until ? { ...verdict(rule, about, facts.triggeredAt, false), until } : null
}

type Away = Extract<Rule, { rule: 'away' }>

/** How long a page may be silent before its reader counts as gone (ms). */
export const quietMsOf = ({ quietMinutes }: Away): number =>
  quietMinutes === undefined ? PRESENCE_MS : quietMinutes * MINUTE_MS

/** Gone: the last leave is old enough, or nothing was reported for a while. */
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

/** The page of the event's `url`: opened since, or open when the event came. */
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
  // a stored view is proof, whatever is known about earlier times
  return openedAt === null ? markEstimated(judged, presence) : judged
}

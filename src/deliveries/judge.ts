import { isSentUnknown } from '../messages/message-words.ts'
import { type MessageContent, type Rule, STOP_REASONS, type Verdict } from '../store/message-types.ts'
import { compares, propertyOf } from '../store/conditions.ts'
import { isSamePath } from '../store/paths.ts'
import { isOfEvent, sinceWhen } from '../store/stops.ts'
import type { ContactStatus, FieldValue } from '../store/types.ts'
import { PRESENCE_MS, type Presence } from '../visits/presence.ts'

const MINUTE_MS = 60_000

/** What rules look at; where it comes from (the store, a simulation's pass over stored events) is not their concern. */
export type Facts = {
  /** when it is judged, and when what triggered it happened (ms UTC) */
  at: number
  triggeredAt: number
  contact: { status: ContactStatus; tags: readonly string[]; fields: Record<string, FieldValue> }
  /** the path of the `url` of the event that triggered it; null where it has none */
  resultPath: string | null
  /** when the browser script first saw the person, by a page view or a return to an open page; null = never */
  firstViewAt: number | null
  /** `isEstimated`: a simulation knows it by page views alone */
  presence(at: number, quietMs: number): Presence & { isEstimated?: true }
  /** when the person first opened a path, or came back to it where it was open, at `since` or later */
  viewedAt(path: string, since: number): number | null
  /** when an event last happened, at `since` or later, not counting the one that triggered this */
  doneAt(event: string, since: number): number | null
}

/**
 * Judges every rule of a message: for live sends, previews, simulations and explanations alike. All rules
 * are looked at, so that the record says everything; the mail goes out only when all pass.
 */
export const judgeRules = ({ onlyIf = [] }: MessageContent, facts: Facts): Verdict[] =>
  onlyIf.map((rule) => judgeRule(rule, facts))

function judgeRule(rule: Rule, facts: Facts): Verdict {
  switch (rule.rule) {
    case 'away':
      return judgeAway(rule, facts)
    case 'seen':
    case 'notSeen':
      return judgeSeen(rule, facts)
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

/** The rules of a message that each event of an email is asked. */
export const rulesOfEvent = ({ onlyIf = [] }: MessageContent): Rule[] => onlyIf.filter(isOfEvent)

/**
 * The first rule that failed for good, if any; `verdicts` are those of all rules, in their order. `isOfEvent`: it is
 * about the event by which the email was judged, and not about the others that it lists.
 */
export function findFailed({ onlyIf = [] }: MessageContent, verdicts: readonly Verdict[]) {
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
export function stopReasonOf({ rule, about, isUnknown }: Verdict): string {
  if (!isUnknown) return STOP_REASONS[rule as Rule['rule']]
  return about === null ? 'no_page' : 'never_reported'
}

/**
 * A page was open when it was triggered, and nothing proves yet that someone was before it: a tab may have crashed, or
 * lost its network, without a word. If nothing is heard of it for as long as a page may be silent, it had gone.
 */
function awaitProof(rule: Rule, about: string, facts: Facts, quietMs: number): Verdict | null {
  const until = facts.triggeredAt + quietMs
  return facts.at < until ? { ...verdict(rule, about, facts.triggeredAt, false), until } : null
}

type Away = Extract<Rule, { rule: 'away' }>

/** How long a page may be open without a sign until its reader counts as gone (ms). */
export const quietMsOf = ({ quietMinutes }: Away): number =>
  quietMinutes === undefined ? PRESENCE_MS : quietMinutes * MINUTE_MS

/** Gone: the last report is a leave at least so many minutes old, or nothing was reported for a while. */
function judgeAway(rule: Away, facts: Facts): Verdict {
  const about = rule.at ?? 'sending'
  const at = about === 'trigger' ? facts.triggeredAt : facts.at
  if (facts.firstViewAt === null || facts.firstViewAt > at) return unknown(rule, about)
  const quietMs = quietMsOf(rule)
  const presence = facts.presence(at, quietMs)
  const judged = presence.isHere ? judgeHere(rule, presence, facts, quietMs) : judgeGone(rule, presence, at)
  return markEstimated(judged, presence)
}

function judgeHere(rule: Away, { pages, lastReportAt }: Presence, facts: Facts, quietMs: number): Verdict {
  const about = rule.at ?? 'sending'
  const proven = pages.find(({ heardAt }) => heardAt > facts.triggeredAt)
  if (proven) return verdict(rule, about, proven.path, false)
  return awaitProof(rule, about, facts, quietMs) ?? { ...verdict(rule, about, lastReportAt, true), isSilent: true }
}

function judgeGone(rule: Away, { lastLeftAt, lastReportAt }: Presence, at: number): Verdict {
  const isLongAgo = lastLeftAt === null || lastLeftAt <= at - (rule.minutes ?? 0) * MINUTE_MS
  const left = verdict(rule, rule.at ?? 'sending', lastLeftAt ?? lastReportAt, isLongAgo)
  return lastLeftAt === null ? { ...left, isSilent: true } : left
}

const markEstimated = (judged: Verdict, { isEstimated }: { isEstimated?: true }): Verdict =>
  isEstimated ? { ...judged, isEstimated } : judged

/** The page of the event's `url`: opened since, or open already when the event came. */
function judgeSeen(rule: Extract<Rule, { rule: 'seen' | 'notSeen' }>, facts: Facts): Verdict {
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

import { DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { isSentUnknown } from '../messages/describe-message.ts'
import {
  type MessageContent,
  type Rule,
  type Since,
  CANCELLATION_REASONS,
  type Verdict,
} from '../store/message-types.ts'
import { isOwnHost } from '../accounts/links.ts'
import { readPage } from '../core/urls.ts'
import { compares, groupAlternatives, parseProperties, propertyOf } from '../messages/conditions.ts'
import { isSamePath } from '../visits/paths.ts'
import type { ContactStatus, FieldValue } from '../store/types.ts'
import { PRESENCE_MS, type Presence, presenceAt } from '../visits/presence.ts'

/**
 * The path of an event's `url`, if the browser script can report it; null for other domains and hash routes. Without
 * domains of the app, every domain counts. `properties` is JSON.
 */
export function resultPathOf(properties: string | null, hosts: readonly string[]): string | null {
  const url = properties === null ? null : propertyOf(parseProperties(properties), 'url')
  const page = typeof url === 'string' ? readPage(url) : null
  return page && (hosts.length === 0 || isOwnHost(page.host, hosts)) ? page.path : null
}

/** What a rule needs to know of one event, independent of the source. */
export type EventFacts = {
  triggeredAt: number
  /** the path of its `url`, if any */
  resultPath: string | null
  /** `isEstimated`: a simulation knows page views only */
  presence(at: number, quietMs: number): Presence & { isEstimated?: true }
  /** when the person first was on the path, at `since` or later */
  firstOnPageSince(path: string, since: number): number | null
  /** when the person first was on any page, at `since` or later */
  firstVisitSince(since: number): number | null
  /** when the event last happened, at `since` or later, without this one; `same`: with its value of this property */
  doneAt(event: string, since: number, same?: string): number | null
  /** its value of a property, by which other events are the same; null: none is */
  sameValue(property: string): string | number | boolean | null
}

export type RuleFacts = EventFacts & {
  at: number
  contact: { status: ContactStatus; tags: readonly string[]; fields: Record<string, FieldValue> }
  /** when the browser script first reported the person; null: never */
  firstReportedAt: number | null
}

export const NOTHING_DONE: Omit<EventFacts, 'triggeredAt'> & Pick<RuleFacts, 'firstReportedAt'> = {
  resultPath: null,
  firstReportedAt: null,
  presence: () => presenceAt([], 0),
  firstOnPageSince: () => null,
  firstVisitSince: () => null,
  doneAt: () => null,
  sameValue: () => null,
}

type Rules = Pick<MessageContent, 'onlyIf'>

/** All rules run, so that the record is complete. `rules`: those of the message to check. */
export const checkRules = ({ onlyIf = [] }: Rules, facts: RuleFacts, rules: readonly Rule[] = onlyIf): Verdict[] =>
  groupAlternatives(rules).flatMap((group) =>
    passTogether(
      group.map((rule) => {
        const checked = definitionOf(rule).check(rule, facts)
        const isOneOfSeveral = onlyIf.some((other) => other !== rule && other.rule === rule.rule)
        return isOneOfSeveral ? { ...checked, index: onlyIf.indexOf(rule) } : checked
      }),
    ),
  )

/** Of rules joined by `or`, one is enough. */
const passTogether = (verdicts: Verdict[]): Verdict[] =>
  verdicts.length > 1 && verdicts.some(({ verdict }) => verdict === 'pass')
    ? verdicts.map((one) => ({ ...one, verdict: 'pass' }))
    : verdicts

type RuleOf<Name extends Rule['rule']> = Extract<Rule, { rule: Name }>

export type ReadEvent = { name: string; since: Since | undefined; same: string | undefined }

type RuleDefinition<R extends Rule> = {
  check(rule: R, facts: RuleFacts): Verdict
  /** about one event (its page, or the time since it): checked for each event of an email */
  isOfEvent(rule: R): boolean
  readsPages?: true
  /** the event whose last time it reads */
  readsEvent?(rule: R): ReadEvent
  /** how long a page may be silent before its reader counts as gone (ms) */
  quietMs?(rule: R): number
  /** how old a leave may be that it reads (ms) */
  lookbackMs?(rule: R): number
}

const ofPage: RuleDefinition<RuleOf<'seen'> | RuleOf<'notSeen'>> = {
  check: checkSeen,
  isOfEvent: () => true,
  readsPages: true,
}

const ofEvent: RuleDefinition<RuleOf<'done'> | RuleOf<'notDone'>> = {
  check: checkDone,
  isOfEvent: ({ since = 'trigger', same }) => since === 'trigger' || same !== undefined,
  readsEvent: ({ event: name, since, same }) => ({ name, since, same }),
}

/** Everything that depends on the kind of a rule, except its texts. */
const RULES = {
  away: {
    check: checkAway,
    isOfEvent: ({ at }) => at === 'trigger',
    readsPages: true,
    quietMs: quietMsOf,
    lookbackMs: ({ minutes = 0 }) => minutes * MINUTE_MS,
  },
  seen: ofPage,
  notSeen: ofPage,
  done: ofEvent,
  notDone: ofEvent,
  tag: {
    check(rule, { contact }) {
      const tag = 'has' in rule ? rule.has : rule.lacks
      const has = contact.tags.includes(tag)
      return verdict(rule, tag, has, has === 'has' in rule)
    },
    isOfEvent: () => false,
  },
  field: {
    check(rule, { contact }) {
      const value = propertyOf(contact.fields, rule.field)
      return verdict(rule, rule.field, (value as FieldValue | undefined) ?? null, compares(value, rule))
    },
    isOfEvent: () => false,
  },
  status: {
    check: (rule, { contact }) => verdict(rule, rule.is, contact.status, contact.status === rule.is),
    isOfEvent: () => false,
  },
} satisfies { [Name in Rule['rule']]: RuleDefinition<RuleOf<Name>> }

const definitionOf = (rule: Rule): RuleDefinition<Rule> => RULES[rule.rule]

export const readsPages = (onlyIf: readonly Rule[]): boolean => onlyIf.some((rule) => definitionOf(rule).readsPages)

export const listReadEvents = (onlyIf: readonly Rule[]): ReadEvent[] =>
  onlyIf.flatMap((rule) => definitionOf(rule).readsEvent?.(rule) ?? [])

/** How long a page can be open without a report. */
export const longestQuietMs = (onlyIf: readonly Rule[]): number =>
  Math.max(PRESENCE_MS, ...onlyIf.map((rule) => definitionOf(rule).quietMs?.(rule) ?? 0))

/** How long ago people must have left before the email is sent. */
export const longestAwayMs = (onlyIf: readonly Rule[]): number =>
  Math.max(
    0,
    ...onlyIf.map((rule) => (rule.rule === 'away' && rule.at !== 'trigger' ? (rule.minutes ?? 0) * MINUTE_MS : 0)),
  )

/** How far before a decision page views and reports may count. */
export const longestLookbackMs = (onlyIf: readonly Rule[]): number =>
  Math.max(longestQuietMs(onlyIf), ...onlyIf.map((rule) => definitionOf(rule).lookbackMs?.(rule) ?? 0))

const verdict = (rule: Rule, about: string | null, value: Verdict['value'], passes: boolean): Verdict => ({
  rule: rule.rule,
  about,
  value,
  verdict: passes ? 'pass' : 'fail',
})

/** With `until`, the result isn't known yet. */
export const isSettled = ({ verdict, until }: Verdict): boolean => verdict === 'fail' && until === undefined

/** `at`: when the delivery is decided (ms UTC). */
export function sinceWhen(since: Since | undefined, triggeredAt: number, at: number): number {
  if (since === 'ever') return 0
  return since === undefined || since === 'trigger' ? triggeredAt : at - since.days * DAY_MS
}

export const rulesOfEvent = ({ onlyIf = [] }: Rules): Rule[] =>
  onlyIf.filter((rule) => definitionOf(rule).isOfEvent(rule))

/** `isOfEvent`: about the first event only, not the others listed. */
export function findFailed({ onlyIf = [] }: Rules, verdicts: readonly Verdict[]) {
  const index = verdicts.findIndex(isSettled)
  const [failed, rule] = [verdicts[index], onlyIf[index]]
  return failed && rule ? { failed, isOfEvent: definitionOf(rule).isOfEvent(rule) } : null
}

/** For people never reported by the script, the rule says what to do. */
const unknown = (rule: Extract<Rule, { ifUnknown?: unknown }>, about: string | null): Verdict => ({
  ...verdict(rule, about, null, isSentUnknown(rule)),
  isUnknown: true,
})

/**
 * More exact than the rule's name. Unknown: the person was never reported, or the event named no page. Not away: they
 * came back, or left a moment ago.
 */
export type RuleReason =
  (typeof CANCELLATION_REASONS)[Rule['rule']] | 'no_page' | 'never_reported' | 'came_back' | 'left_too_recently'

export function reasonOfRule({ rule, about, isUnknown, cameBackAt, isTooSoon }: Verdict): RuleReason {
  if (isUnknown) return about === null ? 'no_page' : 'never_reported'
  if (cameBackAt !== undefined) return 'came_back'
  return isTooSoon ? 'left_too_recently' : CANCELLATION_REASONS[rule as Rule['rule']]
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
export function quietMsOf({ quietMinutes }: Away): number {
  return quietMinutes === undefined ? PRESENCE_MS : quietMinutes * MINUTE_MS
}

/** Gone: the last leave is old enough, or nothing was reported for a while. */
function checkAway(rule: Away, facts: RuleFacts): Verdict {
  const about = rule.at ?? 'sending'
  const at = about === 'trigger' ? facts.triggeredAt : facts.at
  if (facts.firstReportedAt === null || facts.firstReportedAt > at) return unknown(rule, about)
  const quietMs = quietMsOf(rule)
  const presence = facts.presence(at, quietMs)
  const found = presence.isHere ? checkHere(rule, presence, facts, quietMs) : checkGone(rule, presence, at)
  return markEstimated(markReturn(found, rule, facts), presence)
}

/** People who had left when the event arrived, but didn't stay away until the email was due. */
function markReturn(found: Verdict, rule: Away, facts: RuleFacts): Verdict {
  const isBack = typeof found.value !== 'number' || found.value > facts.triggeredAt
  if (!isSettled(found) || rule.at === 'trigger' || !isBack) return found
  const { verdict: before, isUnknown } = checkAway({ ...rule, at: 'trigger', minutes: 0 }, facts)
  if (before === 'fail' || isUnknown) return found
  const { isTooSoon: _, ...rest } = found
  return { ...rest, cameBackAt: facts.firstVisitSince(facts.triggeredAt) }
}

function checkHere(rule: Away, { pages, lastReportAt }: Presence, facts: RuleFacts, quietMs: number): Verdict {
  const about = rule.at ?? 'sending'
  const proven = pages.find(({ heardAt }) => heardAt > facts.triggeredAt)
  if (proven) return verdict(rule, about, proven.path, false)
  const awaited = awaitProof(rule, about, facts, quietMs)
  if (awaited) return { ...awaited, openPath: pages[0]?.path }
  return { ...verdict(rule, about, lastReportAt, true), isSilent: true }
}

function checkGone(rule: Away, { lastLeftAt, lastReportAt }: Presence, at: number): Verdict {
  const isLongAgo = lastLeftAt === null || lastLeftAt <= at - (rule.minutes ?? 0) * MINUTE_MS
  const left = verdict(rule, rule.at ?? 'sending', lastLeftAt ?? lastReportAt, isLongAgo)
  if (lastLeftAt === null) return { ...left, isSilent: true }
  return isLongAgo ? left : { ...left, isTooSoon: true }
}

const markEstimated = (found: Verdict, { isEstimated }: { isEstimated?: true }): Verdict =>
  isEstimated ? { ...found, isEstimated } : found

function checkDone(rule: RuleOf<'done'> | RuleOf<'notDone'>, facts: RuleFacts): Verdict {
  const { event, since, same } = rule
  const at = facts.doneAt(event, sinceWhen(since, facts.triggeredAt, facts.at), same)
  const found = verdict(rule, event, at, (at !== null) === (rule.rule === 'done'))
  return same === undefined ? found : { ...found, same: facts.sameValue(same) }
}

/** The page of the event's `url`: opened since, or open when the event came. */
function checkSeen(rule: Extract<Rule, { rule: 'seen' | 'notSeen' }>, facts: RuleFacts): Verdict {
  const path = facts.resultPath
  if (path === null || facts.firstReportedAt === null) return unknown(rule, path)
  const { triggeredAt } = facts
  const presence = facts.presence(triggeredAt, PRESENCE_MS)
  const pages = presence.pages.filter((page) => isSamePath(page.path, path))
  const wasThere = pages.some(({ heardAt }) => heardAt > triggeredAt)
  const openedAt = facts.firstOnPageSince(path, triggeredAt)
  const seenAt = wasThere ? triggeredAt : openedAt
  const awaited = seenAt === null && pages.length > 0 ? awaitProof(rule, path, facts, PRESENCE_MS) : null
  if (awaited) return awaited
  const found = verdict(rule, path, seenAt, (seenAt !== null) === (rule.rule === 'seen'))
  // a stored view is proof, whatever is known about earlier times
  return openedAt === null ? markEstimated(found, presence) : found
}

/** Results of a message: the funnel of its emails, and how much more often people who got it came back. */
import { DAY_MS } from '../core/clock.ts'
import type {
  AppResults as AppCounts,
  ComparedCount,
  DayCount,
  DayRange,
  MessageResults,
  Reached,
  ReportCounts,
} from '../store/message-results.ts'
import type { MessageRow } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import { type MessageHistory, readHistories, wasLive } from '../messages/message-history.ts'
import { LONGEST_WAIT_MS } from './plan.ts'

export type { DayRange }

/** With fewer people in either group, chance explains any difference. */
const FEWEST_PEOPLE = 30

/** Two-sided, 95%. */
const QUANTILE = 1.959964

export type Share = { people: number; reached: number }

/** Of proportions, emailed minus held back. */
export type Difference = { estimate: number; margin: number }

/**
 * The 95% interval of a difference of proportions after adding one success and one failure to each group (Agresti and
 * Caffo, "Simple and Effective Confidence Intervals for Proportions and Differences of Proportions Result from Adding
 * Two Successes and Two Failures", The American Statistician 54, 2000, pages 280 to 288).
 */
export function compareShares(emailed: Share, heldBack: Share): Difference {
  const [one, other] = [adjust(emailed), adjust(heldBack)]
  return { estimate: one.share - other.share, margin: QUANTILE * Math.sqrt(one.variance + other.variance) }
}

function adjust({ people, reached }: Share): { share: number; variance: number } {
  const share = (reached + 1) / (people + 2)
  return { share, variance: (share * (1 - share)) / (people + 2) }
}

/** `extra`: people more than without the email, with the margin of the 95% interval. Null: too few people to tell. */
export type Comparison = { emailed: Share; heldBack: Share; difference: Difference | null; extra: Difference | null }

function compare(emailed: Share, heldBack: Share): Comparison {
  if (Math.min(emailed.people, heldBack.people) < FEWEST_PEOPLE)
    return { emailed, heldBack, difference: null, extra: null }
  const difference = compareShares(emailed, heldBack)
  const { estimate, margin } = difference
  return {
    emailed,
    heldBack,
    difference,
    extra: { estimate: estimate * emailed.people, margin: margin * emailed.people },
  }
}

/** Numbers of emails. `wouldSend`: sent, captured, held back or failed. */
export type Funnel = Reached & { started: number; wouldSend: number; sent: number }

export type ReasonCount = { state: 'skipped' | 'failed'; reason: string; emails: number }

export type Results = {
  funnel: Funnel
  waiting: number
  captured: number
  heldBack: number
  failed: number
  /** one per day of the range */
  days: (Funnel & { day: number })[]
  /** most frequent first */
  reasons: ReasonCount[]
  reports: ReportCounts
  compared: Record<keyof Reached, Comparison>
}

const REACHED = ['cameBack', 'opened', 'reachedGoal'] as const satisfies (keyof Reached)[]

/** Days since 1970 UTC, up to today. */
export function lastDays(count: number, now: number): DayRange {
  const until = Math.floor(now / DAY_MS)
  return { from: until - count + 1, until }
}

/** A goal that the message had, `until` a change (ms UTC; null: it has it now). `event`: null for none. */
export type GoalPeriod = { event: string | null; until: number | null }

/** Oldest first. `emails`: of those created in the range; `compared`: of those that may have been decided about in it. */
export type Goals = { emails: GoalPeriod[]; compared: GoalPeriod[] }

/** Each email keeps the goal that the message had when it was created. */
export async function readGoals(store: Store, message: MessageRow, { from, until }: DayRange): Promise<Goals> {
  const [since, end] = [from * DAY_MS, (until + 1) * DAY_MS]
  const [history] = await readHistories(store, [message], since - LONGEST_WAIT_MS)
  const known = history ?? { message, statuses: [], versions: [] }
  return { emails: listGoals(known, since, end), compared: listGoals(known, since - LONGEST_WAIT_MS, end) }
}

/** Only those while the message was live, and the last one. */
function listGoals(history: MessageHistory, since: number, end: number): GoalPeriod[] {
  const { message, versions } = history
  const periods: GoalPeriod[] = []
  let until: number | null = null
  for (const { createdAt, content } of versions.length > 0 ? versions : [{ createdAt: 0, content: message.content }]) {
    const event = content.goal?.event ?? null
    const isUsed = periods.length === 0 || wasLive(history, createdAt, until ?? end)
    if (createdAt < end && isUsed && periods[0]?.event !== event) periods.unshift({ event, until })
    if (createdAt <= since) break
    until = createdAt
  }
  return periods
}

export const readResults = async (store: Store, messageId: number, range: DayRange): Promise<Results> =>
  summarizeResults(await store.readResults(messageId, range), range)

export function summarizeResults({ days, compared, reports }: MessageResults, range: DayRange): Results {
  const byDay = Map.groupBy(days, ({ day }) => day)
  const length = range.until - range.from + 1
  return {
    funnel: countFunnel(days),
    waiting: sumOf(days, ({ outcome }) => outcome === 'waiting'),
    captured: sumOf(days, ({ outcome }) => outcome === 'kept'),
    heldBack: sumOf(days, ({ outcome }) => outcome === 'heldBack'),
    failed: sumOf(days, ({ outcome }) => outcome === 'failed'),
    days: Array.from({ length }, (_, index) => {
      const day = range.from + index
      return { day, ...countFunnel(byDay.get(day) ?? []) }
    }),
    reasons: countReasons(days),
    reports,
    compared: compareGroups(compared),
  }
}

const sumOf = (days: readonly DayCount[], fits: (one: DayCount) => boolean): number =>
  days.reduce((sum, one) => sum + (fits(one) ? one.emails : 0), 0)

const DECIDED: readonly DayCount['outcome'][] = ['sent', 'kept', 'heldBack', 'failed']

function countFunnel(days: readonly DayCount[]): Funnel {
  const sent = days.filter(({ outcome }) => outcome === 'sent')
  const reached = (name: keyof Reached): number => sent.reduce((sum, one) => sum + one[name], 0)
  return {
    started: sumOf(days, () => true),
    wouldSend: sumOf(days, ({ outcome }) => DECIDED.includes(outcome)),
    sent: sumOf(sent, () => true),
    cameBack: reached('cameBack'),
    opened: reached('opened'),
    reachedGoal: reached('reachedGoal'),
  }
}

function countReasons(days: readonly DayCount[]): ReasonCount[] {
  const counts = new Map<string, ReasonCount>()
  for (const { outcome: state, reason, emails } of days) {
    if (state !== 'skipped' && state !== 'failed') continue
    const key = `${state} ${reason}`
    counts.set(key, { state, reason, emails: (counts.get(key)?.emails ?? 0) + emails })
  }
  return [...counts.values()].sort((a, b) => b.emails - a.emails || a.reason.localeCompare(b.reason))
}

const NOBODY = { people: 0, cameBack: 0, opened: 0, reachedGoal: 0 }

function compareGroups(compared: readonly ComparedCount[]): Results['compared'] {
  const emailed = compared.find(({ isHeldBack }) => !isHeldBack) ?? NOBODY
  const heldBack = compared.find(({ isHeldBack }) => isHeldBack) ?? NOBODY
  const shareOf = (group: typeof NOBODY, name: keyof Reached): Share => ({ people: group.people, reached: group[name] })
  const comparisons = REACHED.map((name) => [name, compare(shareOf(emailed, name), shareOf(heldBack, name))])
  return Object.fromEntries(comparisons) as Results['compared']
}

/** `people`: of the emailed groups; `extra`: of these, more than without the emails. */
export type ComparedPeople = { people: number; extra: Difference }

/** Of all messages of an app. `emailed`, `cameBack` and `alreadySeen` are people up to now, each counted once. */
export type AppResults = {
  emailed: number
  cameBack: number
  /** of those who came back, people not emailed in the range */
  ofEarlier: number
  /** each person once, over the messages whose groups are large enough; null: too few to tell */
  compared: ComparedPeople | null
  /** an email was not sent, because the person had opened the result already */
  alreadySeen: number
  /** emails of the range that were stopped, captured or refused */
  unsent: number
  /** those of them that were captured */
  captured: number
  /** emails triggered in the range that are not decided yet, by message */
  waitingOf: Map<number, number>
  /** emails sent by message, one number per day of the range */
  trends: Map<number, number[]>
  /** one per day of the range: emails, and people whose last return was on it */
  days: { sent: number; cameBack: number }[]
  /** those of the trend that led to a return */
  cameBackOf: Map<number, number>
}

/** Results of an app's messages in a range, for Overview. Messages without an email in it have no trend. */
export const readAppResults = async (store: Store, appId: number, range: DayRange): Promise<AppResults> =>
  summarizeAppResults(await store.readAppResults(appId, range), range)

function summarizeAppResults({ people, returns, days, compared }: AppCounts, range: DayRange): AppResults {
  const trends = new Map<number, number[]>()
  const cameBackOf = new Map<number, number>()
  const byDay = Array.from({ length: range.until - range.from + 1 }, () => ({ sent: 0, cameBack: 0 }))
  for (const { messageId, day, sent, cameBack } of days.filter((one) => one.sent > 0)) {
    const trend = trends.get(messageId) ?? byDay.map(() => 0)
    trends.set(messageId, trend.with(day - range.from, sent))
    cameBackOf.set(messageId, (cameBackOf.get(messageId) ?? 0) + cameBack)
    const ofDay = byDay[day - range.from]
    if (ofDay) ofDay.sent += sent
  }
  for (const { day, people: count } of returns) {
    // a clock that is ahead
    const ofDay = byDay[Math.min(day - range.from, byDay.length - 1)]
    if (ofDay) ofDay.cameBack += count
  }
  const groups = Map.groupBy(compared, ({ messageId }) => messageId)
  const parts = [...groups.values()].flatMap((ofMessage) => {
    const { emailed, extra } = compareGroups(ofMessage).cameBack
    return extra === null ? [] : [{ people: emailed.people, extra }]
  })
  const { emailed, cameBack, ofEarlier, seen: alreadySeen } = people
  const unsent = days.reduce((sum, one) => sum + one.unsent, 0)
  const captured = days.reduce((sum, one) => sum + one.captured, 0)
  const waitingOf = new Map<number, number>()
  for (const { messageId, waiting } of days)
    if (waiting > 0) waitingOf.set(messageId, (waitingOf.get(messageId) ?? 0) + waiting)
  const peopleCounts = { emailed, cameBack, ofEarlier, alreadySeen }
  return { ...peopleCounts, compared: addUp(parts), unsent, captured, waitingOf, trends, days: byDay, cameBackOf }
}

/** Nobody is in two of them, so the variances add up. */
const addUp = (parts: readonly ComparedPeople[]): ComparedPeople | null =>
  parts.length === 0
    ? null
    : {
        people: parts.reduce((sum, { people }) => sum + people, 0),
        extra: {
          estimate: parts.reduce((sum, { extra }) => sum + extra.estimate, 0),
          margin: Math.hypot(...parts.map(({ extra }) => extra.margin)),
        },
      }

/**
 * How many emails a mail server accepts in what time, learned from its replies. Pure; times are ms of one clock.
 *
 * There is no limit until the server refuses an email because of one. Then the rate is closed: one email at a time
 * tries, more and more seldom. When one is accepted, the period is known: the time since the refused emails began. What
 * the server accepts in a period until the next refusal is the count. Both are kept to, and the count grows slowly.
 */

/** At most `count` emails in `periodMs`; null: not known yet. `isSure`: the server kept to the period. */
export type Limit = { count: number | null; periodMs: number; isSure: boolean; learnedAt: number }

type Period = { startedAt: number; begun: number; accepted: number }

/**
 * Nothing was accepted since `since`. `fromAt`: when the emails began that used up the limit. `triedAt`: the last
 * refusal. The next try is at `tryAt`, the one after it `waitMs` later.
 */
type Closed = {
  fromAt: number
  since: number
  triedAt: number
  tryAt: number
  waitMs: number
  isTrying: boolean
  /** accepted in a period before */
  count: number
}

export type SendRate = {
  limit: Limit | null
  period: Period
  before: Period & { endedAt: number }
  closed: Closed | null
  closedAt: number
  /** the count grows by `step` at the first period from `at` on, and again `waitMs` later */
  growth: { step: number; at: number; waitMs: number }
}

/** An email: when it began, and whether it tried while the rate was closed. */
export type Begun = { at: number; isTry: boolean }

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 1_440 * MINUTE
/** Clocks and networks differ. */
const MARGIN = 1.02
/** Assumed until a period is known. */
const FIRST_PERIOD_MS = SECOND * MARGIN
const ROUND_SECONDS = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400]
/** More is as good as no limit. */
const MOST_PER_SECOND = 1_000
/** Emails are spread over the period, but no further apart than this: the sooner sent, the better. */
const PACE_MS = 100
const GROWTH = 0.05
/** A refusal shrinks the count by these shares. */
const SHRINK = { most: 0.85, least: 0.97 }
const MIN_WAIT_MS = 20
const SHORT_MS = 10 * SECOND
const FIRST_GROWTH_MS = SECOND
const LAST_GROWTH_MS = 5 * MINUTE
/** Between tries, the wait doubles up to a minute, and then is a share of the time since the rate was closed. */
const WAIT_SHARE = 1 / 16
const LAST_WAIT_MS = 15 * MINUTE

const periodFrom = (at: number): Period => ({ startedAt: at, begun: 0, accepted: 0 })

export const createSendRate = (at: number): SendRate => ({
  limit: null,
  period: periodFrom(at),
  before: { ...periodFrom(at), endedAt: at },
  closed: null,
  closedAt: Number.NEGATIVE_INFINITY,
  growth: { step: 1, at, waitMs: FIRST_GROWTH_MS },
})

const periodMsOf = ({ limit }: Pick<SendRate, 'limit'>): number => limit?.periodMs ?? FIRST_PERIOD_MS
const endOf = (rate: SendRate): number => rate.period.startedAt + periodMsOf(rate)

/** Several at a time where they would follow each other closely, because each claim is a commit. */
function paceOf(count: number, periodMs: number) {
  const paceMs = Math.min(periodMs / count, PACE_MS)
  const chunk = Math.max(1, Math.floor(PACE_MS / paceMs))
  return { chunk, chunkMs: chunk * paceMs }
}

/** How many emails may begin now. */
export function roomAt(rate: SendRate, at: number): number {
  const { limit, closed } = rate
  if (closed) return closed.isTrying || at < closed.tryAt ? 0 : 1
  if (limit?.count == null) return Number.POSITIVE_INFINITY
  const { startedAt, begun } = at < endOf(rate) ? rate.period : periodFrom(at)
  const { chunk, chunkMs } = paceOf(limit.count, limit.periodMs)
  const paced = chunk * (1 + Math.floor((at - startedAt) / chunkMs))
  return Math.max(0, Math.min(limit.count, paced) - begun)
}

/** Until an email may begin (ms); while one tries, until the next try if that one fails. */
export function waitMsAt(rate: SendRate, at: number): number {
  if (roomAt(rate, at) > 0) return 0
  const { limit, period, closed } = rate
  if (closed) return Math.ceil(closed.isTrying ? closed.waitMs : closed.tryAt - at)
  const count = limit?.count ?? 0
  const { chunk, chunkMs } = paceOf(count, periodMsOf(rate))
  const turnAt = period.startedAt + Math.floor(period.begun / chunk) * chunkMs
  return Math.max(1, Math.ceil((period.begun < count ? Math.min(turnAt, endOf(rate)) : endOf(rate)) - at))
}

export function begin(rate: SendRate, at: number): { rate: SendRate; begun: Begun } {
  const { closed } = rate
  // claimed just before the rate was closed
  if (closed && roomAt(rate, at) === 0) return { rate, begun: { at: closed.since, isTry: false } }
  if (closed) return { rate: { ...rate, closed: { ...closed, isTrying: true } }, begun: { at, isTry: true } }
  const next = at < endOf(rate) ? rate : startPeriod(rate, at)
  const { period } = next
  return { rate: { ...next, period: { ...period, begun: period.begun + 1 } }, begun: { at, isTry: false } }
}

/** The count grows after periods that used it up, faster and faster until the next refusal. */
function startPeriod(rate: SendRate, at: number): SendRate {
  const { limit, period, growth } = rate
  const next = { ...rate, period: periodFrom(at), before: { ...period, endedAt: at } }
  if (limit === null || at - limit.learnedAt > Math.max(DAY, 2 * limit.periodMs)) return { ...next, limit: null }
  const isUsedUp = limit.count !== null && period.begun >= limit.count * (1 - GROWTH)
  if (!isUsedUp || limit.count === null || at < growth.at) return next
  const count = limit.count + growth.step
  const isLimit = count / limit.periodMs < MOST_PER_SECOND / SECOND
  const grown = { step: 2 * growth.step, at: at + growth.waitMs, waitMs: growth.waitMs }
  return { ...next, limit: isLimit ? { ...limit, count } : null, growth: grown }
}

/** Whether the rate was closed after the email began, so that it should not be offered, and its refusal says nothing new. */
export const isOverdue = ({ closedAt }: SendRate, { at, isTry }: Begun): boolean => !isTry && at <= closedAt

/** A refusal now is likely to be about the limit, even if it doesn't say so. */
export const isNearLimit = ({ limit, period, closed }: SendRate): boolean =>
  closed !== null || (limit?.count != null && period.accepted >= limit.count * (1 - 2 * GROWTH))

/** The email was not offered to the server after all, or its outcome says nothing about a limit. */
export function noteNothing(rate: SendRate, begun: Begun, { isUnused }: { isUnused: boolean }): SendRate {
  const { closed, period } = rate
  if (begun.isTry) return { ...rate, closed: closed && { ...closed, isTrying: false } }
  if (!isUnused || begun.at < period.startedAt) return rate
  return { ...rate, period: { ...period, begun: Math.max(0, period.begun - 1) } }
}

export function noteAccepted(rate: SendRate, begun: Begun, at: number): SendRate {
  const { limit, period, closed } = rate
  if (begun.isTry) return closed ? reopen(rate, closed, at) : rate
  if (begun.at < period.startedAt) return rate
  const accepted = period.accepted + 1
  const next = { ...rate, period: { ...period, accepted } }
  if (closed === null || accepted <= closed.count) return next
  // others were refused before its reply came
  return { ...next, closed: { ...closed, count: accepted }, limit: limit && { ...limit, count: accepted } }
}

/** Refused because of a limit. `pauseMs`: the server names when the next try may be. */
export function noteRefused(rate: SendRate, begun: Begun, at: number, pauseMs = 0): SendRate {
  const next = close(rate, begun, at)
  const { closed } = next
  return closed && pauseMs > 0 && at + pauseMs > closed.tryAt
    ? { ...next, closed: { ...closed, tryAt: at + pauseMs } }
    : next
}

function close(rate: SendRate, begun: Begun, at: number): SendRate {
  const { closed } = rate
  if (begun.isTry) return closed ? { ...rate, closed: waitLonger(rate, closed, at) } : rate
  return closed || isOverdue(rate, begun) ? rate : closeAt(rate, at)
}

function waitLonger({ limit }: SendRate, closed: Closed, at: number): Closed {
  const { fromAt, since, waitMs } = closed
  const nextMs = Math.max(Math.min(2 * waitMs, MINUTE), Math.min((at - since) * WAIT_SHARE, LAST_WAIT_MS))
  const expectedAt = limit === null ? 0 : fromAt + limit.periodMs
  const tryAt = expectedAt > at ? Math.min(at + nextMs, expectedAt) : at + nextMs
  return { ...closed, triedAt: at, tryAt, waitMs: nextMs, isTrying: false }
}

function closeAt(rate: SendRate, at: number): SendRate {
  const { limit, period, before, growth } = rate
  const { accepted, startedAt } = period
  const periodMs = periodMsOf(rate)
  const wasJustStarted = accepted === 0 && before.startedAt > startedAt - 2 * periodMs
  const fromAt = wasJustStarted ? before.startedAt : startedAt
  // the last growth was too much
  const isExpected =
    limit?.count != null && accepted >= limit.count - Math.max(growth.step / 2, limit.count * 2 * GROWTH)
  const isSure = limit !== null && limit.isSure && (isExpected || accepted === 0)
  const count = countAccepted(rate, at)
  const closed: Closed = {
    fromAt,
    since: at,
    triedAt: at,
    tryAt: Math.max(whenToTry(limit && { ...limit, isSure }, { fromAt, at }), at + MIN_WAIT_MS),
    waitMs: Math.min(Math.max(periodMs * WAIT_SHARE, MIN_WAIT_MS), isShort(periodMs) ? SECOND : MINUTE),
    isTrying: false,
    count,
  }
  const next = { ...rate, closed, closedAt: at }
  if (limit === null || accepted === 0) return next
  const firstMs = Math.max(FIRST_GROWTH_MS, periodMs)
  const waitMs = isExpected ? Math.max(firstMs, Math.min(2 * growth.waitMs, LAST_GROWTH_MS)) : firstMs
  return {
    ...next,
    limit: { count, periodMs, isSure, learnedAt: at },
    growth: { step: Math.max(1, Math.ceil(count * GROWTH)), at: at + waitMs, waitMs },
  }
}

/** The emails of a short period are spread over it, so after a refusal the server soon accepts more. */
function whenToTry(limit: Limit | null, { fromAt, at }: { fromAt: number; at: number }): number {
  if (limit?.count == null) return fromAt + Math.min(periodMsOf({ limit }), FIRST_PERIOD_MS)
  const { periodMs, isSure } = limit
  if (isShort(periodMs)) return at + periodMs * WAIT_SHARE
  return isSure ? fromAt + periodMs : at + periodMs / 4
}

const isShort = (periodMs: number): boolean => periodMs <= SHORT_MS

/** One odd refusal costs a part of the count. Without a count, what was accepted in the last period's time counts. */
function countAccepted({ limit, period, before }: SendRate, at: number): number {
  const { accepted } = period
  const from = Math.max(before.startedAt, at - periodMsOf({ limit }))
  const share = Math.max(0, before.endedAt - from) / Math.max(1, before.endedAt - before.startedAt)
  const recent = accepted + Math.floor(before.accepted * share)
  if (limit?.count == null) return recent
  const least = Math.floor(limit.count * SHRINK.most)
  return Math.max(1, accepted, Math.min(Math.max(recent, least), Math.floor(limit.count * SHRINK.least)))
}

/** A try was accepted: the server made emails wait for longer than until the last refusal, and no longer than until now. */
function reopen(rate: SendRate, { fromAt, since, triedAt, count }: Closed, at: number): SendRate {
  const { limit } = rate
  const next = {
    ...rate,
    closed: null,
    period: { startedAt: at, begun: 1, accepted: 1 },
    before: { ...rate.period, startedAt: fromAt, endedAt: since },
  }
  const [overMs, atMostMs] = [triedAt - fromAt, at - fromAt]
  if (limit === null) {
    const periodMs = roundPeriod(overMs, atMostMs)
    const isKnown = count > 0 && periodMs <= 2 * FIRST_PERIOD_MS
    return { ...next, limit: { count: isKnown ? count : null, periodMs, isSure: false, learnedAt: at } }
  }
  const isTrue = limit.periodMs > overMs && limit.periodMs <= atMostMs * MARGIN
  if (isTrue || (isShort(limit.periodMs) && atMostMs <= 2 * limit.periodMs))
    return { ...next, limit: { ...limit, isSure: true } }
  const periodMs = roundPeriod(overMs, atMostMs)
  const isSure = limit.isSure && Math.abs(periodMs - limit.periodMs) <= limit.periodMs / 8
  return { ...next, limit: { ...limit, periodMs, isSure, count: periodMs <= 2 * limit.periodMs ? limit.count : null } }
}

function roundPeriod(overMs: number, atMostMs: number): number {
  const seconds = ROUND_SECONDS.find((one) => one * SECOND > overMs && one * SECOND <= atMostMs)
  return seconds === undefined ? atMostMs : seconds * SECOND * MARGIN
}

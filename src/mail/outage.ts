/** Whether a login's mail server takes emails at all. Kept in memory; times are ms of one clock. */
import { type Clock, DAY_MS, MINUTE_MS } from '../core/clock.ts'
import { NO_ANSWER } from '../deliveries/describe-reason.ts'
import type { MailOutage } from '../messages/mailer.ts'
import { mayBeLimit, readLimit } from './limit-replies.ts'
import { isFinal, type Outcome, reasonOf } from './provider.ts'

/** `isOfServer`: not about the recipient. `since`: when the first attempt began. */
type Failure = MailOutage & { isOfServer: boolean; since: number }
type Attempt = { to: string; at: number; isHanded: boolean }

export type OutageWatch = ReturnType<typeof createOutageWatch>

/** What must have failed, without any success in between: one mailbox, or one that refuses everybody at first, is none. */
const RULES = [
  { recipients: 3, lastedMs: 30_000, isOfServer: true },
  { recipients: 2, lastedMs: 10 * MINUTE_MS, isOfServer: true },
  { recipients: 5, lastedMs: 15 * MINUTE_MS, isOfServer: false },
] as const
/** Longer if the server was slower before. */
const UNANSWERED_MS = 30_000
const MOST_RECIPIENTS = 100
/** Without a further email it is unknown whether the server works again. */
const FORGET_MS = DAY_MS

const SILENT: readonly string[] = [...NO_ANSWER, 'eabort', 'estream']
/** Reported as a refused login. */
const OF_LOGIN: readonly number[] = [401, 403, 530, 535]

/** null: the outcome says nothing about whether the server takes emails. */
function readFailure(outcome: Outcome): (MailOutage & { isOfServer: boolean }) | null {
  const reason = reasonOf(outcome)
  if (outcome.is === 'unknown') return { how: 'unconfirmed', reason, isOfServer: true }
  if (outcome.is === 'unreachable') return SILENT.includes(reason) ? { how: 'silent', reason, isOfServer: true } : null
  if (outcome.is !== 'refused' || isFinal(outcome) || readLimit(outcome) !== null) return null
  if (outcome.about === 'session' || OF_LOGIN.includes(outcome.code)) return null
  const isOfServer = outcome.api !== undefined || outcome.about !== 'recipient' || mayBeLimit(outcome)
  return { how: 'refused', reason, isOfServer }
}

export function createOutageWatch({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  /** By recipient, since the last success; the newest last. */
  const failures = new Map<string, Failure>()
  const open = new Set<Attempt>()
  let [succeededAt, failedAt, slowestMs, isSeen] = [Number.NEGATIVE_INFINITY, 0, 0, false]

  const noteSent = (): void => {
    succeededAt = monotonicMs()
    isSeen = true
    failures.clear()
  }

  const noteFailure = (to: string, failure: Omit<Failure, 'since'>, at: number): void => {
    const earlier = failures.get(to)
    failedAt = monotonicMs()
    isSeen = true
    if (earlier === undefined && failures.size === MOST_RECIPIENTS) return
    failures.delete(to)
    failures.set(to, { ...failure, since: earlier?.since ?? at })
  }

  /** Emails that wait for an answer for too long. */
  const listUnanswered = (now: number): [string, Failure][] => {
    const waitMs = Math.max(UNANSWERED_MS, 2 * slowestMs)
    return [...open]
      .filter(({ at }) => at >= succeededAt && now - at >= waitMs)
      .map(({ to, at, isHanded }) => {
        const how = isHanded ? 'unconfirmed' : 'silent'
        return [to, { how, reason: 'etimedout', isOfServer: true, since: at }]
      })
  }

  return {
    begin(to: string) {
      const attempt = { to, at: monotonicMs(), isHanded: false }
      open.add(attempt)
      return {
        hand: (): void => void (attempt.isHanded = true),
        end(outcome: Outcome): void {
          open.delete(attempt)
          const failure = readFailure(outcome)
          if (failure) noteFailure(to, failure, attempt.at)
          if (outcome.is !== 'sent') return
          slowestMs = Math.max(slowestMs, monotonicMs() - attempt.at)
          noteSent()
        },
      }
    },
    /** An email that belongs to no delivery. */
    noteSent,
    /** Emails to recipients that failed first from `at` on: the server could not be reached then, and now it can. */
    forgetSince(at: number): void {
      for (const [to, { since }] of failures) if (since >= at) failures.delete(to)
    },
    /** Since an email was accepted; null: none was since the start. */
    acceptedMsAgo: (): number | null => (Number.isFinite(succeededAt) ? monotonicMs() - succeededAt : null),
    /** An email showed whether the server takes emails, since the start. */
    isSeen: (): boolean => isSeen,
    find(): MailOutage | null {
      const now = monotonicMs()
      if (open.size === 0 && now - failedAt > FORGET_MS) failures.clear()
      const all = [...new Map([...failures, ...listUnanswered(now)]).values()]
      const isMet = ({ recipients, lastedMs, isOfServer }: (typeof RULES)[number]): boolean => {
        const counted = all.filter((one) => one.isOfServer || !isOfServer)
        return counted.length >= recipients && now - Math.min(...counted.map(({ since }) => since)) >= lastedMs
      }
      const last = all.findLast((one) => one.isOfServer) ?? all.at(-1)
      return last && RULES.some(isMet) ? { how: last.how, reason: last.reason } : null
    },
  }
}

/** What a login's mail server accepts, as far as its replies have shown. Kept in memory; learned again after a restart. */
import type { Clock } from '../core/clock.ts'
import { mayBeLimit, readLimit } from './limit-replies.ts'
import { type Outcome, replyOf } from './provider.ts'
import { isLimit, NO_REFUSALS, noteAcceptance, noteRefusal } from './refusal-run.ts'
import {
  begin,
  type Begun,
  createSendRate,
  isNearLimit,
  isOverdue,
  noteAccepted,
  noteNothing,
  noteRefused,
  roomAt,
  type SendRate,
  waitMsAt,
} from './send-rate.ts'

/** A server that just accepted an email of this app, and then says 421 or 454, means a limit. */
const RECENT_MS = 60_000
/** An email that was refused without mention of a limit is tried first for so long: then others have their turn. */
const FIRST_IN_LINE_MS = 10 * 60_000

/** The emails of one app at a login. */
export type Mailing = { acceptedAt: number }

/**
 * The server refused the email because of a limit. `isFirst`: its reply didn't say so. Then the email is tried before
 * others, because a server that refuses everyone at first accepts it sooner.
 */
export type Limited = { waitMs: number; isFirst: boolean }

export type Offering = { to: string; wasRefused: boolean }

export type Window = ReturnType<typeof createWindow>

/** An email that was claimed for this login. */
export type Place = ReturnType<Window['take']>

export function createWindow({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  let rate: SendRate = createSendRate(monotonicMs())
  let run = NO_REFUSALS
  let reply: string | null = null

  const take = (mailing: Mailing) => {
    const next = begin(rate, monotonicMs())
    const begun: Begun = next.begun
    rate = next.rate
    let [isOpen, isOffered] = [true, false]

    const classify = (
      outcome: Outcome & { is: 'refused' },
      offering: Offering,
      at: number,
    ): 'named' | 'likely' | null => {
      if (readLimit(outcome) !== null) return 'named'
      if (!mayBeLimit(outcome) || outcome.about === 'session') return null
      const isAsked = outcome.code === 421 || outcome.code === 454
      if (isAsked && at - mailing.acceptedAt <= RECENT_MS) return 'named'
      if (outcome.about === 'sender') return null
      const before = run
      run = noteRefusal(run, offering, at)
      // it refuses everyone at first, so there was no limit
      if (run.trustedUntil !== before.trustedUntil) rate = createSendRate(at)
      return isLimit(run) || isNearLimit(rate) ? 'likely' : null
    }

    return {
      /** The server asked to wait after the email was claimed. */
      isOverdue: (): boolean => isOverdue(rate, begun),
      /** What the outcome says about a limit; null: nothing. Only the first one counts. */
      note(outcome: Outcome, offering: Offering): Limited | null {
        const at = monotonicMs()
        if (outcome.is === 'sent') {
          mailing.acceptedAt = at
          run = noteAcceptance(run, offering)
          if (isOpen) rate = noteAccepted(rate, begun, at)
          isOpen = false
          return null
        }
        const found = outcome.is === 'refused' ? classify(outcome, offering, at) : null
        if (found === null) return null
        reply = replyOf(outcome) ?? null
        const isCrowded = outcome.is === 'refused' && outcome.isCrowded === true
        const pauseMs = (outcome.is === 'refused' && outcome.api?.retryAfterMs) || 0
        if (isOpen && !isCrowded) rate = noteRefused(rate, begun, at, pauseMs)
        if (!isCrowded) isOpen = false
        const sinceMs = rate.closed === null ? 0 : at - rate.closed.since
        return { waitMs: waitMsAt(rate, at), isFirst: found === 'likely' && sinceMs < FIRST_IN_LINE_MS }
      },
      /** It is being sent. */
      offer(): void {
        isOffered = true
      },
      /** Always comes last. */
      leave(): void {
        if (isOpen) rate = noteNothing(rate, begun, { isUnused: !isOffered })
        isOpen = false
      },
    }
  }

  return {
    /** How many emails may be claimed now. */
    room: (): number => roomAt(rate, monotonicMs()),
    /** Until more may be claimed (ms). */
    waitMs: (): number => waitMsAt(rate, monotonicMs()),
    /** The server refused more before. */
    isLimited: (): boolean => rate.limit !== null || rate.closed !== null,
    take,
    /** The server refuses more until the end of a period to which it kept before. */
    isUsedUp(): boolean {
      const { limit, closed } = rate
      return limit?.isSure === true && closed !== null && monotonicMs() - closed.fromAt <= limit.periodMs
    },
    /** null: no limit so far. Times are ms ago, or from now. */
    findLearned() {
      const at = monotonicMs()
      const { limit, closed } = rate
      if (limit?.count == null && closed === null) return null
      return {
        reply,
        limit:
          limit?.count == null ? null : { count: limit.count, periodMs: limit.periodMs, msAgo: at - limit.learnedAt },
        closed: closed && { msAgo: at - closed.since, tryMs: Math.max(0, closed.tryAt - at) },
      }
    },
  }
}

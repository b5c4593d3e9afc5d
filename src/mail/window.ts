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

/** The emails of one app at a login. `refused`: when those that met a limit may be tried again (ms UTC), oldest first. */
export type Mailing = { acceptedAt: number; refused: Map<number, number> }

/** `reply`: the server's earlier refusal. */
export type Offering = { id: number; to: string; reply: string | undefined }

export type Window = ReturnType<typeof createWindow>

/** An email that was claimed for this login. */
export type Place = ReturnType<Window['take']>

export function createWindow({ now, monotonicMs }: Pick<Clock, 'now' | 'monotonicMs'>) {
  let rate: SendRate = createSendRate(monotonicMs())
  let run = NO_REFUSALS
  let reply: string | null = null
  /** The last email that met a limit had not been refused before. */
  let prefersRefused = false

  const take = (mailing: Mailing, id: number) => {
    mailing.refused.delete(id)
    const next = begin(rate, monotonicMs())
    const begun: Begun = next.begun
    rate = next.rate
    let [isOpen, isOffered] = [true, false]

    const meetsLimit = (outcome: Outcome & { is: 'refused' }, offering: Offering, at: number): boolean => {
      if (readLimit(outcome) !== null) return true
      if (!mayBeLimit(outcome) || outcome.about === 'session') return false
      const isAsked = outcome.code === 421 || outcome.code === 454
      if (isAsked && at - mailing.acceptedAt <= RECENT_MS) return true
      if (outcome.about === 'sender') return false
      const before = run
      run = noteRefusal(run, { to: offering.to, wasRefused: wasRefused(offering) }, at)
      // it refuses everyone at first, so there was no limit
      if (run.trustedUntil !== before.trustedUntil) rate = createSendRate(at)
      return isLimit(run) || isNearLimit(rate)
    }

    return {
      /** The server asked to wait after the email was claimed. */
      isOverdue: (): boolean => isOverdue(rate, begun),
      /** Only the first outcome counts. @returns when to try again because of a limit (ms UTC); null: there was none */
      note(outcome: Outcome, offering: Offering): number | null {
        const at = monotonicMs()
        if (outcome.is === 'sent') {
          mailing.acceptedAt = at
          run = noteAcceptance(run, { wasRefused: wasRefused(offering) })
          if (isOpen) rate = noteAccepted(rate, begun, at)
          isOpen = false
          return null
        }
        if (outcome.is !== 'refused' || !meetsLimit(outcome, offering, at)) return null
        reply = replyOf(outcome) ?? null
        if (outcome.isCrowded === true) return now() + waitMsAt(rate, at)
        if (isOpen) rate = noteRefused(rate, begun, at, outcome.api?.retryAfterMs ?? 0)
        isOpen = false
        prefersRefused = offering.reply === undefined
        const dueAt = now() + waitMsAt(rate, at)
        noteRefusedEmail(mailing, offering.id, dueAt)
        return dueAt
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
    /**
     * The email of the app that is to try whether the server accepts more: one that it refused before, because a server
     * that refuses everyone at first accepts no other. After that, it is any, so that one email can't stop the others.
     */
    findTry: ({ refused }: Mailing): number | null =>
      rate.closed !== null && prefersRefused
        ? (refused.entries().find(([, dueAt]) => dueAt <= now())?.[0] ?? null)
        : null,
    /** Emails of the app that were refused wait until they may be tried again. */
    isAwaited: ({ refused }: Mailing): boolean =>
      refused.size > 0 && waitMsAt(rate, monotonicMs()) > 0 && refused.values().some((dueAt) => dueAt > now()),
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

/** Without a limit, emails that another instance sends, or a member cancels, would stay here. */
const MOST_REFUSED = 1_000

function noteRefusedEmail({ refused }: Mailing, id: number, dueAt: number): void {
  refused.set(id, dueAt)
  const [oldest = id] = refused.keys()
  if (refused.size > MOST_REFUSED) refused.delete(oldest)
}

/** A 421 ends the connection and says nothing about the email (RFC 5321, 3.8). */
const wasRefused = ({ reply }: Offering): boolean => reply !== undefined && !reply.startsWith('421')

import type { Database } from 'bun:sqlite'
import { createAudit } from './audit.ts'
import { createDeliveryQueue } from './delivery-queue.ts'
import { createDeliveryReads } from './delivery-reads.ts'
import { publicId } from './ids.ts'
import type { LiveMessages } from './live-messages.ts'
import type { Claim, DeliveryWork, Marked, MessageContent } from './message-types.ts'
import { prepareDeliveryStatements, type Held } from './delivery-statements.ts'
import { judgePersonLimits, LIMITED_MS, type PersonLimit } from './person-limits.ts'
import { createSuppressionList, isLifecycle, refusedBy } from './suppression-list.ts'
import type { Sealer } from './sealing.ts'
import type { Refused } from './types.ts'
import type { UsedUp } from './used-up.ts'

type Claiming = { claimedBy: string; now: number; leaseMs: number; most: number; skipApps: number[] }

type Parts = { db: Database; live: LiveMessages; usedUp: UsedUp; sealer: Sealer }

/** `by`: the member or key that asks for it, for the audit list. */
type Resending = { appId: number; id: number; at: number; by?: { accountId: string; actor: string } }

const LOST: Marked = { held: false, because: 'lost' }
const HELD: Marked = { held: true }

/** Where "once" is by time, the key is free again as soon as the mail is handed over. */
const isTimed = ({ again = { once: 'person' } }: MessageContent): boolean => 'everyHours' in again

/** What is sent once per result had better come twice than never. */
const isResent = ({ trigger, ifUnconfirmed }: MessageContent): boolean =>
  (ifUnconfirmed ?? ('event' in trigger && trigger.event === 'results_ready' ? 'resend' : 'leave')) === 'resend'

/**
 * The sender's side of the queue: claim with a lease, finish only with the same claim (messages.md, Sending). Each
 * answers whether the claim held.
 */
export function createDeliveryWrites({ db, live, usedUp, sealer }: Parts) {
  const reads = createDeliveryReads(db, sealer)
  const queue = createDeliveryQueue(db)
  const suppressions = createSuppressionList(db)
  const statements = prepareDeliveryStatements(db)
  const audit = createAudit(db)

  type Finish = { state: string; reason?: string; record?: string | null; dueAt?: number; sentAt?: number }
  const end = (id: number, at: number, { state, reason, record, dueAt, sentAt }: Finish): void => {
    const columns = [state, reason ?? null, record ?? null, dueAt ?? null, sentAt ?? null]
    const ended = statements.finish.get(...columns, at, id)
    if (!ended || (state !== 'skipped' && state !== 'failed')) return
    usedUp.release(ended.messageId, ended.contactId)
    // one that was kept and sent on: the outbox holds what can be sent from there
    statements.uncapture.run(id)
  }
  const mark = ({ id, claimedBy, attempt, at }: Claim, how: Finish): Marked => {
    if (!statements.held.get(id, claimedBy, attempt)) return LOST
    end(id, at, how)
    return HELD
  }

  /** What may have gone out is sent once more where the message says so, else left to a person. */
  const endUnknown = ({ id, messageId, version, resent }: Held, at: number, reason: string): void => {
    if (resent === 0 && isResent(live.contentOf(messageId, version))) statements.resend.run(reason, at, at, id)
    else end(id, at, { state: 'unknown', reason })
  }

  const take = (id: number, { claimedBy, now, leaseMs }: Claiming): DeliveryWork | null => {
    statements.claim.run(claimedBy, now + leaseMs, now, id)
    const work = reads.findWork(id)
    // its event or app is gone: nothing to write about
    if (work === null) end(id, now, { state: 'skipped', reason: 'gone' })
    return work
  }

  /** Several mails to one person may have been judged at once. */
  const findFullLimit = ({ app, contact, settings }: DeliveryWork, at: number): PersonLimit | undefined =>
    settings.perPersonDay === null && settings.perPersonWeek === null
      ? undefined
      : judgePersonLimits(settings, reads.listHanded(app.id, contact.id, at - LIMITED_MS), at).find(
          ({ until }) => until > at,
        )

  /** The last look at the list and at the person's wish and at the limits, in the transaction that hands the mail over. */
  const handOver = ({ id, claimedBy, attempt, at, record }: Claim & { record: string }): Marked => {
    const row = statements.held.get(id, claimedBy, attempt)
    const work = row?.state === 'claimed' ? reads.findWork(id) : null
    if (!work) return LOST
    const because = refusedBy(work, suppressions.find(work.app.id, work.contact.email))
    if (because !== null) {
      end(id, at, { state: 'skipped', reason: because, record })
      return { held: false, because }
    }
    const full = isLifecycle(work.message.content) && !work.delivery.byHand ? findFullLimit(work, at) : undefined
    if (full) {
      end(id, at, { state: 'deferred', reason: full.rule, record, dueAt: full.until })
      return { held: false, because: full.rule }
    }
    statements.hand.run(at, record, Number(isTimed(work.message.content)), at, id)
    return HELD
  }

  return {
    /** The deliveries that are due longest, and those whose lease ran out; none of `skipApps`. */
    claimDeliveries(claiming: Claiming): { works: DeliveryWork[] } {
      const ids = queue.listDue(claiming)
      return { works: ids.map((id) => take(id, claiming)).filter((work) => work !== null) }
    },

    /** Puts off the end of a lease. */
    extendClaim: ({ id, claimedBy, attempt, at, leaseMs }: Claim & { leaseMs: number }): Marked =>
      statements.extend.run(at + leaseMs, id, claimedBy, attempt).changes > 0 ? HELD : LOST,

    /** Just before the mail's final dot, when it is kept no longer. `because`: why the mail must not go. */
    markHanded(handing: Claim & { record: string }): Marked {
      const marked = handOver(handing)
      if (marked.held) statements.uncapture.run(handing.id)
      return marked
    },

    /** Keeps the mail instead of sending it, with the same last look. */
    markCaptured({ raw, ...held }: Claim & { record: string; raw: string }): Marked {
      const marked = handOver(held)
      if (!marked.held) return marked
      statements.capture.run(raw, held.at, held.id)
      end(held.id, held.at, { state: 'kept' })
      return HELD
    },

    markSent: (held: Claim): Marked => mark(held, { state: 'sent', sentAt: held.at }),
    markSkipped: ({ reason, record, ...held }: Claim & { reason: string; record: string | null }): Marked =>
      mark(held, { state: 'skipped', reason, record }),
    /** Tried again at `dueAt`. */
    markDeferred: (input: Claim & { reason: string; dueAt: number; record: string | null }): Marked =>
      mark(input, { state: 'deferred', reason: input.reason, dueAt: input.dueAt, record: input.record }),
    /** `record` null: what was judged before stays. */
    markFailed: ({ reason, record, ...held }: Claim & { reason: string; record: string | null }): Marked =>
      mark(held, { state: 'failed', reason, record }),
    markUnknown({ reason, ...held }: Claim & { reason: string }): Marked {
      const row = statements.held.get(held.id, held.claimedBy, held.attempt)
      if (!row) return LOST
      endUnknown(row, held.at, reason)
      return HELD
    },

    /** At start: what the process before had claimed is due at once; of what it was handing over nobody knows. */
    releaseClaims({ notOf, at }: { notOf: string; at: number }): { released: number; unconfirmed: number } {
      const rows = statements.left.all(notOf)
      const handed = rows.filter(({ state }) => state === 'handed')
      for (const row of rows) {
        if (row.state === 'handed') endUnknown(row, at, 'stopped')
        else end(row.id, at, { state: 'waiting' })
      }
      return { released: rows.length - handed.length, unconfirmed: handed.length }
    },

    /**
     * Sends a delivery on by hand, whatever its rules say; unsubscribing and suppression still count. Refusals:
     * delivery_not_found; delivery_in_use where it is under way, or another of its message is on its way to the person.
     */
    resendDelivery({ appId, id, at, by }: Resending): { done: true } | Refused {
      if (!statements.exists.get(id, appId)) return { refusal: 'delivery_not_found' }
      const { changes } = statements.again.run(at, at, at, id, appId)
      if (changes === 0) return { refusal: 'delivery_in_use' }
      if (by) audit({ ...by, at }, 'delivery.resend', publicId('dlv', id))
      return { done: true }
    },
  }
}

import type { Database } from 'bun:sqlite'
import { createDeliveryQueue } from './delivery-queue.ts'
import { createDeliveryReads } from './delivery-reads.ts'
import type { LiveMessages } from './live-messages.ts'
import type { Claim, DeliveryWork, Marked, MessageContent } from './message-types.ts'
import { createSuppressionList, refusedBy } from './suppression-list.ts'
import type { Refused } from './types.ts'

type Claiming = { claimedBy: string; now: number; leaseMs: number; most: number; skipApps: number[] }
type Held = { id: number; state: string; messageId: number; version: number; resent: number }

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
export function createDeliveryWrites({ db, live }: { db: Database; live: LiveMessages }) {
  const reads = createDeliveryReads(db)
  const queue = createDeliveryQueue(db)
  const suppressions = createSuppressionList(db)
  const statements = prepareStatements(db)

  type Finish = { state: string; reason?: string; record?: string | null; dueAt?: number; sentAt?: number }
  const end = (id: number, at: number, { state, reason, record, dueAt, sentAt }: Finish): void => {
    statements.finish.run(state, reason ?? null, record ?? null, dueAt ?? null, sentAt ?? null, at, id)
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

  /** The last look at the list and at the person's wish, in the transaction that hands the mail over. */
  const handOver = ({ id, claimedBy, attempt, at, record }: Claim & { record: string }): Marked => {
    const row = statements.held.get(id, claimedBy, attempt)
    const work = row?.state === 'claimed' ? reads.findWork(id) : null
    if (!work) return LOST
    const because = refusedBy(work, suppressions.find(work.app.id, work.contact.email))
    if (because !== null) {
      end(id, at, { state: 'skipped', reason: because })
      return { held: false, because }
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

    /** Just before the mail's final dot. `because`: why the mail must not go. */
    markHanded: handOver,

    /** Keeps the mail instead of sending it, with the same last look; the delivery is sent. */
    markCaptured({ raw, ...held }: Claim & { record: string; raw: string }): Marked {
      const marked = handOver(held)
      if (!marked.held) return marked
      statements.capture.run(raw, held.at, held.id)
      end(held.id, held.at, { state: 'sent', sentAt: held.at })
      return HELD
    },

    markSent: (held: Claim): Marked => mark(held, { state: 'sent', sentAt: held.at }),
    markSkipped: ({ reason, record, ...held }: Claim & { reason: string; record: string | null }): Marked =>
      mark(held, { state: 'skipped', reason, record }),
    /** Tried again at `dueAt`. */
    markDeferred: (input: Claim & { reason: string; dueAt: number; record: string | null }): Marked =>
      mark(input, { state: 'deferred', reason: input.reason, dueAt: input.dueAt, record: input.record }),
    markFailed: ({ reason, ...held }: Claim & { reason: string }): Marked => mark(held, { state: 'failed', reason }),
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
    resendDelivery({ appId, id, at }: { appId: number; id: number; at: number }): { done: true } | Refused {
      if (!statements.exists.get(id, appId)) return { refusal: 'delivery_not_found' }
      const { changes } = statements.again.run(at, at, at, id, appId)
      return changes > 0 ? { done: true } : { refusal: 'delivery_in_use' }
    },
  }
}

function prepareStatements(db: Database) {
  const held = 'id, state, message_id AS messageId, version, resent'
  return {
    claim: db.prepare(
      `UPDATE deliveries SET state = 'claimed', claimed_by = ?, claimed_until = ?, attempt = attempt + 1, updated_at = ?
       WHERE id = ?`,
    ),
    extend: db.prepare(
      `UPDATE deliveries SET claimed_until = ? WHERE id = ? AND claimed_by = ? AND attempt = ? AND state = 'claimed'`,
    ),
    held: db.prepare<Held, [number, string, number]>(
      `SELECT ${held} FROM deliveries
       WHERE id = ? AND claimed_by = ? AND attempt = ? AND state IN ('claimed', 'handed')`,
    ),
    finish: db.prepare(
      `UPDATE deliveries SET state = ?, reason = ?, record = ifnull(?, record), due_at = ifnull(?, due_at),
         sent_at = ifnull(?, sent_at), claimed_by = NULL, claimed_until = NULL, updated_at = ? WHERE id = ?`,
    ),
    hand: db.prepare(
      `UPDATE deliveries SET state = 'handed', handed_at = ?, record = ?, reason = NULL,
         once_key = iif(?, NULL, once_key), updated_at = ? WHERE id = ?`,
    ),
    resend: db.prepare(
      `UPDATE deliveries SET state = 'deferred', reason = ?, due_at = ?, resent = 1, claimed_by = NULL,
         claimed_until = NULL, updated_at = ? WHERE id = ?`,
    ),
    left: db.prepare<Held, [string]>(
      `SELECT ${held} FROM deliveries WHERE state IN ('claimed', 'handed') AND claimed_by <> ?`,
    ),
    capture: db.prepare(
      `INSERT OR REPLACE INTO captured_mails (delivery_id, app_id, raw, created_at)
       SELECT id, app_id, ?, ? FROM deliveries WHERE id = ?`,
    ),
    exists: db.prepare('SELECT 1 FROM deliveries WHERE id = ? AND app_id = ?'),
    again: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'waiting', by_hand = 1, reason = NULL, due_at = ?, planned_at = ?,
         updated_at = ? WHERE id = ? AND app_id = ? AND state IN ('skipped', 'failed', 'unknown', 'deferred')`,
    ),
  }
}

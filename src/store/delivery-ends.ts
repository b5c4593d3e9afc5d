import type { Database } from 'bun:sqlite'
import { TIMED_KEY } from './delivery-states.ts'
import { type DeliveryState, type MessageContent, SUPPRESSION_REASONS } from './message-types.ts'
import type { SentCache } from './sent-cache.ts'

/**
 * What becomes of a delivery; what is left out stays as it is. Times are ms UTC, `record` is JSON. `isOfEvent`: it was
 * about the first event alone, so the email goes on with the others that it lists. `isRefused`: no server has taken it.
 */
export type Finish = {
  state: string
  reason?: string
  record?: string | null
  dueAt?: number
  sentAt?: number
  isOfEvent?: boolean
  isRefused?: boolean
}

type Ended = { messageId: number; contactId: number }

/** It is not over: it goes on waiting. */
const GOES_ON = ['waiting', 'deferred']
/** Where nothing may be sent any more, a kept mail has nothing to wait for either. */
const FOR_GOOD: readonly string[] = [...SUPPRESSION_REASONS, 'gone']

/** Whether a mail is sent once more where nobody knows if it arrived: a result had better come twice than never. */
export const isResent = ({ trigger, ifUnconfirmed }: MessageContent): boolean =>
  (ifUnconfirmed ?? ('event' in trigger && trigger.event === 'results_ready' ? 'resend' : 'leave')) === 'resend'

/** States from which a member may send a delivery on. */
export const RESENDABLE: readonly DeliveryState[] = ['skipped', 'failed', 'unknown', 'deferred', 'kept']

/**
 * The one way in which a delivery is let go of: by who held it, by what settles it while it waits, and by the person's
 * wish.
 */
export type DeliveryEnds = ReturnType<typeof createDeliveryEnds>

export function createDeliveryEnds({ db, sentCache }: { db: Database; sentCache: SentCache }) {
  // a server that refused an email has not taken it; an earlier try of which nobody knows the outcome still counts
  const finish = db.prepare<Ended, (string | number | null)[]>(
    `UPDATE deliveries SET state = ?, reason = ?, record = ifnull(?, record), due_at = ifnull(?, due_at),
       sent_at = ifnull(?, sent_at), claimed_by = NULL, claimed_until = NULL, updated_at = ?,
       once_key = iif(?, nullif(once_key, '${TIMED_KEY}'), once_key), handed_at = iif(?, ifnull(json_extract(ifnull(?, record), '$.unconfirmedAt'), iif(resent, handed_at, NULL)),
         handed_at)
     WHERE id = ?
     RETURNING message_id AS messageId, contact_id AS contactId`,
  )
  const free = db.prepare('UPDATE deliveries SET once_key = NULL WHERE id = ?')
  const freeTimed = db.prepare(`UPDATE deliveries SET once_key = NULL WHERE id = ? AND once_key = '${TIMED_KEY}'`)
  const uncapture = db.prepare('DELETE FROM captured_mails WHERE delivery_id = ?')
  const dropKept = (id: number): void => void uncapture.run(id)
  const next = db.prepare<{ id: number }, [number]>(
    `SELECT id FROM deliveries WHERE joined_to = ? AND state = 'joined' ORDER BY triggered_at, id LIMIT 1`,
  )
  // the key of whoever gets the message once at all is that of the email, which the next event takes with it
  const giveKey = db.prepare(
    `UPDATE deliveries SET once_key = NULL WHERE id = ? AND (SELECT once_key FROM deliveries heir WHERE heir.id = ?) IS NULL`,
  )
  const keyOf = db.prepare<{ onceKey: string | null }, [number]>(
    'SELECT once_key AS onceKey FROM deliveries WHERE id = ?',
  )
  const takeOver = db.prepare(
    `UPDATE deliveries SET (state, planned_at, due_at, joined_to, updated_at) =
       (SELECT 'waiting', lead.planned_at, lead.due_at, NULL, lead.updated_at
        FROM deliveries lead WHERE lead.id = ?), once_key = ifnull(once_key, ?) WHERE id = ?`,
  )
  const follow = db.prepare('UPDATE deliveries SET joined_to = ? WHERE id = ?')
  const moveJoined = db.prepare(`UPDATE deliveries SET joined_to = ? WHERE joined_to = ? AND state = 'joined'`)
  const endJoined = db.prepare(
    `UPDATE deliveries SET (state, reason, handed_at, updated_at) =
       (SELECT state, reason, handed_at, updated_at FROM deliveries lead WHERE lead.id = ?)
     WHERE joined_to = ? AND state = 'joined'`,
  )

  /** What was about the first event alone leaves the email to the others; anything else ends all of it. */
  const passOn = (id: number, isOfEvent: boolean): void => {
    const heir = isOfEvent ? next.get(id) : null
    if (heir) {
      const key = keyOf.get(id)?.onceKey ?? null
      giveKey.run(id, heir.id)
      takeOver.run(id, key, heir.id)
      moveJoined.run(heir.id, id)
      follow.run(heir.id, id)
    } else endJoined.run(id, id)
  }

  return {
    /** Takes a mail out of the outbox. */
    dropKept,
    /** Where "once" is by time the key is free again as soon as it is known what became of the email. */
    giveBack: (id: number): void => void freeTimed.run(id),

    /** `at`: now. Until it is over the key stays its own, so that nothing of its message is queued beside it. */
    end(id: number, at: number, { state, reason, record, dueAt, sentAt, ...how }: Finish): void {
      const columns = [state, reason ?? null, record ?? null, dueAt ?? null, sentAt ?? null]
      const [isOver, isRefused] = [!GOES_ON.includes(state), how.isRefused ?? false]
      const ended = finish.get(...columns, at, Number(isOver), Number(isRefused), record ?? null, id)
      if (!ended || !isOver) return
      // of what is gone nothing is asked any more, its message included
      if (reason === 'gone') free.run(id)
      if (state === 'skipped' || state === 'failed') {
        sentCache.release(ended.messageId, ended.contactId)
        passOn(id, how.isOfEvent ?? false)
      }
      // what may be tried again stays in the outbox until it is handed over: there is no other copy
      if (state === 'skipped' && FOR_GOOD.includes(reason ?? '')) dropKept(id)
    },
  }
}

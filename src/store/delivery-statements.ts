import type { Database } from 'bun:sqlite'
import { TIMED_KEY } from './delivery-states.ts'
import type { DeliveryState } from './message-types.ts'

/** A delivery that someone holds, as far as finishing it takes. */
export type Held = { id: number; state: string; messageId: number; version: number; resent: number }

/** A delivery that a member may send on, as far as that takes. */
export type Ended = { state: DeliveryState; reason: string | null; handedAt: number | null; record: string | null }

/** What claims a delivery, hands it over and finishes it. */
export function prepareDeliveryStatements(db: Database) {
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
    hand: db.prepare(
      `UPDATE deliveries SET state = 'handed', handed_at = ?, record = ?, reason = NULL, updated_at = ? WHERE id = ?`,
    ),
    resend: db.prepare(
      `UPDATE deliveries SET state = 'deferred', reason = ?, due_at = ?, resent = 1, claimed_by = NULL,
         claimed_until = NULL, record = json_set(record, '$.unconfirmedAt', handed_at), updated_at = ? WHERE id = ?`,
    ),
    // each event that the email lists may have arrived with it, whatever becomes of the email
    resendJoined: db.prepare(
      `UPDATE deliveries SET resent = 1, (handed_at, record, updated_at) =
         (SELECT handed_at, json_object('at', updated_at, 'verdicts', json('[]'), 'unconfirmedAt', handed_at), updated_at
          FROM deliveries lead WHERE lead.id = ?)
       WHERE joined_to = ? AND state = 'joined'`,
    ),
    left: db.prepare<Held, [string]>(
      `SELECT ${held} FROM deliveries WHERE state IN ('claimed', 'handed') AND claimed_by <> ?`,
    ),
    capture: db.prepare(
      `INSERT OR REPLACE INTO captured_mails (delivery_id, app_id, raw, created_at, sender, recipient, subject, html, text)
       SELECT id, app_id, ?, ?, ?, ?, ?, ?, ? FROM deliveries WHERE id = ?`,
    ),
    ended: db.prepare<Ended, [number, number]>(
      'SELECT state, reason, handed_at AS handedAt, record FROM deliveries WHERE id = ? AND app_id = ?',
    ),
    // where "once" is by time the key was given back, and is taken again; another may have it by now. What had joined
    // another email is sent alone.
    again: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'waiting', by_hand = 1, reason = NULL, due_at = ?, planned_at = ?,
         handed_at = iif(state = 'kept', NULL, handed_at), record = ?, updated_at = ?, joined_to = NULL,
         once_key = ifnull(once_key, iif(joined_to IS NULL, '${TIMED_KEY}', ''))
       WHERE id = ?`,
    ),
    // all that ended with it, but for what has its key taken by another; what was left out has a record of its own
    joinAgain: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'joined', reason = NULL, handed_at = iif(resent, handed_at, NULL), updated_at = ?
       WHERE joined_to = ? AND state = ? AND reason IS ?
         AND ifnull(json_array_length(record, '$.verdicts'), 0) = 0`,
    ),
  }
}

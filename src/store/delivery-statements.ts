import type { Database } from 'bun:sqlite'

/** A delivery that someone holds, as far as finishing it takes. */
export type Held = { id: number; state: string; messageId: number; version: number; resent: number }

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
    finish: db.prepare<{ messageId: number; contactId: number }, (string | number | null)[]>(
      `UPDATE deliveries SET state = ?, reason = ?, record = ifnull(?, record), due_at = ifnull(?, due_at),
         sent_at = ifnull(?, sent_at), claimed_by = NULL, claimed_until = NULL, updated_at = ? WHERE id = ?
       RETURNING message_id AS messageId, contact_id AS contactId`,
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
    uncapture: db.prepare('DELETE FROM captured_mails WHERE delivery_id = ?'),
    again: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'waiting', by_hand = 1, reason = NULL, due_at = ?, planned_at = ?,
         handed_at = iif(state = 'kept', NULL, handed_at),
         once_key = iif(state = 'kept', ifnull(once_key, ''), once_key), updated_at = ?
       WHERE id = ? AND app_id = ? AND state IN ('skipped', 'failed', 'unknown', 'deferred', 'kept')`,
    ),
  }
}

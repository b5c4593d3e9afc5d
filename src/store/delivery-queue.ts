import type { Database } from 'bun:sqlite'
import { mapInOrder } from '../core/in-order.ts'
import { IS_CLAIMED, IS_WAITING } from './delivery-states.ts'
import type { DeliveryRow } from './message-types.ts'

/** The earliest due time of each app with waiting deliveries: two index lookups per app. */
const NEXT_BY_APP = `
  WITH RECURSIVE waiting(app) AS (
    SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING}
    UNION ALL
    SELECT (SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING} AND app_id > app) FROM waiting WHERE app IS NOT NULL
  )
  SELECT app, (SELECT min(due_at) FROM deliveries WHERE ${IS_WAITING} AND app_id = app) AS dueAt
  FROM waiting WHERE app IS NOT NULL`

type Due = { id: number; dueAt: number }

/** Due deliveries by app, so that an app that is paused costs the others nothing. */
type DueQuery = { now: number; most: number; skipApps: readonly number[] }

export function createDeliveryQueue(db: Database) {
  const byApp = db.prepare<{ app: number; dueAt: number }, []>(NEXT_BY_APP)
  const ofApp = db.prepare<Due, [number, number, number]>(
    `SELECT id, due_at AS dueAt FROM deliveries WHERE ${IS_WAITING} AND app_id = ? AND due_at <= ?
     ORDER BY due_at LIMIT ?`,
  )
  const expired = db.prepare<Due & { app: number }, [number]>(
    `SELECT id, claimed_until AS dueAt, app_id AS app FROM deliveries
     WHERE ${IS_CLAIMED} AND state = 'claimed' AND claimed_until <= ? ORDER BY claimed_until`,
  )

  return {
    async listDue({ now, most, skipApps }: DueQuery): Promise<number[]> {
      const skipped = new Set(skipApps)
      const apps = (await byApp.all())
        .filter(({ app, dueAt }) => dueAt <= now && !skipped.has(app))
        .sort((a, b) => a.dueAt - b.dueAt)
        // the oldest deliveries belong to the apps with the earliest due times
        .slice(0, most)
      const due = (await mapInOrder(apps, ({ app }) => ofApp.all(app, now, most))).flat()
      const expiredLeases = (await expired.all(now)).filter(({ app }) => !skipped.has(app))
      return [...expiredLeases, ...due]
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, most)
        .map(({ id }) => id)
    },

    async listDueApps({ now }: { now: number }): Promise<number[]> {
      const due = (await byApp.all()).filter(({ dueAt }) => dueAt <= now)
      return [...new Set([...due, ...(await expired.all(now))].map(({ app }) => app))]
    },
  }
}

type StoredRow = Pick<DeliveryRow, 'state' | 'reason' | 'handedAt' | 'record' | 'dedupeKey' | 'joinedTo' | 'dueAt'> & {
  byHand: number
  isEventDeleted: number
}

export type ClaimedRow = {
  id: number
  appId: number
  state: string
  messageId: number
  version: number
  resent: number
  record: string | null
}

export function prepareDeliveryStatements(db: Database) {
  const claimedColumns = 'id, app_id AS appId, state, message_id AS messageId, version, resent, record'
  return {
    claim: db.prepare(
      `UPDATE deliveries SET state = 'claimed', claimed_by = ?, claimed_until = ?, attempt = attempt + 1, updated_at = ?
       WHERE id = ?`,
    ),
    extend: db.prepare(
      `UPDATE deliveries SET claimed_until = ? WHERE id = ? AND claimed_by = ? AND attempt = ? AND state = 'claimed'`,
    ),
    claimed: db.prepare<ClaimedRow, [number, string, number]>(
      `SELECT ${claimedColumns} FROM deliveries
       WHERE id = ? AND claimed_by = ? AND attempt = ? AND state IN ('claimed', 'handed')`,
    ),
    hand: db.prepare(
      `UPDATE deliveries SET state = 'handed', handed_at = ?, record = ?, reason = NULL, updated_at = ? WHERE id = ?`,
    ),
    resend: db.prepare(
      `UPDATE deliveries SET state = 'deferred', reason = ?, due_at = ?, resent = 1, claimed_by = NULL,
         claimed_until = NULL, record = json_set(record, '$.unconfirmedAt', handed_at), updated_at = ? WHERE id = ?`,
    ),
    // each listed event may have been delivered, whatever happens to the email
    resendJoined: db.prepare(
      `UPDATE deliveries SET resent = 1, (handed_at, record, updated_at) =
         (SELECT handed_at, json_object('at', updated_at, 'verdicts', json('[]'), 'unconfirmedAt', handed_at), updated_at
          FROM deliveries lead WHERE lead.id = ?)
       WHERE joined_to = ? AND state = 'joined'`,
    ),
    claimsOfOthers: db.prepare<ClaimedRow, [string]>(
      `SELECT ${claimedColumns} FROM deliveries WHERE state IN ('claimed', 'handed') AND claimed_by <> ?`,
    ),
    capture: db.prepare(
      `INSERT OR REPLACE INTO captured_mails (delivery_id, app_id, raw, created_at, sender, recipient, subject, html, text)
       SELECT id, app_id, ?, ?, ?, ?, ?, ?, ? FROM deliveries WHERE id = ?`,
    ),
    stored: db.prepare<StoredRow, [number, number]>(
      `SELECT state, reason, handed_at AS handedAt, record, once_key AS dedupeKey, joined_to AS joinedTo, due_at AS dueAt,
         by_hand AS byHand, event_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events WHERE id = event_id) AS isEventDeleted
       FROM deliveries WHERE id = ? AND app_id = ?`,
    ),
    // one state at a time, in order of the index
    waiting: db.prepare<{ id: number; version: number; handedAt: number | null }, [number, string, number, number]>(
      `SELECT id, version, handed_at AS handedAt FROM deliveries INDEXED BY deliveries_by_message
       WHERE message_id = ? AND state = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
    move: db.prepare('UPDATE deliveries SET version = ?1 WHERE id = ?2'),
    moveJoined: db.prepare(`UPDATE deliveries SET version = ?1 WHERE joined_to = ?2 AND state = 'joined'`),
    sendEarly: db.prepare('UPDATE deliveries SET due_at = ?, updated_at = ? WHERE id = ?'),
    // OR IGNORE: another delivery may have the deduplication key by now
    resendByHand: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'waiting', by_hand = 1, reason = NULL, due_at = ?, planned_at = ?,
         handed_at = ?, held_back_at = NULL, record = ?, updated_at = ?, joined_to = NULL, once_key = ?,
         version = iif(?, (SELECT version FROM messages WHERE messages.id = message_id), version)
       WHERE id = ?`,
    ),
    // rejoins events that ended with the email, unless their key is taken; removed events have verdicts of their own
    rejoin: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'joined', reason = NULL, handed_at = iif(resent, handed_at, NULL), held_back_at = NULL,
         updated_at = ?
       WHERE joined_to = ? AND state = ? AND reason IS ?
         AND ifnull(json_array_length(record, '$.verdicts'), 0) = 0`,
    ),
  }
}

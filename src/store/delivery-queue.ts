import type { Database } from 'bun:sqlite'
import { IS_CLAIMED, IS_WAITING, TIMED_KEY, WAITS_FOR_SENDER, WAITS_FOR_SERVER } from './delivery-states.ts'
import type { DeliveryState } from './message-types.ts'

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
    listDue({ now, most, skipApps }: { now: number; most: number; skipApps: readonly number[] }): number[] {
      const skipped = new Set(skipApps)
      const due = byApp
        .all()
        .filter(({ app, dueAt }) => dueAt <= now && !skipped.has(app))
        .sort((a, b) => a.dueAt - b.dueAt)
        // the oldest deliveries belong to the apps with the earliest due times
        .slice(0, most)
        .flatMap(({ app }) => ofApp.all(app, now, most))
      const expiredLeases = expired.all(now).filter(({ app }) => !skipped.has(app))
      return [...expiredLeases, ...due]
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, most)
        .map(({ id }) => id)
    },

    listDueApps({ now }: { now: number }): number[] {
      const due = byApp.all().filter(({ dueAt }) => dueAt <= now)
      return [...new Set([...due, ...expired.all(now)].map(({ app }) => app))]
    },
  }
}

/** Deliveries made due per write, so that no other write waits long. */
const RETRIED_PER_WRITE = 10_000

export type DeliveryRetries = ReturnType<typeof createDeliveryRetries>

export function createDeliveryRetries(db: Database) {
  const prepare = (whichApps: string, reason: string) =>
    db.prepare<unknown, [number, number, number | string, number]>(
      `UPDATE deliveries SET due_at = ?, updated_at = ?, record = json_remove(record, '$.tries') WHERE id IN (
         SELECT id FROM deliveries WHERE ${IS_WAITING} AND ${whichApps} AND due_at > ? AND ${reason}
         ORDER BY due_at LIMIT ${RETRIED_PER_WRITE})`,
    )
  const ofServer = prepare('app_id = ?', `((${WAITS_FOR_SERVER}) OR (${WAITS_FOR_SENDER}))`)
  const ofSender = prepare('app_id = ?', WAITS_FOR_SENDER)
  const ofSenders = prepare('app_id IN (SELECT id FROM apps WHERE account_id = ?)', WAITS_FOR_SENDER)

  return {
    tryServerAgain: (appId: number, at: number): void => void ofServer.run(at, at, appId, at),
    trySenderAgain: (appId: number, at: number): void => void ofSender.run(at, at, appId, at),
    trySendersAgain: (accountId: string, at: number): void => void ofSenders.run(at, at, accountId, at),
  }
}

export type ClaimedRow = { id: number; state: string; messageId: number; version: number; resent: number }

export type EndedRow = { state: DeliveryState; reason: string | null; handedAt: number | null; record: string | null }

export function prepareDeliveryStatements(db: Database) {
  const claimedColumns = 'id, state, message_id AS messageId, version, resent'
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
    ended: db.prepare<EndedRow, [number, number]>(
      'SELECT state, reason, handed_at AS handedAt, record FROM deliveries WHERE id = ? AND app_id = ?',
    ),
    // takes back a released time-based deduplication key; OR IGNORE, because another delivery may have it by now
    resendByHand: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'waiting', by_hand = 1, reason = NULL, due_at = ?, planned_at = ?,
         handed_at = iif(state = 'kept', NULL, handed_at), record = ?, updated_at = ?, joined_to = NULL,
         once_key = ifnull(once_key, iif(joined_to IS NULL, '${TIMED_KEY}', ''))
       WHERE id = ?`,
    ),
    // rejoins events that ended with the email, unless their key is taken; removed events have verdicts of their own
    rejoin: db.prepare(
      `UPDATE OR IGNORE deliveries SET state = 'joined', reason = NULL, handed_at = iif(resent, handed_at, NULL), updated_at = ?
       WHERE joined_to = ? AND state = ? AND reason IS ?
         AND ifnull(json_array_length(record, '$.verdicts'), 0) = 0`,
    ),
  }
}

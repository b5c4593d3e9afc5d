import type { Database } from 'bun:sqlite'
import { IS_CLAIMED, IS_WAITING, TIMED_KEY, WAITS_FOR_SENDER, WAITS_FOR_SERVER } from './delivery-states.ts'
import type { DeliveryState } from './message-types.ts'

/** For each app that has something waiting, when the first of it is due: two looks at the index an app. */
const NEXT_BY_APP = `
  WITH RECURSIVE waiting(app) AS (
    SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING}
    UNION ALL
    SELECT (SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING} AND app_id > app) FROM waiting WHERE app IS NOT NULL
  )
  SELECT app, (SELECT min(due_at) FROM deliveries WHERE ${IS_WAITING} AND app_id = app) AS dueAt
  FROM waiting WHERE app IS NOT NULL`

type Due = { id: number; dueAt: number }

/** What is due next, app by app, so that one which is held back costs the others nothing. */
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
    /** Ids of the deliveries that are due longest, of leases that ran out too. */
    listDue({ now, most, skipApps }: { now: number; most: number; skipApps: readonly number[] }): number[] {
      const skipped = new Set(skipApps)
      const due = byApp
        .all()
        .filter(({ app, dueAt }) => dueAt <= now && !skipped.has(app))
        .sort((a, b) => a.dueAt - b.dueAt)
        // the oldest of all are in the apps whose first is oldest
        .slice(0, most)
        .flatMap(({ app }) => ofApp.all(app, now, most))
      const late = expired.all(now).filter(({ app }) => !skipped.has(app))
      return [...late, ...due]
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, most)
        .map(({ id }) => id)
    },

    /** Apps of which something is due, or a lease ran out. */
    listDueApps({ now }: { now: number }): number[] {
      const due = byApp.all().filter(({ dueAt }) => dueAt <= now)
      return [...new Set([...due, ...expired.all(now)].map(({ app }) => app))]
    },
  }
}

/** Of what waits for another try, so much is due at once: no write may hold up the next ones. */
const TRIED_AGAIN = 10_000

export type DeliveryRetries = ReturnType<typeof createDeliveryRetries>

/** What waits for another try is due at once, and its tries begin anew. */
export function createDeliveryRetries(db: Database) {
  const prepare = (whose: string, why: string) =>
    db.prepare<unknown, [number, number, number | string, number]>(
      `UPDATE deliveries SET due_at = ?, updated_at = ?, record = json_remove(record, '$.tries') WHERE id IN (
         SELECT id FROM deliveries WHERE ${IS_WAITING} AND ${whose} AND due_at > ? AND ${why}
         ORDER BY due_at LIMIT ${TRIED_AGAIN})`,
    )
  const ofServer = prepare('app_id = ?', `((${WAITS_FOR_SERVER}) OR (${WAITS_FOR_SENDER}))`)
  const ofSender = prepare('app_id = ?', WAITS_FOR_SENDER)
  const ofSenders = prepare('app_id IN (SELECT id FROM apps WHERE account_id = ?)', WAITS_FOR_SENDER)

  return {
    /** What an app's mail server, or who it sends as, has kept waiting. */
    tryServerAgain: (appId: number, at: number): void => void ofServer.run(at, at, appId, at),
    trySenderAgain: (appId: number, at: number): void => void ofSender.run(at, at, appId, at),
    /** What waits in all apps of an account for an address to send from. */
    trySendersAgain: (accountId: string, at: number): void => void ofSenders.run(at, at, accountId, at),
  }
}

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

import type { Sql } from './engine/sql.ts'
import { mapInOrder } from '../core/in-order.ts'
import { type DueEmail, type DueQuery, IS_CLAIMED, IS_WAITING, isKeyFree, orderDue } from './delivery-states.ts'
import type { DeliveryRow } from './message-types.ts'
import type { PaceRules } from './pace-rules.ts'
import { createLockedQueue, IS_CLAIMER_RUNNING } from './postgres/delivery-queue.ts'

/** The earliest due time of each app with waiting deliveries: two index lookups per app. */
const NEXT_BY_APP = `
  WITH RECURSIVE waiting(app) AS (
    SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING}
    UNION ALL
    SELECT (SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING} AND app_id > app) FROM waiting WHERE app IS NOT NULL
  )
  SELECT app, (SELECT min(due_at) FROM deliveries WHERE ${IS_WAITING} AND app_id = app) AS "dueAt"
  FROM waiting WHERE app IS NOT NULL`

/** Due deliveries by app, so that an app that is paused costs the others nothing. */
/** `rules`: for claims. */
export function createDeliveryQueue(db: Sql, rules?: PaceRules) {
  const listLocked = db.dialect.engine === 'postgres' && rules ? createLockedQueue(db, rules) : null
  const byApp = db.prepare<{ app: number; dueAt: number }, []>(NEXT_BY_APP)
  const named = db.prepare<DueEmail, [number, string]>(
    `SELECT id, due_at AS "dueAt", app_id AS app FROM deliveries
     WHERE ${IS_WAITING} AND due_at <= ? AND ${db.dialect.isOneOf('id')} ORDER BY due_at, id${db.dialect.skipLocked}`,
  )
  const ofApp = db.prepare<DueEmail, [number, number, number]>(
    `SELECT id, due_at AS "dueAt", app_id AS app FROM deliveries WHERE ${IS_WAITING} AND app_id = ? AND due_at <= ?
     ORDER BY due_at LIMIT ?`,
  )
  const expired = db.prepare<DueEmail, [number]>(
    `SELECT id, claimed_until AS "dueAt", app_id AS app FROM deliveries
     WHERE ${IS_CLAIMED} AND state = 'claimed' AND claimed_until <= ? ORDER BY claimed_until`,
  )

  const listFirst = async ({ first = [], now }: DueQuery): Promise<DueEmail[]> =>
    first.length === 0 ? [] : await named.all(now, JSON.stringify(first))

  return {
    async listDue(query: DueQuery): Promise<number[]> {
      const { now, most, skipApps } = query
      const skipped = new Set(skipApps)
      const dueApps = (await byApp.all())
        .filter(({ app, dueAt }) => dueAt <= now && !skipped.has(app))
        .sort((a, b) => a.dueAt - b.dueAt)
        .map(({ app }) => app)
      const first = await listFirst(query)
      if (listLocked) return await listLocked(query, { dueApps, first })
      // the oldest deliveries belong to the apps with the earliest due times
      const due = (await mapInOrder(dueApps.slice(0, most), (app) => ofApp.all(app, now, most))).flat()
      const expiredLeases = (await expired.all(now)).filter(({ app }) => !skipped.has(app))
      return orderDue(first, [...expiredLeases, ...due])
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

export function prepareDeliveryStatements(db: Sql) {
  const { dialect } = db
  const [lock, lockInOrder] = [dialect.lock('deliveries'), dialect.lockInOrder('deliveries')]
  const unconfirmed = dialect.jsonObject({
    at: 'updated_at',
    verdicts: dialect.jsonOf("'[]'"),
    unconfirmedAt: 'handed_at',
  })
  const hasEnded = `joined_to = ?2 AND state = ?3 AND reason IS NOT DISTINCT FROM ?4
         AND coalesce(${dialect.jsonLength('record', 'verdicts')}, 0) = 0`
  const claimedColumns = 'id, app_id AS "appId", state, message_id AS "messageId", version, resent, record'
  return {
    claim: db.prepare(
      `UPDATE deliveries SET state = 'claimed', claimed_by = ?, claimed_until = ?, attempt = attempt + 1, updated_at = ?
       WHERE ${dialect.isOneOf('id')}`,
    ),
    extend: db.prepare(
      `UPDATE deliveries SET claimed_until = ? WHERE id = ? AND claimed_by = ? AND attempt = ? AND state = 'claimed'`,
    ),
    claimed: db.prepare<ClaimedRow, [number, string, number]>(
      `SELECT ${claimedColumns} FROM deliveries
       WHERE id = ? AND claimed_by = ? AND attempt = ? AND state IN ('claimed', 'handed')${lock}`,
    ),
    claimedUntil: db.prepare<{ id: number }, [number, string]>(
      `SELECT id FROM deliveries WHERE ${IS_CLAIMED} AND state = 'claimed' AND claimed_until = ? AND claimed_by = ?${lockInOrder}`,
    ),
    hand: db.prepare(
      `UPDATE deliveries SET state = 'handed', handed_at = ?, record = ?, reason = NULL, updated_at = ? WHERE id = ?`,
    ),
    resend: db.prepare(
      `UPDATE deliveries SET state = 'deferred', reason = ?, due_at = ?, resent = 1, claimed_by = NULL,
         claimed_until = NULL, record = ${dialect.jsonSet('record', 'unconfirmedAt', 'handed_at')}, updated_at = ?
       WHERE id = ?`,
    ),
    // each listed event may have been delivered, whatever happens to the email
    resendJoined: db.prepare(
      `UPDATE deliveries SET resent = 1, (handed_at, record, updated_at) =
         (SELECT handed_at, ${unconfirmed}, updated_at FROM deliveries lead WHERE lead.id = ?)
       WHERE joined_to = ? AND state = 'joined'`,
    ),
    claimsOfOthers: db.prepare<ClaimedRow, [string]>(
      `SELECT ${claimedColumns} FROM deliveries WHERE state IN ('claimed', 'handed') AND claimed_by <> ?1
         ${dialect.engine === 'postgres' ? `AND NOT ${IS_CLAIMER_RUNNING}` : ''}${lockInOrder}`,
    ),
    capture: db.prepare(
      `INSERT INTO captured_mails (delivery_id, app_id, raw, created_at, sender, recipient, subject, html, text)
       SELECT id, app_id, ?, ?, ?, ?, ?, ?, ? FROM deliveries WHERE id = ?
       ON CONFLICT (${dialect.keyOfApp('delivery_id')}) DO UPDATE SET raw = excluded.raw, created_at = excluded.created_at,
         sender = excluded.sender, recipient = excluded.recipient, subject = excluded.subject, html = excluded.html,
         text = excluded.text`,
    ),
    stored: db.prepare<StoredRow, [number, number]>(
      `SELECT state, reason, handed_at AS "handedAt", record, once_key AS "dedupeKey", joined_to AS "joinedTo", due_at AS "dueAt",
         by_hand AS "byHand", event_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events WHERE id = event_id) AS "isEventDeleted"
       FROM deliveries WHERE id = ? AND app_id = ?${lock}`,
    ),
    // one state at a time, in order of the index
    waiting: db.prepare<{ id: number; version: number; handedAt: number | null }, [number, string, number, number]>(
      `SELECT id, version, handed_at AS "handedAt" FROM deliveries${dialect.indexedBy('deliveries_by_message')}
       WHERE message_id = ? AND state = ? AND id > ? ORDER BY id LIMIT ?${lock}`,
    ),
    move: db.prepare('UPDATE deliveries SET version = ?1 WHERE id = ?2'),
    moveJoined: db.prepare(`UPDATE deliveries SET version = ?1 WHERE joined_to = ?2 AND state = 'joined'`),
    sendEarly: db.prepare('UPDATE deliveries SET due_at = ?, updated_at = ? WHERE id = ?'),
    // another delivery may have the deduplication key by now
    resendByHand: db.prepare(
      `UPDATE deliveries SET state = 'waiting', by_hand = 1, reason = NULL, due_at = ?1, planned_at = ?1,
         handed_at = ?2, held_back_at = NULL, record = ?3, updated_at = ?1, joined_to = NULL, once_key = ?4,
         version = CASE WHEN ?5 = 1 THEN (SELECT version FROM messages WHERE messages.id = message_id) ELSE version END
       WHERE id = ?6 AND ${isKeyFree('?4')}`,
    ),
    // rejoins events that ended with the email, unless their key is taken; removed events have verdicts of their own
    rejoin: db.prepare(
      `UPDATE deliveries SET state = 'joined', reason = NULL, handed_at = CASE WHEN resent = 1 THEN handed_at END,
         held_back_at = NULL, updated_at = ?1
       WHERE ${hasEnded} AND ${isKeyFree('deliveries.once_key')}
         AND NOT EXISTS (SELECT 1 FROM deliveries AS first WHERE first.once_key = deliveries.once_key
           AND first.contact_id = deliveries.contact_id AND first.message_id = deliveries.message_id
           AND first.id < deliveries.id AND ${hasEnded})`,
    ),
  }
}

import type { Database } from 'bun:sqlite'
import { expiredUntil } from './idempotency.ts'
import type { Timeline, TimelineRow } from './timeline/timeline.ts'
import { USES_ONCE_UP } from './delivery-states.ts'
import { BATCH_MS } from './visit-reports.ts'

/** Usage older than every window is of no limit's concern. */
const USAGE_KEPT_S = 3_600
/** A form is sent again within the life of the page that holds it. */
const FORM_MS = 48 * 3_600_000
/** Well after a session has ended by itself (accounts/sessions.ts), so that a clock that is a day wrong ends none. */
const IDLE_MS = 72 * 3_600_000
/** A secret that was rotated out works for 24 hours (accounts/identity.ts); a day more, for the same reason. */
const RETIRED_MS = 48 * 3_600_000
/** So long a set-up of the second step waits for its first code. */
const SETUP_MS = 3_600_000
/** How long the audit list keeps a call over MCP. */
const CALLS_MS = 90 * 24 * 3_600_000
/** How long the audit log keeps sign-ins; changes stay. */
export const SIGN_INS_KEPT_MS = 400 * 24 * 3_600_000
/** At most this many rows of a kind in one commit, so that no request waits for the clean-up. */
const ROWS_A_RUN = 500

/** Deletes what has had its time. @returns how many rows went, so that the caller can run it again */
export function createUpkeep(db: Database, timeline: Timeline) {
  const records = db.prepare(
    `DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN
       (SELECT key_id, idempotency_key FROM idempotency_records WHERE created_at <= ? LIMIT ${ROWS_A_RUN})`,
  )
  const usage = db.prepare(
    `DELETE FROM limit_usage WHERE (bucket, second) IN
       (SELECT bucket, second FROM limit_usage WHERE second < ? LIMIT ${ROWS_A_RUN})`,
  )
  const removeBatches = createBatchUpkeep(db, timeline)
  const calls = db.prepare(
    `DELETE FROM mcp_calls WHERE called_at <= ? AND id IN (SELECT id FROM mcp_calls ORDER BY id LIMIT ${ROWS_A_RUN})`,
  )
  const signIns = db.prepare(
    `DELETE FROM audit_entries WHERE id IN
       (SELECT id FROM audit_entries WHERE created_at <= ? AND address IS NOT NULL LIMIT ${ROWS_A_RUN})`,
  )
  const links = db.prepare('DELETE FROM one_time_links WHERE expires_at <= ?')
  const forms = db.prepare('DELETE FROM sent_forms WHERE sent_at <= ?')
  const sessions = db.prepare('DELETE FROM sessions WHERE last_seen_at <= ?')
  const secrets = db.prepare('DELETE FROM identity_secrets WHERE retired_at <= ?')
  const setups = db.prepare('DELETE FROM two_steps WHERE turned_on_at IS NULL AND started_at <= ?')

  return {
    cleanUp({ at }: { at: number }): { deleted: number } {
      const runs = [
        records.run(expiredUntil(at)),
        usage.run(Math.floor(at / 1000) - USAGE_KEPT_S),
        calls.run(at - CALLS_MS),
        signIns.run(at - SIGN_INS_KEPT_MS),
        links.run(at),
        forms.run(at - FORM_MS),
        sessions.run(at - IDLE_MS),
        secrets.run(at - RETIRED_MS),
        setups.run(at - SETUP_MS),
      ]
      return { deleted: runs.reduce((sum, run) => sum + run.changes, removeBatches(at)) }
    },
  }
}

/** At most this many batches are looked at in one commit (10 ms), so that no request waits for it. */
const LOOKED_AT_A_RUN = 5_000
/** How often those that were kept are looked at again. */
const PASS_MS = 3_600_000

/** Where a person was when something happened is asked for until the mail about it is decided, up to a month later. */
const IS_AWAITED = `EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = b.app_id AND d.contact_id = b.contact_id
  AND ${USES_ONCE_UP} AND d.state IN ('waiting', 'deferred', 'claimed'))`

/**
 * Deletes batches of the browser script that are 48 hours old, but those of people to whom a mail waits. Goes through them
 * in slices, so that many which are kept cost no more than many which are not. They lie in the order in which they came,
 * so it ends at the first that is younger; what has a time to come, after a clock was set back, it goes past.
 */
export function createBatchUpkeep(db: Database, timeline: Pick<Timeline, 'remove'>) {
  const slice = db.prepare<{ last: number | null; young: number | null; rows: number }, [number, number, number]>(
    `SELECT max(id) AS last, min(id) FILTER (WHERE received_at > ?2 AND received_at <= ?3) AS young, count(*) AS rows FROM
       (SELECT id, received_at FROM snippet_batches WHERE id > ?1 ORDER BY id LIMIT ${LOOKED_AT_A_RUN})`,
  )
  const remove = db.prepare<TimelineRow, [number, number, number]>(
    `DELETE FROM snippet_batches WHERE id IN
       (SELECT id FROM snippet_batches b WHERE id > ? AND id <= ? AND received_at <= ? AND NOT ${IS_AWAITED}
        LIMIT ${ROWS_A_RUN}) RETURNING contact_id AS contactId, type, id`,
  )
  const pass = { beganAt: 0, lookedUntil: 0, isOver: true }

  /** `at`: now (ms UTC). @returns how many rows went */
  return (at: number): number => {
    if (pass.isOver && Math.abs(at - pass.beganAt) >= PASS_MS) Object.assign(pass, { beganAt: at, lookedUntil: 0 })
    const until = at - BATCH_MS
    const { last, young, rows } = slice.get(pass.lookedUntil, until, at) ?? { last: null, young: null, rows: 0 }
    const end = young === null ? (last ?? pass.lookedUntil) : young - 1
    const removed = remove.all(pass.lookedUntil, end, until)
    timeline.remove(removed)
    if (removed.length < ROWS_A_RUN) {
      Object.assign(pass, { lookedUntil: end, isOver: young !== null || rows < LOOKED_AT_A_RUN })
    }
    return removed.length
  }
}

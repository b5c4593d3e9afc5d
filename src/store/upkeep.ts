import type { Maybe, Sql } from './engine/sql.ts'
import { HOUR_MS } from '../core/clock.ts'
import type { AccountRules } from './account-rules.ts'
import type { Timeline, TimelineRow } from './timeline/timeline.ts'
import { USES_DEDUPE_KEY } from './delivery-states.ts'
import { createOutcomeUpkeep } from './idempotency.ts'
import type { LimitUsage } from './planned-writes.ts'
import { createRequestUpkeep } from './requests.ts'
import { VISIT_REPORT_MS } from './visit-reports.ts'

/** Rows of each kind deleted per commit, so that no request waits long. */
export const DELETED_PER_RUN = 500

type UpkeepRules = Pick<AccountRules, 'defaultRequestDays' | 'defaultResponseDays' | 'expiriesAt'>

type UpkeepParts = {
  db: Sql
  timeline: Pick<Timeline, 'remove'>
  usage: Pick<LimitUsage, 'removeExpired'>
  mergeCounts: (at: number) => Maybe<void>
  rules: UpkeepRules
}

/** Deletes expired rows. @returns the number deleted, so that the caller can repeat it */
export function createUpkeep({ db, timeline, usage, mergeCounts, rules }: UpkeepParts) {
  const removeOutcomes = createOutcomeUpkeep(db, rules, DELETED_PER_RUN)
  const removeBatches = createBatchUpkeep(db, timeline)
  const calls = db.prepare(
    `DELETE FROM mcp_calls WHERE called_at <= ? AND id IN (SELECT id FROM mcp_calls ORDER BY id LIMIT ${DELETED_PER_RUN})`,
  )
  const removeRequests = createRequestUpkeep(db, rules, DELETED_PER_RUN)
  const signIns = db.prepare(
    `DELETE FROM audit_entries WHERE id IN
       (SELECT id FROM audit_entries WHERE created_at <= ? AND address IS NOT NULL LIMIT ${DELETED_PER_RUN})`,
  )
  const links = db.prepare('DELETE FROM one_time_links WHERE expires_at <= ?')
  const forms = db.prepare('DELETE FROM sent_forms WHERE sent_at <= ?')
  const sessions = db.prepare('DELETE FROM sessions WHERE last_seen_at <= ?')
  const secrets = db.prepare('DELETE FROM identity_secrets WHERE retired_at <= ?')
  const setups = db.prepare('DELETE FROM two_steps WHERE turned_on_at IS NULL AND started_at <= ?')

  return {
    async cleanUp({ at }: { at: number }): Promise<{ deleted: number }> {
      const { usageSecond, callsAt, signInsAt, linksAt, formsAt, sessionsAt, secretsAt, setUpsAt } =
        rules.expiriesAt(at)
      const runs = [
        await calls.run(callsAt),
        await signIns.run(signInsAt),
        await links.run(linksAt),
        await forms.run(formsAt),
        await sessions.run(sessionsAt),
        await secrets.run(secretsAt),
        await setups.run(setUpsAt),
      ]
      const others = (await removeOutcomes(at)) + (await removeBatches(at)) + (await removeRequests(at))
      // last: others wait for what they lock, most of all for limits
      await mergeCounts(at)
      const used = await usage.removeExpired(usageSecond)
      return { deleted: runs.reduce((sum, run) => sum + run.changes, others + used) }
    },
  }
}

/** Visit reports scanned per commit: 10 ms, so that no request waits long. */
const SCANNED_PER_RUN = 5_000
const PASS_MS = HOUR_MS

/** Waiting emails need visit reports up to a month old, to decide where the person was at the trigger. */
const IS_NEEDED = `EXISTS (SELECT 1 FROM deliveries d WHERE d.app_id = b.app_id AND d.contact_id = b.contact_id
  AND ${USES_DEDUPE_KEY} AND d.state IN ('waiting', 'deferred', 'claimed'))`

/**
 * Scans by id, which is the order of arrival, and stops at the first row that is younger than 48 hours; rows with a
 * future time (the clock was set back) are skipped.
 */
export function createBatchUpkeep(db: Sql, timeline: Pick<Timeline, 'remove'>) {
  const slice = db.prepare<{ last: number | null; young: number | null; rows: number }, [number, number, number]>(
    `SELECT max(id) AS last, min(id) FILTER (WHERE received_at > ?2 AND received_at <= ?3) AS young, count(*) AS rows FROM
       (SELECT id, received_at FROM snippet_batches WHERE id > ?1 ORDER BY id LIMIT ${SCANNED_PER_RUN}) AS scanned`,
  )
  const remove = db.prepare<TimelineRow, [number, number, number]>(
    `DELETE FROM snippet_batches WHERE id IN
       (SELECT id FROM snippet_batches b WHERE id > ? AND id <= ? AND received_at <= ? AND NOT ${IS_NEEDED}
        LIMIT ${DELETED_PER_RUN}) RETURNING contact_id AS "contactId", type, id`,
  )
  const pass = { beganAt: 0, scannedUntil: 0, isOver: true }

  return async (at: number): Promise<number> => {
    if (pass.isOver && Math.abs(at - pass.beganAt) >= PASS_MS) Object.assign(pass, { beganAt: at, scannedUntil: 0 })
    const until = at - VISIT_REPORT_MS
    const { last, young, rows } = (await slice.get(pass.scannedUntil, until, at)) ?? {
      last: null,
      young: null,
      rows: 0,
    }
    const end = young === null ? (last ?? pass.scannedUntil) : young - 1
    const removed = await remove.all(pass.scannedUntil, end, until)
    timeline.remove(removed)
    if (removed.length < DELETED_PER_RUN) {
      Object.assign(pass, { scannedUntil: end, isOver: young !== null || rows < SCANNED_PER_RUN })
    }
    return removed.length
  }
}

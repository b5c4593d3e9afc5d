import type { Database } from 'bun:sqlite'
import { USES_ONCE_UP } from './delivery-states.ts'
import { BATCH_MS } from './visit-reports.ts'
import type { TimelineRow, Timeline } from './timeline/timeline.ts'

/** At most this many are deleted in one commit, and ten times as many looked at (10 ms): no request waits for it. */
const ROWS_A_RUN = 500
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

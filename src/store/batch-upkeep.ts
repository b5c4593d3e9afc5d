import type { Database } from 'bun:sqlite'
import { USES_ONCE_UP } from './delivery-states.ts'
import { BATCH_MS } from './snippet-types.ts'

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
 * in slices, so that many which are kept cost no more than many which are not.
 */
export function createBatchUpkeep(db: Database) {
  const within = 'received_at > ? AND received_at <= ?'
  const sliceEnd = db.prepare<{ at: number }, [number, number]>(
    `SELECT received_at AS at FROM snippet_batches WHERE ${within} ORDER BY received_at LIMIT 1 OFFSET ${LOOKED_AT_A_RUN}`,
  )
  const remove = db.prepare(
    `DELETE FROM snippet_batches WHERE (app_id, contact_id, batch) IN
       (SELECT app_id, contact_id, batch FROM snippet_batches b WHERE ${within} AND NOT ${IS_AWAITED} LIMIT ${ROWS_A_RUN})`,
  )
  const pass = { beganAt: 0, lookedUntil: 0, isOver: true }

  /** `at`: now (ms UTC). @returns how many rows went */
  return (at: number): number => {
    if (pass.isOver && Math.abs(at - pass.beganAt) >= PASS_MS) Object.assign(pass, { beganAt: at, lookedUntil: 0 })
    const until = at - BATCH_MS
    const end = sliceEnd.get(pass.lookedUntil, until)?.at ?? until
    const { changes } = remove.run(pass.lookedUntil, end)
    if (changes < ROWS_A_RUN) Object.assign(pass, { lookedUntil: end, isOver: end === until })
    return changes
  }
}

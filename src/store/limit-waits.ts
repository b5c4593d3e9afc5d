/** When emails of an app waited because the mail server accepted no more. Times are ms UTC. */
import type { Database } from 'bun:sqlite'

export type LimitWait = { appId: number; from: number; until: number }

/** How long a delivery waited for a limit since it was planned. */
export const LIMITED_MS = `
  ifnull((SELECT sum(until_at - max(from_at, deliveries.planned_at)) FROM limit_waits
    WHERE limit_waits.app_id = deliveries.app_id AND until_at > deliveries.planned_at), 0)`

/** Longer than any email waits. */
const KEPT_MS = 90 * 86_400_000

export function createLimitWaitWrites(db: Database) {
  const save = db.prepare(
    `INSERT INTO limit_waits (app_id, from_at, until_at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET until_at = excluded.until_at`,
  )
  const remove = db.prepare('DELETE FROM limit_waits WHERE app_id = ? AND until_at < ?')

  return {
    /** A wait that goes on is saved again with the same start. */
    saveLimitWaits({ waits }: { waits: LimitWait[] }): { done: true } {
      for (const { appId, from, until } of waits) {
        remove.run(appId, until - KEPT_MS)
        save.run(appId, from, until)
      }
      return { done: true }
    },
  }
}

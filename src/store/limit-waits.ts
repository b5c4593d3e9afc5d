/** When emails of an app waited because the mail server accepted no more, or for the brake. Times are ms UTC. */
import type { Dialect, Sql } from './engine/sql.ts'

type WaitTable = 'limit_waits' | 'brake_waits'
export type LimitWait = { appId: number; from: number; until: number }

const waitedMs = ({ greatest }: Dialect, table: WaitTable): string => `
  coalesce((SELECT CAST(sum(until_at - ${greatest('from_at', 'deliveries.planned_at')}) AS bigint) FROM ${table}
    WHERE ${table}.app_id = deliveries.app_id AND until_at > deliveries.planned_at), 0)`

/** How long a delivery waited for a limit since it was planned. */
export const limitedMs = (dialect: Dialect): string => waitedMs(dialect, 'limit_waits')

/** How long the brake was on since a delivery was planned. */
export const brakedMs = (dialect: Dialect): string => waitedMs(dialect, 'brake_waits')

/** Longer than any email waits. */
const KEPT_MS = 90 * 86_400_000

/** A wait that goes on is saved again with the same start. */
export function createWaitSave(db: Sql, table: WaitTable) {
  const save = db.prepare(
    `INSERT INTO ${table} (app_id, from_at, until_at) VALUES (?, ?, ?)
     ON CONFLICT (app_id, from_at) DO UPDATE SET until_at = excluded.until_at`,
  )
  const remove = db.prepare(`DELETE FROM ${table} WHERE app_id = ? AND until_at < ?`)
  return async ({ appId, from, until }: LimitWait): Promise<void> => {
    await remove.run(appId, until - KEPT_MS)
    await save.run(appId, from, until)
  }
}

export function createLimitWaitWrites(db: Sql) {
  const save = createWaitSave(db, 'limit_waits')
  return {
    async saveLimitWaits({ waits }: { waits: LimitWait[] }): Promise<{ done: true }> {
      // in one order, so that instances don't wait for each other in a circle
      for (const wait of waits.toSorted((a, b) => a.appId - b.appId || a.from - b.from)) await save(wait)
      return { done: true }
    },
  }
}

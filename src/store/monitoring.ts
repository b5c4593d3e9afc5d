/** Facts about the whole installation. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { mapInOrder } from '../core/in-order.ts'
import { MOST_COUNTED } from '../core/count.ts'
import { timeOfId } from '../core/ids.ts'
import type { Brake } from './brake-rules.ts'
import { IS_WAITING } from './delivery-states.ts'

/** Counted up to MOST_COUNTED + 1. `oldestDueAt`: null if none is due. */
export type Queue = { waiting: number; due: number; oldestDueAt: number | null }

export type RefusalCount = { accountId: string; code: string; count: number }

export function createMonitoringReads(db: Sql) {
  const brakes = db.prepare<Brake & { appId: number }, []>(
    'SELECT app_id AS "appId", kind, failures, emails, since FROM mail_brakes WHERE since IS NOT NULL ORDER BY app_id',
  )
  const waitingApps = db.prepare<{ appId: number }, []>(
    `WITH RECURSIVE waiting(appId) AS (
       SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING}
       UNION ALL
       SELECT (SELECT min(app_id) FROM deliveries WHERE ${IS_WAITING} AND app_id > appId) FROM waiting WHERE appId IS NOT NULL
     )
     SELECT appId AS "appId" FROM waiting WHERE appId IS NOT NULL`,
  )
  const waiting = db.prepare<{ n: number }, []>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM deliveries WHERE ${IS_WAITING} LIMIT ${MOST_COUNTED + 1}) AS waiting`,
  )
  const due = db.prepare<{ n: number; dueAt: number | null }, [number, number]>(
    `SELECT count(*) AS n, min(due_at) AS "dueAt" FROM
       (SELECT due_at FROM deliveries WHERE ${IS_WAITING} AND app_id = ? AND due_at <= ? ORDER BY due_at
        LIMIT ${MOST_COUNTED + 1}) AS due`,
  )
  const refused = db.prepare<RefusalCount, [number]>(
    `SELECT account_id AS "accountId", code, CAST(sum(count) AS bigint) AS count FROM requests${db.dialect.indexedBy('requests_refused')}
     WHERE code IS NOT NULL AND account_id > '' AND received_at > ? GROUP BY account_id, code`,
  )
  const newest = db.prepare<{ id: number | null }, []>(
    `SELECT max(id) AS id FROM (SELECT max(id) AS id FROM events UNION ALL SELECT max(id) FROM contacts
       UNION ALL SELECT max(id) FROM deliveries) AS newest`,
  )
  const listWaitingApps = async (): Promise<number[]> => (await waitingApps.all()).map(({ appId }) => appId)
  return {
    /** Brakes that are on. */
    listBrakes: async (): Promise<(Brake & { appId: number })[]> => await brakes.all(),

    /** Apps with an email that waits for anything. */
    listWaitingApps,

    async summarizeQueue(now: number): Promise<Queue> {
      const byApp = (
        await mapInOrder(await listWaitingApps(), async (appId) => (await due.get(appId, now)) ?? [])
      ).flat()
      const times = byApp.flatMap(({ dueAt }) => dueAt ?? [])
      return {
        waiting: (await waiting.get())?.n ?? 0,
        due: Math.min(
          byApp.reduce((sum, { n }) => sum + n, 0),
          MOST_COUNTED + 1,
        ),
        oldestDueAt: times.length === 0 ? null : Math.min(...times),
      }
    },

    /** Those of accounts. Strangers without a key concern nobody. Reads only the index of refused requests. */
    countRefusals: async (since: number): Promise<RefusalCount[]> => await refused.all(since),

    /** When the newest row was stored; null without rows. */
    async findNewestTime(): Promise<number | null> {
      const id = (await newest.get())?.id ?? 0
      return id === 0 ? null : timeOfId(id)
    },
  }
}

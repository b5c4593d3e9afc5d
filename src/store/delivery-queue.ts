import type { Database } from 'bun:sqlite'
import { IS_CLAIMED, IS_WAITING } from './delivery-states.ts'

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

import type { Sql } from '../engine/sql.ts'
import { type DueEmail, type DueQuery, IS_WAITING, orderDue } from '../delivery-states.ts'
import type { PaceRules } from '../pace-rules.ts'
import { DATABASE_NOW, HAS_SURELY_ENDED, IS_AHEAD } from './instance.ts'
import { createPaces } from './paces.ts'

/** How long instances have to renew their leases once the database is back. */
const RETURN_MS = 30_000

/**
 * `?1`: the instance that asks. It must have run for a while to take another one for stopped, even one whose number
 * somebody else has by now: it may come back with another number. After the clock jumped, it must have renewed its own lease.
 */
export const IS_CLAIMER_RUNNING = `(EXISTS (SELECT 1 FROM instances WHERE holder = claimed_by AND NOT ${HAS_SURELY_ENDED})
  OR NOT EXISTS (SELECT 1 FROM instances AS own WHERE own.holder = ?1 AND own.held_since <= ${DATABASE_NOW} - ${RETURN_MS}
    AND NOT ${IS_AHEAD}))`

type Found = { dueApps: readonly number[]; first: readonly DueEmail[] }

/**
 * One instance at a time claims an app's rows, by the lock of its pace; rows that other changes hold are left out. The locked
 * rows are compared again, because another instance may have claimed them since they were found.
 */
export function createLockedQueue(db: Sql, rules: PaceRules) {
  const paces = createPaces(db, rules)
  const { isOneOf, numbersOf } = db.dialect
  const waiting = db.prepare<DueEmail, [string, number, number]>(
    `SELECT deliveries.id, due.due_at AS "dueAt", apps.value AS app FROM ${numbersOf('?1', 'apps')} CROSS JOIN LATERAL
       (SELECT id, due_at FROM deliveries WHERE ${IS_WAITING} AND app_id = apps.value AND due_at <= ?2
        ORDER BY due_at LIMIT ?3) AS due
     JOIN deliveries ON deliveries.id = due.id
     WHERE ${IS_WAITING} AND deliveries.due_at <= ?2
     ORDER BY due.due_at LIMIT ?3 FOR UPDATE OF deliveries SKIP LOCKED`,
  )
  const expired = db.prepare<DueEmail, [number, string, number]>(
    `SELECT id, claimed_until AS "dueAt", app_id AS app FROM deliveries
     WHERE state = 'claimed' AND claimed_until <= ?1 AND NOT (${isOneOf('app_id', '?2')})
     ORDER BY claimed_until LIMIT ?3 FOR UPDATE SKIP LOCKED`,
  )
  /** Repeated claims were counted the first time. */
  const listInPace = async ({ dueApps, first }: Found, now: number, most: number): Promise<DueEmail[]> => {
    const open = (await paces.lock(dueApps.slice(0, most))).filter(({ room }) => room > 0)
    if (open.length === 0) return []
    const room = new Map(open.map((one) => [one.appId, one.room]))
    const claimed = new Map<number, number>()
    const found = await waiting.all(JSON.stringify([...room.keys()]), now, most)
    const due = orderDue(first, found)
      .slice(0, most)
      .filter(({ app }) => {
        const count = (claimed.get(app) ?? 0) + 1
        if (count > (room.get(app) ?? 0)) return false
        claimed.set(app, count)
        return true
      })
    await paces.spend(open, claimed)
    return due
  }

  return async ({ now, most, skipApps }: DueQuery, found: Found): Promise<number[]> => {
    const leases = await expired.all(now, JSON.stringify(skipApps), most)
    const left = most - leases.length
    const due = left === 0 || found.dueApps.length === 0 ? [] : await listInPace(found, now, left)
    const first = found.first.filter((one) => due.includes(one))
    return orderDue(first, [...leases, ...due]).map(({ id }) => id)
  }
}

import type { Database } from 'bun:sqlite'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24

export type Counted = { appId: number; nameId: number; eventId: number; receivedAt: number }
type Rollup = Pick<Counted, 'appId' | 'nameId'> & {
  hour: number
  count: number
  firstEventId: number
  lastEventId: number
}
type Usage = { bucket: string; second: number; count: number }

/**
 * What a commit counts once for many rows: rollups by hour and by day, and used-up limits.
 * `write` belongs inside the transaction; `forget` after a rollback.
 */
export type Tallies = ReturnType<typeof createTallies>

export function createTallies(db: Database) {
  const addRollup = db.prepare(
    `INSERT INTO rollups (app_id, name_id, hour, count, first_event_id, last_event_id) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, last_event_id = excluded.last_event_id`,
  )
  const addDaily = db.prepare(
    `INSERT INTO daily_rollups (app_id, day, name_id, count) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  const addUsage = db.prepare(
    `INSERT INTO limit_usage (bucket, second, count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  const rollups = new Map<string, Rollup>()
  const usage = new Map<string, Usage>()
  // most rows of a commit are counted as the one before them
  let [rollup, used]: [Rollup | null, Usage | null] = [null, null]
  const clear = (): void => {
    rollups.clear()
    usage.clear()
    ;[rollup, used] = [null, null]
  }

  return {
    countEvent({ appId, nameId, eventId, receivedAt }: Counted): void {
      const hour = hourOf(receivedAt)
      if (rollup?.hour !== hour || rollup.nameId !== nameId || rollup.appId !== appId) {
        const id = `${appId}:${nameId}:${hour}`
        rollup = rollups.get(id) ?? { appId, nameId, hour, count: 0, firstEventId: eventId, lastEventId: eventId }
        rollups.set(id, rollup)
      }
      rollup.count += 1
      rollup.lastEventId = eventId
    },
    countUsage(bucket: string, at: number): void {
      const second = Math.floor(at / 1000)
      if (used?.second !== second || used.bucket !== bucket) {
        const id = `${second}:${bucket}`
        used = usage.get(id) ?? { bucket, second, count: 0 }
        usage.set(id, used)
      }
      used.count += 1
    },
    write(): void {
      for (const r of rollups.values()) {
        addRollup.run(r.appId, r.nameId, r.hour, r.count, r.firstEventId, r.lastEventId)
        addDaily.run(r.appId, Math.floor(r.hour / DAY_HOURS), r.nameId, r.count)
      }
      for (const u of usage.values()) addUsage.run(u.bucket, u.second, u.count)
    },
    /** After a commit: what `write` wrote is done. */
    settle: clear,
    /** After a rollback: the same rows will be counted again. */
    forget: clear,
  }
}

const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

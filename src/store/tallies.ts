import type { Database } from 'bun:sqlite'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24

export type Counted = { appId: number; nameId: number; eventId: number; receivedAt: number }

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
  const rollups = new Map<string, Counted & { count: number; lastEventId: number }>()
  const usage = new Map<string, { bucket: string; second: number; count: number }>()

  return {
    countEvent(event: Counted): void {
      const id = `${event.appId}:${event.nameId}:${hourOf(event.receivedAt)}`
      const known = rollups.get(id)
      if (!known) rollups.set(id, { ...event, count: 1, lastEventId: event.eventId })
      else {
        known.count += 1
        known.lastEventId = event.eventId
      }
    },
    countUsage(bucket: string, at: number): void {
      const second = Math.floor(at / 1000)
      const id = `${second}:${bucket}`
      const known = usage.get(id)
      if (known) known.count += 1
      else usage.set(id, { bucket, second, count: 1 })
    },
    write(): void {
      for (const r of rollups.values()) {
        const hour = hourOf(r.receivedAt)
        addRollup.run(r.appId, r.nameId, hour, r.count, r.eventId, r.lastEventId)
        addDaily.run(r.appId, Math.floor(hour / DAY_HOURS), r.nameId, r.count)
      }
      for (const u of usage.values()) addUsage.run(u.bucket, u.second, u.count)
    },
    /** After a commit: what `write` wrote is done. */
    settle(): void {
      rollups.clear()
      usage.clear()
    },
    /** After a rollback: the same rows will be counted again. */
    forget(): void {
      rollups.clear()
      usage.clear()
    },
  }
}

const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

import { DAY_HOURS, HOUR_MS } from '../core/clock.ts'
import type { Database } from 'bun:sqlite'
import type { Dialect, Sql } from './engine/sql.ts'
import { PAGE_NAME } from './visit-reports.ts'

/** Daily rows summed per query: 10 ms (measured), during which all other requests wait. */
const MAX_DAILY_ROWS = 50_000
/** Daily rows whose hours are looked up: the same work, since each has up to 24 hours. */
const MAX_HOURLY_ROWS = 2_000
/** Listed names: some customers put an id into every name. */
const MAX_NAMES = 200

export type DayCount = { day: number; isPage: boolean; count: number }

export type NameCount = { name: string; count: number }
/** Most frequent first. `isWhole` false: only the newest days were counted, because there are too many names. */
export type NameCounts = { names: NameCount[]; total: number; isWhole: boolean }

/** `hour`: since 1970, or a day's first. Hours without events are left out. */
export type HourCount = { hour: number; count: number }

/** New people of a day (days since 1970 UTC), without those erased since. */
export type PeopleCount = { day: number; people: number }

type Sum = { total: number | null; rows: number }

const daysOf = (limit: number): string =>
  `(SELECT day, name_id, count FROM daily_rollups WHERE app_id = ?1 AND day >= ?2 ORDER BY day DESC LIMIT ${limit}) AS newest`

/** Found through the names of those days, because hours are clustered by name. */
const hoursOf = `rollups r JOIN (SELECT DISTINCT name_id FROM ${daysOf(MAX_HOURLY_ROWS)}) d ON r.name_id = d.name_id
  WHERE r.app_id = ?1 AND r.hour >= ?3`

const mostFrequent = (counts: string): string =>
  `SELECT n.name, c.count FROM (${counts} ORDER BY 2 DESC, 1 LIMIT ${MAX_NAMES}) c
   JOIN event_names n ON n.id = c.name_id ORDER BY c.count DESC, n.id`
type Since = { appId: number; sinceHour: number }

export type Counted = { appId: number; nameId: number; eventId: number; receivedAt: number }
type Rollup = Pick<Counted, 'appId' | 'nameId'> & {
  hour: number
  count: number
  firstEventId: number
  lastEventId: number
}
type Usage = { bucket: string; second: number; count: number }

export type Counters = ReturnType<typeof createCounters>

export function createCounters(db: Database) {
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
  // most rows of a commit group hit the same counter as the row before
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
    countUsage(bucket: string, at: number, count = 1): void {
      const second = Math.floor(at / 1000)
      if (used?.second !== second || used.bucket !== bucket) {
        const id = `${second}:${bucket}`
        used = usage.get(id) ?? { bucket, second, count: 0 }
        usage.set(id, used)
      }
      used.count += count
    },
    write(): void {
      for (const r of rollups.values()) {
        addRollup.run(r.appId, r.nameId, r.hour, r.count, r.firstEventId, r.lastEventId)
        addDaily.run(r.appId, Math.floor(r.hour / DAY_HOURS), r.nameId, r.count)
      }
      for (const u of usage.values()) addUsage.run(u.bucket, u.second, u.count)
    },
    settle: clear,
    forget: clear,
  }
}

const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

const joinNames = ({ crossJoin }: Dialect): string =>
  `event_names n ${crossJoin} rollups r ON r.app_id = n.app_id AND r.name_id = n.id`

/** Reads rollups, never events. */
export function createCounterReads(db: Sql) {
  const names = joinNames(db.dialect)
  const namesByDay = db.prepare<NameCount, [number, number]>(
    mostFrequent(`SELECT name_id, CAST(sum(count) AS bigint) AS count FROM ${daysOf(MAX_DAILY_ROWS)} GROUP BY name_id`),
  )
  const namesByHour = db.prepare<NameCount, [number, number, number]>(
    mostFrequent(`SELECT r.name_id, CAST(sum(r.count) AS bigint) AS count FROM ${hoursOf} GROUP BY r.name_id`),
  )
  const sumByDay = db.prepare<Sum, [number, number]>(
    `SELECT CAST(sum(count) AS bigint) AS total, count(*) AS rows FROM ${daysOf(MAX_DAILY_ROWS)}`,
  )
  const sumByHour = db.prepare<Sum, [number, number, number]>(
    `SELECT CAST(sum(r.count) AS bigint) AS total, (SELECT count(*) FROM ${daysOf(MAX_HOURLY_ROWS)}) AS rows FROM ${hoursOf}`,
  )
  const appByHour = db.prepare<HourCount, [number, number, number]>(
    `SELECT r.hour, CAST(sum(r.count) AS bigint) AS count FROM ${hoursOf} GROUP BY r.hour ORDER BY r.hour`,
  )
  const appByDay = db.prepare<HourCount, [number, number]>(
    `SELECT day * ${DAY_HOURS} AS hour, CAST(sum(count) AS bigint) AS count FROM ${daysOf(MAX_DAILY_ROWS)} GROUP BY day ORDER BY day`,
  )
  const nameByHour = db.prepare<HourCount, [number, string, number]>(
    `SELECT r.hour, r.count FROM rollups r
     WHERE r.app_id = ?1 AND r.name_id = (SELECT id FROM event_names WHERE app_id = ?1 AND name = ?2) AND r.hour >= ?3
     ORDER BY r.hour`,
  )
  // names first, then their hours; the reverse would scan every hour of the app
  const namesAfter = db.prepare<NameCount, [number, number, string, number]>(
    `SELECT n.name, CAST(sum(r.count) AS bigint) AS count FROM ${names}
     WHERE n.app_id = ?1 AND r.hour >= ?2 AND n.name > ?3 GROUP BY n.name ORDER BY n.name LIMIT ?4`,
  )
  const topNames = db.prepare<NameCount, [number, number, number]>(
    `SELECT n.name, CAST(sum(r.count) AS bigint) AS count FROM ${names}
     WHERE n.app_id = ?1 AND r.hour >= ?2 GROUP BY n.name ORDER BY count DESC, n.name LIMIT ?3`,
  )
  const byDay = db.prepare<{ day: number; isPage: number; count: number }, [number, number, string]>(
    `SELECT r.hour / ${DAY_HOURS} AS day, n.name = ?3 AS "isPage", CAST(sum(r.count) AS bigint) AS count FROM ${names}
     WHERE n.app_id = ?1 AND r.hour >= ?2 GROUP BY day, "isPage" ORDER BY day`,
  )
  const peopleByDay = db.prepare<PeopleCount, [number, number]>(
    `SELECT day, CAST(sum(people) AS bigint) AS people FROM people_by_day WHERE app_id = ? AND day >= ?
     GROUP BY day HAVING sum(people) > 0 ORDER BY day`,
  )
  const newPeople = db.prepare<{ count: number }, [string, string]>(
    'SELECT count FROM new_people WHERE account_id = ? AND month = ?',
  )
  const usage = db.prepare<Usage, [number]>(
    'SELECT bucket, second, count FROM limit_usage WHERE second > ? ORDER BY second, bucket',
  )
  const newestWhere = (isWanted: string) =>
    db.prepare<{ at: number }, [number, string]>(
      `SELECT coalesce(events.received_at, rollups.hour * ${HOUR_MS}) AS at FROM event_names AS names
       JOIN rollups ON rollups.app_id = names.app_id AND rollups.name_id = names.id AND rollups.hour =
         (SELECT max(hour) FROM rollups WHERE app_id = names.app_id AND name_id = names.id)
       LEFT JOIN events ON events.id = rollups.last_event_id
       WHERE names.app_id = ?1 AND names.name ${isWanted} ?2 ORDER BY at DESC LIMIT 1`,
    )
  const [newestOther, newestView] = [newestWhere('<>'), newestWhere('=')]
  const newestEvent = db.prepare<{ at: number }, [number]>(
    'SELECT received_at AS at FROM events WHERE app_id = ? ORDER BY id DESC LIMIT 1',
  )
  const dayOf = (hour: number): number => Math.floor(hour / DAY_HOURS)
  const isWholeDay = (hour: number): boolean => hour % DAY_HOURS === 0

  return {
    async countNames(appId: number, fromHour: number): Promise<NameCounts> {
      const day = dayOf(fromHour)
      if (!isWholeDay(fromHour)) {
        const sum = await sumByHour.get(appId, day, fromHour)
        const names = await namesByHour.all(appId, day, fromHour)
        return { names, total: sum?.total ?? 0, isWhole: (sum?.rows ?? 0) < MAX_HOURLY_ROWS }
      }
      const sum = await sumByDay.get(appId, day)
      return {
        names: await namesByDay.all(appId, day),
        total: sum?.total ?? 0,
        isWhole: (sum?.rows ?? 0) < MAX_DAILY_ROWS,
      }
    },
    countByHour: async (appId: number, name: string | null, fromHour: number): Promise<HourCount[]> =>
      name === null
        ? await appByHour.all(appId, dayOf(fromHour), fromHour)
        : await nameByHour.all(appId, name, fromHour),
    countByDay: async (appId: number, name: string | null, fromDay: number): Promise<HourCount[]> =>
      name === null ? await appByDay.all(appId, fromDay) : await nameByHour.all(appId, name, fromDay * DAY_HOURS),

    listNames: async ({
      appId,
      sinceHour,
      after,
      limit,
    }: Since & { after: string; limit: number }): Promise<NameCount[]> =>
      await namesAfter.all(appId, sinceHour, after, limit),

    listTopNames: async ({ appId, sinceHour, limit }: Since & { limit: number }): Promise<NameCount[]> =>
      await topNames.all(appId, sinceHour, limit),

    countDays: async ({ appId, sinceHour, pageName }: Since & { pageName: string }): Promise<DayCount[]> =>
      (await byDay.all(appId, sinceHour, pageName)).map((row) => ({ ...row, isPage: row.isPage === 1 })),

    countPeopleByDay: async (appId: number, fromDay: number): Promise<PeopleCount[]> =>
      await peopleByDay.all(appId, fromDay),

    countNewPeople: async (accountId: string, month: string): Promise<number> =>
      (await newPeople.get(accountId, month))?.count ?? 0,

    listUsage: async (sinceSecond: number): Promise<Usage[]> => await usage.all(sinceSecond),

    /** ms UTC, exact to the hour only if the last event was deleted. */
    async latestActivity(appId: number): Promise<{
      lastEventAt: number | null
      lastNamedAt: number | null
      lastViewAt: number | null
    }> {
      const [lastNamedAt, lastViewAt] = [
        (await newestOther.get(appId, PAGE_NAME))?.at ?? null,
        (await newestView.get(appId, PAGE_NAME))?.at ?? null,
      ]
      return {
        lastEventAt: (await newestEvent.get(appId))?.at ?? latestOf(lastNamedAt ?? null, lastViewAt ?? null),
        lastNamedAt: lastNamedAt ?? null,
        lastViewAt: lastViewAt ?? null,
      }
    },
  }
}

const latestOf = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b)

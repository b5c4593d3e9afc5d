import type { Database } from 'bun:sqlite'

/** Rows by day that are added up at once: 10 ms (measured), in which every other request waits. */
const DAILY_ROWS = 50_000
/** Rows by day whose names' hours are looked up: as much work, as each has up to 24. */
const HOURLY_ROWS = 2_000
/** Names that are listed; a customer who puts an id into each has more than anybody reads. */
const NAMES = 200
const DAY_HOURS = 24

export type NameCount = { name: string; count: number }
/** The most frequent first. `isWhole` false: so many names came that only the newest days were looked through. */
export type NameCounts = { names: NameCount[]; total: number; isWhole: boolean }

/** How many events came in an hour (since 1970), or in the day that begins with it; where none came it is left out. */
export type HourCount = { hour: number; count: number }

type Sum = { total: number | null; rows: number }

/** The days of an app's names from a day on (?2), the newest first. */
const daysOf = (most: number): string =>
  `(SELECT day, name_id, count FROM daily_rollups WHERE app_id = ?1 AND day >= ?2 ORDER BY day DESC LIMIT ${most})`

/** The hours (?3) of the names that came on those days: the hours of a name lie together, those of an app do not. */
const hoursOf = `rollups r JOIN (SELECT DISTINCT name_id FROM ${daysOf(HOURLY_ROWS)}) d ON r.name_id = d.name_id
  WHERE r.app_id = ?1 AND r.hour >= ?3`

const mostFrequent = (counts: string): string =>
  `SELECT n.name, c.count FROM (${counts} ORDER BY 2 DESC, 1 LIMIT ${NAMES}) c
   JOIN event_names n ON n.id = c.name_id ORDER BY c.count DESC, n.id`

/** Reads of what was counted: none of them looks at an event. */
export function createRollupReads(db: Database) {
  const namesByDay = db.prepare<NameCount, [number, number]>(
    mostFrequent(`SELECT name_id, sum(count) AS count FROM ${daysOf(DAILY_ROWS)} GROUP BY name_id`),
  )
  const namesByHour = db.prepare<NameCount, [number, number, number]>(
    mostFrequent(`SELECT r.name_id, sum(r.count) AS count FROM ${hoursOf} GROUP BY r.name_id`),
  )
  const sumByDay = db.prepare<Sum, [number, number]>(
    `SELECT sum(count) AS total, count(*) AS rows FROM ${daysOf(DAILY_ROWS)}`,
  )
  const sumByHour = db.prepare<Sum, [number, number, number]>(
    `SELECT sum(r.count) AS total, (SELECT count(*) FROM ${daysOf(HOURLY_ROWS)}) AS rows FROM ${hoursOf}`,
  )
  const appByHour = db.prepare<HourCount, [number, number, number]>(
    `SELECT r.hour, sum(r.count) AS count FROM ${hoursOf} GROUP BY r.hour ORDER BY r.hour`,
  )
  const appByDay = db.prepare<HourCount, [number, number]>(
    `SELECT day * ${DAY_HOURS} AS hour, sum(count) AS count FROM ${daysOf(DAILY_ROWS)} GROUP BY day ORDER BY day`,
  )
  const nameByHour = db.prepare<HourCount, [number, string, number]>(
    `SELECT r.hour, r.count FROM rollups r
     WHERE r.app_id = ?1 AND r.name_id = (SELECT id FROM event_names WHERE app_id = ?1 AND name = ?2) AND r.hour >= ?3
     ORDER BY r.hour`,
  )
  const dayOf = (hour: number): number => Math.floor(hour / DAY_HOURS)
  const isWholeDay = (hour: number): boolean => hour % DAY_HOURS === 0

  return {
    /** The names that came in an hour or after it. From the first hour of a day on, it is looked up by days. */
    countNames(appId: number, fromHour: number): NameCounts {
      const day = dayOf(fromHour)
      if (!isWholeDay(fromHour)) {
        const sum = sumByHour.get(appId, day, fromHour)
        const names = namesByHour.all(appId, day, fromHour)
        return { names, total: sum?.total ?? 0, isWhole: (sum?.rows ?? 0) < HOURLY_ROWS }
      }
      const sum = sumByDay.get(appId, day)
      return { names: namesByDay.all(appId, day), total: sum?.total ?? 0, isWhole: (sum?.rows ?? 0) < DAILY_ROWS }
    },
    /** How many came by the hour, of one name or of all. */
    countByHour: (appId: number, name: string | null, fromHour: number): HourCount[] =>
      name === null ? appByHour.all(appId, dayOf(fromHour), fromHour) : nameByHour.all(appId, name, fromHour),
    /** The same by the day for all names; for one name by the hour. */
    countByDay: (appId: number, name: string | null, fromDay: number): HourCount[] =>
      name === null ? appByDay.all(appId, fromDay) : nameByHour.all(appId, name, fromDay * DAY_HOURS),
  }
}

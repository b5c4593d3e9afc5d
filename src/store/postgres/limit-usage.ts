/**
 * What all instances used of limits, by the database's clock. Each limit has a row, locked before the writes of a
 * transaction are planned, and a row for each second of its window. A second counts until all of it is older than the
 * window, so no window ever has more than the limit.
 */
import { HOUR_MS } from '../../core/clock.ts'
import { DELETED_PER_RUN } from '../upkeep.ts'
import type { CountedLimit, LimitUse } from '../types.ts'
import type { LimitUsage } from '../planned-writes.ts'
import type { Postgres } from './connection.ts'
import { POSTGRES } from '../engine/sql.ts'
import { Outdated } from './faults.ts'
import { DATABASE_NOW } from './instance.ts'
import { type Row, rowsAs } from './rows.ts'

/** `until`: the last second that no longer counts. `oldest`: the first that does. `freed`: the one after which there is room for one more. */
type Found = {
  bucket: string
  total: number
  expired: number
  passed: number
  lastSecond: number
  until: number
  oldest: number | null
  freed: number | null
  nowMs: number
}
type Window = Omit<Found, 'bucket'> & { limit: CountedLimit; second: number; counted: number; readAt: number }
type Unlocked = { limit: CountedLimit; counted: number }

const MOST_KNOWN = 100_000
const LONGEST_SECONDS = HOUR_MS / 1_000

/**
 * The wait for a lock takes time: what is counted belongs to the second after it, and what expires to the state before it,
 * which is the one that the statement sees of other tables.
 */
const LOCK = `WITH started AS MATERIALIZED (SELECT ${DATABASE_NOW} AS ms),
  windows AS MATERIALIZED (SELECT stored.bucket, stored.total, stored.passed, stored.last_second, rows.max,
      started.ms / 1000 - rows.seconds AS oldest
    FROM ${rowsAs({ bucket: 'text', seconds: 'bigint', max: 'bigint' })} CROSS JOIN started
    JOIN limit_windows AS stored ON stored.bucket = rows.bucket ORDER BY stored.bucket FOR UPDATE OF stored),
  locked AS MATERIALIZED (SELECT ${DATABASE_NOW} AS ms FROM (SELECT count(*) FROM windows) AS waited)
  SELECT windows.bucket, windows.total, windows.passed, windows.last_second AS "lastSecond", locked.ms AS "nowMs",
    windows.oldest - 1 AS until,
    CAST((SELECT coalesce(sum(count), 0) FROM limit_usage WHERE limit_usage.bucket = windows.bucket
      AND second > windows.passed AND second < windows.oldest) AS bigint) AS expired,
    (SELECT min(second) FROM limit_usage WHERE limit_usage.bucket = windows.bucket
      AND second > windows.passed AND second >= windows.oldest) AS oldest,
    CASE WHEN windows.total >= windows.max THEN
      (SELECT second FROM (SELECT second, sum(count) OVER (ORDER BY second) AS until FROM limit_usage
         WHERE limit_usage.bucket = windows.bucket AND second > windows.passed) AS sums
       WHERE sums.until > windows.total - windows.max ORDER BY second LIMIT 1) END AS freed
  FROM windows CROSS JOIN locked ORDER BY windows.bucket`

const ADD_WINDOWS = `INSERT INTO limit_windows (bucket, seconds, total, passed, last_second)
  SELECT bucket, seconds, 0, 0, 0 FROM ${rowsAs({ bucket: 'text', seconds: 'bigint' })}
  ON CONFLICT (bucket) DO NOTHING`

/** Of a limit without a maximum, which isn't locked: when the row is written. */
const secondOf = (column: string): string => `coalesce(${column}, ${DATABASE_NOW} / 1000)`

/** The tables that a transaction adds its counts to, in this order: a window is locked before its seconds. */
export const LIMIT_TABLES = {
  limit_windows: {
    columns: { bucket: 'text', seconds: 'bigint', total: 'bigint', passed: 'bigint', last_second: 'bigint' },
    values: { last_second: secondOf('last_second') },
    order: ['bucket'],
    ifKnown: `ON CONFLICT (bucket) DO UPDATE SET total = limit_windows.total + excluded.total,
      passed = greatest(limit_windows.passed, excluded.passed),
      last_second = greatest(limit_windows.last_second, excluded.last_second)`,
  },
  limit_usage: {
    columns: { bucket: 'text', second: 'bigint', count: 'bigint' },
    values: { second: secondOf('second') },
    order: ['bucket'],
    ifKnown: 'ON CONFLICT (bucket, second) DO UPDATE SET count = limit_usage.count + excluded.count',
  },
} as const

/** `$1`: the limits of the open transaction, which subtracts what has expired itself. */
const LOCK_EXPIRED = `SELECT bucket FROM limit_windows WHERE bucket IN
    (SELECT bucket FROM limit_usage WHERE second < ${DATABASE_NOW} / 1000 - ${LONGEST_SECONDS} ORDER BY second LIMIT ${DELETED_PER_RUN})
    AND NOT ${POSTGRES.isOneOfTexts('bucket', '$1')}
  ORDER BY bucket FOR UPDATE SKIP LOCKED`
const EXPIRED_OF = `${rowsAs({ bucket: 'text' })} JOIN limit_windows AS windows ON windows.bucket = rows.bucket`
const REMOVE_EXPIRED = `WITH now AS MATERIALIZED (SELECT ${DATABASE_NOW} / 1000 AS second),
  wanted AS MATERIALIZED (SELECT windows.bucket, windows.passed, now.second - windows.seconds AS until
    FROM ${EXPIRED_OF} CROSS JOIN now),
  gone AS (DELETE FROM limit_usage USING wanted WHERE limit_usage.bucket = wanted.bucket AND second < wanted.until
    RETURNING wanted.bucket, CASE WHEN second > wanted.passed THEN count ELSE 0 END AS count)
  UPDATE limit_windows SET passed = greatest(limit_windows.passed, wanted.until - 1),
    total = total - coalesce((SELECT sum(count) FROM gone WHERE gone.bucket = limit_windows.bucket), 0)
  FROM wanted WHERE wanted.bucket = limit_windows.bucket RETURNING (SELECT count(*) FROM gone) AS removed`
const REMOVE_IDLE = `DELETE FROM limit_windows USING ${rowsAs({ bucket: 'text' })}
  WHERE limit_windows.bucket = rows.bucket AND last_second < ${DATABASE_NOW} / 1000 - seconds`

const secondsOf = ({ windowMs }: CountedLimit): number => Math.ceil(windowMs / 1_000)

/** `load` comes first in a transaction, and the rows of `list` are its last ones. */
export function createPostgresUsage({ run }: Pick<Postgres, 'run'>) {
  const windows = new Map<string, Window>()
  /** of limits without a maximum, which need no lock */
  const unlocked = new Map<string, Unlocked>()
  const used = new Map<string, number>()
  /** limits that have a row, as far as is known */
  const known = new Set<string>()
  const forget = (): void => [windows, unlocked, used].forEach((one) => one.clear())

  const lock = async (limits: readonly CountedLimit[]): Promise<void> => {
    const readAt = performance.now()
    const rows = limits.map((limit) => ({ bucket: limit.bucket, seconds: secondsOf(limit), max: limit.max }))
    const byBucket = new Map(limits.map((limit) => [limit.bucket, limit]))
    for (const row of (await run(LOCK, [JSON.stringify(rows)])) as unknown as Found[]) {
      const limit = byBucket.get(row.bucket)
      known.add(row.bucket)
      if (!limit) continue
      // never before what another instance counted
      const second = Math.max(Math.floor(row.nowMs / 1_000), row.lastSecond)
      windows.set(row.bucket, { ...row, limit, second, counted: 0, readAt })
      used.set(row.bucket, row.total - row.expired)
    }
  }

  const usage: LimitUsage = {
    used,
    count(limit, { count }) {
      const { bucket } = limit
      const counted = windows.get(bucket) ?? unlocked.get(bucket) ?? { limit, counted: 0 }
      counted.counted += count
      if (windows.has(bucket)) used.set(bucket, (used.get(bucket) ?? 0) + count)
      else unlocked.set(bucket, counted)
    },
    async removeExpired() {
      const locked = await run(LOCK_EXPIRED, [JSON.stringify([...windows.keys()])])
      if (locked.length === 0) return 0
      const text = JSON.stringify(locked)
      const [first] = await run(REMOVE_EXPIRED, [text])
      await run(REMOVE_IDLE, [text])
      return Number(first?.removed ?? 0)
    },
  }

  return {
    usage,
    /** Waits for other instances that use the same limits. */
    async load(limits: Iterable<CountedLimit>): Promise<void> {
      const wanted = new Map([...limits].filter(({ max }) => max !== null).map((limit) => [limit.bucket, limit]))
      if (wanted.size === 0) return
      if (known.size > MOST_KNOWN) known.clear()
      const sorted = [...wanted.values()].toSorted((a, b) => (a.bucket < b.bucket ? -1 : 1))
      await lock(sorted)
      const unknown = sorted.filter(({ bucket }) => !windows.has(bucket))
      if (unknown.length === 0) return
      // people may be locked by now, because nobody waited for limits that were known
      const removed = unknown.filter(({ bucket }) => known.delete(bucket))
      if (removed.length > 0) throw new Outdated('Another instance has removed the row of a limit')
      const rows = unknown.map((limit) => ({ bucket: limit.bucket, seconds: secondsOf(limit) }))
      await run(ADD_WINDOWS, [JSON.stringify(rows)])
      await lock(unknown)
    },
    /** Otherwise rows are added, which must come before other locks. */
    areKnown: (limits: readonly CountedLimit[]): boolean =>
      limits.every(({ bucket, max }) => max === null || known.has(bucket)),
    list(): [keyof typeof LIMIT_TABLES, Row[]][] {
      const counted = [...[...windows.values()].filter(({ counted }) => counted > 0), ...unlocked.values()]
      return [
        ['limit_windows', counted.map(toWindowRow)],
        ['limit_usage', counted.map(toUsageRow)],
      ]
    },
    /** As of the commit. */
    listUses: (): LimitUse[] => [...windows.values()].map(toUse),
    forget,
  }
}

const toUsageRow = (one: Window | Unlocked): Row => ({
  bucket: one.limit.bucket,
  second: 'second' in one ? one.second : null,
  count: one.counted,
})

function toWindowRow(one: Window | Unlocked): Row {
  const row = { bucket: one.limit.bucket, seconds: secondsOf(one.limit) }
  return 'second' in one
    ? { ...row, total: one.counted - one.expired, passed: Math.max(one.passed, one.until), last_second: one.second }
    : { ...row, total: one.counted, passed: 0, last_second: null }
}

function toUse({ limit, nowMs, readAt, second, oldest, freed, ...window }: Window): LimitUse {
  const used = window.total - window.expired + window.counted
  const sinceMs = performance.now() - readAt
  const first = oldest ?? second
  const untilReturned = (of: number): number => Math.max(0, (of + 1 + secondsOf(limit)) * 1_000 - nowMs - sinceMs)
  const nextMs = used === 0 ? 0 : untilReturned(first)
  const isFull = limit.max !== null && used >= limit.max
  return { bucket: limit.bucket, used, nextMs, roomMs: isFull ? untilReturned(freed ?? first) : 0 }
}

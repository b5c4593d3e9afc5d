/**
 * Events are stored in a table for each month, by the time in their ids. A month whose events were all deleted is dropped,
 * which frees its disk space at once. `events_before` and `events_after` take what no month covers.
 */
import { DAY_MS } from '../../core/clock.ts'
import { idAt, timeOfId } from '../../core/ids.ts'
import type { Postgres } from './connection.ts'
import { isConflict, isPassingFault } from './faults.ts'

type Connection = Pick<Postgres, 'run' | 'runScript' | 'transaction'>

/** Ids from `from` to below `to`; null: no bound. */
export type Partition = { name: string; from: number | null; to: number | null }
type Month = { name: string; from: number; to: number }

/** Statements wait for whoever waits for the lock of the whole table. */
const LOCK_MS = 250
/** While it is held. Empty or small tables take milliseconds. */
const STATEMENT_MS = 2_000
/** A server's clock may be wrong when an instance starts: a month far ahead would leave one table for all until then. */
const MOST_AHEAD_MS = 366 * DAY_MS
/** Clocks of instances differ. */
const PAST_MS = DAY_MS

/** For databases that don't split tables this way. */
export const withoutPartitions = (migration: string): string =>
  migration.replaceAll(/ PARTITION BY RANGE \(\w+\)/g, '').replaceAll(/^CREATE TABLE \w+ PARTITION OF .*;\n/gm, '')

/** The month of this time (UTC), or one that is some months later. */
function monthAt(at: number, later = 0): Month {
  // ids of earlier times are 0
  const date = new Date(Math.max(at, timeOfId(0)))
  const startOf = (months: number): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later + months)
  return toMonth(idAt(startOf(0)), idAt(startOf(1)))
}

const toMonth = (from: number, to: number): Month => ({
  name: `events_${new Date(timeOfId(from)).toISOString().slice(0, 7).replace('-', '_')}`,
  from,
  to,
})

/** From the month of one time to the month after another. */
export function monthsBetween(first: number, last: number): Month[] {
  const months: Month[] = []
  for (let month = monthAt(first); month.from <= monthAt(last, 1).from; month = monthAt(timeOfId(month.to)))
    months.push(month)
  return months
}

const LIST = `SELECT relname AS name, pg_get_expr(relpartbound, pg_class.oid) AS bounds FROM pg_inherits
  JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass('events')`

function toPartition(name: string, bounds: string): Partition {
  const [from, to] = (/FROM \((.+)\) TO \((.+)\)/.exec(bounds)?.slice(1) ?? []).map((bound) => /\d+/.exec(bound)?.[0])
  return { name, from: from === undefined ? null : Number(from), to: to === undefined ? null : Number(to) }
}

/** In the order of their ids; none if the table is not split. */
export async function listPartitions({ run }: Pick<Connection, 'run'>): Promise<Partition[]> {
  const [events] = await run(`SELECT relkind::text AS kind FROM pg_class WHERE oid = to_regclass('events')`, [])
  if (events?.kind !== 'p') return []
  const rows = await run(LIST, [])
  return rows
    .map(({ name, bounds }) => toPartition(String(name), String(bounds)))
    .toSorted((a, b) => (a.from ?? -1) - (b.from ?? -1))
}

/** Those that are missing at the end. What lies between them and the last one becomes one table. */
export function planMonths(partitions: readonly Partition[], wanted: readonly Month[]): Month[] {
  let end = partitions.at(-1)?.from ?? Number.POSITIVE_INFINITY
  const added: Month[] = []
  for (const month of wanted.filter(({ from }) => from >= end)) {
    if (month.from > end) added.push(toMonth(end, month.from))
    added.push(month)
    end = month.to
  }
  return added
}

const boundsOf = (from: number | string, to: number | string): string => `FOR VALUES FROM (${from}) TO (${to})`

/** Alone with the table. Fails if others use it or do the same; nobody waits long. */
const whileLocked = ({ runScript, transaction }: Connection, work: () => Promise<void>): Promise<void> =>
  transaction(async () => {
    await runScript(`SET LOCAL lock_timeout = ${LOCK_MS}; SET LOCAL statement_timeout = ${STATEMENT_MS};
      SELECT version FROM schema_version FOR UPDATE; LOCK TABLE ONLY events IN ACCESS EXCLUSIVE MODE`)
    await work()
  })

/** It is done the next time. */
async function unlessBusy(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isConflict(error) && !isPassingFault(error)) throw error
  }
}

/** The first months need none before them, unless there are rows. */
async function beginWith(connection: Connection, [first]: readonly Month[]): Promise<void> {
  if (first === undefined || first.from === 0 || (await listPartitions(connection)).length > 2) return
  const rows = await connection.run('SELECT id FROM events_after WHERE id < $1 LIMIT 1', [first.from])
  if (rows.length > 0) return
  await connection.runScript(`ALTER TABLE events DETACH PARTITION events_before; ALTER TABLE events DETACH PARTITION events_after;
    ALTER TABLE events ATTACH PARTITION events_before ${boundsOf('MINVALUE', first.from)};
    ALTER TABLE events ATTACH PARTITION events_after ${boundsOf(first.from, 'MAXVALUE')}`)
}

export async function addMonths(connection: Connection, wanted: readonly Month[]): Promise<void> {
  if (planMonths(await listPartitions(connection), wanted).length === 0) return
  await whileLocked(connection, async () => {
    await beginWith(connection, wanted)
    const added = planMonths(await listPartitions(connection), wanted)
    const end = added.at(-1)?.to
    if (end === undefined) return
    const months = added.map(({ name, from, to }) => `CREATE TABLE ${name} PARTITION OF events ${boundsOf(from, to)};`)
    // rows of an instance whose clock was ahead
    await connection.runScript(`ALTER TABLE events DETACH PARTITION events_after; ${months.join('\n')}
      WITH early AS (DELETE FROM events_after WHERE id < ${end} RETURNING *) INSERT INTO events SELECT * FROM early;
      ALTER TABLE events ATTACH PARTITION events_after ${boundsOf(end, 'MAXVALUE')}`)
  })
}

async function findEmpty(connection: Connection, at: number): Promise<Partition | null> {
  const oldest = (await listPartitions(connection))[1]
  if (!oldest || oldest.to === null || oldest.to > idAt(at - PAST_MS)) return null
  const rows = await connection.run(`SELECT id FROM ${oldest.name} ORDER BY id LIMIT 1`, [])
  return rows.length === 0 ? oldest : null
}

/** Those that ended and have no rows, beginning with the oldest. */
async function dropMonths(connection: Connection, at: number): Promise<void> {
  while ((await findEmpty(connection, at)) !== null) {
    await whileLocked(connection, async () => {
      const empty = await findEmpty(connection, at)
      if (empty === null) return
      await connection.runScript(`ALTER TABLE events DETACH PARTITION events_before; DROP TABLE ${empty.name};
        ALTER TABLE events ATTACH PARTITION events_before ${boundsOf('MINVALUE', String(empty.to))}`)
    })
  }
}

/** This month and the next. */
export async function makeMonths(connection: Connection, at: number): Promise<void> {
  const [clock] = await connection.run('SELECT CAST(extract(epoch FROM now()) * 1000 AS bigint) AS now', [])
  if (at > Number(clock?.now) + MOST_AHEAD_MS) return
  await unlessBusy(() => addMonths(connection, monthsBetween(at, at)))
}

const IS_ANALYZED = `SELECT last_analyze > now() - interval '1 day' AS is FROM pg_stat_user_tables
  WHERE relid = to_regclass('events')`

/** Autovacuum analyzes each month, but not the whole. Nobody waits for it. */
async function analyze({ run, runScript, transaction }: Connection): Promise<void> {
  const [found] = await run(IS_ANALYZED, [])
  if (found?.is === 1) return
  await transaction(() => runScript('SET LOCAL statement_timeout = 0; ANALYZE events'))
}

/** Makes the months that begin soon, and drops those that are empty. Several instances may do it at once. */
export async function arrangePartitions(connection: Connection, at: number): Promise<void> {
  if ((await listPartitions(connection)).length === 0) return
  await makeMonths(connection, at)
  await unlessBusy(() => dropMonths(connection, at))
  await unlessBusy(() => analyze(connection))
}

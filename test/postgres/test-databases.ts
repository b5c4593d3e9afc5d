/** Tests on PostgreSQL: each data folder of a test stands for a database of its own, on the server that run.ts started. */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PostgresLocation } from '../../src/core/data-location.ts'
import { type Counter, partsOf } from '../../src/store/engine/counter-tables.ts'

/** Set by run.ts: the server's address without a database. */
const SERVER = process.env.EVENTPOST_TEST_POSTGRES
export const isOnPostgres = SERVER !== undefined

/** Where a test writes counts: on PostgreSQL, their own table is a view. */
export const countsTableOf = (counter: Counter): string => (isOnPostgres ? partsOf(counter) : counter)

/** Migrated and empty. */
export const MIGRATED = 'migrated'
/** Names the folder of each database's test, so that run.ts drops it when the test has removed the folder. */
export const FOLDERS = 'test_folders'

/** Set by run.ts: where each database's clock is, if it has one of its own. */
const CLOCKS = process.env.EVENTPOST_TEST_CLOCKS ?? ''
/** Limits count whole seconds: at the end of one, they return what was used when SQLite does, and no sooner. */
const LATE_IN_SECOND_MS = 999
/** How much later than on SQLite a limit returns what was used, at most. Clocks that move by seconds stay at the end of one. */
export const RETURNED_LATE_MS = isOnPostgres ? 1_000 : 0

/** An instance that has run for long, so that it may release the claims of those that stopped. */
export const LONG_RUNNING = 'test'

/** A function that goes before the server's own. The wait makes up for the millisecond that is left of the second. */
export const TEST_CLOCK = (folder: string): string => `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz
  LANGUAGE sql VOLATILE AS $$ SELECT coalesce(
    to_timestamp(CAST(pg_read_file('${folder}/' || current_database(), 0, 20, true) AS bigint) / 1000.0),
    pg_catalog.clock_timestamp()) FROM pg_sleep(0.001) $$`

const CONNECTIONS = 4
const DUPLICATE = '42P04'
const IN_USE = '55006'
const MOST_TRIES = 50

export const databaseOf = (folder: string): string => `t_${Bun.hash(folder).toString(36)}`

export const postgresOf = (folder: string): PostgresLocation => ({
  url: `${SERVER}/${databaseOf(folder)}`,
  connections: CONNECTIONS,
  prepares: process.env.EVENTPOST_TEST_PREPARE !== 'off',
})

/** The clock of a folder's database stands still at the test's time. */
export function setDatabaseClock(folder: string, ms: number): void {
  if (!isOnPostgres) return
  const path = join(CLOCKS, databaseOf(folder))
  writeFileSync(`${path}.new`, String(Math.floor(ms) + LATE_IN_SECOND_MS))
  renameSync(`${path}.new`, path)
}

let server: Bun.SQL | null = null
const onServer = (): Bun.SQL => (server ??= new Bun.SQL(`${SERVER}/postgres`, { max: 1, prepare: false }))

export async function hasDatabaseOf(folder: string): Promise<boolean> {
  const found: unknown[] = await onServer()`SELECT 1 FROM pg_database WHERE datname = ${databaseOf(folder)}`
  return found.length > 0
}

/** Tests that have no files make no folder in their own. */
const findExisting = (folder: string): string => (existsSync(folder) ? folder : findExisting(dirname(folder)))

/** A copy of `template`. Does nothing if there is one already. */
export async function createDatabaseOf(folder: string, template: string = MIGRATED): Promise<void> {
  const name = databaseOf(folder)
  const added = { database: name, folder: findExisting(folder) }
  await onServer()`INSERT INTO test_folders ${onServer()(added)} ON CONFLICT DO NOTHING`
  for (let tries = 1; ; tries += 1) {
    try {
      await onServer().unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}`)
      return
    } catch (error) {
      const state = error instanceof Error && 'errno' in error ? error.errno : null
      if (state === DUPLICATE) return
      // the last connections to the template are still closing
      if (state !== IN_USE || tries === MOST_TRIES) throw error
      await Bun.sleep(20)
    }
  }
}

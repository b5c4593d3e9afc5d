import { StoreError } from '../engine/errors.ts'
import type { Postgres } from './connection.ts'
import { isMadeByAnother } from './faults.ts'
import { withoutPartitions } from './partitions.ts'
import first from './migrations/0001.sql' with { type: 'text' }

/** In order; a released one never changes. */
const MIGRATIONS: readonly string[] = [first]
export const POSTGRES_VERSION = MIGRATIONS.length

export const listFunctions = (): string[] =>
  MIGRATIONS.flatMap((migration) => [...migration.matchAll(/CREATE FUNCTION (\w+)/g)].flatMap(([, name]) => name ?? []))

/** Whether the database has none of our tables. */
export async function isEmpty({ run }: Pick<Postgres, 'run'>): Promise<boolean> {
  const [row] = await run("SELECT to_regclass('schema_version') IS NULL AS empty", [])
  return row?.empty === 1
}

/** A migration may take as long as it needs, and so may the wait for another instance that migrates. */
const BEGIN = `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
  SELECT version FROM schema_version FOR UPDATE`

const VERSION_TABLE =
  'CREATE TABLE IF NOT EXISTS schema_version (only_row boolean PRIMARY KEY CHECK (only_row), version bigint NOT NULL)'
const MOST_TRIES = 20
const RETRY_MS = 25

/** PostgreSQL may fail a CREATE TABLE IF NOT EXISTS while another connection runs the same. */
async function createVersion(run: Postgres['run']): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await run(VERSION_TABLE, [])
      return
    } catch (error) {
      if (!isMadeByAnother(error) || tries === MOST_TRIES) throw error
      await Bun.sleep(RETRY_MS)
    }
  }
}

/** @throws StoreError `newer_schema` */
export function refuseNewer(version: number): void {
  if (version <= POSTGRES_VERSION) return
  const problem = `The database has schema version ${version}; this executable supports versions up to ${POSTGRES_VERSION}.`
  throw new StoreError('newer_schema', `${problem} Use a newer executable.`)
}

/** Several instances may start at once: the lock of a row lets one of them migrate. */
export async function migrate({
  run,
  runScript,
  transaction,
}: Pick<Postgres, 'run' | 'runScript' | 'transaction'>): Promise<void> {
  await createVersion(run)
  await run('INSERT INTO schema_version (only_row, version) VALUES (true, 0) ON CONFLICT DO NOTHING', [])
  await transaction(async () => {
    await runScript(BEGIN)
    const [row] = await run('SELECT version FROM schema_version', [])
    const version = Number(row?.version ?? 0)
    refuseNewer(version)
    const missing = MIGRATIONS.slice(version)
    if (missing.length === 0) return
    const [server] = await run('SELECT version() AS name', [])
    const hasPartitions = !String(server?.name).startsWith('CockroachDB')
    for (const migration of missing) await runScript(hasPartitions ? migration : withoutPartitions(migration))
    await run('UPDATE schema_version SET version = $1', [POSTGRES_VERSION])
  })
}

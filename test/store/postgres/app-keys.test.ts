/** Databases that spread tables over servers need the app, or the account, in each key. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openDatabase } from '../../../src/store/engine/database.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { makeFolder } from '../../data-folder.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

/** Each server would have all their rows: they are few, or live for an hour. */
const OF_INSTALLATION = [
  'accounts',
  'address_locks',
  'alerts',
  'api_keys',
  'apps',
  'backups',
  'duties',
  'install',
  'instances',
  'limit_usage',
  'limit_windows',
  'members',
  'one_time_links',
  'recovery_codes',
  'schema_version',
  'sent_forms',
  'sessions',
  'settings_version',
  'two_steps',
]
const OF_ACCOUNTS = [
  'audit_entries',
  'identity_secrets',
  'mcp_calls',
  'memberships',
  'new_people',
  'request_callers',
  'requests',
  'sender_domains',
]
/** Each key counts in all apps of its account. The rows name an app, too, whose days they last. */
const OF_KEYS = ['idempotency_records']
/** Of SQLite, which is never spread: what they index has the app. */
const INDEXES = /^(contact_events|contact_index_progress|contact_names.*|timeline|timeline_run_rows|timeline_runs)$/

type Table = { name: string; columns: string[] }

describe('on PostgreSQL', () => {
  let server: PostgresServer
  let postgres: Postgres
  let tables: Table[]
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'off' })
    postgres = connectPostgres({ url: server.url('postgres'), connections: 1, prepares: true })
    await migrate(postgres)
    tables = (
      await postgres.run(
        `SELECT c.relname::text AS name, string_agg(attname, ',') AS columns FROM pg_class AS c
         JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition GROUP BY c.oid ORDER BY 1`,
        [],
      )
    ).map(({ name, columns }) => ({ name: String(name), columns: String(columns).split(',') }))
  }, 120_000)
  afterAll(async () => {
    await postgres?.close()
    await server?.stop()
  })

  const ownerOf = (table: string): 'app_id' | 'account_id' | null =>
    OF_INSTALLATION.includes(table) ? null : [...OF_ACCOUNTS, ...OF_KEYS].includes(table) ? 'account_id' : 'app_id'

  test('each table belongs to apps, to accounts or to the installation', () => {
    const names = tables.map(({ name }) => name)
    expect([...OF_INSTALLATION, ...OF_ACCOUNTS].filter((name) => !names.includes(name))).toEqual([])
    const isOwned = ({ name, columns }: Table): boolean => columns.includes(ownerOf(name) ?? columns[0] ?? '')
    expect(tables.filter((table) => !isOwned(table)).map(({ name }) => name)).toEqual([])
    expect(names.filter((name) => ownerOf(name) === 'app_id').length).toBeGreaterThan(40)
  })

  test('each unique key has its owner', async () => {
    const keys = await postgres.run(
      `SELECT indrelid::regclass::text AS table, indexrelid::regclass::text AS index,
         (SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY (indkey)) AS columns
       FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
       WHERE indisunique AND relnamespace = 'public'::regnamespace ORDER BY 2`,
      [],
    )
    const months = /^events_(before|after|\d+_\d+)$/
    const faults = keys.filter(({ table, columns }) => {
      const owner = ownerOf(String(table).replace(months, 'events'))
      return owner !== null && !String(columns).split(',').includes(owner)
    })
    expect(faults.map(({ index, columns }) => `${index} (${columns})`)).toEqual([])
    expect(keys.length).toBeGreaterThan(70)
  })

  test('each reference between tables of apps has the app', async () => {
    const references = await postgres.run(
      `SELECT conrelid::regclass::text AS table, confrelid::regclass::text AS target, pg_get_constraintdef(oid) AS text
       FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`,
      [],
    )
    const between = references.filter(({ table, target }) =>
      [table, target].every((name) => ownerOf(String(name)) === 'app_id'),
    )
    expect(between.filter(({ text }) => !/\(.*app_id.*\) REFERENCES \w+\(.*app_id/.test(String(text)))).toEqual([])
    expect(between.length).toBeGreaterThan(0)
  })
})

test('on SQLite, each table with data of apps names the app', () => {
  const { folder, remove } = makeFolder()
  const db = openDatabase(folder)
  const tables = db
    .query<{ name: string; columns: string }, []>(
      `SELECT t.name, group_concat(c.name) AS columns FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' GROUP BY t.name ORDER BY 1`,
    )
    .all()
  db.close()
  remove()
  const others = new Set([...OF_INSTALLATION, ...OF_ACCOUNTS])
  const ofApps = tables.filter(({ name }) => !others.has(name) && !INDEXES.test(name))
  expect(ofApps.filter(({ columns }) => !columns.split(',').includes('app_id')).map(({ name }) => name)).toEqual([])
  expect(ofApps.length).toBeGreaterThan(40)
})

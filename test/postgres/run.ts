/**
 * Runs the tests on PostgreSQL, on a server of its own, with and without prepared statements.
 *
 *   bun run test:postgres [on|off|both] [FILES...]
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { startPostgres } from './server.ts'
import { FOLDERS, LONG_RUNNING, MIGRATED, TEST_CLOCK } from './test-databases.ts'

/** Tests of SQLite itself, of its files, and of what has no data. */
const NOT_ON_POSTGRES = [
  'test/backups',
  'test/bench',
  'test/browser',
  'test/docs',
  'test/executable',
  'test/faults',
  'test/fuzz',
  'test/snippet',
  'test/store',
  'test/cli/backups',
  'test/cli/move',
  'test/cli/serve',
]
const DROP_EVERY_MS = 3_000
const MODES = ['on', 'off'] as const

const [first = 'both', ...others] = process.argv.slice(2)
const isMode = first === 'both' || first === 'on' || first === 'off'
const modes = !isMode || first === 'both' ? MODES : [first]
const files = isMode ? others : [first, ...others]

// functions of a test's database come before those of the server
const search_path = 'public, pg_catalog'
const server = await startPostgres({ fsync: 'off', max_connections: '800', shared_buffers: '256MB', search_path })
const clocks = join(server.folder, 'clocks')
mkdirSync(clocks, { mode: 0o755 })
const postgres = new Bun.SQL(server.url('postgres'), { max: 1, prepare: false })
await postgres.unsafe(`CREATE DATABASE ${MIGRATED}`)
const location = { url: server.url(MIGRATED), connections: 2, prepares: true }
await (await openPostgresStore(location, { rules: STORE_RULES })).close()
const migrated = new Bun.SQL(location.url, { max: 1, prepare: false })
await migrated.unsafe(TEST_CLOCK(clocks))
await migrated.unsafe(`UPDATE instances SET holder = '${LONG_RUNNING}', held_since = 0 WHERE number = 15`)
await migrated.close()
await postgres.unsafe(`CREATE TABLE ${FOLDERS} (database text PRIMARY KEY, folder text NOT NULL)`)

/** Of tests that have ended. */
async function dropOld(): Promise<void> {
  const rows: { database: string; folder: string }[] = await postgres.unsafe(`SELECT database, folder FROM ${FOLDERS}`)
  for (const { database } of rows.filter(({ folder }) => !existsSync(folder))) {
    await postgres.unsafe(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
    await postgres.unsafe(`DELETE FROM ${FOLDERS} WHERE database = '${database}'`)
  }
}
let dropping = Promise.resolve()
const timer = setInterval(() => void (dropping = dropping.then(dropOld).catch(console.error)), DROP_EVERY_MS)

let child: Bun.Subprocess | null = null
let isStopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true
    child?.kill(signal)
  })
}

let code = 0
for (const prepare of modes) {
  if (isStopped) break
  const ignored = files.length > 0 ? [] : NOT_ON_POSTGRES.map((path) => `--path-ignore-patterns=${path}**`)
  const words = ['test', '--parallel=4', '--no-isolate', '--timeout', '240000', ...ignored, ...files]
  child = Bun.spawn([process.execPath, ...words], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      EVENTPOST_TEST_POSTGRES: server.url('').replace(/\/$/, ''),
      EVENTPOST_TEST_CLOCKS: clocks,
      EVENTPOST_TEST_PREPARE: prepare,
    },
  })
  code = (await child.exited) || code
  console.log(`prepared statements ${prepare}: ${code === 0 ? 'every test passed' : 'tests failed'}`)
}
clearInterval(timer)
await dropping
await postgres.close()
await server.stop()
process.exit(isStopped ? 1 : code)

/** Instances that start at once on an empty database. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { describeFault, isPassingFault } from '../../../src/store/postgres/faults.ts'
import { isEmpty, migrate } from '../../../src/store/postgres/migrations.ts'
import { install } from '../../../src/store/schema.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

let server: PostgresServer
const open: Postgres[] = []
const connect = (deadlines = DEADLINES): Postgres => {
  const one = connectPostgres({ url: server.url('postgres'), connections: 1, prepares: true }, deadlines)
  open.push(one)
  return one
}

beforeAll(async () => void (server = await startPostgres({ fsync: 'off' })), 240_000)
afterAll(async () => {
  for (const one of open) await one.close()
  await server?.stop()
})

test('all of them find the schema', async () => {
  const all = Array.from({ length: 8 }, () => connect())
  await Promise.all(all.map(migrate))
  expect(await isEmpty(connect())).toBe(false)
}, 120_000)

test('one waits for a migration that takes longer than its deadlines', async () => {
  const [first, second] = [connect(), connect({ ...DEADLINES, statementMs: 50, lockMs: 50, answerMs: 100 })]
  let migrated: Promise<void> = Promise.resolve()
  await first.transaction(async () => {
    await first.run('SELECT version FROM schema_version FOR UPDATE', [])
    migrated = migrate(second)
    migrated.catch(() => {})
    await first.run('SELECT pg_sleep(0.5)', [])
  })
  await migrated
}, 120_000)

test('a user who does not own the tables is named, with what helps', async () => {
  const owner = connect()
  await migrate(owner)
  await owner.run('CREATE ROLE reader LOGIN', [])
  const url = server.url('postgres').replace('//postgres@', '//reader@')
  await expect(openPostgresStore({ url, connections: 1, prepares: true }, { rules: STORE_RULES })).rejects.toThrow(
    /permission denied for table install \(user reader\)\. Connect as the owner of the tables, .* OWNER TO "reader"/,
  )
}, 120_000)

test('the error of a statement on a server that is gone is a passing fault', async () => {
  const gone = connectPostgres({ url: 'postgres://ada@127.0.0.1:1/eventpost', connections: 1, prepares: true })
  const failed = await gone.sql.orm
    .select()
    .from(install)
    .catch((error: unknown) => error)
  expect([isPassingFault(failed), describeFault(failed)]).toEqual([
    true,
    "PostgreSQL can't be reached: Failed to connect",
  ])
  await gone.close()
}, 120_000)

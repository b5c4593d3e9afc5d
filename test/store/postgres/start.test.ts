/** Instances that start at once on an empty database. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { isEmpty, migrate } from '../../../src/store/postgres/migrations.ts'
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
}, 60_000)

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
}, 60_000)

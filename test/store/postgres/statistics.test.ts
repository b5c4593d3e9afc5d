/** A database that was restored from a dump has rows, and PostgreSQL knows nothing about them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { createAnalysis, keepAnalyzed } from '../../../src/store/postgres/statistics.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const ROWS = 20_000
let server: PostgresServer
let postgres: Postgres
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', autovacuum: 'off' })
  postgres = connectPostgres({ url: server.url('postgres'), connections: 2, prepares: true })
  await migrate(postgres)
  await postgres.runScript(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
      SELECT n, 1, 'p' || n || '@example.com', 'subscribed', 0, 0 FROM generate_series(1, ${ROWS}) AS t (n);
    INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
      SELECT n, 1, n, 1, 0, 0, 0 FROM generate_series(1, ${ROWS}) AS t (n);
    INSERT INTO topics (id, app_id, name, created_at) VALUES (1, 1, 'News', 0)`)
}, 120_000)
afterAll(async () => {
  await postgres?.close()
  await server?.stop()
})

const listKnown = async () => {
  const rows = await postgres.run("SELECT DISTINCT tablename AS name FROM pg_stats WHERE schemaname = 'public'", [])
  return ['contacts', 'events', 'topics'].filter((table) => rows.some(({ name }) => name === table))
}

test('an instance that starts lets PostgreSQL analyze large tables that it never did', async () => {
  expect(await listKnown()).toEqual([])
  const place = { url: server.url('postgres'), connections: 2, prepares: true }
  const held = connectPostgres({ ...place, connections: 1 })
  await held.transaction(async () => {
    await held.runScript('LOCK TABLE contacts IN SHARE UPDATE EXCLUSIVE MODE')
    await createAnalysis(postgres)()
  })
  await held.close()
  expect(await listKnown()).toEqual(['events'])
  const store = await openPostgresStore(place, { rules: STORE_RULES })
  // beside its work
  while ((await listKnown()).length < 2) await new Promise(setImmediate)
  expect(await listKnown()).toEqual(['contacts', 'events'])
  await store.close()
}, 120_000)

test('a table that is filled while an instance runs is analyzed, too', async () => {
  const end = keepAnalyzed(postgres, 10)
  expect(await listKnown()).toEqual(['contacts', 'events'])
  await postgres.runScript(`INSERT INTO topics (id, app_id, name, created_at)
    SELECT n, 1, 'Topic ' || n, 0 FROM generate_series(2, 2000) AS t (n)`)
  while ((await listKnown()).length < 3) await new Promise(setImmediate)
  end()
}, 120_000)

test('a table that stays unknown is not analyzed again and again, nor one of another owner', async () => {
  await postgres.runScript(`CREATE TABLE emptied (id bigint);
    INSERT INTO emptied SELECT * FROM generate_series(1, 20000);
    DELETE FROM emptied;
    CREATE ROLE stranger; CREATE TABLE foreign_rows AS SELECT * FROM generate_series(1, 20000) AS t (id);
    ALTER TABLE foreign_rows OWNER TO stranger;
    CREATE ROLE service LOGIN; GRANT ALL ON SCHEMA public TO service; ALTER TABLE emptied OWNER TO service`)
  const url = server.url('postgres').replace('postgres@', 'service@')
  const service = connectPostgres({ url, connections: 1, prepares: true })
  const asked: string[] = []
  const analyze = createAnalysis({
    ...service,
    runScript: async (text) => {
      asked.push(text)
      await service.runScript(text)
    },
  })
  for (let check = 0; check < 3; check += 1) await analyze()
  expect(asked).toHaveLength(1)
  expect(asked[0]).toEndWith(' emptied')
  await service.close()
}, 120_000)

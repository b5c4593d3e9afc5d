/** Rows are found by their index, also while PostgreSQL knows little about the tables. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { createPostgresParts } from '../../../src/store/postgres/parts.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const PEOPLE = 5_000
let server: PostgresServer
let postgres: Postgres

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', autovacuum: 'off' })
  postgres = connectPostgres({ url: server.url('postgres'), connections: 1, prepares: true })
  await migrate(postgres)
}, 60_000)
afterAll(async () => {
  await postgres?.close()
  await server?.stop()
})

const addPeople = (from: number): Promise<void> =>
  postgres.runScript(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
    SELECT id, 1, 'person' || id || '@example.com', 'subscribed', 0, 0
    FROM generate_series(${from}, ${from + PEOPLE - 1}) AS t (id)`)

const countReads = async (): Promise<number> => {
  const [read] = await postgres.run(
    `SELECT pg_stat_get_xact_tuples_returned('contacts'::regclass)
       + (SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) FROM pg_index WHERE indrelid = 'contacts'::regclass) AS count`,
    [],
  )
  return Number(read?.count)
}

/** @returns how many rows and entries of indexes were read to find three people */
const findThree = (): Promise<number> =>
  postgres.transaction(async () => {
    const ids = { next: () => 1, passOver: () => {} }
    const { engine } = createPostgresParts(postgres, { ids, rules: STORE_RULES, onDeliveries: () => {} })
    const before = await countReads()
    await engine.people.load([1, 2, 3].map((id) => ({ appId: 1, email: `person${id}@example.com` })))
    return (await countReads()) - before
  })
const findOften = async (times: number): Promise<void> => {
  for (let time = 0; time < times; time += 1) await findThree()
}

test('people are found without reading the others, soon after a table without people has many', async () => {
  await findOften(10)
  await addPeople(1)
  await findOften(50)
  expect(await findThree()).toBeLessThan(10)
})

test('people are found without reading the others, when the table was analyzed', async () => {
  await postgres.runScript('ANALYZE contacts')
  await findOften(10)
  expect(await findThree()).toBeLessThan(10)
})

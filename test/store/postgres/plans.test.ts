/** Rows are found by their index, also while PostgreSQL knows little about the tables. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { type GroupLook, joinInstances } from '../../../src/store/postgres/instance.ts'
import { createPostgresParts } from '../../../src/store/postgres/parts.ts'
import { createDeliveryCounts } from '../../../src/store/delivery-counts.ts'
import { createResultReads } from '../../../src/store/message-results.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const PEOPLE = 5_000
let server: PostgresServer
let postgres: Postgres

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', autovacuum: 'off' })
  postgres = connectPostgres({ url: server.url('postgres'), connections: 1, prepares: true })
  await migrate(postgres)
}, 120_000)
afterAll(async () => {
  await postgres?.close()
  await server?.stop()
})

const addPeople = (from: number): Promise<void> =>
  postgres.runScript(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
    SELECT id, 1, 'person' || id || '@example.com', 'subscribed', 0, 0
    FROM generate_series(${from}, ${from + PEOPLE - 1}) AS t (id)`)

const countReads = async (table: string): Promise<number> => {
  const [read] = await postgres.run(
    `SELECT pg_stat_get_xact_tuples_returned(CAST($1 AS regclass)) + (SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))
       FROM pg_index WHERE indrelid = CAST($1 AS regclass)) AS count`,
    [table],
  )
  return Number(read?.count)
}

/** @returns how many rows and entries of indexes were read to find three people */
const findThree = (): Promise<number> =>
  postgres.transaction(async () => {
    const ids = { next: () => 1, passOver: () => {} }
    const { engine } = createPostgresParts(postgres, {
      ids,
      rules: STORE_RULES,
      lookAt: async () => [],
      onDeliveries: () => {},
    })
    const before = await countReads('contacts')
    await engine.people.load([1, 2, 3].map((id) => ({ appId: 1, email: `person${id}@example.com` })))
    return (await countReads('contacts')) - before
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

test('what an app has is known without reading the rows of others, as most groups of writes ask', async () => {
  // without their counts
  await postgres.runScript(`ALTER TABLE deliveries DISABLE TRIGGER deliveries_noted;
    INSERT INTO suppressions (app_id, email_hash, reason, created_at)
      SELECT 1, 'hash' || n, 'bounced', 0 FROM generate_series(1, ${PEOPLE}) AS t (n);
    INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
        attempt, resent, by_hand, updated_at)
      SELECT n, 1, n, 1, 1, '', 'sent', 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, ${PEOPLE}) AS t (n);
    ALTER TABLE deliveries ENABLE TRIGGER deliveries_noted;
    ANALYZE`)
  const instance = await joinInstances({ run: postgres.run, now: () => 0 })
  const look = (): Promise<[GroupLook, number]> =>
    postgres.transaction(async () => {
      const count = async () => (await countReads('suppressions')) + (await countReads('deliveries'))
      const before = await count()
      const found = await instance.lookAround(postgres.run, { lane: 0, appIds: [1, 2], locks: false })
      return [found, (await count()) - before]
    })
  for (let time = 0; time < 10; time += 1) await look()
  const [{ apps }, reads] = await look()
  expect(apps).toEqual([
    { app: 1, hasDeliveries: true, hasUnsure: false, hasSuppressions: true },
    { app: 2, hasDeliveries: false, hasUnsure: false, hasSuppressions: false },
  ])
  expect(reads).toBeLessThan(10)
  await instance.leave()
})

const [MESSAGES, DAYS, PARTS] = [200, 30, 3]

test.each(['new', 'analyzed'])('counts of a message are summed without reading those of others: %s', async (state) => {
  if (state === 'new')
    await postgres.runScript(`INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES ('acc_1', 'A', 1, 0);
      INSERT INTO apps (id, account_id, public_id, site_id, name, created_at)
        SELECT id, 'acc_1', 'app' || id, 'site' || id, 'A', 0 FROM generate_series(1, 2) AS t (id);
      INSERT INTO messages (id, account_id, app_id, name, status, version, created_at, updated_at)
        SELECT id, 'acc_1', least(id, 2), 'm' || id, 'live', 1, 0, 0 FROM generate_series(1, ${MESSAGES}) AS t (id);
      INSERT INTO message_days_parts (app_id, message_id, day, outcome, reason, part, emails, came_back, opened, reached_goal)
        SELECT least(message, 2), message, day, 'skipped', 'seen', part, 1, 0, 0, 0 FROM generate_series(1, ${MESSAGES}) AS m (message),
          generate_series(1, ${DAYS}) AS d (day), generate_series(1, ${PARTS}) AS p (part)`)
  else await postgres.runScript('ANALYZE')
  const [results, counts] = [createResultReads(postgres.sql), createDeliveryCounts(postgres.sql)]
  const range = { from: 1, until: DAYS }
  const reads = {
    readResults: () => results.readResults(1, range),
    readAppResults: () => results.readAppResults(1, range),
    countProblems: () => results.countProblems(1, range, ['seen']),
    hasSentEmail: () => results.hasSentEmail(1),
    countEmails: () => counts.countEmails(1),
    countEmailsOf: () => counts.countEmailsOf([1]),
  }
  const found = await postgres.transaction(async () => {
    const all: [string, number][] = []
    for (const [name, read] of Object.entries(reads)) {
      const before = await countReads('message_days_parts')
      await read()
      all.push([name, (await countReads('message_days_parts')) - before])
    }
    return all
  })
  // countProblems reads them twice
  expect(found.filter(([, rows]) => rows > 3 * DAYS * PARTS)).toEqual([])
  expect((await counts.countEmails(1)).skipped).toBe(DAYS * PARTS)
})

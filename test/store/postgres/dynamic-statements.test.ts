/** Statements whose texts depend on the query, on a real server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createDeliveryPages } from '../../../src/store/deliveries.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { createDeliveryQueue } from '../../../src/store/delivery-queue.ts'
import { createPostgresContactSearch } from '../../../src/store/postgres/contact-search.ts'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { PEOPLE_SORTS, type PeopleFilter } from '../../../src/store/search/contact-search.ts'
import { createSimulationReads } from '../../../src/store/simulation.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const EVERYONE: PeopleFilter = {
  search: null,
  tag: null,
  status: null,
  field: null,
  event: null,
  seen: null,
  email: null,
}

let server: PostgresServer
let postgres: Postgres
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  // a transaction of these tests waits for another one
  const patient = { ...DEADLINES, idleMs: 60_000 }
  postgres = connectPostgres({ url: server.url('postgres'), connections: 3, prepares: true }, patient)
  await migrate(postgres)
  await postgres.runScript(`
    INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES ('a', 'A', 0, 0);
    INSERT INTO apps (id, account_id, public_id, site_id, name, created_at) VALUES (1, 'a', 'p', 's', 'App', 0);
    INSERT INTO contacts (id, app_id, email, first_name, last_name, status, fields, created_at, updated_at) VALUES
      (1, 1, 'ada@example.com', 'Ada', 'Lovelace', 'subscribed', NULL, 1, 1),
      (2, 1, 'bob@example.com', 'Zoë', 'Łęcki', 'pending', NULL, 2, 2),
      (3, 1, 'cy@example.com', NULL, NULL, 'subscribed', NULL, 3, 3),
      (4, 2, 'ada@example.com', 'Ada', 'Lovelace', 'subscribed', NULL, 4, 4);
    INSERT INTO contact_activity VALUES (1, 1, 50), (3, 1, 70);
    INSERT INTO contact_tags VALUES (1, 'vip', 1);
    INSERT INTO contact_fields VALUES (1, 'plan', 'pro', 2);
    INSERT INTO people_results (app_id, message_id, contact_id, emailed_at) VALUES (1, 0, 3, 60);
    INSERT INTO messages VALUES (9, 'a', 1, 'm', 'live', 1, 0, 0);
    INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
      attempt, resent, by_hand, updated_at)
    SELECT n, 1, n, 9, 1, '', 'waiting', 0, 0, n, 0, 0, 0, 0 FROM generate_series(1, 300) AS n;`)
}, 120_000)
afterAll(async () => {
  await postgres?.close()
  await server?.stop()
})

const find = async (filter: Partial<PeopleFilter>, sort: (typeof PEOPLE_SORTS)[number] = 'newest') => {
  const { findPeople } = createPostgresContactSearch(postgres.sql)
  const query = { appId: 1, filter: { ...EVERYONE, ...filter }, sort, after: null, limit: 10, isCounted: true }
  const { people, count } = await findPeople(query)
  expect(count).toEqual({ people: people.length, isExact: true })
  return people.map(({ id }) => id)
}

test('people are found by each filter', async () => {
  expect(await find({})).toEqual([3, 2, 1])
  expect(await find({ search: 'ADA@' })).toEqual([1])
  expect(await find({ search: 'love' })).toEqual([1])
  expect(await find({ search: 'zoe' })).toEqual([2])
  expect(await find({ search: '100%' })).toEqual([])
  expect(await find({ tag: 'vip' })).toEqual([1])
  expect(await find({ status: 'pending' })).toEqual([2])
  expect(await find({ field: { name: 'plan', value: 'pro' } })).toEqual([2])
  expect(await find({ field: { name: 'plan', value: null } })).toEqual([2])
  expect(await find({ event: { name: 'none', isDone: false } })).toEqual([3, 2, 1])
  expect(await find({ seen: 'never' })).toEqual([2])
  expect(await find({ seen: { since: 60 } })).toEqual([3])
  expect(await find({ seen: { before: 60 } })).toEqual([1])
  expect(await find({ email: { result: 'emailed', messageId: null, since: null } })).toEqual([3])
  expect(await find({ email: { result: 'notEmailed', messageId: null, since: null } })).toEqual([2, 1])
  expect(await find({ email: { result: 'cameBack', messageId: 9, since: 5 } })).toEqual([])
})

test('people are in each order, page by page', async () => {
  const { findPeople } = createPostgresContactSearch(postgres.sql)
  const ids: Record<string, number[]> = {}
  for (const sort of PEOPLE_SORTS) {
    const found: number[] = []
    for (let after = null as Parameters<typeof findPeople>[0]['after'], isFirst = true; isFirst || after;) {
      isFirst = false
      const page = await findPeople({ appId: 1, filter: EVERYONE, sort, after, limit: 1, isCounted: false })
      found.push(...page.people.map(({ id }) => id))
      after = page.next
    }
    ids[sort] = found
  }
  expect(ids).toEqual({ newest: [3, 2, 1], name: [1, 2, 3], email: [1, 2, 3], seen: [3, 1, 2] })
})

test('deliveries are listed and counted by each kind of query', async () => {
  const pages = createDeliveryPages(postgres.sql)
  const query = { appId: 1, messageId: null, contactId: null, states: null, before: null, limit: 3 } as const
  expect(await pages.listIds(query)).toEqual([300, 299, 298])
  expect(await pages.listIds({ ...query, states: ['waiting'], outcome: 'delivered' })).toEqual([])
  expect(await pages.listIds({ ...query, states: ['failed'], isLead: true })).toEqual([])
  expect(await pages.listIds({ ...query, reason: 'seen', isLead: true })).toEqual([])
  expect(await pages.listIds({ ...query, contactId: 7, reason: null })).toEqual([7])
  expect(await pages.listIds({ ...query, messageId: 9, outcome: 'opened' })).toEqual([])
  expect(await pages.count(query)).toBe(300)
})

test('two transactions claim different deliveries, those of an app one after the other', async () => {
  const { listDue } = createDeliveryQueue(postgres.sql, STORE_RULES)
  // both are within the pace of the app, which has been claimed for before
  await postgres.run('INSERT INTO mail_paces (app_id) VALUES (1)', [])
  const query = { now: 1_000, most: 50, skipApps: [] }
  const claim = `UPDATE deliveries SET state = 'claimed', claimed_until = 9000 WHERE ${postgres.sql.dialect.isOneOf('id')}`
  const { promise: isListed, resolve: noteListed } = Promise.withResolvers<number[]>()
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const first = postgres.transaction(async () => {
    const listed = await listDue(query)
    await postgres.sql.prepare(claim).run(JSON.stringify(listed))
    noteListed(listed)
    await isOver
  })
  const one = await isListed
  expect(await postgres.transaction(() => listDue(query))).toEqual([])
  end()
  await first
  const two = await postgres.transaction(() => listDue(query))
  expect([one.length, two.length, new Set([...one, ...two]).size]).toEqual([50, 50, 100])
  expect(await postgres.transaction(() => listDue({ ...query, skipApps: [1] }))).toEqual([])
})

test('a simulation reads what it needs', async () => {
  const reads = createSimulationReads(postgres.sql, { until: 1_000 })
  for (const contactId of [undefined, 1]) {
    const range = { appId: 1, from: 0, contactId }
    expect(await Array.fromAsync(await reads.newestEvents(range, 'done'))).toEqual([])
    expect(await Array.fromAsync(await reads.newestViews(range))).toEqual([])
    expect(await Array.fromAsync(reads.newestSent(range, 'm'))).toEqual([])
    expect((await Array.fromAsync(reads.listPeople(range))).length).toBe(contactId === undefined ? 3 : 1)
    expect((await Array.fromAsync(reads.newestPeople(range))).length).toBe(contactId === undefined ? 2 : 1)
  }
  expect(await reads.listReports(1, 1, 0)).toEqual([])
})

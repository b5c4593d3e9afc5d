/** Counts that all writes of a message or an app add to: no instance waits for another one's. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { DAY_MS } from '../../../src/core/clock.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import type { Claim } from '../../../src/store/message-types.ts'
import { COUNTERS, partsOf } from '../../../src/store/engine/counter-tables.ts'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { RECORD } from '../conformance/delivery-queue.ts'
import { AT, BY, done, eventWrite, HOUR, newAccount } from '../samples.ts'

const NAMES = ['one', 'two', 'three']
const DAY = Math.floor(AT / DAY_MS)
const NOW = AT + HOUR
const AT_ONCE = 20
/** For the one that must not run out of time while it stands still. */
const PATIENT = { ...DEADLINES, statementMs: 50_000, lockMs: 50_000, answerMs: 55_000, commitMs: 55_000 }

let server: PostgresServer
let database: Postgres
let stores: Store[] = []
let messages: number[] = []
let people = 0

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  const place = { url: server.url('postgres'), connections: 3, prepares: true }
  for (const deadlines of [PATIENT, DEADLINES])
    stores.push(await openPostgresStore(place, { now: () => AT, rules: STORE_RULES, deadlines }))
  database = connectPostgres({ ...place, connections: 1 })
  const [store] = stores as [Store]
  done(await store.createAccount(newAccount()))
  const drafts = NAMES.map((name) => ({
    id: null,
    name,
    status: 'live' as const,
    content: { trigger: { event: name }, mail: { subject: 'S', body: 'B', category: 'lifecycle' as const } },
  }))
  messages = done(await store.saveMessages({ ...BY, appId: 1, drafts })).saved.map(({ id }) => id)
}, 120_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await database?.close()
  await server?.stop()
})
beforeEach(async () => {
  await database.run('DELETE FROM deliveries', [])
  await database.run('DELETE FROM people_results', [])
  for (const counter of Object.keys(COUNTERS)) await database.run(`DELETE FROM ${partsOf(counter)}`, [])
})

/** Each of a new person. */
const queue = async (store: Store, names: readonly string[]): Promise<void> => {
  const events = names.map((name) => eventWrite({ name, email: `p${(people += 1)}@example.com` }))
  for (const outcome of await Promise.all(events.map((event) => store.recordEvent(event)))) done(outcome)
}

/** In the order of the queue. */
const claim = async (store: Store, most: number): Promise<(Claim & { record: string })[]> => {
  await database.run('UPDATE mail_paces SET tokens = 1000000', [])
  const claiming = { claimedBy: store.instanceId, now: NOW, leaseMs: HOUR, most, skipApps: [] }
  const { works } = done(await store.claimDeliveries(claiming))
  return works.map(({ delivery: { id, attempt } }) => ({
    id,
    attempt,
    at: NOW,
    record: RECORD,
    claimedBy: store.instanceId,
  }))
}

const sumsOf = async (store: Store) => {
  const found = await Promise.all(messages.map((id) => store.readResults(id, { from: DAY, until: DAY })))
  return found.map(({ days }) => days.map(({ outcome, emails }) => `${outcome} ${emails}`))
}

test('an instance hands an email over while another one that counted emails of its message and day is held up', async () => {
  const [first, second] = stores as [Store, Store]
  await queue(first, ['one', 'one'])
  const [held, free] = [(await claim(first, 1))[0], (await claim(second, 1))[0]]
  if (!held || !free) throw new Error('not claimed')
  // the last of the triggers of the first one's email waits
  await database.runScript(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE TRIGGER z_wait AFTER UPDATE ON deliveries FOR EACH ROW WHEN (NEW.id = ${held.id}) EXECUTE FUNCTION wait();
    SELECT pg_advisory_lock(1)`)
  const steps: string[] = []
  const slow = (async () => {
    const marked = await first.markHanded(held)
    steps.push('first')
    return marked
  })()
  const isHeld = async () =>
    (await database.run("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", [])).length > 0
  while (!(await isHeld()));
  try {
    expect(await second.markHanded(free)).toEqual({ isMarked: true })
    expect(await second.markSent(free)).toEqual({ isMarked: true })
    expect(steps).toEqual([])
  } finally {
    await database.runScript('SELECT pg_advisory_unlock(1)')
  }
  expect(await slow).toEqual({ isMarked: true })
  await database.runScript('DROP FUNCTION wait CASCADE')
  expect((await sumsOf(second))[0]).toEqual(['sent 2'])
}, 120_000)

test('two instances queue and send emails of the same messages, and nothing is refused', async () => {
  const each = NAMES.flatMap((name) => Array.from({ length: 40 }, () => name))
  await Promise.all(stores.map((store, index) => queue(store, index === 0 ? each : each.toReversed())))
  expect(await sumsOf(stores[0] as Store)).toEqual(NAMES.map(() => ['waiting 80']))
  const claims: Awaited<ReturnType<typeof claim>>[] = [[], []]
  for (let part = 0; part < 3; part += 1)
    for (const [index, store] of stores.entries()) claims[index]?.push(...(await claim(store, 40)))
  // each in an order of its own
  claims[1]?.reverse()
  /** As many at once as a sender does. */
  const sendAll = async (store: Store, all: (Claim & { record: string })[]) => {
    const send = async (one: (typeof all)[number]) => [await store.markHanded(one), await store.markSent(one)]
    const marked = []
    for (let from = 0; from < all.length; from += AT_ONCE)
      marked.push(...(await Promise.all(all.slice(from, from + AT_ONCE).map(send))))
    return marked
  }
  const marked = (await Promise.all(stores.map((store, index) => sendAll(store, claims[index] ?? [])))).flat()
  expect(marked.length).toBe(240)
  expect(marked.flat().filter((one) => !('isMarked' in one && one.isMarked))).toEqual([])
  for (const store of stores) {
    expect(await sumsOf(store)).toEqual(NAMES.map(() => ['sent 80']))
    expect((await store.readAppResults(1, { from: DAY, until: DAY })).people.emailed).toBe(240)
    expect(await store.listMailDays(1, DAY)).toEqual([{ day: DAY, sent: 240, bounced: 0, complained: 0 }])
  }
}, 120_000)

/** Rows of all counters, and those that are not merged. */
const countParts = async (): Promise<number[]> => {
  const each = Object.keys(COUNTERS).map(
    (name) => `SELECT count(*) AS rows, count(*) FILTER (WHERE part > 0) AS parts FROM ${partsOf(name)}`,
  )
  const [row] = await database.run(
    `SELECT sum(rows) AS rows, sum(parts) AS parts FROM (${each.join(' UNION ALL ')}) AS t`,
    [],
  )
  return Object.values(row ?? {}).map(Number)
}

test('the parts of earlier days become one, and what is counted later is added', async () => {
  for (const store of stores) {
    await queue(store, ['one', 'one'])
    for (const one of await claim(store, 2))
      expect([await store.markHanded(one), await store.markSent(one)]).toBeTruthy()
  }
  const [first, second] = stores as [Store, Store]
  const read = async () => [
    await sumsOf(second),
    await second.readAppResults(1, { from: DAY, until: DAY }),
    await second.listMailDays(1, DAY),
  ]
  const before = await read()
  const [rows = 0] = await countParts()
  done(await first.cleanUp({ at: NOW + DAY_MS }))
  expect(await countParts()).toEqual([rows, rows])
  done(await first.cleanUp({ at: NOW + 2 * DAY_MS }))
  const [merged = 0, left] = await countParts()
  expect([left, merged < rows]).toEqual([0, true])
  expect(await read()).toEqual(before)
  await second.eraseContact({ ...BY, appId: 1, email: `p${people}@example.com` })
  expect((await sumsOf(first))[0]).toEqual(['sent 3'])
  done(await first.cleanUp({ at: NOW + 2 * DAY_MS }))
  expect(await countParts()).toEqual([merged, 0])
  expect((await sumsOf(first))[0]).toEqual(['sent 3'])
}, 120_000)

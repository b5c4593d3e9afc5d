/** What several instances on one database share. Each store here is an instance. */
import { isLong } from '../../long-form.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { hostname } from 'node:os'
import { createAccess } from '../../../src/accounts/access.ts'
import { hashApiKey, makeApiKey } from '../../../src/accounts/api-keys.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createIdSequence, idAt, LAST_INSTANCE } from '../../../src/core/ids.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { joinInstances } from '../../../src/store/postgres/instance.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { MessageContent } from '../../../src/store/message-types.ts'
import { createRequestWrites, type NewRequest } from '../../../src/store/requests.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { createQueue, RECORD } from '../conformance/delivery-queue.ts'
import { AT, BY, done, eventWrite, HOUR, newAccount, visitReportWrite } from '../samples.ts'

const NUMBERS = LAST_INSTANCE + 1
const MINUTE = 60_000
const TEMPLATE = `migrated_${Date.now()}`
let server: PostgresServer
let admin: Bun.SQL
let made = 0
let name = ''
let database: Postgres
let opened: Store[] = []

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', max_connections: '200' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1 })
  await admin.unsafe(`CREATE DATABASE ${TEMPLATE}`)
  name = TEMPLATE
  await (await open()).close()
}, 120_000)
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})
beforeEach(async () => {
  name = `${TEMPLATE}_${(made += 1)}`
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
  database = connectPostgres({ url: server.url(name), connections: 2, prepares: true })
  opened = []
})
afterEach(async () => {
  for (const store of opened) await store.close()
  await database.close()
  await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
})

async function open(rules: Partial<typeof STORE_RULES> = {}): Promise<Store> {
  const location = { url: server.url(name), connections: 3, prepares: true }
  const store = await openPostgresStore(location, { now: () => AT, rules: { ...STORE_RULES, ...rules } })
  opened.push(store)
  return store
}

const openTwo = async (): Promise<[Store, Store]> => [await open(), await open()]

const valueOf = async (text: string): Promise<unknown> => Object.values((await database.run(text, []))[0] ?? {})[0]

/** Its leases have ended, as if it was killed or stood still for a long time. */
const endLeases = async (store: Store): Promise<void> => {
  await database.run('UPDATE instances SET held_until = 0 WHERE holder = $1', [store.instanceId])
  await database.run('UPDATE duties SET held_until = 0 WHERE holder = $1', [store.instanceId])
}

const countBy = (ids: readonly number[]): Map<number, number> =>
  new Map([...Map.groupBy(ids, (id) => id % NUMBERS)].map(([number, of]) => [number, of.length]))

const LIVE: MessageContent = { trigger: { event: 'results_ready' }, mail: { subject: 'S', body: 'B' } }

const REQUEST: NewRequest = {
  pool: 'accepted',
  accountId: 'acc_1',
  appId: 1,
  caller: 'key_1',
  at: AT,
  method: 'POST',
  path: '/api/v1/events',
  tool: null,
  status: 200,
  code: null,
  field: null,
  requestId: 'req_1',
  count: 1,
}

const goLive = async (store: Store, content: MessageContent = LIVE): Promise<number> => {
  const draft = { id: null, name: 'M', status: 'live', content } as const
  return done(await store.saveMessages({ ...BY, appId: 1, drafts: [draft] })).saved[0]?.id ?? 0
}

const deliveriesOf = (store: Store) =>
  store.listDeliveries({ appId: 1, messageId: null, contactId: null, states: null, before: null, limit: 99 })

test('instances never make the same id', async () => {
  const stores = [await open(), await open(), await open()]
  done(await (stores[0] as Store).createAccount(newAccount()))
  await Promise.all(
    stores.flatMap((store, index) =>
      Array.from({ length: 30 }, (_, n) => store.recordEvent(eventWrite({ email: `p${index}-${n}@example.com` }))),
    ),
  )
  for (const table of ['events', 'contacts']) {
    const ids = (await database.run(`SELECT id FROM ${table}`, [])).map(({ id }) => Number(id))
    expect([...countBy(ids).values()]).toEqual([30, 30, 30])
  }
})

test('more instances than numbers are refused, until one stops', async () => {
  const { run } = database
  const now = () => AT
  const all = []
  for (let n = 0; n < NUMBERS; n++) all.push(await joinInstances({ run, now }))
  const numbers = all.map(({ ids }) => ids.next() % NUMBERS)
  expect(new Set(numbers).size).toBe(NUMBERS)
  expect(joinInstances({ run, now })).rejects.toThrow('16 instances already use this database')
  const last = (all[5] as (typeof all)[0]).ids.next()
  await all[5]?.leave()
  const next = await joinInstances({ run, now })
  expect(next.ids.next()).toBe(last + NUMBERS)
})

test('an instance that stood still gets another number, and its ids are not used again', async () => {
  const { run } = database
  let now = AT
  const clock = { run, now: () => now }
  const all = []
  for (let n = 0; n < NUMBERS; n++) all.push(await joinInstances(clock))
  const [frozen, other] = all as [(typeof all)[0], (typeof all)[0]]
  const before = frozen.ids.next()
  await database.run('UPDATE instances SET held_until = 0 WHERE number = $1', [before % NUMBERS])
  const heir = await joinInstances(clock)
  const inherited = heir.ids.next()
  expect(inherited % NUMBERS).toBe(before % NUMBERS)
  // it goes on with what it was writing
  const late = Array.from({ length: 1_000 }, frozen.ids.next)
  expect(Math.max(...late)).toBeLessThan(inherited)
  now += HOUR
  expect(() => frozen.ids.next()).toThrow()
  expect(frozen.prepareIds()).rejects.toThrow('16 instances already use this database')
  const freed = other.ids.next
  await other.leave()
  await frozen.prepareIds()
  expect(frozen.ids.next() % NUMBERS).not.toBe(before % NUMBERS)
  expect(freed).toBe(other.ids.next)
})

test('ids of a database that was moved here are not used again', async () => {
  const store = await open()
  done(await store.createAccount(newAccount()))
  const later = createIdSequence(() => AT + HOUR).next()
  await database.run(
    `INSERT INTO contacts (id, app_id, email, status, created_at, updated_at) VALUES ($1, 1, 'a@example.com', 'subscribed', 1, 1)`,
    [later],
  )
  const { ids } = await joinInstances({ run: database.run, now: () => AT })
  expect(ids.next()).toBeGreaterThan(later)
})

test('a clock that jumps ahead reserves its ids first', async () => {
  let now = AT
  const { ids, prepareIds } = await joinInstances({ run: database.run, now: () => now })
  now += HOUR
  expect(() => ids.next()).toThrow('reserved')
  await prepareIds()
  expect(ids.next()).toBeGreaterThan(idAt(now))
  expect(await valueOf('SELECT max(ids_until) FROM instances')).toBeGreaterThan(idAt(now))
})

test('apps that two instances add at once get numbers of their own', async () => {
  const [first, second] = await openTwo()
  const outcomes = await Promise.all([first, second].map((store, n) => store.createAccount(newAccount(n + 1))))
  expect(outcomes.filter((outcome) => 'refusal' in outcome)).toEqual([])
  expect((await first.listAllApps()).map(({ id }) => id).toSorted()).toEqual([1, 2])
})

test('a key that is revoked on one instance is refused on the others within two seconds', async () => {
  const [first, second] = await openTwo()
  const key = makeApiKey()
  done(await first.createAccount(newAccount(1, { key: { ...newAccount().key, keyHash: hashApiKey(key) } })))
  const access = createAccess({ store: second, clock: systemClock })
  second.onForeignWrite(access.forget)
  const find = async () => await access.find(key)
  do expect(await find()).toMatchObject({ key: { id: 'key_1' } })
  while (access.find(key) instanceof Promise)
  done(await first.revokeKey({ ...BY, keyId: 'key_1' }))
  const revokedAt = performance.now()
  while ((await find()) !== null && performance.now() - revokedAt < 10_000) await Bun.sleep(10)
  expect(performance.now() - revokedAt).toBeLessThan(2_000)
})

test('a retired identity secret is refused on the others', async () => {
  const [first, second] = await openTwo()
  done(await first.createAccount(newAccount()))
  const access = createAccess({ store: second, clock: systemClock })
  const noticed = Promise.withResolvers<void>()
  expect((await access.findSite('site_1'))?.secrets).toMatchObject([{ id: 'sec_1' }])
  second.onForeignWrite(() => (access.forget(), noticed.resolve()))
  done(await first.rotateSecret({ ...BY, secret: { id: 'sec_2', secret: 'new' }, replaces: null }))
  await noticed.promise
  expect((await access.findSite('site_1'))?.secrets.map(({ id }) => id)).toContain('sec_2')
})

test('what is cached does not count while the database gives no answer', async () => {
  let [monotonicMs, isGone, notices] = [0, false, 0]
  const run: Postgres['run'] = (text, values) => (isGone ? Promise.reject(new Error()) : database.run(text, values))
  const instance = await joinInstances({ run, now: () => AT, monotonicMs: () => monotonicMs })
  instance.onForeignWrite(() => (notices += 1))
  expect(instance.isCurrent()).toBe(false)
  await instance.look()
  expect([instance.isCurrent(), notices]).toEqual([true, 1])
  isGone = true
  monotonicMs += 1_400
  await instance.look().catch(() => {})
  expect(instance.isCurrent()).toBe(true)
  monotonicMs += 200
  expect(instance.isCurrent()).toBe(false)
  isGone = false
  await instance.look()
  expect([instance.isCurrent(), notices]).toEqual([true, 1])
})

test('a change is noticed by an instance that saw another one of the same number, which the database has lost', async () => {
  done(await (await open()).createAccount(newAccount()))
  const instance = await joinInstances({ run: database.run, now: () => AT })
  let notices = 0
  instance.onForeignWrite(() => (notices += 1))
  await instance.look()
  await instance.look()
  expect(notices).toBe(1)
  await database.transaction(async () => {
    await database.run('UPDATE settings_version SET version = version - 1', [])
    await database.run("UPDATE apps SET name = 'Renamed'", [])
  })
  await instance.look()
  expect(notices).toBe(2)
})

describe('a clock', () => {
  type Instance = Awaited<ReturnType<typeof joinInstances>>
  type Skewed = Instance & { offMs: number; slowMs: number }

  async function join(): Promise<Skewed> {
    const host = { offMs: 0, slowMs: 0 }
    let slept = 0
    const run: Postgres['run'] = async (text, values) => {
      const rows = await database.run(text, values)
      slept += host.slowMs
      return rows
    }
    const wallNow = () => Date.now() + host.offMs
    const joined = await joinInstances({ run, now: () => AT, monotonicMs: () => slept, wallNow })
    return Object.assign(host, joined)
  }
  const renew = async (...instances: Instance[]): Promise<void> => {
    for (const instance of instances) {
      await instance.look()
      await instance.renew()
    }
  }
  /** The leases end by the ms. */
  const renewTwice = async (...instances: Instance[]): Promise<void> => {
    await renew(...instances)
    const at = Date.now()
    while (Date.now() < at + 2) await Bun.sleep(1)
    await renew(...instances)
    await renew(...instances)
  }
  const areOff = (...instances: Instance[]): boolean[] => instances.map(({ isClockOff }) => isClockOff())

  test("that differs from the database's and another's keeps its instance from duties, and others see it", async () => {
    const [wrong, other] = [await join(), await join()]
    const { run } = database
    await renewTwice(wrong, other)
    expect([await wrong.holdDuty(), wrong.clockAheadMs()]).toEqual([1, 0])
    wrong.offMs = 60_000
    await renew(wrong, other)
    expect(areOff(wrong, other)).toEqual([false, false])
    await renewTwice(wrong, other)
    expect(areOff(wrong, other)).toEqual([true, false])
    expect([await wrong.holdDuty(), await wrong.takeDuty(run)]).toEqual([null, null])
    const [seen] = await other.listRunning()
    expect(seen?.clockAheadMs).toBeGreaterThan(0)
    expect(seen?.clockAheadMs).toBeLessThanOrEqual(60_000)
    expect(seen?.clockAheadMs).toBe(wrong.clockAheadMs())
    wrong.offMs = -60_000
    await renewTwice(wrong, other)
    expect(wrong.clockAheadMs()).toBeLessThan(0)
    expect(await wrong.holdDuty()).toBeNull()
    wrong.offMs = 0
    await wrong.look()
    expect(await wrong.holdDuty()).toBe(1)
  })

  test('of the database that is wrong takes no instance down', async () => {
    const one = await join()
    one.offMs = 60_000
    await renewTwice(one)
    expect([areOff(one), await one.holdDuty()]).toEqual([[false], 1])
    const [second, third] = [await join(), await join()]
    second.offMs = 62_000
    third.offMs = 58_000
    await renewTwice(one, second, third)
    expect(areOff(one, second, third)).toEqual([false, false, false])
    expect((await one.listRunning()).filter(({ clockAheadMs }) => clockAheadMs > 50_000)).toHaveLength(3)
  })

  test('of an instance that died before the clock of the database jumped says nothing', async () => {
    const [one, dead] = [await join(), await join()]
    await renew(one, dead)
    one.offMs = 60_000
    await renewTwice(one)
    expect(areOff(one)).toEqual([false])
    await renewTwice(dead)
    await renew(one)
    expect(areOff(one)).toEqual([true])
  })

  test('is not compared by an answer that took long', async () => {
    const one = await join()
    one.offMs = 60_000
    await one.look()
    const before = one.clockAheadMs()
    expect(before).toBeGreaterThan(50_000)
    Object.assign(one, { offMs: 0, slowMs: 1_001 })
    await one.look()
    expect(one.clockAheadMs()).toBe(before)
    one.slowMs = 1_000
    await one.look()
    expect(one.clockAheadMs()).toBe(0)
  })
})

test('a cached key is looked up again while it may be outdated', async () => {
  const store = await open()
  const key = makeApiKey()
  done(await store.createAccount(newAccount(1, { key: { ...newAccount().key, keyHash: hashApiKey(key) } })))
  let isCurrent = true
  const access = createAccess({ store: { ...store, isCurrent: () => isCurrent }, clock: systemClock })
  await access.find(key)
  done(await store.revokeKey({ ...BY, keyId: 'key_1' }))
  expect(access.find(key)).not.toBeInstanceOf(Promise)
  isCurrent = false
  expect(await access.find(key)).toBeNull()
})

test('each write sees the messages that another instance has stored', async () => {
  const [first, second] = await openTwo()
  done(await first.createAccount(newAccount()))
  done(await second.recordEvent(eventWrite({ email: 'a@example.com' })))
  const messageId = await goLive(first)
  done(await second.recordEvent(eventWrite({ email: 'b@example.com' })))
  expect(await deliveriesOf(first)).toHaveLength(1)
  done(await first.setMessageStatus({ ...BY, appId: 1, id: messageId, status: 'paused', idempotency: null }))
  done(await second.recordEvent(eventWrite({ email: 'c@example.com' })))
  expect(await deliveriesOf(first)).toHaveLength(1)
})

test('an instance saves nothing once a newer one has changed the schema', async () => {
  const store = await open()
  done(await store.createAccount(newAccount()))
  done(await store.recordEvent(eventWrite()))
  await database.run('UPDATE schema_version SET version = version + 1', [])
  for (const outcome of [await store.recordEvent(eventWrite()), await store.touch({})])
    expect(outcome).toMatchObject({ refusal: 'unavailable', reason: expect.stringContaining('Use a newer executable') })
  expect(await store.canCommit()).toBe(false)
  expect(await valueOf('SELECT count(*) FROM events')).toBe(1)
  const { look } = await joinInstances({ run: database.run, now: () => AT })
  expect(look()).rejects.toThrow('Use a newer executable')
})

test('the log of requests has its length after two instances removed the oldest at once', async () => {
  const MOST = 40
  const rules = { ...STORE_RULES, mostRequests: { refused: MOST, unkeyed: MOST, accepted: MOST } }
  const store = await open(rules)
  const other = createRequestWrites(database.sql, rules)
  const requestsOf = (caller: string, count: number): NewRequest[] =>
    Array.from({ length: count }, (_, index) => ({ ...REQUEST, caller, requestId: `${caller}-${index}` }))
  done(await store.addRequests(requestsOf('key_1', MOST)))
  let added: Promise<unknown> = Promise.resolve()
  let isAdded = false
  await database.transaction(async () => {
    await other.addRequests(requestsOf('key_2', 15))
    added = store.addRequests(requestsOf('key_3', 15)).finally(() => (isAdded = true))
    const isWaiting = async () => (await admin.unsafe(`SELECT 1 FROM pg_locks WHERE NOT granted`)).length > 0
    while (!isAdded && !(await isWaiting())) await Bun.sleep(1)
  })
  expect(await added).toEqual({ done: true })
  // what one of them left to the other is removed next
  done(await store.addRequests(requestsOf('key_4', 1)))
  expect(await valueOf('SELECT count(*) FROM requests')).toBe(MOST)
  expect(await valueOf('SELECT sum(rows)::bigint FROM request_callers')).toBe(MOST)
})

test('events, deliveries and key use leave the version of the settings alone', async () => {
  const [first, second] = await openTwo()
  done(await first.createAccount(newAccount()))
  await goLive(first)
  const read = () => valueOf('SELECT version FROM settings_version')
  const before = await read()
  done(await second.recordEvent(eventWrite()))
  done(await second.recordVisitReport(visitReportWrite()))
  const claiming = { claimedBy: second.instanceId, now: AT + HOUR, leaseMs: MINUTE, most: 9, skipApps: [] }
  const [work] = done(await second.claimDeliveries(claiming)).works
  const claim = { id: work?.delivery.id ?? 0, claimedBy: second.instanceId, attempt: 1, at: AT + HOUR }
  expect(await second.markHanded({ ...claim, record: RECORD })).toEqual({ isMarked: true })
  expect(await second.markSent(claim)).toEqual({ isMarked: true })
  done(await second.noteKeyUse([{ keyId: 'key_1', lastUsedAt: AT, seenInBrowserAt: null }]))
  done(await second.cleanUp({ at: AT + HOUR }))
  done(await second.runSchedules({ at: AT + HOUR }))
  expect(await read()).toBe(before)
  done(await first.revokeKey({ ...BY, keyId: 'key_1' }))
  expect(await read()).toBe(Number(before) + 1)
})

test('an event cancels the first email of an app that another instance has queued', async () => {
  const [first, second] = await openTwo()
  done(await first.createAccount(newAccount()))
  await goLive(first, { ...LIVE, wait: { minutes: 9 }, onlyIf: [{ rule: 'notDone', event: 'opened' }] })
  // both have the app in memory, without deliveries
  for (const store of [first, second]) done(await store.recordEvent(eventWrite({ name: 'other' })))
  done(await first.recordEvent(eventWrite()))
  done(await second.recordEvent(eventWrite({ name: 'opened', at: AT + 1 })))
  expect((await deliveriesOf(first)).map(({ state }) => state)).toEqual(['skipped'])
})

test('an id from the future does not hide that somebody comes back before their email is handed over', async () => {
  const [first, second] = await openTwo()
  done(await first.createAccount(newAccount()))
  await goLive(first, { ...LIVE, onlyIf: [{ rule: 'away', ifUnknown: 'send' }] })
  done(await second.recordEvent(eventWrite({ name: 'other', email: 'early@example.com' })))
  await database.run('UPDATE events SET id = $1', [idAt(AT + HOUR)])
  expect(await valueOf('SELECT max(id) FROM events')).toBe(idAt(AT + HOUR))
  done(await first.recordEvent(eventWrite()))
  const at = AT + 1_000
  const claiming = { claimedBy: first.instanceId, now: at, leaseMs: HOUR, most: 9, skipApps: [] }
  const { works, decisions } = done(await first.claimDeliveries(claiming))
  const [work, decision] = [works[0], decisions[0]]
  done(
    await second.recordVisitReport(
      visitReportWrite({ at, items: [{ type: 'page', name: null, path: '/', occurredAt: at }] }),
    ),
  )
  const { id = 0, attempt = 0 } = work?.delivery ?? {}
  const claim = { id, attempt, claimedBy: first.instanceId, at, record: JSON.stringify(decision?.record) }
  expect(await first.markHanded({ ...claim, basis: decision?.basis })).toEqual({
    isMarked: false,
    because: 'not_away',
  })
})

test('one instance has the duties, and another one takes over', async () => {
  const [first, second] = await openTwo()
  done(await first.createAccount(newAccount()))
  expect([await first.holdDuty(), await second.holdDuty(), await first.holdDuty()]).toEqual([1, null, 1])
  expect(await second.expire({ at: AT })).toEqual({ refusal: 'already_done' })
  expect(await first.expire({ at: AT })).not.toHaveProperty('refusal')
  await endLeases(first)
  expect([await second.holdDuty(), await first.holdDuty()]).toEqual([2, null])
  await second.close()
  expect(await first.holdDuty()).toBe(3)
})

test('an instance that stood still past its lease writes nothing of its turn', async () => {
  const [frozen, other] = await openTwo()
  done(await frozen.createAccount(newAccount()))
  const alert = { id: 'alt_1', kind: 'k', subject: 's', accountId: null, title: 't', detail: '', fix: '', path: '/' }
  const alerts = [{ ...alert, openedAt: AT, resolvedAt: null, notices: [] }]
  const epoch = (await frozen.holdDuty()) ?? 0
  await endLeases(frozen)
  expect(await other.holdDuty()).toBe(epoch + 1)
  const refused = { refusal: 'already_done' } as const
  // its other writes are those of any instance
  const writes = [frozen.saveAlerts({ alerts, epoch }), frozen.cleanUp({ at: AT }), frozen.recordEvent(eventWrite())]
  expect(await Promise.all(writes)).toEqual([refused, refused, expect.objectContaining({ created: true })])
  for (const write of [frozen.expire, frozen.runSchedules, frozen.checkBrakes])
    expect(await write({ at: AT })).toEqual(refused)
  expect(await other.listAlerts()).toEqual([])
  await endLeases(other)
  // it has a turn again, but what it knew is of the earlier one
  expect(await frozen.holdDuty()).toBe(epoch + 2)
  expect(await frozen.saveAlerts({ alerts, epoch })).toEqual(refused)
  expect(await frozen.saveAlerts({ alerts, epoch: epoch + 2 })).toEqual({ done: true })
})

test('nobody takes over during a transaction of the one that has the duties', async () => {
  const { run } = database
  const [first, second] = [await joinInstances({ run, now: () => AT }), await joinInstances({ run, now: () => AT })]
  const [locked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const writing = database.transaction(async () => {
    await first.takeDuty(database.run)
    locked.resolve()
    await goOn.promise
    return await database.run('SELECT 1', [])
  })
  await locked.promise
  const taking = second.takeDuty(run)
  const isWaiting = async () => (await admin.unsafe(`SELECT 1 FROM pg_locks WHERE NOT granted`)).length > 0
  while (!(await isWaiting())) await Bun.sleep(1)
  goOn.resolve()
  await writing
  expect(await taking).toBeNull()
})

test('claims are released only if their instance has stopped', async () => {
  const [first, second] = await openTwo()
  const { createApp, queue, claim, claimOne, list } = createQueue(
    Object.assign(() => first, { reopen: async () => {} }),
  )
  const app = await createApp()
  await queue(app, 2)
  const handed = await claimOne(app, first.instanceId)
  await first.markHanded({ ...handed, record: RECORD })
  expect(await claim(app, 9, { claimedBy: first.instanceId })).toHaveLength(1)
  const release = () => second.releaseClaims({ notOf: second.instanceId, at: AT + HOUR })
  expect(await release()).toEqual({ released: 0, unconfirmed: 0 })
  await endLeases(first)
  // after a gap, others have time to renew their leases
  expect(await release()).toEqual({ released: 0, unconfirmed: 0 })
  // it may have been away itself
  await database.run("UPDATE instances SET held_since = 0, holder = 'lost' WHERE holder = $1", [second.instanceId])
  expect(await release()).toEqual({ released: 0, unconfirmed: 0 })
  await database.run("UPDATE instances SET holder = $1 WHERE holder = 'lost'", [second.instanceId])
  expect(await release()).toEqual({ released: 1, unconfirmed: 1 })
  expect((await list(app)).map(({ state, reason }) => [state, reason])).toEqual([
    ['deferred', 'stopped'],
    ['waiting', null],
  ])
  // the one that stood still can't hand over any more
  expect(await first.markSent(handed)).toEqual({ isMarked: false, because: 'lost' })
})

test('claims of an instance whose number another one has by now are released only after a while', async () => {
  const [first, second] = await openTwo()
  const { createApp, queue, claimOne } = createQueue(Object.assign(() => first, { reopen: async () => {} }))
  const app = await createApp()
  await queue(app, 1)
  await first.markHanded({ ...(await claimOne(app, first.instanceId)), record: RECORD })
  await database.run('UPDATE instances SET holder = $1 WHERE holder = $2', ['newcomer', first.instanceId])
  const release = () => second.releaseClaims({ notOf: second.instanceId, at: AT + HOUR })
  expect(await release()).toEqual({ released: 0, unconfirmed: 0 })
  await database.run('UPDATE instances SET held_since = 0 WHERE holder = $1', [second.instanceId])
  expect(await release()).toEqual({ released: 0, unconfirmed: 1 })
})

describe('leases that another server gave, whose clock was ten minutes ahead', () => {
  const jump = async (): Promise<void> => {
    const later = 'SET held_since = held_since + 600000, held_until = held_until + 600000'
    await database.run(`UPDATE instances ${later} WHERE holder <> ''`, [])
    await database.run("UPDATE duties SET held_until = held_until + 600000 WHERE holder <> ''", [])
  }
  const join = () => joinInstances({ run: database.run, now: () => AT })

  test('are those of stopped instances until they are renewed', async () => {
    const [one, dead] = [await join(), await join()]
    expect(await dead.holdDuty()).toBe(1)
    await jump()
    expect(await one.listRunning()).toEqual([])
    await one.renew()
    expect(await one.listRunning()).toMatchObject([{ isThis: true }])
    expect([await one.holdDuty(), await one.holdDuty()]).toEqual([2, 2])
    const others = []
    for (let n = 0; n < NUMBERS - 1; n += 1) others.push(await join())
    expect(await one.listRunning()).toHaveLength(NUMBERS)
  })

  test('release no claims before their instances had time to renew them', async () => {
    const [first, second] = await openTwo()
    const { createApp, queue, claimOne } = createQueue(Object.assign(() => first, { reopen: async () => {} }))
    const app = await createApp()
    await queue(app, 1)
    await first.markHanded({ ...(await claimOne(app, first.instanceId)), record: RECORD })
    const release = () => second.releaseClaims({ notOf: second.instanceId, at: AT + HOUR })
    await database.transaction(async () => {
      // both have run for long
      await database.run("UPDATE instances SET held_since = held_since - 3600000 WHERE holder <> ''", [])
      await jump()
    })
    expect(await release()).toEqual({ released: 0, unconfirmed: 0 })
    await database.run(`UPDATE instances SET held_since = 0, held_until = $1 WHERE holder = $2`, [
      Date.now() + 30_000,
      second.instanceId,
    ])
    expect(await release()).toEqual({ released: 0, unconfirmed: 1 })
  })
})

test('a live instance is not taken for stopped after a clock went back by as much as a lease', async () => {
  const [first, second] = await openTwo()
  const { createApp, queue, claimOne } = createQueue(Object.assign(() => first, { reopen: async () => {} }))
  const app = await createApp()
  await queue(app, 1)
  await first.markHanded({ ...(await claimOne(app, first.instanceId)), record: RECORD })
  const setLease = (store: Store, leftMs: number) =>
    database.run('UPDATE instances SET held_since = 0, held_until = $1 WHERE holder = $2', [
      Date.now() + leftMs,
      store.instanceId,
    ])
  const release = () => second.releaseClaims({ notOf: second.instanceId, at: AT + HOUR })
  await database.transaction(async () => {
    // before the clock went back by 32 seconds, they had 30 and 26 left
    await setLease(first, 62_000)
    await setLease(second, 58_000)
  })
  expect(await release()).toEqual({ released: 0, unconfirmed: 0 })
  await endLeases(first)
  expect(await release()).toEqual({ released: 0, unconfirmed: 1 })
})

const DUE = isLong ? 10_000 : 600

/** Without triggers, which count them. */
async function addDue(messageId: number): Promise<void> {
  const connection = new Bun.SQL(server.url(name), { max: 1 })
  await connection.unsafe(`
    SET session_replication_role = replica;
    INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
      SELECT n, 1, 'p' || n || '@example.com', 'subscribed', ${AT}, ${AT} FROM generate_series(1, ${DUE}) AS n;
    INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
        attempt, resent, by_hand, updated_at)
      SELECT n, 1, n, ${messageId}, 1, '', 'waiting', ${AT}, ${AT}, ${AT} + n % 1000, 0, 0, 0, ${AT}
      FROM generate_series(1, ${DUE}) AS n;
    ANALYZE deliveries, contacts`)
  await connection.close()
}

test(`three instances claim each of ${DUE} deliveries of the same second once`, async () => {
  const stores = [await open(), await open(), await open()]
  const [first] = stores as [Store]
  done(await first.createAccount(newAccount()))
  const messageId = await goLive(first)
  await addDue(messageId)
  const claimed = new Map<number, string>()
  const claimAll = async (store: Store): Promise<void> => {
    const claiming = { claimedBy: store.instanceId, now: AT + MINUTE, leaseMs: HOUR, most: 50, skipApps: [] }
    while ((await store.listDueApps({ now: AT + MINUTE })).length > 0) {
      const outcome = await store.claimDeliveries(claiming)
      // a claim that took too long is stored nevertheless
      for (const { delivery } of 'refusal' in outcome ? [] : outcome.works) {
        if (claimed.has(delivery.id)) throw new Error(`${delivery.id} was claimed twice`)
        claimed.set(delivery.id, store.instanceId)
      }
    }
  }
  await Promise.all(stores.map(claimAll))
  const stored = await database.run('SELECT id, claimed_by AS "by", attempt FROM deliveries', [])
  expect(stored).toHaveLength(DUE)
  expect(stored.filter(({ attempt }) => attempt !== 1)).toEqual([])
  expect(stored.filter(({ id, by }) => (claimed.get(Number(id)) ?? by) !== by)).toEqual([])
  expect(new Set(claimed.values()).size).toBe(3)
}, 300_000)

test('each lists those that run', async () => {
  const [first, second] = await openTwo()
  expect((await first.listRunning()).map(({ isThis }) => isThis)).toEqual([true, false])
  expect((await second.listRunning()).map(({ isThis }) => isThis)).toEqual([false, true])
  await second.close()
  const [left, ...others] = await first.listRunning()
  expect(others).toEqual([])
  expect(left).toMatchObject({ since: expect.any(Number), isThis: true, clockAheadMs: 0 })
  expect(left?.place).toBe(`${hostname()}, process ${process.pid}`)
  expect(left?.silentMs).toBeWithin(0, 30_000)
})

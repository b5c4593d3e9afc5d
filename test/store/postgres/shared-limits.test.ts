/** Limits that several instances share hold exactly, by the database's clock. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Access } from '../../../src/accounts/access.ts'
import { countedLimit } from '../../../src/accounts/limits.ts'
import { limitsOf } from '../../../src/accounts/plans.ts'
import { createSharedLimits } from '../../../src/accounts/shared-limits.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { readEventText } from '../../../src/events/event-input.ts'
import { createEventRecorder } from '../../../src/events/events.ts'
import { connectPostgres } from '../../../src/store/postgres/connection.ts'
import { DATABASE_NOW } from '../../../src/store/postgres/instance.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { CountedLimit, KeyRow, LimitUse } from '../../../src/store/types.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { AT, contactWrite, DAY, eventWrite, HOUR, newAccount, visitReportWrite } from '../samples.ts'

const HOUR_S = 3_600
/** Longer than a test takes. */
const MARGIN_S = 120
let server: PostgresServer
let database: ReturnType<typeof connectPostgres>
/** Three instances; the clock of the second is an hour ahead, and that of the third a day behind. */
let stores: Store[] = []
const SKEWS = [0, HOUR, -DAY]
let made = 0
let limit: CountedLimit

const place = () => ({ url: server.url('postgres'), connections: 2, prepares: true })
const open = (skew: number) =>
  openPostgresStore(place(), { now: () => Date.now() + skew, readEvent: readEventText, rules: STORE_RULES })

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  stores = []
  for (const skew of SKEWS) stores.push(await open(skew))
  database = connectPostgres({ ...place(), prepares: false })
  await stores[0]?.createAccount(newAccount())
}, 120_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await database?.close()
  await server?.stop()
})
beforeEach(() => {
  limit = { bucket: `events:key_${(made += 1)}`, max: 50, windowMs: HOUR }
})

type Asked = { store: number; limits?: CountedLimit[]; name?: string }
/** Whether it was accepted; on a busy machine, a write that was certainly not stored is repeated. */
const record = async ({ store, limits = [limit], name = 'e' }: Asked): Promise<boolean | 'unconfirmed'> => {
  const event = { email: `person${store}@example.com`, name, limits, at: AT + (SKEWS[store] ?? 0) }
  for (;;) {
    const outcome = await (stores[store] as Store).recordEvent(eventWrite(event))
    if (!('refusal' in outcome)) return true
    if (outcome.refusal === 'commit_unconfirmed') return 'unconfirmed'
    if (outcome.refusal === 'unavailable') {
      await new Promise(setImmediate)
      continue
    }
    expect(outcome).toEqual({ refusal: 'rate_limited', bucket: limits[0]?.bucket ?? '' })
    return false
  }
}
type Accepted = Awaited<ReturnType<typeof record>>
const countAccepted = (accepted: Accepted[], is: Accepted = true): number => accepted.filter((one) => one === is).length
const run = (text: string, ...values: (string | number)[]) => database.run(text, values)
/** As if so much time had passed. */
const passSeconds = async (seconds: number): Promise<void> => {
  await run('UPDATE limit_usage SET second = second - $1', seconds)
  await run('UPDATE limit_windows SET last_second = last_second - $1, passed = passed - $1', seconds)
}

describe('an hourly limit over three instances', () => {
  test('accepts exactly 6,000 of 9,000 in any order, and not the next one', async () => {
    const hourly = { ...limit, max: 6_000 }
    // most of them at the first instance
    const order = Array.from({ length: 9_000 }, (_, index) => (index % 10 < 7 ? 0 : index % 10 < 9 ? 1 : 2)).toSorted(
      () => Math.random() - 0.5,
    )
    const accepted: Accepted[] = []
    const asked = { limits: [hourly], name: 'hourly' }
    for (let from = 0; from < order.length; from += 720)
      accepted.push(...(await Promise.all(order.slice(from, from + 720).map((store) => record({ store, ...asked })))))
    for (const store of [0, 1, 2]) expect(await record({ store, ...asked })).toBe(false)
    const [stored] = await run(`SELECT count(*) AS count FROM events WHERE name_id =
      (SELECT id FROM event_names WHERE app_id = 1 AND name = 'hourly')`)
    expect(stored?.count).toBe(6_000)
    const confirmed = countAccepted(accepted)
    const isUnsure = countAccepted(accepted, 'unconfirmed') > 0
    expect(isUnsure ? Math.max(confirmed, 6_000) : confirmed).toBe(6_000)
  }, 300_000)

  test('is never exceeded in any window while it moves, and is used up in each', async () => {
    const shifts = [0, 1_000, 1_500, 1_200, 3_000, 60, 5_000]
    let [now, accepted] = [0, [] as [number, number][]]
    for (const seconds of shifts) {
      await passSeconds(seconds)
      now += seconds
      const asked = Array.from({ length: 30 }, (_, index) => record({ store: index % 3 }))
      accepted.push([now, countAccepted(await Promise.all(asked))])
    }
    const usedBefore = (at: number): number =>
      accepted.filter(([then]) => then < at && at - then <= HOUR_S).reduce((sum, [, count]) => sum + count, 0)
    // the room that is left is given to whoever asks
    for (const [at, count] of accepted) expect([at, count]).toEqual([at, Math.min(30, 50 - usedBefore(at))])
  })

  test('has room again after an hour and at most a second', async () => {
    const all = await Promise.all(Array.from({ length: 60 }, (_, index) => record({ store: index % 3 })))
    expect(countAccepted(all)).toBe(50)
    await passSeconds(HOUR_S - MARGIN_S)
    expect(await record({ store: 1 })).toBe(false)
    await passSeconds(MARGIN_S + 1)
    const next = await Promise.all(Array.from({ length: 60 }, (_, index) => record({ store: index % 3 })))
    expect(countAccepted(next)).toBe(50)
  })

  test('is not used up by an instance that disappears', async () => {
    const gone = await open(0)
    const [count, waiting] = [10, 500]
    const write = () => gone.recordEvent(eventWrite({ email: 'gone@example.com', limits: [limit], at: AT }))
    for (let index = 0; index < count; index += 1) await write()
    const undone = Array.from({ length: waiting }, write)
    // what is under way either is stored and counted, or neither
    await run(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state <> 'idle'`,
    )
    await Promise.all(undone)
    await gone.close()
    const [stored] = await run(
      'SELECT coalesce(sum(count), 0)::bigint AS sum FROM limit_usage WHERE bucket = $1',
      limit.bucket,
    )
    const rest = await Promise.all(Array.from({ length: 60 }, (_, index) => record({ store: index % 3 })))
    expect(countAccepted(rest)).toBe(50 - Number(stored?.sum))
  })

  test('counts several limits of a write together: all or none', async () => {
    const visitor = { bucket: `visitor:${limit.bucket}`, max: 5, windowMs: 600_000 }
    const add = async (store: number, limits: CountedLimit[]) =>
      await (stores[store] as Store).addContact(contactWrite({ email: 'visitor@example.com', limits }))
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, index) => add(index % 3, [limit, visitor])))
    expect(outcomes.filter((one) => 'refusal' in one)).toEqual(
      Array.from({ length: 7 }, () => ({ refusal: 'rate_limited', bucket: visitor.bucket })),
    )
    const used = async () =>
      (
        await run('SELECT bucket, total FROM limit_windows WHERE bucket LIKE $1 ORDER BY bucket', `%${limit.bucket}`)
      ).map(({ total }) => total)
    expect(await used()).toEqual([5, 5])
    await passSeconds(602)
    expect(await add(2, [limit, visitor])).not.toHaveProperty('refusal')
    expect(await used()).toEqual([6, 1])
  })

  test('a larger or smaller one applies at once', async () => {
    for (let index = 0; index < 5; index += 1) await record({ store: index % 3 })
    expect(await record({ store: 0, limits: [{ ...limit, max: 5 }] })).toBe(false)
    expect(await record({ store: 1, limits: [{ ...limit, max: 3 }] })).toBe(false)
    expect(await record({ store: 2, limits: [{ ...limit, max: null }] })).toBe(true)
    expect(await record({ store: 0, limits: [{ ...limit, max: 6 }] })).toBe(false)
    expect(await record({ store: 1, limits: [{ ...limit, max: 7 }] })).toBe(true)
  })

  test('says how much is used, and when there is room', async () => {
    const uses: LimitUse[] = []
    stores[2]?.onLimitUse?.((some) => uses.push(...some))
    await record({ store: 0 })
    await passSeconds(600)
    await record({ store: 1 })
    await record({ store: 1 })
    await record({ store: 2, limits: [{ ...limit, max: 4 }] })
    await record({ store: 2, limits: [{ ...limit, max: 2 }] })
    const minutesOf = (ms: number): number => Math.ceil((ms - 1_000) / 60_000)
    expect(uses.map(({ used, nextMs, roomMs }) => [used, minutesOf(nextMs), minutesOf(roomMs)])).toEqual([
      [4, 50, 50],
      // two are too many
      [4, 50, 60],
    ])
  })
})

test('what waited for another instance counts from the moment when it was stored', async () => {
  await record({ store: 0 })
  const secondNow = async (): Promise<number> =>
    Number((await run(`SELECT ${DATABASE_NOW} / 1000 AS second`))[0]?.second)
  let [until, waited]: [number, Promise<unknown>] = [0, Promise.resolve()]
  await database.transaction(async () => {
    await run('SELECT bucket FROM limit_windows WHERE bucket = $1 FOR UPDATE', limit.bucket)
    const isWaiting = async (): Promise<boolean> => (await run('SELECT pid FROM pg_locks WHERE NOT granted')).length > 0
    waited = record({ store: 1 })
    while (!(await isWaiting())) await new Promise(setImmediate)
    const begunAt = await secondNow()
    while ((until = await secondNow()) < begunAt + 2) await new Promise(setImmediate)
  })
  expect(await waited).toBe(true)
  const [newest] = await run('SELECT max(second) AS second FROM limit_usage WHERE bucket = $1', limit.bucket)
  expect(Number(newest?.second)).toBeGreaterThanOrEqual(until)
})

test('the items of a visit report fit as a whole, and a repeated report is not counted', async () => {
  const page = { type: 'page' as const, name: null, path: '/', occurredAt: AT }
  const report = (store: number, reportId: string, items: number) =>
    (stores[store] as Store).recordVisitReport(
      visitReportWrite({
        email: 'items@example.com',
        createContact: true,
        limits: [{ ...limit, max: 20 }],
        reportId,
        items: Array.from({ length: items }, () => page),
      }),
    )
  expect(await report(0, 'a.1', 12)).toMatchObject({ repeated: false })
  expect(await report(1, 'a.1', 12)).toMatchObject({ repeated: true })
  expect(await report(1, 'a.2', 9)).toEqual({ refusal: 'rate_limited', bucket: limit.bucket })
  expect(await report(2, 'a.2', 8)).toMatchObject({ repeated: false })
  expect(await report(0, 'a.1', 12)).toMatchObject({ repeated: true })
})

test('new people of a month stay within the plan', async () => {
  const add = async (index: number) =>
    await (stores[index % 3] as Store).addContact(
      contactWrite({ email: `new${index}@example.com`, newPeoplePerMonth: 40, at: AT + 40 * DAY }),
    )
  const outcomes = await Promise.all(Array.from({ length: 120 }, (_, index) => add(index)))
  expect(outcomes.filter((one) => !('refusal' in one))).toHaveLength(40)
  expect(await stores[0]?.countNewPeople('acc_1', '2026-06')).toBe(40)
})

/** By the one whose turn it is. */
const cleanUp = async (at: number): Promise<void> => {
  for (const store of stores) await store.cleanUp({ at })
}

test('used-up seconds are deleted by the clock of the database, and the limit stays exact', async () => {
  const lifted = { ...limit, bucket: `lifted:${limit.bucket}`, max: null }
  const rows = async () =>
    (await run('SELECT count(*) AS count FROM limit_usage WHERE bucket LIKE $1', `%${limit.bucket}`))[0]?.count
  for (const store of [0, 1, 2]) await record({ store, limits: [limit, lifted] })
  // by the clock of an instance that is a day off, all of it would be old
  await cleanUp(Date.now() + 2 * DAY)
  expect(Number(await rows())).toBeGreaterThan(1)
  await passSeconds(HOUR_S - 60)
  for (const store of [0, 1]) await record({ store, limits: [limit, lifted] })
  await passSeconds(120)
  await cleanUp(Date.now())
  const [kept] = await run('SELECT sum(count)::bigint AS sum FROM limit_usage WHERE bucket LIKE $1', `%${limit.bucket}`)
  expect(kept?.sum).toBe(4)
  const all = await Promise.all(Array.from({ length: 60 }, (_, index) => record({ store: index % 3 })))
  expect(countAccepted(all)).toBe(48)
  expect(await record({ store: 0, limits: [{ ...lifted, max: 3 }] })).toBe(true)
  expect(await record({ store: 0, limits: [{ ...lifted, max: 3 }] })).toBe(false)
  await passSeconds(2 * HOUR_S)
  await cleanUp(Date.now() - DAY)
  expect(await run('SELECT bucket FROM limit_windows WHERE bucket LIKE $1', `%${limit.bucket}`)).toHaveLength(0)
  expect(Number(await rows())).toBe(0)
})

test('a clean-up in the group of a write takes what expired away once', async () => {
  // one of them cleans up, by its turn
  for (const [index, store] of stores.entries()) {
    const own = { ...limit, bucket: `${limit.bucket}:${index}` }
    const ask = (count: number) =>
      Promise.all(Array.from({ length: count }, () => record({ store: index, limits: [own] })))
    expect(countAccepted(await ask(50))).toBe(50)
    await passSeconds(HOUR_S + 100)
    await Promise.all([ask(1), store.cleanUp({ at: Date.now() })])
    expect(countAccepted(await ask(60))).toBe(49)
  }
})

describe('limits of an instance', () => {
  const asked = { max: 3, windowMs: 60_000 }
  const clock = (skew: number) => ({
    now: () => Date.now() + skew,
    steadyNow: () => Date.now() + skew,
    monotonicMs: () => performance.now(),
  })
  const limitsOf = (index: number) =>
    createSharedLimits({ store: stores[index] as Store, clock: clock(SKEWS[index] ?? 0) })

  test('calls that write nothing are counted by all together', async () => {
    const instances = [0, 1, 2].map(limitsOf)
    const bucket = `mcp:${limit.bucket}`
    const taken = await Promise.all(
      Array.from({ length: 9 }, (_, index) => instances[index % 3]?.takeAlone(bucket, asked)),
    )
    expect(taken.map((one) => one?.allowed).toSorted()).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1])
    expect(taken.find((one) => one?.allowed === 0)?.retryAfterSeconds).toBeGreaterThan(55)
    // what is known to be full is refused without the database
    for (const instance of instances) expect(instance.take(bucket, asked)).toMatchObject({ allowed: 0, remaining: 0 })
  })

  test('events of a key are refused with the time to wait, and the rest that is left', async () => {
    const recorders = [0, 1, 2].map((index) => {
      const store = stores[index] as Store
      const limits = limitsOf(index)
      return createEventRecorder({
        store,
        limits,
        clock: clock(SKEWS[index] ?? 0),
        notes: { add: () => {} } as never,
        access: { findWithNewApps: async () => null },
      })
    })
    const access = await accessOf(limit.bucket, 4)
    const text = JSON.stringify({ app: 'app_1', email: 'key@example.com', event: 'e', createContact: true })
    const results = []
    for (const index of [0, 1, 2, 0, 1, 2, 0]) results.push(await recorders[index]?.({ access, text, via: 'api' }))
    expect(results.map((one) => one?.counted.taken.remaining)).toEqual([3, 2, 1, 0, 0, 0, 0])
    expect(results.map((one) => (one && 'refused' in one ? one.refused.limited?.limitName : null))).toEqual([
      null,
      null,
      null,
      null,
      'events_per_hour',
      'events_per_hour',
      'events_per_hour',
    ])
    expect(results.at(-1)).toMatchObject({ isInvalid: false, refused: { limited: { limit: 4, scope: 'key' } } })
  })
})

const KEY: Omit<KeyRow, 'id'> = {
  accountId: 'acc_1',
  name: 'Main',
  scope: 'standard',
  createdAt: AT,
  lastUsedAt: null,
  revokedAt: null,
  seenInBrowserAt: null,
  ending: 'end1',
}

/** A key of the account, as the endpoints know it. */
async function accessOf(id: string, eventsPerHour: number): Promise<Access> {
  const store = stores[0] as Store
  const [app] = await store.listApps('acc_1')
  if (!app) throw new Error('the account has no app')
  const key = { ...KEY, id }
  const account = await store.findAccount('acc_1')
  if (!account) throw new Error('there is no account')
  const plan = { ...account.plan, eventsPerHour }
  const keyLimits = limitsOf({ key, plan })
  const sender = { apps: [app], newPeoplePerMonth: null, limits: [countedLimit(keyLimits.events)] }
  return { key, plan, apps: [app], keyLimits, sender }
}

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mapInOrder } from '../../../src/core/in-order.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres } from '../../../src/store/postgres/connection.ts'
import { createLanes, watchProgress } from '../../../src/store/postgres/lanes.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import type { Outcome } from '../../../src/store/writes.ts'
import { AT, eventWrite, HOUR, newAccount } from '../samples.ts'

type Group = { name: string; people: string[] | null }

/** Two lanes whose groups run until they are ended. */
function openLanes() {
  const running = new Map<string, { end: () => void; fail: (error: Error) => void }>()
  const lane = async ({ name }: Group): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    running.set(name, { end: resolve, fail: reject })
    await promise.finally(() => running.delete(name))
    return name
  }
  const run = createLanes([lane, lane], ({ people }: Group) => people && new Set(people))
  const listRunning = async (): Promise<string[]> => {
    await new Promise(setImmediate)
    return [...running.keys()]
  }
  return { run, listRunning, end: (name: string) => running.get(name)?.end(), running }
}

test('two groups of different people run at the same time, and the next one after them', async () => {
  const { run, listRunning, end } = openLanes()
  const all = ['a', 'b', 'c'].map((name) => run({ name, people: [name] }))
  expect(await listRunning()).toEqual(['a', 'b'])
  end('b')
  expect(await listRunning()).toEqual(['a', 'c'])
  end('a')
  end('c')
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c'])
})

test('a group waits for one with the same person, and those behind it keep their order', async () => {
  const { run, listRunning, end } = openLanes()
  void run({ name: 'a', people: ['ann', 'bob'] })
  void run({ name: 'b', people: ['bob', 'cem'] })
  void run({ name: 'c', people: ['dee'] })
  expect(await listRunning()).toEqual(['a'])
  end('a')
  expect(await listRunning()).toEqual(['b', 'c'])
})

test('a failure of long ago says nothing about a group that has just begun', async () => {
  let now = 0
  let answer = Promise.withResolvers<Outcome[]>()
  const { commit, isStuck } = watchProgress(
    () => answer.promise,
    () => now,
  )
  const fail = (): void => answer.resolve([{ refusal: 'unavailable' }])
  const first = commit([])
  now = 3_500
  expect(isStuck()).toBe(true)
  fail()
  await first
  // at once again: it is the same trouble
  answer = Promise.withResolvers()
  const second = commit([])
  expect(isStuck()).toBe(true)
  fail()
  await second
  now += HOUR
  answer = Promise.withResolvers()
  const third = commit([])
  expect(isStuck()).toBe(false)
  now += 3_500
  expect(isStuck()).toBe(true)
  fail()
  await third
})

test('a group whose people are not known runs alone', async () => {
  const { run, listRunning, end } = openLanes()
  void run({ name: 'a', people: ['ann'] })
  void run({ name: 'b', people: null })
  void run({ name: 'c', people: ['cem'] })
  expect(await listRunning()).toEqual(['a'])
  end('a')
  expect(await listRunning()).toEqual(['b'])
  end('b')
  expect(await listRunning()).toEqual(['c'])
})

test('a group that fails ends too', async () => {
  const { run, listRunning, running } = openLanes()
  const failing = run({ name: 'a', people: ['ann'] })
  void run({ name: 'b', people: ['ann'] })
  await listRunning()
  running.get('a')?.fail(new Error('failed'))
  expect(failing).rejects.toThrow('failed')
  expect(await listRunning()).toEqual(['b'])
})

describe('events in several groups', () => {
  const HALF = 1_000
  const EVENTS = 2 * HALF
  const listNumbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'off' })
  }, 120_000)
  afterAll(() => server?.stop())

  /** All at once, by people in turn, in a database of their own. */
  async function record(people: number) {
    const admin = connectPostgres({ url: server.url('postgres'), connections: 1, prepares: true })
    await admin.runScript(`CREATE DATABASE people_${people}`)
    const location = { url: server.url(`people_${people}`), connections: 3, prepares: true }
    const store = await openPostgresStore(location, { now: () => AT, rules: STORE_RULES })
    await store.createAccount(newAccount())
    const write = (index: number) =>
      store.recordEvent(eventWrite({ email: `person${index % people}@example.com`, properties: String(index) }))
    // the people are known before the second half
    const outcomes = (await mapInOrder([0, HALF], (from) => Promise.all(listNumbers(from, HALF).map(write)))).flat()
    // PostgreSQL's counts are complete when its connections are closed
    await store.close()
    const postgres = connectPostgres(location)
    const rows = await postgres.run('SELECT properties FROM events ORDER BY contact_id, id', [])
    const [failed] = await postgres.run(
      'SELECT xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()',
      [],
    )
    await Promise.all([postgres.close(), admin.close()])
    return { outcomes, stored: rows.map(({ properties }) => Number(properties)), failed: failed?.count }
  }

  test('of different people are written at the same time, each with an id of its own', async () => {
    const { outcomes, stored, failed } = await record(HALF)
    expect(outcomes.filter((outcome) => 'refusal' in outcome)).toEqual([])
    expect(new Set(stored).size).toBe(EVENTS)
    expect(failed).toBe(0)
  })

  test('of the same people stay in order for each of them', async () => {
    const people = 40
    const { stored, failed } = await record(people)
    const ofPeople = [...Map.groupBy(stored, (index) => index % people).values()]
    expect(ofPeople.flat()).toEqual(stored)
    for (const events of ofPeople) expect(events).toEqual(events.toSorted((a, b) => a - b))
    expect(ofPeople.flat()).toHaveLength(EVENTS)
    expect(failed).toBe(0)
  })
})

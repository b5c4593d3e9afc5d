/** Schedules of dates and inactivity, while other instances write the people that they are about. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { idAt } from '../../../src/core/ids.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import type { MessageContent, Trigger } from '../../../src/store/message-types.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { AT, contactWrite, DAY, done, newAccount } from '../samples.ts'

const SECOND = 1_000
const AHEAD_MS = 1_500
const DATE: Trigger = { date: 'ends', days: 0, when: 'after' }
const INACTIVE: Trigger = { inactiveDays: 7 }
/** Noon is after it, so that it is due in the middle of a test. */
const ENDS = new Date(AT + 40 * SECOND).toISOString()
let server: PostgresServer
let database: Bun.SQL
let stores: Store[] = []
/** Each test has an app of its own. */
let app = 0

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  const place = { url: server.url('postgres'), connections: 3, prepares: true }
  for (const aheadMs of [0, AHEAD_MS])
    stores.push(await openPostgresStore(place, { now: () => AT + aheadMs, rules: STORE_RULES }))
  database = new Bun.SQL(place.url, { max: 1 })
}, 120_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await database?.close()
  await server?.stop()
})
beforeEach(async () => void done(await first().createAccount(newAccount((app += 1)))))

const first = (): Store => stores[0] as Store
const person = (email: string) => contactWrite({ accountId: `acc_${app}`, appId: app, email })

async function goLive(trigger: Trigger): Promise<void> {
  const content: MessageContent = { trigger, mail: { subject: 'S', body: 'B' } }
  const drafts = [{ id: null, name: 'M', status: 'live' as const, content }]
  done(await first().saveMessages({ accountId: `acc_${app}`, appId: app, actor: 'mem_1', at: AT, drafts }))
}
async function run(afterMs: number): Promise<void> {
  await first().holdDuty()
  done(await first().runSchedules({ at: AT + afterMs }))
}
const findSchedule = async (): Promise<number> =>
  Number((await database`SELECT id FROM message_schedules WHERE app_id = ${app} AND is_over = 0`)[0].id)
/** How long after `AT` each person is due. */
const listDue = async (): Promise<[string, number][]> => {
  const rows = await database`SELECT email, due_at FROM scheduled_people JOIN message_schedules ON id = schedule_id
    JOIN contacts ON contacts.id = contact_id WHERE message_schedules.app_id = ${app} ORDER BY email`
  return rows.map((row: { email: string; due_at: string }) => [row.email, Number(row.due_at) - AT])
}
const addRow = (using: Bun.SQL, email: string, fields: string | null, id = idAt(AT) + app) =>
  using`INSERT INTO contacts (id, app_id, email, status, fields, created_at, updated_at)
    VALUES (${id}, ${app}, ${email}, 'subscribed', ${fields}, ${AT}, ${AT})`
const isWaiting = async () => (await database`SELECT 1 FROM pg_locks WHERE NOT granted`).length > 0

/** What `work` writes is committed after `during`. */
async function whileOpen(work: (using: Bun.SQL) => Promise<unknown>, during: () => Promise<unknown>): Promise<void> {
  const connection = new Bun.SQL(server.url('postgres'), { max: 1 })
  await connection.begin(async (transaction) => {
    await work(transaction)
    await during()
  })
  await connection.close()
}

test('people are scheduled whose ids are below those of others that were stored before', async () => {
  await goLive(INACTIVE)
  done(await (stores[1] as Store).addContact(person('early@example.com')))
  await run(2 * AHEAD_MS)
  done(await first().addContact(person('late@example.com')))
  for (const afterMs of [20 * SECOND, 70 * SECOND]) await run(afterMs)
  expect((await listDue()).map(([email]) => email)).toEqual(['early@example.com', 'late@example.com'])
})

test('people are scheduled whom a write adds that does not know the message yet', async () => {
  await whileOpen(
    (using) => addRow(using, 'a@example.com', JSON.stringify({ ends: ENDS })),
    () => goLive(DATE),
  )
  await run(31 * SECOND)
  expect(await listDue()).toEqual([['a@example.com', 40 * SECOND]])
})

test('people are scheduled whose date a write adds that does not know the message yet', async () => {
  await addRow(database, 'a@example.com', null)
  const fields = JSON.stringify({ ends: ENDS })
  await whileOpen(
    (using) => using`UPDATE contacts SET fields = ${fields} WHERE app_id = ${app}`,
    async () => {
      await goLive(DATE)
      await run(SECOND)
    },
  )
  await run(31 * SECOND)
  expect(await listDue()).toEqual([['a@example.com', 40 * SECOND]])
})

/** It waits for what the open transaction has written. */
async function startRun(afterMs: number, running: Promise<void>[]): Promise<void> {
  running.push(run(afterMs))
  while (!(await isWaiting())) await Bun.sleep(1)
}

test('a date that a write has scheduled is not scheduled by an older one', async () => {
  await addRow(database, 'a@example.com', JSON.stringify({ ends: ENDS }))
  await goLive(DATE)
  const schedule = await findSchedule()
  const running: Promise<void>[] = []
  await whileOpen(
    (using) => using`INSERT INTO scheduled_people (app_id, schedule_id, contact_id, due_at)
      SELECT app_id, ${schedule}, id, ${AT + DAY} FROM contacts WHERE app_id = ${app}`,
    () => startRun(31 * SECOND, running),
  )
  await Promise.all(running)
  expect(await listDue()).toEqual([['a@example.com', DAY]])
})

test('a date that changes when the old one is due stays scheduled', async () => {
  await addRow(database, 'a@example.com', JSON.stringify({ ends: ENDS }))
  await goLive(DATE)
  await run(31 * SECOND)
  const schedule = await findSchedule()
  const running: Promise<void>[] = []
  await whileOpen(
    (using) => using`UPDATE scheduled_people SET due_at = ${AT + DAY} WHERE schedule_id = ${schedule}`,
    () => startRun(50 * SECOND, running),
  )
  await Promise.all(running)
  expect(await listDue()).toEqual([['a@example.com', DAY]])
})

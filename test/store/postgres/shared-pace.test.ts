/** Three instances together keep to the emails per second of an app. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { AT, BY, eventWrite, HOUR, newAccount } from '../samples.ts'

const PER_SECOND = 4
const EMAILS = 20
let server: PostgresServer
let database: ReturnType<typeof connectPostgres>
let stores: Store[] = []

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  const place = { url: server.url('postgres'), connections: 2, prepares: true }
  stores = []
  for (let index = 0; index < 3; index += 1) stores.push(await openPostgresStore(place, { rules: STORE_RULES }))
  database = connectPostgres({ ...place, prepares: false })
  const [first] = stores
  await first?.createAccount(newAccount())
  await first?.setMailSettings({ ...BY, appId: 1, settings: { perSecond: PER_SECOND } })
  const mail = { subject: 'Hi', body: 'Hi', category: 'lifecycle' as const }
  const draft = { id: null, name: 'Done', status: 'live' as const, content: { trigger: { event: 'done' }, mail } }
  await first?.saveMessages({ ...BY, appId: 1, drafts: [draft] })
  const events = Array.from({ length: EMAILS }, (_, index) =>
    eventWrite({ email: `p${index}@example.com`, name: 'done' }),
  )
  await Promise.all(events.map((event) => first?.recordEvent(event)))
}, 120_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await database?.close()
  await server?.stop()
})

const claim = async (index: number, most = EMAILS): Promise<number> => {
  const claiming = { claimedBy: `instance ${index}`, now: AT + HOUR, leaseMs: HOUR, most, skipApps: [] }
  const claimed = await (stores[index] as Store).claimDeliveries(claiming)
  if ('refusal' in claimed) throw new Error(claimed.refusal)
  return claimed.works.length
}
/** By all instances, until none gets more. */
const claimAll = async (): Promise<number[]> => {
  const counts: number[] = []
  for (let isOver = false; !isOver;) {
    const found = [...(await Promise.all([0, 1, 2].map((index) => claim(index)))), await claim(0)]
    counts.push(...found)
    isOver = found.every((count) => count === 0)
  }
  return counts.filter((count) => count > 0)
}
/** From a time that has not come, so that nothing is added while the test runs. */
const setPace = async (tokens: number, agoMs: number): Promise<void> => {
  await database.run(
    `INSERT INTO mail_paces (app_id, tokens, refilled_at)
     VALUES (1, $1, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) - $2)
     ON CONFLICT (app_id) DO UPDATE SET tokens = excluded.tokens, refilled_at = excluded.refilled_at`,
    [tokens, agoMs],
  )
}
const sum = (counts: number[]): number => counts.reduce((all, count) => all + count, 0)

test('they claim as many as one would', async () => {
  await setPace(PER_SECOND, -HOUR)
  expect(sum(await claimAll())).toBe(PER_SECOND)
  await setPace(2.5, -HOUR)
  expect(sum(await claimAll())).toBe(2)
  await setPace(-1, -HOUR)
  expect(await claimAll()).toEqual([])
})

test('an app that was quiet for long may send one second of emails at once', async () => {
  await setPace(0, HOUR)
  expect(await claim(1)).toBe(PER_SECOND)
})

test('an app whose row the database has lost is claimed again', async () => {
  await setPace(PER_SECOND, -HOUR)
  expect(await claim(2, 1)).toBe(1)
  await database.run('DELETE FROM mail_paces', [])
  expect(await claim(2, 1)).toBe(1)
})

test('a claim takes no more than it asks for, and the rest is left to others', async () => {
  await setPace(PER_SECOND, -HOUR)
  expect([await claim(0, 1), await claim(1, 2), await claim(2), await claim(0)]).toEqual([1, 2, 1, 0])
})

test('emails of other apps do not wait', async () => {
  await setPace(-1, -HOUR)
  const first = stores[0] as Store
  await first.createAccount(newAccount(2))
  const mail = { subject: 'Hi', body: 'Hi', category: 'lifecycle' as const }
  const draft = { id: null, name: 'Done', status: 'live' as const, content: { trigger: { event: 'done' }, mail } }
  await first.saveMessages({ ...BY, accountId: 'acc_2', appId: 2, drafts: [draft] })
  await first.recordEvent(eventWrite({ accountId: 'acc_2', appId: 2, email: 'other@example.com', name: 'done' }))
  expect(await claimAll()).toEqual([1])
})

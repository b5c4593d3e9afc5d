/** Rows that an instance takes for stored, and for how long. */
import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { done, eventWrite, HOUR, newAccount } from '../samples.ts'

let server: PostgresServer
let admin: Bun.SQL
let store: Store
let aheadMs = 0
const realNow = performance.now.bind(performance)
const clock = spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs)

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1 })
  const location = { url: server.url('postgres'), connections: 2, prepares: true }
  store = await openPostgresStore(location, { rules: STORE_RULES })
  done(await store.createAccount(newAccount()))
}, 120_000)
afterEach(() => void (aheadMs = 0))
afterAll(async () => {
  await store?.close()
  await admin?.close()
  await server?.stop()
  clock.mockRestore()
})

const record = async (email: string): Promise<number> =>
  done(await store.recordEvent(eventWrite({ email }))).contactId ?? 0
const countDone = async (contactId: number): Promise<number> =>
  (await admin.unsafe('SELECT 1 FROM contact_events WHERE contact_id = $1', [contactId])).length
/** As retention does when no event of the name is left. */
const remove = (contactId: number) => admin.unsafe('DELETE FROM contact_events WHERE contact_id = $1', [contactId])

test('who had an event is stored with the first one, and again after an hour', async () => {
  const id = await record('ada@example.com')
  expect(await countDone(id)).toBe(1)
  await remove(id)
  await record('ada@example.com')
  expect(await countDone(id)).toBe(0)
  aheadMs = HOUR + 1_000
  await record('ada@example.com')
  expect(await countDone(id)).toBe(1)
})

test('it is stored again after another instance has changed settings, as after a restored backup', async () => {
  const id = await record('bo@example.com')
  await remove(id)
  await admin.unsafe('UPDATE settings_version SET version = version + 1')
  await record('bo@example.com')
  expect(await countDone(id)).toBe(1)
})

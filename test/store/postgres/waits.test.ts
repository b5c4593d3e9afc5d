/** What must not wait for what: writes for slow reads, and what a process must know for commits that hang. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { done, eventWrite, newAccount } from '../samples.ts'

const CONNECTIONS = 3

let server: PostgresServer
let admin: Bun.SQL
let store: Store

beforeAll(async () => {
  server = await startPostgres({ synchronous_commit: 'on' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1 })
  const location = { url: server.url('postgres'), connections: CONNECTIONS, prepares: true }
  store = await openPostgresStore(location, { rules: STORE_RULES })
  done(await store.createAccount(newAccount()))
}, 120_000)
afterAll(async () => {
  await store?.close()
  await admin?.close()
  await server?.stop()
})

test('events do not wait for slow reads, however many there are', async () => {
  await admin.unsafe('BEGIN')
  await admin.unsafe('LOCK TABLE audit_entries IN ACCESS EXCLUSIVE MODE')
  let ended = 0
  const reads = Array.from({ length: CONNECTIONS * 3 }, () =>
    store
      .listAudit({ accountId: 'acc_1', kind: 'all', before: null, limit: 50 } as Parameters<Store['listAudit']>[0])
      .finally(() => (ended += 1)),
  )
  for (let count = 0; count < 20; count += 1) {
    done(await store.recordEvent(eventWrite({ email: `slow${count}@example.com` })))
  }
  expect(ended).toBe(0)
  await admin.unsafe('ROLLBACK')
  await Promise.all(reads)
})

test('what is cached stays current while commits wait for a synchronous replica that is away', async () => {
  await admin.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'away'")
  await admin.unsafe('SELECT pg_reload_conf()')
  const asked: Promise<boolean>[] = []
  let answered = 0
  const current: boolean[] = []
  for (let count = 0; count < 30; count += 1) {
    asked.push(store.canCommit().finally(() => (answered += 1)))
    await Bun.sleep(100)
    current.push(store.isCurrent())
  }
  expect(answered).toBe(0)
  expect(current).not.toContain(false)
  await admin.unsafe('ALTER SYSTEM RESET synchronous_standby_names')
  await admin.unsafe('SELECT pg_reload_conf()')
  expect(await Promise.all(asked)).not.toContain(false)
}, 120_000)

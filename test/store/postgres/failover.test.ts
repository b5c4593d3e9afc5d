/** What an instance must forget when another server takes over that lacks the last moments, such as an asynchronous replica. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres, startReplica } from '../../postgres/server.ts'
import { type Proxy, startProxy } from '../../cluster/proxy.ts'
import { done, eventWrite, newAccount } from '../samples.ts'

const OPTIONS = { rules: STORE_RULES }
let primary: PostgresServer
/** It follows nobody, so it has what was there when it was copied. */
let replica: PostgresServer
let target: PostgresServer
let proxy: Proxy
let store: Store
let other: Store
let admin: Postgres

const locationOf = (port: number) => ({
  url: primary.url('postgres').replace(`:${primary.port}`, `:${port}`),
  connections: 4,
  prepares: true,
})

beforeAll(async () => {
  primary = await startPostgres({ fsync: 'off' })
  target = primary
  proxy = await startProxy(() => [{ host: '127.0.0.1', port: target.port }])
  store = await openPostgresStore(locationOf(proxy.port), OPTIONS)
  done(await store.createAccount(newAccount()))
  replica = await startReplica(primary, { primary_conninfo: '', fsync: 'off' })
}, 240_000)
afterEach(() => proxy.heal())
afterAll(async () => {
  await store?.close()
  await other?.close()
  await admin?.close()
  await proxy?.stop()
  await replica?.stop()
  await primary?.stop()
})

const namesOf = async (email: string): Promise<unknown[]> => {
  const rows = await admin.run(
    `SELECT event_names.name FROM events JOIN contacts ON contacts.id = contact_id
     JOIN event_names ON event_names.id = name_id WHERE contacts.email = $1 ORDER BY events.id`,
    [email],
  )
  return rows.map(({ name }) => name)
}

test('an event keeps its name when the id of its name was lost and went to another one', async () => {
  const write = eventWrite({ email: 'a@example.com', name: 'lost' })
  // both lanes have it in memory
  await Promise.all([store.recordEvent(write), store.recordEvent({ ...write, email: 'b@example.com' })])
  done(await store.recordEvent(write))
  proxy.cut()
  await replica.promote()
  admin = connectPostgres({ ...locationOf(replica.port), connections: 1 })
  other = await openPostgresStore(locationOf(replica.port), OPTIONS)
  done(await other.recordEvent(eventWrite({ email: 'c@example.com', name: 'other' })))
  target = replica
  proxy.heal()
  const emails = ['d@example.com', 'e@example.com', 'f@example.com']
  for (const email of emails) done(await store.recordEvent({ ...write, email }))
  expect(await Promise.all(emails.map(namesOf))).toEqual([['lost'], ['lost'], ['lost']])
}, 120_000)

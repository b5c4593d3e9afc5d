/** What every store must do, on PostgreSQL. Each group of tests has a database of its own, copied from one with the schema. */
import { afterAll, beforeAll } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { readEventText } from '../../../src/events/event-input.ts'
import { connectPostgres } from '../../../src/store/postgres/connection.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { describeStore } from '../conformance.ts'
import type { Opened } from '../samples.ts'

const TEMPLATE = 'migrated'
const OPTIONS = { readEvent: readEventText, rules: STORE_RULES }
let server: PostgresServer
let made = 0

/** Names by which tests ask for the claims of others: instances that have run for long. */
const INSTANCES = `UPDATE instances SET holder = CASE number WHEN 14 THEN 'new' ELSE 'newer' END WHERE number IN (14, 15)`

const runOnServer = async (text: string, name = 'postgres'): Promise<void> => {
  const postgres = connectPostgres({ url: server.url(name), connections: 1, prepares: false })
  await postgres.runScript(text)
  await postgres.close()
}

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off', max_connections: '200' })
  await runOnServer(`CREATE DATABASE ${TEMPLATE}`)
  const store = await openPostgresStore({ url: server.url(TEMPLATE), connections: 4, prepares: true }, OPTIONS)
  await store.close()
  await runOnServer(INSTANCES, TEMPLATE)
}, 120_000)
afterAll(() => server?.stop())

/** Both take long. */
const MODES = process.env.POSTGRES === 'all' ? [true, false] : [true]
for (const prepares of MODES) {
  describeStore(`PostgreSQL ${prepares ? 'with' : 'without'} prepared statements`, async (): Promise<Opened> => {
    const name = `test_${(made += 1)}`
    await runOnServer(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
    const open = () => openPostgresStore({ url: server.url(name), connections: 4, prepares }, OPTIONS)
    let store = await open()
    const reopen = async () => {
      await store.close()
      store = await open()
      return store
    }
    return { store, reopen, drop: () => runOnServer(`DROP DATABASE ${name} WITH (FORCE)`) }
  })
}

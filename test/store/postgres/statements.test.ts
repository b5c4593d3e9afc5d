/** Every statement of the store must be one that PostgreSQL understands, also those that no other test reaches. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createIdSequence } from '../../../src/core/ids.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { createDeliveryReads } from '../../../src/store/deliveries.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import { POSTGRES, type Sql } from '../../../src/store/engine/sql.ts'
import { createMailSources } from '../../../src/store/mail-sources.ts'
import { connectPostgres, numberValues, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import { createPostgresParts } from '../../../src/store/postgres/parts.ts'
import { createReads } from '../../../src/store/store.ts'
import { createWrites } from '../../../src/store/writes.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

let server: PostgresServer
let postgres: Postgres
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  postgres = connectPostgres({ url: server.url('postgres'), connections: 2, prepares: true })
  await migrate(postgres)
}, 120_000)
afterAll(async () => {
  await postgres?.close()
  await server?.stop()
})

/** The store module that a statement comes from. */
const moduleOf = ({ stack = '' }: Error): string => /src\/store\/([\w/-]+\.ts)/.exec(stack)?.[1] ?? ''

/** Prepares nothing, and notes what it is asked to prepare. */
function createNotingSql(orm: Sql['orm']): { sql: Sql; texts: Map<string, string> } {
  const texts = new Map<string, string>()
  const sql: Sql = {
    dialect: POSTGRES,
    orm,
    readTogether: (read) => read(),
    prepare: (text) => {
      texts.set(text, moduleOf(new Error()))
      return { get: () => null, all: () => [], run: () => ({ changes: 0 }) }
    },
  }
  return { sql, texts }
}

/** Planned too: the keys of ON CONFLICT are looked for then. */
function explain(name: string, text: string): string {
  const count = Math.max(0, ...Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))
  const values = count === 0 ? '' : `(${Array(count).fill('NULL').join(', ')})`
  return `SET LOCAL plan_cache_mode = force_generic_plan; PREPARE ${name} AS ${text}; EXPLAIN EXECUTE ${name} ${values}`
}

test('PostgreSQL understands each prepared statement', async () => {
  const { sql, texts } = createNotingSql(postgres.sql.orm)
  const [sealer, rules] = [createSealer(null), STORE_RULES]
  createReads(sql, { sealer, rules }, createDeliveryReads(sql, createMailSources(sql, sealer)))
  const ids = createIdSequence(() => 0)
  const parts = createPostgresParts(postgres, { ids, rules, lookAt: async () => [], onDeliveries: () => {} })
  createWrites({ db: sql, engine: parts.engine, sealer, rules })
  expect(texts.size).toBeGreaterThan(200)
  const faults: string[] = []
  for (const [index, [text, module]] of [...texts].entries()) {
    try {
      await postgres.runScript(explain(`s${index}`, numberValues(text)))
    } catch (error) {
      faults.push(`${module}: ${error instanceof Error ? error.message : ''}: ${text.replaceAll(/\s+/g, ' ')}`)
    }
  }
  if (process.env.FAULTS) await Bun.write(process.env.FAULTS, JSON.stringify(faults))
  expect(faults).toEqual([])
}, 120_000)

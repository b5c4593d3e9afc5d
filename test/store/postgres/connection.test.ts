/** What connections refuse, and what a failed transaction leaves behind. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createIdSequence } from '../../../src/core/ids.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { UNSURE } from '../../../src/store/delivery-states.ts'
import type { Sql } from '../../../src/store/engine/sql.ts'
import type { NewOutcome } from '../../../src/store/idempotency.ts'
import { createLiveMessages } from '../../../src/store/live-messages.ts'
import { connectPostgres, DEADLINES, type Postgres } from '../../../src/store/postgres/connection.ts'
import { mostTries, UnknownCommit } from '../../../src/store/postgres/faults.ts'
import { isEmpty, migrate } from '../../../src/store/postgres/migrations.ts'
import { createPostgresParts } from '../../../src/store/postgres/parts.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { AT, idempotency } from '../samples.ts'

let server: PostgresServer
let postgres: Postgres
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  // one connection, so that the next transaction uses that of the one before
  postgres = connectPostgres({ url: server.url('postgres'), connections: 1, prepares: true })
  await migrate(postgres)
  await postgres.run('CREATE TABLE written (what text)', [])
}, 240_000)
afterAll(async () => {
  await postgres?.close()
  await server?.stop()
})

const write = (what: string) => postgres.run('INSERT INTO written VALUES ($1)', [what])
const listWritten = async (): Promise<unknown[]> =>
  (await postgres.run('SELECT what FROM written ORDER BY what', [])).map(({ what }) => what)
const messageOf = (error: unknown): string => (error as Error).message

test.each(['in time', 'after the next transaction began'])(
  'a branch that goes on after another one failed writes nothing: %s',
  async (when) => {
    const goOn = Promise.withResolvers<void>()
    let late: Promise<unknown> = Promise.resolve()
    const failed = postgres.transaction(async () => {
      const branch = async (): Promise<unknown> => {
        await write('first')
        if (when !== 'in time') await goOn.promise
        return await write('late')
      }
      late = branch().catch(messageOf)
      const fail = async (): Promise<void> => {
        throw new Error('refused')
      }
      await Promise.all([late, fail()])
    })
    expect(failed).rejects.toThrow('refused')
    await failed.catch(() => {})
    await postgres.transaction(async () => {
      goOn.resolve()
      expect(await late).toContain('is over')
    })
    expect(await listWritten()).toEqual([])
  },
)

test('statements that follow a commit are refused', async () => {
  let [late, sent]: unknown[] = []
  const goOn = Promise.withResolvers<void>()
  await postgres.transaction(async () => {
    late = goOn.promise.then(() => write('late')).catch(messageOf)
    sent = goOn.promise.then(() => postgres.send("INSERT INTO written VALUES ('sent')", [])).catch(messageOf)
  })
  goOn.resolve()
  expect([await late, await sent]).toEqual([expect.stringContaining('is over'), expect.stringContaining('is over')])
  expect(await listWritten()).toEqual([])
})

const outcome = (key: string): NewOutcome => ({
  ...idempotency({ key }),
  appId: 1,
  accountId: 'acc_1',
  outcome: '{}',
  contactId: 1,
})

test('rows that wait in a failed transaction are not those of the next one', async () => {
  const ids = createIdSequence(() => AT)
  const parts = createPostgresParts(postgres, {
    ids,
    rules: STORE_RULES,
    lookAt: async () => [],
    onDeliveries: () => {},
  })
  const { rows, people } = parts.engine
  const transaction = (work: () => Promise<void>): Promise<void> =>
    postgres.transaction(async () => {
      await parts.open([], Promise.resolve())
      await work()
      await parts.finish()
    }, parts.flush)
  const next = Promise.withResolvers<void>()
  let late: Promise<unknown> = Promise.resolve()
  const goOn = async (): Promise<unknown> => {
    await next.promise
    await rows.addOutcomes([outcome('lost')])
    people.remember(1, 'lost@example.com', { id: 7, lacksName: false })
    return await postgres.run('SELECT 1', [])
  }
  const failed = transaction(async () => {
    late = goOn().catch(messageOf)
    throw new Error('refused')
  })
  await failed.catch(() => {})
  await transaction(async () => {
    await rows.addOutcomes([outcome('stored')])
    next.resolve()
    expect(await late).toContain('is over')
    expect(people.find(1, 'lost@example.com')).toBeNull()
  })
  const stored = await postgres.run('SELECT idempotency_key AS key FROM idempotency_records', [])
  expect(stored.map(({ key }) => key)).toEqual(['stored'])
})

test.each([true, false])(
  'a read outside of a transaction has limits on the server too, prepared: %p',
  async (prepares) => {
    const one = connectPostgres({ url: server.url('postgres'), connections: 1, prepares })
    const limitOf = async (name: string): Promise<unknown> => (await one.run(`SHOW ${name}`, []))[0]?.[name]
    const seconds = (ms: number): string => `${ms / 1_000}s`
    expect(await limitOf('statement_timeout')).toBe(seconds(DEADLINES.statementMs))
    expect(await limitOf('lock_timeout')).toBe(seconds(DEADLINES.lockMs))
    expect(await limitOf('idle_in_transaction_session_timeout')).toBe(seconds(DEADLINES.idleMs))
    await one.close()
  },
)

test.each([true, false])(
  'a transaction that stands still is ended, and certainly not stored, prepared: %p',
  async (prepares) => {
    const place = { url: server.url('postgres'), connections: 1, prepares }
    const impatient = connectPostgres(place, { ...DEADLINES, idleMs: 50 })
    const isEnded = async (): Promise<boolean> =>
      (await postgres.run("SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'", [])).length === 0
    const ended = await impatient
      .transaction(async () => {
        await impatient.run("INSERT INTO written VALUES ('stood still')", [])
        while (!(await isEnded())) await Bun.sleep(5)
      })
      .catch((error: unknown) => error)
    expect(ended).not.toBeInstanceOf(UnknownCommit)
    expect(mostTries(ended)).toBeGreaterThan(1)
    expect(await listWritten()).toEqual([])
    expect((await impatient.run('SELECT 1 AS one', []))[0]).toEqual({ one: 1 })
    await impatient.close()
  },
)

test('a database that sorts in another order is refused before anything is stored', async () => {
  await postgres.runScript(`CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'`)
  const place = { url: server.url('sorted'), connections: 1, prepares: true }
  expect(openPostgresStore(place, { rules: STORE_RULES })).rejects.toThrow('by the rules of')
  const sorted = connectPostgres(place)
  expect(await isEmpty(sorted)).toBe(true)
  await sorted.close()
})

describe('the index of names', () => {
  const migrateWhere = async (database: string, code: string): Promise<unknown> => {
    await postgres.runScript(`CREATE DATABASE ${database}`)
    const one = connectPostgres({ url: server.url(database), connections: 1, prepares: true })
    await one.runScript(`CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no extension' USING ERRCODE = '${code}'; END $$;
      CREATE EVENT TRIGGER fails ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION fail()`)
    try {
      return await migrate(one).catch(messageOf)
    } finally {
      await one.close()
    }
  }

  test.each(['undefined_file', 'feature_not_supported', 'insufficient_privilege'])(
    'is left out if the extension can not be made: %s',
    async (code) => {
      expect(await migrateWhere(code, code)).toBeUndefined()
    },
  )

  test('is not left out for a while for what passes', async () => {
    expect(await migrateWhere('disk_full', 'disk_full')).toBe('no extension')
  })
})

test('rules are loaded without the emails that wait to know whether someone left', async () => {
  const asked: string[] = []
  const prepare = ((text: string) => {
    const ask = async <T>(answer: T): Promise<T> => (asked.push(text), answer)
    return { get: () => ask(null), all: () => ask([]), run: () => ask({ changes: 0 }) }
  }) as Sql['prepare']
  const live = createLiveMessages({ ...postgres.sql, prepare }, async () => null)
  await live.of(1)
  expect(asked.length).toBeGreaterThan(2)
  expect(asked.filter((text) => text.includes(UNSURE))).toEqual([])
})

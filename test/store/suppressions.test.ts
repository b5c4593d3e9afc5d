/** Who is not written to is found by address, and kept without it. */
import type { Database } from 'bun:sqlite'
import { beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createComparing } from '../../src/store/compared-people.ts'
import { createDeliveryEnds } from '../../src/store/delivery-ends.ts'
import { createLiveMessages } from '../../src/store/live-messages.ts'
import { createMailSources } from '../../src/store/mail-sources.ts'
import { createSealer } from '../../src/store/engine/sealing.ts'
import { createSentCache } from '../../src/store/caches/sent-cache.ts'
import type { Sql, SqlValue, Statement } from '../../src/store/engine/sql.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { createSuppressionList, createSuppressionWrites } from '../../src/store/suppressions.ts'
import { useFolder } from './databases.ts'

const databases = useFolder()
let db: Database
beforeEach(() => void (db = databases.open()))

const KEY = `SELECT value FROM install WHERE name = 'suppression_key'`
const keyOf = (one: Database): string => String(one.query(KEY).values()[0]?.[0])

test('is found by a keyed hash, also without the address', async () => {
  const emailHash = new Bun.CryptoHasher('sha256', keyOf(db)).update('1:ada@example.com').digest('base64url')
  db.run(`INSERT INTO suppressions (app_id, email_hash, reason, created_at) VALUES (1, ?, 'unsubscribed', 0)`, [
    emailHash,
  ])
  const list = createSuppressionList(createSqliteSql(db))
  expect(await list.hash(1, 'ada@example.com')).toBe(emailHash)
  expect([await list.find(1, 'ada@example.com'), await list.find(2, 'ada@example.com')]).toEqual(['unsubscribed', null])
})

test('each database has a key of its own from the start', () => {
  const other = openDatabase(join(databases.path(), 'other'))
  const keys = [keyOf(db), keyOf(other)]
  other.close()
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)])
  expect(new Set(keys).size).toBe(2)
})

test('without the key, no address is taken for a free one', async () => {
  db.run(`DELETE FROM install WHERE name = 'suppression_key'`)
  const list = createSuppressionList(createSqliteSql(db))
  expect(list.find(1, 'ada@example.com')).rejects.toThrow('has no key')
})

/** `note`: is called when a statement runs. */
const watch = (sql: Sql, note: () => void): Sql => ({
  ...sql,
  prepare<Row, Values extends readonly SqlValue[]>(text: string): Statement<Row, Values> {
    const statement = sql.prepare<Row, Values>(text)
    const noted = <Answer>(answer: Answer): Answer => {
      note()
      return answer
    }
    return {
      get: (...values) => noted(statement.get(...values)),
      all: (...values) => noted(statement.all(...values)),
      run: (...values) => noted(statement.run(...values)),
    }
  },
})

/** Each address has a person, who isn't suppressed. */
async function countStatements(addresses: number): Promise<number> {
  const emails = Array.from({ length: addresses }, (_, index) => `p${index}@example.com`)
  for (const email of emails) {
    const insert = `INSERT INTO contacts (app_id, email, status, created_at, updated_at) VALUES (?, ?, 'subscribed', 0, 0)`
    db.run(insert, [addresses, email])
  }
  let ran = 0
  const sql = watch(createSqliteSql(db), () => void (ran += 1))
  const live = createLiveMessages(sql, createMailSources(sql, createSealer(null)))
  const common = { db: sql, live, sentCache: createSentCache(), comparisons: createComparing(sql), rules: STORE_RULES }
  const { writes } = createSuppressionWrites({ ...common, ends: createDeliveryEnds(common) })
  const rows = emails.map((email) => ({ email, reason: 'complained' as const, isUnsubscribed: true }))
  const by = { accountId: 'acc_1', actor: 'mem_1', why: 'x' }
  expect(await writes.suppressMany({ appId: addresses, at: 1, by, noted: null, rows })).toEqual({ added: addresses })
  return ran
}

test('a list takes as many statements as an address', async () => {
  expect(await countStatements(20)).toBe(await countStatements(1))
})

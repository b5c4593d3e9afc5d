/** Who is not written to is found by address, and kept without it. */
import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { createSuppressionList } from '../../src/store/suppressions.ts'

let folder: string
let db: Database
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventpost-'))
  db = openDatabase(folder)
})
afterEach(() => {
  db.close()
  rmSync(folder, { recursive: true })
})

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
  const other = openDatabase(join(folder, 'other'))
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

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

/** In one transaction, as the writing thread does it. */
async function add(
  list: ReturnType<typeof createSuppressionList>,
  email: string,
  end: 'COMMIT' | 'ROLLBACK',
): Promise<void> {
  db.run('BEGIN')
  await list.ensureKey()
  const insert = `INSERT INTO suppressions (app_id, email_hash, reason, created_at) VALUES (1, ?, 'unsubscribed', 0)`
  db.run(insert, [(await list.hash(1, email)) ?? ''])
  db.run(end)
}

test('is found by other processes and after a restart, also if the first write was rolled back', async () => {
  const list = createSuppressionList(createSqliteSql(db))
  await add(list, 'ada@example.com', 'ROLLBACK')
  await add(list, 'bob@example.com', 'COMMIT')
  expect(await createSuppressionList(createSqliteSql(db)).find(1, 'bob@example.com')).toBe('unsubscribed')
  expect([await list.find(1, 'bob@example.com'), await list.find(1, 'ada@example.com')]).toEqual(['unsubscribed', null])
})

test('the first process makes the key, once', async () => {
  const [one, other] = [createSuppressionList(createSqliteSql(db)), createSuppressionList(createSqliteSql(db))]
  await add(one, 'ada@example.com', 'ROLLBACK')
  await add(other, 'bob@example.com', 'COMMIT')
  await add(one, 'cy@example.com', 'COMMIT')
  expect(await other.find(1, 'cy@example.com')).toBe('unsubscribed')
  expect(await one.find(1, 'bob@example.com')).toBe('unsubscribed')
})

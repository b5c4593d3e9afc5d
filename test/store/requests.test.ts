import { afterAll, expect, test } from 'bun:test'
import { openDatabase } from '../../src/store/engine/database.ts'
import type { Sql } from '../../src/store/engine/sql.ts'
import { createRequestReads, createRequestWrites } from '../../src/store/requests.ts'
import { makeMigratedFolder } from '../data-folder.ts'
import { listTexts } from './databases.ts'

const { folder, remove } = await makeMigratedFolder()
const db = openDatabase(folder)
afterAll(() => {
  db.close()
  remove()
})

function plansOf(create: (db: Sql) => unknown): [text: string, plan: string][] {
  const texts = listTexts(db, create)
  const explain = (text: string): string =>
    db
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => detail)
      .join('; ')
  return texts.map((text) => [text, explain(text)])
}

test('every read of the log uses an index and sorts nothing but groups', () => {
  const plans = plansOf((one) => createRequestReads(one))
  expect(plans).toHaveLength(7)
  for (const [text, plan] of plans) {
    expect([text, /SCAN requests/.test(plan)]).toEqual([text, false])
    expect(plan).toMatch(
      /SEARCH requests USING (COVERING )?INDEX requests_(refused|accepted|by_request_id) \((account_id|request_id)=\?/,
    )
    if (!text.includes('GROUP BY')) expect([text, plan.includes('TEMP B-TREE')]).toEqual([text, false])
  }
  const [, counting] = plans[2] ?? []
  expect(counting).toContain('COVERING INDEX requests_refused (account_id=? AND id>? AND id<?)')
})

test('the oldest of a caller are found by an index', () => {
  const rules = { mostRequests: { refused: 1, unkeyed: 1, accepted: 1 } }
  const plans = plansOf((one) => createRequestWrites(one, rules)).filter(([text]) =>
    text.startsWith('DELETE FROM requests '),
  )
  expect(plans).toHaveLength(1)
  for (const [, plan] of plans)
    expect(plan).toContain('INDEX requests_by_caller (pool=? AND account_id=? AND caller=?)')
})

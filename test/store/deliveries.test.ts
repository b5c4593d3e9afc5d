/** Pages of deliveries, newest first, however much else there is. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test'
import { openDatabase } from '../../src/store/engine/database.ts'
import { MOST_COUNTED } from '../../src/core/count.ts'
import { createDeliveryPages, type DeliveryQuery } from '../../src/store/deliveries.ts'
import { makeMigratedFolder } from './samples.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'

const { folder, remove } = await makeMigratedFolder()
const db = openDatabase(folder)
afterAll(() => {
  db.close()
  remove()
})

db.run('PRAGMA foreign_keys = OFF')
for (const [id, app] of [
  [1, 1],
  [2, 1],
  [3, 2],
]) {
  db.run(`INSERT INTO messages VALUES (${id}, 'acc', ${app}, 'M${id}', 'live', 1, 1, 1)`)
}
const insert = db.prepare(
  `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
     attempt, resent, by_hand, updated_at) VALUES (?, ?, ?, ?, 1, ?, ?, 1, 1, ?, 0, 0, 0, 1)`,
)
const put = (id: number, app: number, message: number, state: string): unknown =>
  insert.run(id, app, id % 7, message, `k${id}`, state, 1_000_000 - ((id * 7_919) % 1_000))

const reasonOf = (id: number): string => (id % 3 === 0 ? 'seen' : 'again')

const isJoinedOf = (id: number): boolean => id % 5 === 0

const STATES = ['waiting', 'sent', 'waiting', 'skipped', 'failed', 'deferred', 'unknown']
db.transaction(() => {
  for (let id = 1; id <= 700; id++) {
    const state = STATES[id % STATES.length] ?? 'waiting'
    put(id, 1, 1 + (id % 2), state)
    if (state === 'skipped') db.run(`UPDATE deliveries SET reason = '${reasonOf(id)}' WHERE id = ${id}`)
    if (state === 'failed' && isJoinedOf(id)) db.run(`UPDATE deliveries SET joined_to = ${id - 1} WHERE id = ${id}`)
    if (state === 'sent') {
      db.run(`UPDATE deliveries SET came_back_at = 1, opened_at = iif(id % 4 = 0, 1, NULL) WHERE id = ${id}`)
    }
  }
  // newer than those, and of another app: more than are looked through
  for (let id = 1_000; id < 46_000; id++) put(id, 2, 3, 'waiting')
})()

const pages = createDeliveryPages(createSqliteSql(db))
const ALL: DeliveryQuery = { appId: 1, messageId: null, contactId: null, states: null, before: null, limit: 50 }

/** All pages of a query, one after another. */
async function readAll(query: Partial<DeliveryQuery>): Promise<number[]> {
  const ids: number[] = []
  for (let before: number | null = query.before ?? null; ;) {
    const page = await pages.listIds({ ...ALL, ...query, before })
    ids.push(...page)
    if (page.length < (query.limit ?? ALL.limit)) return ids
    before = page.at(-1) ?? null
  }
}

const idsOf = (isAsked: (id: number, state: string) => boolean): number[] =>
  Array.from({ length: 700 }, (_, i) => 700 - i).filter((id) => isAsked(id, STATES[id % STATES.length] ?? ''))

describe('a page contains the newest deliveries', () => {
  test.each<[string, Partial<DeliveryQuery>, (id: number, state: string) => boolean]>([
    ['of an app', {}, () => true],
    ['of a message', { messageId: 2 }, (id) => id % 2 === 1],
    ['that wait, after those of another app', { states: ['waiting'] }, (_, state) => state === 'waiting'],
    ['of some states', { states: ['sent', 'failed'] }, (_, state) => state === 'sent' || state === 'failed'],
    [
      'of a message in a state',
      { messageId: 1, states: ['waiting'] },
      (id, state) => id % 2 === 0 && state === 'waiting',
    ],
    ['of fewer rows than there are messages and states', { limit: 3 }, () => true],
    ['between two', { before: 600, after: 300 }, (id) => id < 600 && id > 300],
    ['with a reason', { reason: 'seen' }, (id, state) => state === 'skipped' && id % 3 === 0],
    [
      'with a reason, of a message, in states',
      { reason: 'again', messageId: 2, states: ['skipped', 'sent'] },
      (id, state) => state === 'skipped' && id % 3 !== 0 && id % 2 === 1,
    ],
    ['that brought people back', { outcome: 'cameBack' }, (_, state) => state === 'sent'],
    [
      'whose result was opened, of a message, between two',
      { outcome: 'opened', messageId: 1, before: 500, after: 99 },
      (id, state) => state === 'sent' && id % 4 === 0 && id < 500 && id > 99,
    ],
    ['with a reason and an outcome', { outcome: 'opened', reason: 'seen' }, () => false],
    [
      'of a person, with an outcome, between two',
      { contactId: 1, outcome: 'opened', before: 500, after: 99 },
      (id, state) => id % 7 === 1 && state === 'sent' && id % 4 === 0 && id < 500 && id > 99,
    ],
    [
      'of a person, with a reason',
      { contactId: 3, reason: 'seen' },
      (id, state) => id % 7 === 3 && state === 'skipped' && id % 3 === 0,
    ],
    [
      'that failed, without the events that joined them',
      { states: ['failed'], isLead: true },
      (id, state) => state === 'failed' && !isJoinedOf(id),
    ],
    [
      'that failed, without joined events, of a message, between two',
      { states: ['failed'], isLead: true, messageId: 2, before: 500, after: 99 },
      (id, state) => state === 'failed' && !isJoinedOf(id) && id % 2 === 1 && id < 500 && id > 99,
    ],
    ['that failed, with the events that joined them', { states: ['failed'] }, (_, state) => state === 'failed'],
    [
      'that failed or wait, without joined events',
      { states: ['failed', 'waiting'], isLead: true },
      (id, state) => state === 'waiting' || (state === 'failed' && !isJoinedOf(id)),
    ],
    ['of a person', { contactId: 3 }, (id) => id % 7 === 3],
    ['of a person in a state', { contactId: 3, states: ['sent'] }, () => false],
  ])('%s, and counts them', async (_, query, isAsked) => {
    const expected = idsOf(isAsked)
    expect(await readAll(query)).toEqual(expected)
    expect(await pages.count({ ...ALL, ...query })).toBe(expected.length)
  })

  test('counts up to a limit', async () => {
    expect(await pages.count({ ...ALL, appId: 2 })).toBe(MOST_COUNTED + 1)
    expect(await pages.count({ ...ALL, appId: 2, states: ['sent'] })).toBe(0)
  })

  test('of an app where everything is new', async () => {
    expect(await pages.listIds({ ...ALL, appId: 2, limit: 3 })).toEqual([45_999, 45_998, 45_997])
    expect(await pages.listIds({ ...ALL, appId: 3 })).toEqual([])
  })
})

/** What is prepared for each pair of an outcome and a reason, and for failed emails alone. */
async function listTexts(): Promise<string[]> {
  const prepare = spyOn(db, 'prepare')
  const fresh = createDeliveryPages(createSqliteSql(db))
  prepare.mockClear()
  for (const outcome of [null, 'cameBack', 'opened', 'goal'] as const) {
    for (const reason of [null, 'seen']) {
      await fresh.listIds({ ...ALL, outcome, reason })
      await fresh.count({ ...ALL, outcome, reason })
    }
  }
  await fresh.listIds({ ...ALL, states: ['failed'], isLead: true })
  await fresh.count({ ...ALL, states: ['failed'], isLead: true })
  const texts = prepare.mock.calls.map(([text]) => text)
  prepare.mockRestore()
  return texts
}
const TEXTS = await listTexts()

test('each filter has a statement for its page and one for its count', () => {
  expect(new Set(TEXTS).size).toBe(18)
})

test('pages and counts of failed emails use the index of them alone', () => {
  const plans = TEXTS.slice(-2).map((text) => db.prepare<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`).all())
  for (const plan of plans) {
    const steps = plan.flatMap(({ detail }) => (detail.includes('deliveries') ? [detail] : []))
    expect(steps.every((step) => step.includes('USING INDEX deliveries_failed'))).toBe(true)
  }
})

test.each(TEXTS)('each filter reads deliveries by an index or an id: %#', (text) => {
  const plan = db.prepare<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`).all()
  const steps = plan.flatMap(({ detail }) => (/deliver/.test(detail) ? [detail] : []))
  expect(steps.length).toBeGreaterThan(0)
  for (const step of steps) {
    expect(step).toMatch(
      /^SEARCH deliver(?:y|ies) USING (?:COVERING INDEX deliveries_\w+|INDEX deliveries_\w+|INTEGER PRIMARY KEY) \(/,
    )
    if (step.includes('deliveries_')) expect(step).toMatch(/message_id=\? AND (?:reason=\? AND )?state=\?/)
  }
  // only the page itself is sorted
  expect(plan.filter(({ detail }) => detail.includes('TEMP B-TREE')).length).toBeLessThanOrEqual(2)
})

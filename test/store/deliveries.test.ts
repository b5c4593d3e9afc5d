/** Pages of deliveries, newest first, however much else there is. */
import { afterAll, describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createDeliveryPages, type DeliveryQuery } from '../../src/store/deliveries.ts'
import { makeFolder } from './samples.ts'

const { folder, remove } = makeFolder()
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

const STATES = ['waiting', 'sent', 'waiting', 'skipped', 'failed', 'deferred', 'unknown']
db.transaction(() => {
  for (let id = 1; id <= 700; id++) put(id, 1, 1 + (id % 2), STATES[id % STATES.length] ?? 'waiting')
  // newer than those, and of another app: more than are looked through
  for (let id = 1_000; id < 46_000; id++) put(id, 2, 3, 'waiting')
})()

const pages = createDeliveryPages(db)
const ALL: DeliveryQuery = { appId: 1, messageId: null, contactId: null, states: null, before: null, limit: 50 }

/** All pages of a query, one after another. */
function readAll(query: Partial<DeliveryQuery>): number[] {
  const ids: number[] = []
  for (let before: number | null = null; ;) {
    const page = pages.listIds({ ...ALL, ...query, before })
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
    ['of a person', { contactId: 3 }, (id) => id % 7 === 3],
    ['of a person in a state', { contactId: 3, states: ['sent'] }, () => false],
  ])('%s', (_, query, isAsked) => expect(readAll(query)).toEqual(idsOf(isAsked)))

  test('of an app where everything is new', () => {
    expect(pages.listIds({ ...ALL, appId: 2, limit: 3 })).toEqual([45_999, 45_998, 45_997])
    expect(pages.listIds({ ...ALL, appId: 3 })).toEqual([])
  })
})

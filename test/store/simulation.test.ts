/** What a simulation reads of triggers, part by part, and of one person. */
import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { idAt } from '../../src/core/ids.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createSimulationReads } from '../../src/store/simulation.ts'
import { makeMigratedFolder } from './samples.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'

const FIRST = Date.UTC(2026, 4, 15)
const LATER = FIRST + 3_600_000
const RANGE = { appId: 1, from: FIRST }
const [EVENT, PAGE] = [0, 1]

let place: Awaited<ReturnType<typeof makeMigratedFolder>>
let db: Database
beforeEach(async () => {
  place = await makeMigratedFolder()
  db = openDatabase(place.folder)
  db.run(`INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'done'), (2, 1, 'other')`)
})
afterEach(() => {
  db.close()
  place.remove()
})

type Row = { id: number; app?: number; contact?: number; name?: number; type?: number; at?: number; path?: string }
function add({ id, app = 1, contact = 7, name = 1, type = EVENT, at = FIRST, path }: Row, occurredAt?: number): void {
  db.run(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, path, received_at, occurred_at)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    [id, app, contact, name, type, path ?? null, at, occurredAt ?? null],
  )
}

test.each([0, 1, 4_999, 5_000, 5_001, 10_002])('%d events, newest first, among those of others', async (rows) => {
  db.transaction(() => {
    for (let index = 0; index < rows; index += 1) {
      const at = FIRST + index
      add({ id: idAt(at), at })
      if (index % 3 === 0) add({ id: idAt(at) + 1, at, app: 2 })
      if (index % 4 === 0) add({ id: idAt(at) + 2, at, name: 2 })
      if (index % 5 === 0) add({ id: idAt(at) + 3, at, type: PAGE, path: '/' })
    }
  })()
  const times = (
    await Array.fromAsync(
      await createSimulationReads(createSqliteSql(db), { until: LATER }).newestEvents(RANGE, 'done'),
    )
  ).map(({ at }) => at - FIRST)
  expect(times).toEqual(Array.from({ length: rows }, (_, index) => rows - 1 - index))
})

test('skips events that arrived too late or too early, even if their IDs are ahead', async () => {
  add({ id: idAt(FIRST + 5_000), contact: 1 })
  add({ id: idAt(FIRST + 5_000) + 1, contact: 2, at: FIRST + 1 })
  add({ id: idAt(FIRST + 5_000) + 2, contact: 3, at: FIRST - 1 }, FIRST - 1)
  add({ id: idAt(FIRST + 5_000) + 3, contact: 4, type: PAGE, path: '/' })
  db.run(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
          VALUES (${idAt(FIRST + 5_000)}, 1, 'a', 'subscribed', ${FIRST}, 0),
                 (${idAt(FIRST + 5_000) + 1}, 1, 'b', 'subscribed', ${FIRST + 1}, 0)`)
  const reads = createSimulationReads(createSqliteSql(db), { until: FIRST })
  expect((await Array.fromAsync(await reads.newestEvents(RANGE, 'done'))).map(({ contactId }) => contactId)).toEqual([
    1,
  ])
  expect(await Array.fromAsync(await reads.newestEvents(RANGE, 'unknown'))).toEqual([])
  expect((await Array.fromAsync(await reads.newestViews(RANGE))).map(({ contactId }) => contactId)).toEqual([4])
  expect((await Array.fromAsync(reads.newestPeople(RANGE))).map(({ at }) => at - FIRST)).toEqual([0])
  expect(await Array.fromAsync(reads.newestPeople({ ...RANGE, contactId: idAt(FIRST + 5_000) }))).toHaveLength(1)
  expect(await Array.fromAsync(reads.newestPeople({ ...RANGE, contactId: 7 }))).toEqual([])
})

test('reads events that happened or arrived since', async () => {
  const early = FIRST - 60_000
  add({ id: idAt(early), contact: 1, at: early })
  add({ id: idAt(early) + 1, contact: 2, at: early }, FIRST)
  add({ id: idAt(FIRST), contact: 3 }, early)
  add({ id: idAt(FIRST) + 1, contact: 4, type: PAGE, path: '/' }, early)
  const reads = createSimulationReads(createSqliteSql(db), { until: LATER })
  const people = async (found: ReturnType<typeof reads.newestEvents>) =>
    (await Array.fromAsync(await found)).map(({ contactId }) => contactId)
  expect(await people(reads.newestEvents(RANGE, 'done'))).toEqual([3, 2])
  expect(await people(reads.newestViews(RANGE))).toEqual([4])
})

describe('of one person', () => {
  test.each([0, 2, 4])('reads what they did, from %d rows in the timeline', async (until) => {
    add({ id: 1, type: PAGE, path: '/a', at: FIRST - 9_000 })
    add({ id: 2, type: PAGE, path: '/b' })
    add({ id: 3, at: FIRST + 1 }, FIRST - 5)
    add({ id: 4, type: PAGE, path: '/late', at: LATER + 1 })
    add({ id: 5, contact: 8, type: PAGE, path: '/other' })
    db.run(`INSERT INTO timeline SELECT contact_id, type, id FROM events WHERE id <= ${until}`)
    db.run(`UPDATE install SET value = '${until}' WHERE name IN ('timeline_until', 'timeline_merged_until')`)
    const reads = createSimulationReads(createSqliteSql(db), { until: LATER })
    // ids of long ago: since the beginning
    expect((await reads.listViews(7, 0)).map(({ path }) => path)).toEqual(['/a', '/b'])
    expect((await reads.listFirstViews(7)).map(({ at }) => at - FIRST)).toEqual([-9_000, 0])
    const done = { appId: 1, contactId: 7, name: 'done' }
    expect(await reads.listDone({ ...done, since: 0 })).toEqual([
      { id: 3, at: FIRST + 1, occurredAt: FIRST - 5, properties: null },
    ])
    expect(await reads.listDone({ ...done, name: 'other', since: 0 })).toEqual([])
    // ids of long ago: since the beginning
    const range = { appId: 1, from: 0, contactId: 7 }
    expect((await Array.fromAsync(await reads.newestEvents(range, 'done'))).map(({ id }) => id)).toEqual([3])
    expect(await Array.fromAsync(await reads.newestEvents({ ...range, appId: 2 }, 'done'))).toEqual([])
    expect(await Array.fromAsync(await reads.newestEvents({ ...range, from: FIRST }, 'done'))).toEqual([])
    expect((await Array.fromAsync(await reads.newestViews(range))).map(({ path }) => path)).toEqual(['/b', '/a'])
    expect(
      (await Array.fromAsync(await reads.newestViews({ ...range, contactId: 8 }))).map(({ path }) => path),
    ).toEqual(['/other'])
  })

  test('reads what is stored today', async () => {
    db.run(`INSERT INTO contacts (id, app_id, email, first_name, status, tags, fields, created_at, updated_at)
            VALUES (1, 1, 'ada@example.com', 'Ada', 'bounced', '["beta"]', '{"plan":"pro"}', 0, 0),
                   (2, 1, 'bob@example.com', NULL, 'subscribed', NULL, NULL, 0, 0)`)
    const reads = createSimulationReads(createSqliteSql(db), { until: LATER })
    const ada = { id: 1, email: 'ada@example.com', firstName: 'Ada', lastName: null, status: 'bounced' as const }
    expect(await reads.findPerson(1)).toEqual({ ...ada, tags: ['beta'], fields: { plan: 'pro' } })
    expect(await reads.findPerson(2)).toMatchObject({ firstName: null, status: 'subscribed', tags: null, fields: null })
    expect([await reads.findPerson(3), await reads.findApp(1)]).toEqual([null, null])
  })

  test('reads what their page loads reported since', async () => {
    db.run(`INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items)
            VALUES (1, 7, 1, ${FIRST - 1}, 1), (1, 7, 2, ${FIRST}, 1), (1, 8, 3, ${FIRST}, 1), (1, 7, 4, ${LATER + 1}, 1)`)
    const reads = createSimulationReads(createSqliteSql(db), { until: LATER })
    expect((await reads.listReports(1, 7, FIRST)).map(({ receivedAt }) => receivedAt - FIRST)).toEqual([0])
  })
})

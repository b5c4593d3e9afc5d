/** What a page reported is kept while a mail to its person waits, however many such people there are. */
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { afterAll, expect, test } from 'bun:test'
import { createBatchUpkeep } from '../../src/store/upkeep.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createTimeline } from '../../src/store/timeline/timeline.ts'
import { indexedUntil } from '../../src/store/timeline/timeline-reads.ts'
import { AT, DAY, HOUR, makeMigratedFolder } from './samples.ts'

const { folder, remove } = await makeMigratedFolder()
const db = openDatabase(folder)
const timeline = createTimeline(db, () => 0)
afterAll(() => {
  db.close()
  remove()
})

/** Each row of its own person; those below `awaited` have a mail that waits. */
function fill(rows: number, awaited: number): void {
  const batch = db.prepare(
    'INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items) VALUES (1, ?, 1, ?, 1)',
  )
  const delivery = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
       attempt, resent, by_hand, updated_at) VALUES (?, 1, ?, 1, 1, '', 'waiting', 1, 1, 1, 0, 0, 0, 1)`,
  )
  db.transaction(() => {
    for (let person = 1; person <= rows; person += 1) {
      batch.run(person, AT + (person % 7))
      if (person < awaited) delivery.run(person, person)
    }
  }).immediate()
}
const count = (): number => Number(db.query('SELECT count(*) FROM snippet_batches').values()[0]?.[0])

test('reaches old batches behind many that must stay, and deletes those once their emails are decided', async () => {
  db.run('PRAGMA foreign_keys = OFF')
  fill(13_000, 12_000)
  const clean = createBatchUpkeep(createSqliteSql(db), timeline)
  const cleanAll = async (at: number): Promise<void> => {
    for (let run = 0; run < 40; run += 1) await clean(at)
  }
  await cleanAll(AT + 2 * DAY - 1)
  expect(count()).toBe(13_000)
  await cleanAll(AT + 2 * DAY + 10)
  await cleanAll(AT + 2 * DAY + HOUR)
  expect(count()).toBe(11_999)
  db.run(`UPDATE deliveries SET state = 'skipped'`)
  await cleanAll(AT + 2 * DAY + 2 * HOUR)
  expect(count()).toBe(0)
})

test('deleting a batch that the timeline has not indexed yet removes it from the timeline too', async () => {
  fill(8_000, 0)
  const timeline = createTimeline(db, () => 0)
  const advance = (isIdle: boolean): void => {
    db.transaction(() => timeline.advance(isIdle))()
    timeline.settle()
  }
  for (let commit = 0; commit < 10; commit += 1) advance(false)
  const rowsOf = (table: string) => Number(db.query(`SELECT count(*) FROM ${table}`).values()[0]?.[0])
  expect([rowsOf('timeline_run_rows'), indexedUntil(db)]).toEqual([320, 0])
  const clean = createBatchUpkeep(createSqliteSql(db), timeline)
  for (let run = 0; run < 4; run += 1) await clean(AT + 3 * DAY)
  for (let commit = 0; commit < 90; commit += 1) advance(false)
  expect(rowsOf('timeline_run_rows')).toBeGreaterThan(1_000)
  for (let run = 0; run < 4; run += 1) await clean(AT + 3 * DAY)
  for (let look = 0; look < 9; look += 1) advance(true)
  expect([count(), rowsOf('timeline'), rowsOf('timeline_run_rows')]).toEqual([4_000, 4_000, 0])
  for (let run = 0; run < 9; run += 1) await clean(AT + 3 * DAY)
  expect([count(), rowsOf('timeline')]).toEqual([0, 0])
})

test('a clock set back deletes nothing early, and the clean-up continues when it moves forward', async () => {
  fill(10, 0)
  const clean = createBatchUpkeep(createSqliteSql(db), timeline)
  await clean(AT + DAY)
  await clean(AT)
  expect(count()).toBe(10)
  await clean(AT + 3 * DAY)
  expect(count()).toBe(0)
})

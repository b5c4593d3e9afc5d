/** A database of an older version gets its index of people's events when it is brought up to date. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { databasePath } from '../../../src/store/engine/database.ts'
import { MIGRATIONS } from '../../../src/store/engine/migrations/index.ts'
import { idAt } from '../../../src/core/ids.ts'
import { createReportReads } from '../../../src/store/visit-reports.ts'
import { createTimeline } from '../../../src/store/timeline/timeline.ts'
import { indexedUntil } from '../../../src/store/timeline/timeline-reads.ts'
import { useFolder } from '../databases.ts'
import { AT } from '../samples.ts'
import { listIndexed, rest, wanted } from './timeline-rows.ts'
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'

const folder = useFolder()

/** Events as a database of that version has them. */
function addEvents(db: Database, rows: number): void {
  db.run(
    `WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < ${rows})
     INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
     SELECT id, 1, id * 7919 % 101, 1, id % 3, 0, ${AT} FROM ids`,
  )
}

test('batches of an older database are sorted, and the right ones indexed', async () => {
  const db = folder.open(MIGRATIONS.slice(0, 11))
  addEvents(db, 10)
  const [old, young] = [AT - 1_000, AT + 1_000]
  db.run(`INSERT INTO timeline SELECT contact_id, type, id FROM events;
    INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items, page_load, age, path, is_here, batch_number)
    VALUES (1, 1, 700, ${young}, 2, 8, 5, '/b', 0, 9), (1, 1, 800, ${old}, 1, 7, 4, '/a', 1, 3),
      (1, 2, 900, ${old}, 1, NULL, NULL, NULL, NULL, NULL), (1, 2, 1000, 5, 1, NULL, NULL, NULL, NULL, NULL);
    UPDATE install SET value = '${idAt(AT)}' WHERE name = 'timeline_until'`)
  const upgraded = folder.open()
  const reads = createReportReads(createSqliteSql(upgraded))
  expect(await reads.listReports(1, 1, 0)).toEqual([
    { pageLoad: 7, reportNumber: 3, receivedAt: old, reportedAt: old - 4, path: '/a', isHere: true, isReturn: false },
    {
      pageLoad: 8,
      reportNumber: 9,
      receivedAt: young,
      reportedAt: young - 5,
      path: '/b',
      isHere: false,
      isReturn: false,
    },
  ])
  expect(await reads.listReports(1, 2, 0)).toMatchObject([
    { receivedAt: 5 },
    { receivedAt: old, path: '', isHere: null },
  ])
  const ids = upgraded.query('SELECT id, batch, items FROM snippet_batches ORDER BY id').values()
  // odd, as no event's id is
  const placeOf = (at: number, row: number) => idAt(at) + 2 * row + 1
  expect(ids).toEqual([
    [placeOf(5, 1), 1000, 1],
    [placeOf(old, 2), 800, 1],
    [placeOf(old, 3), 900, 1],
    [placeOf(young, 4), 700, 2],
  ])
  // what is younger than all that the timeline holds waits for its turn
  expect(listIndexed(upgraded).filter(([, type]) => type > 2)).toHaveLength(3)
  rest(
    upgraded,
    createTimeline(upgraded, () => 0),
  )
  expect(listIndexed(upgraded)).toEqual(wanted(upgraded))
})

test('an older database is indexed when it is upgraded', () => {
  addEvents(folder.open(MIGRATIONS.slice(0, 10)), 1_000)
  const upgraded = folder.open()
  expect(listIndexed(upgraded)).toEqual(wanted(upgraded))
  expect(indexedUntil(upgraded)).toBe(1_000)
  expect(upgraded.query(`SELECT name FROM sqlite_schema WHERE name = 'events_by_contact'`).all()).toEqual([])
  expect(
    new Database(`${databasePath(folder.path())}.before-11`).query('SELECT count(*) AS n FROM events').get(),
  ).toEqual({ n: 1_000 })
})

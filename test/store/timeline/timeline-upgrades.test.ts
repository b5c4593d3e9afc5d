/** A database of an older version gets its index of people's events when it is brought up to date. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { databasePath } from '../../../src/store/engine/database.ts'
import { idAt } from '../../../src/core/ids.ts'
import { createReportReads } from '../../../src/store/visit-reports.ts'
import { createTimeline } from '../../../src/store/timeline/timeline.ts'
import { indexedUntil } from '../../../src/store/timeline/timeline-reads.ts'
import { useFolder } from '../databases.ts'
import { AT } from '../samples.ts'
import { createFeed, listIndexed, rest, wanted } from './timeline-rows.ts'

/** What later versions added. */
const UNDO_LATER = `DROP INDEX audit_entries_of_sign_ins; DROP INDEX audit_entries_of_changes;
  ALTER TABLE audit_entries DROP COLUMN address; ALTER TABLE audit_entries DROP COLUMN count;
  ALTER TABLE accounts DROP COLUMN requires_two_step; ALTER TABLE app_mail_settings DROP COLUMN locale;
  DROP INDEX suppressions_by_email; DROP INDEX suppressions_by_time; DROP INDEX suppressions_by_reason;
  ALTER TABLE suppressions DROP COLUMN email; DROP INDEX deliveries_joined; ALTER TABLE deliveries DROP COLUMN joined_to;
  ${['sender', 'recipient', 'subject', 'html', 'text'].map((name) => `ALTER TABLE captured_mails DROP COLUMN ${name};`).join(' ')}`

const folder = useFolder()

test('batches of an older database are sorted, and the right ones indexed', () => {
  const db = folder.open()
  createFeed(db).commit(10)
  const [old, young] = [AT - 1_000, AT + 1_000]
  db.run(`${UNDO_LATER} DROP TABLE snippet_batches; DROP TABLE timeline_runs; DROP TABLE timeline_run_rows;
    ALTER TABLE timeline RENAME COLUMN id TO event_id; DELETE FROM install WHERE name = 'timeline_merged_until';
    DROP TABLE sender_domains; ALTER TABLE app_mail_settings DROP COLUMN other_from_emails; PRAGMA user_version = 11;
    CREATE TABLE snippet_batches (app_id INTEGER NOT NULL, contact_id INTEGER NOT NULL, batch INTEGER NOT NULL,
      received_at INTEGER NOT NULL, items INTEGER NOT NULL, page_load INTEGER, age INTEGER, path TEXT, is_here INTEGER,
      batch_number INTEGER, PRIMARY KEY (app_id, contact_id, batch)) STRICT, WITHOUT ROWID;
    INSERT INTO snippet_batches VALUES (1, 1, 700, ${young}, 2, 8, 5, '/b', 0, 9), (1, 1, 800, ${old}, 1, 7, 4, '/a', 1, 3),
      (1, 2, 900, ${old}, 1, NULL, NULL, NULL, NULL, NULL), (1, 2, 1000, 5, 1, NULL, NULL, NULL, NULL, NULL);
    UPDATE install SET value = '${idAt(AT)}' WHERE name = 'timeline_until'`)
  const upgraded = folder.open()
  const reads = createReportReads(upgraded)
  expect(reads.listReports(1, 1, 0)).toEqual([
    { pageLoad: 7, batchNumber: 3, receivedAt: old, reportedAt: old - 4, path: '/a', isHere: true, isReturn: false },
    {
      pageLoad: 8,
      batchNumber: 9,
      receivedAt: young,
      reportedAt: young - 5,
      path: '/b',
      isHere: false,
      isReturn: false,
    },
  ])
  expect(reads.listReports(1, 2, 0)).toMatchObject([{ receivedAt: 5 }, { receivedAt: old, path: '', isHere: null }])
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
  const db = folder.open()
  createFeed(db).commit(1_000)
  const file = databasePath(folder.path())
  db.run(`${UNDO_LATER} DROP TABLE timeline; DROP TABLE timeline_runs; DROP TABLE timeline_run_rows;
    DELETE FROM install WHERE name LIKE 'timeline_%until';
    DROP TABLE sender_domains; ALTER TABLE app_mail_settings DROP COLUMN other_from_emails;
    CREATE INDEX events_by_contact ON events (contact_id, type); PRAGMA user_version = 10`)
  const upgraded = folder.open()
  expect(listIndexed(upgraded)).toEqual(wanted(upgraded))
  expect(indexedUntil(upgraded)).toBe(1_000)
  expect(upgraded.query(`SELECT name FROM sqlite_schema WHERE name = 'events_by_contact'`).all()).toEqual([])
  expect(new Database(`${file}.before-11`).query('SELECT count(*) AS n FROM events').get()).toEqual({ n: 1_000 })
})

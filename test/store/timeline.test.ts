/** The index of people's events is filled behind them (promises 5, product.md). */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createContactReads } from '../../src/store/contact-reads.ts'
import { databasePath, openDatabase } from '../../src/store/database.ts'
import { createEngine, type Job } from '../../src/store/engine.ts'
import { createEventReads } from '../../src/store/event-reads.ts'
import { idAt } from '../../src/store/ids.ts'
import { createSealer } from '../../src/store/sealing.ts'
import { createSnippetReads } from '../../src/store/snippet-reads.ts'
import { createTimeline, type Timeline } from '../../src/store/timeline.ts'
import { heldUntil, mergedUntil, selectIds } from '../../src/store/timeline-reads.ts'
import { AT, eventWrite, makeFolder } from './samples.ts'

const RUN_ROWS = 4_096
const REST_MS = 200

let folder: string
let remove: () => void
let open: Database[] = []
beforeEach(() => ({ folder, remove } = makeFolder()))
afterEach(() => {
  for (const db of open) db.close()
  open = []
  remove()
})

function openOne() {
  const db = openDatabase(folder)
  open.push(db)
  return db
}

function openEngine() {
  const db = openOne()
  return { db, engine: createEngine(db, () => AT, createSealer(null)) }
}

const emailOf = (person: number): string => `p${person}@example.com`

type Row = [contactId: number, type: number, eventId: number]
const held = (db: Database): Row[] =>
  db.query<Row, []>('SELECT * FROM timeline ORDER BY contact_id, type, id').values() as Row[]
const wanted = (db: Database): Row[] =>
  db
    .query<Row, []>(
      `SELECT contact_id, type, id FROM events UNION ALL
       SELECT contact_id, type, id FROM snippet_batches ORDER BY contact_id, type, id`,
    )
    .values() as Row[]

/** What a pause is used for, look by look. */
function rest(db: Database, timeline: Timeline): void {
  for (let look = 0; look < 100 && timeline.hasWaiting(); look += 1) {
    db.transaction(() => timeline.advance(true))()
    timeline.settle()
  }
}

const countOf = (db: Database, table: string): number =>
  db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0

/** Events of so many people, as a commit writes them. */
function createFeed(db: Database, people = 101) {
  let now = 1_000
  let id = 0
  const timeline = createTimeline(db, () => now)
  const insert = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) VALUES (?, 1, ?, 1, ?, 0, ?)`,
  )
  return {
    timeline,
    rest: () => rest(db, timeline),
    wait: (ms: number) => void (now += ms),
    commit: (rows: number): void => {
      db.transaction(() => {
        for (let row = 0; row < rows; row += 1) {
          id += 1
          insert.run(id, (id * 7919) % people, id % 3, AT)
          timeline.count()
        }
        timeline.advance(false)
      })()
      timeline.settle()
    },
  }
}

describe('when it is filled', () => {
  test('where little comes, with the commit that brings it', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 5; commit += 1) {
      feed.commit(3)
      feed.wait(REST_MS)
    }
    expect(held(db)).toEqual(wanted(db))
    expect([heldUntil(db), feed.timeline.hasWaiting()]).toEqual([15, false])
  })

  test('where much comes, some thousand at once, a part with each commit; never more than two such wait', () => {
    const db = openOne()
    const feed = createFeed(db)
    let most = 0
    for (let commit = 0; commit < 150; commit += 1) {
      feed.commit(100)
      // ids are counted up here, so this is how many events a reader looks through
      most = Math.max(most, (commit + 1) * 100 - heldUntil(db))
    }
    expect(most).toBeGreaterThan(RUN_ROWS)
    expect(most).toBeLessThan(2 * RUN_ROWS)
  })

  test('a pause is used for all that waits', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 70; commit += 1) feed.commit(100)
    expect(feed.timeline.hasWaiting()).toBe(true)
    feed.rest()
    expect(held(db)).toEqual(wanted(db))
    expect([heldUntil(db), feed.timeline.hasWaiting()]).toEqual([7_000, false])
  })

  test('what waits after much came is not left to the next that comes', () => {
    const db = openOne()
    const feed = createFeed(db)
    feed.commit(0)
    feed.commit(600)
    for (let commit = 0; commit < 30; commit += 1) {
      feed.wait(REST_MS - 10)
      feed.commit(1)
    }
    expect(heldUntil(db)).toBeGreaterThan(600)
  })

  test('whoever is erased again and again keeps nothing from being filled', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 600; commit += 1) {
      feed.commit(30)
      if (commit % 60 === 0) feed.timeline.erase(commit % 101)
      if (commit % 20 === 0) feed.timeline.catchUp()
    }
    expect(heldUntil(db)).toBeGreaterThan(600 * 30 - 2 * RUN_ROWS)
  })

  test('a rollback in the middle takes back what was written with it, and no more', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 60; commit += 1) {
      feed.commit(100)
      if (commit % 7 > 0) continue
      const failing = db.transaction(() => {
        feed.timeline.advance(commit % 14 === 0)
        throw new Error('undone')
      })
      expect(failing).toThrow('undone')
      feed.timeline.undo()
    }
    feed.rest()
    expect(held(db)).toEqual(wanted(db))
  })

  test.each(['itself', 'another process'])('whom %s erases in the middle of it is not put back', (who) => {
    const [one, two] = [openEngine(), openEngine()]
    const record = (index: number): Job => ({ name: 'recordEvent', input: eventWrite({ email: emailOf(index % 4) }) })
    for (let batch = 0; batch < 24; batch += 1) one.engine.run(Array.from({ length: 250 }, (_, index) => record(index)))
    const all = countOf(one.db, 'events')
    expect(countOf(one.db, 'timeline')).toBeGreaterThan(0)
    expect(countOf(one.db, 'timeline')).toBeLessThan(all)
    const { engine } = who === 'itself' ? one : two
    const by = { accountId: 'acc_1', actor: 'cli', at: AT }
    engine.run([{ name: 'eraseContact', input: { appId: 1, email: emailOf(2), ...by } }])
    one.engine.run([record(0)])
    for (let look = 0; look < 20; look += 1) one.engine.lookBehind()
    expect(countOf(one.db, 'events')).toBeLessThan(all * 0.8)
    expect(held(one.db)).toEqual(wanted(one.db))
  })

  test('the engine uses a pause: where nothing was written since the last look', () => {
    const { db, engine } = openEngine()
    engine.run([{ name: 'recordEvent', input: eventWrite() }])
    engine.run(Array.from({ length: 300 }, (): Job => ({ name: 'recordEvent', input: eventWrite() })))
    engine.lookBehind()
    expect(held(db).length).toBe(1)
    engine.lookBehind()
    expect(held(db)).toEqual(wanted(db))
    const before = db.query('PRAGMA data_version').get()
    const other = openOne()
    const version = other.query('PRAGMA data_version')
    const seen = version.get()
    engine.lookBehind()
    engine.lookBehind()
    // and writes nothing where nothing waits
    expect([version.get(), db.query('PRAGMA data_version').get()]).toEqual([seen, before])
  })

  test('what a process that was killed had half written is written once', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 60; commit += 1) feed.commit(100)
    expect(countOf(db, 'timeline_run_rows')).toBeGreaterThan(1_000)
    expect(heldUntil(db)).toBe(100)
    const next = openOne()
    const again = createTimeline(next, () => 0)
    rest(next, again)
    expect(held(next)).toEqual(wanted(next))
    expect([heldUntil(next), countOf(next, 'timeline_run_rows'), countOf(next, 'timeline_runs')]).toEqual([6_000, 0, 0])
  })
})

describe('while much comes', () => {
  test('runs wait until it is calm, then all are taken up at once', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 400; commit += 1) feed.commit(100)
    expect(countOf(db, 'timeline_runs')).toBeGreaterThan(6)
    expect(held(db).length).toBe(100)
    for (let commit = 0; commit < 2_000 && countOf(db, 'timeline_runs') > 0; commit += 1) {
      feed.wait(REST_MS)
      feed.commit(1)
    }
    feed.rest()
    expect(held(db)).toEqual(wanted(db))
    expect([countOf(db, 'timeline_run_rows'), countOf(db, 'timeline_runs'), feed.timeline.hasWaiting()]).toEqual([
      0,
      0,
      false,
    ])
  })

  test('of one person alone they are taken up too', () => {
    const db = openOne()
    const feed = createFeed(db, 1)
    for (let commit = 0; commit < 120; commit += 1) feed.commit(100)
    expect(countOf(db, 'timeline_runs')).toBeGreaterThan(1)
    feed.rest()
    expect(held(db)).toEqual(wanted(db))
    expect([countOf(db, 'timeline_run_rows'), countOf(db, 'timeline_runs')]).toEqual([0, 0])
  })

  test('where it does not end, they are taken up meanwhile, and so many wait and no more', () => {
    const db = openOne()
    const feed = createFeed(db, 5_003)
    const waiting = () => countOf(db, `timeline_runs WHERE last > ${mergedUntil(db)}`)
    let [most, fewest] = [0, Number.POSITIVE_INFINITY]
    for (let commit = 0; commit < 200; commit += 1) {
      feed.commit(5_000)
      most = Math.max(most, waiting())
      if (most > 128) fewest = Math.min(fewest, waiting())
    }
    expect(most).toBeGreaterThan(128)
    expect(most).toBeLessThan(256)
    expect(fewest).toBeLessThan(128)
    expect(200 * 5_000 - heldUntil(db)).toBeLessThan(4 * RUN_ROWS)
  }, 30_000)

  test('a person with all that waits is read and changed as fast as anybody', () => {
    const { db, engine } = openEngine()
    const record = (): Job => ({ name: 'recordEvent', input: eventWrite() })
    for (let commit = 0; commit < 8; commit += 1) engine.run(Array.from({ length: 5_000 }, record))
    expect(countOf(db, 'timeline_runs')).toBeGreaterThan(5)
    const reads = createContactReads(db)
    const timeOf = (step: () => void): number => {
      const startedAt = performance.now()
      step()
      return performance.now() - startedAt
    }
    const { id } = db.query<{ id: number }, []>('SELECT id FROM contacts').get() ?? { id: 0 }
    const times = Array.from({ length: 5 }, () => timeOf(() => void reads.byId(id)))
    expect(Math.min(...times)).toBeLessThan(5)
    expect(reads.byId(id)).toMatchObject({ lastEventAt: AT })
  })

  test('a process that was killed while they are taken up leaves what the next one goes on with', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 200; commit += 1) feed.commit(100)
    feed.wait(2_000)
    for (let commit = 0; commit < 12; commit += 1) feed.commit(20)
    const [merged, all] = [held(db).length, wanted(db).length]
    expect(merged).toBeGreaterThan(1_000)
    expect(merged).toBeLessThan(all / 2)
    // what is taken up but not marked yet is told once
    const theirs = db.query<{ id: number }, []>(selectIds('events', { contact: '1', types: '>= 0' })).all()
    const known = wanted(db).flatMap(([contactId, , id]) => (contactId === 1 ? [id] : []))
    expect(theirs.map(({ id }) => id).toSorted()).toEqual(known.toSorted())
    const next = openOne()
    rest(
      next,
      createTimeline(next, () => 0),
    )
    expect(held(next)).toEqual(wanted(next))
    expect([countOf(next, 'timeline_run_rows'), countOf(next, 'timeline_runs')]).toEqual([0, 0])
  })

  test('a command beside it leaves them alone, and puts in order what comes once there are none', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 120; commit += 1) feed.commit(100)
    const other = openOne()
    const command = createTimeline(other, () => 0, false)
    const before = [held(db).length, heldUntil(db)]
    other.transaction(() => command.advance(false))()
    command.settle()
    expect([held(db).length, heldUntil(db)]).toEqual(before)
    feed.rest()
    db.run(
      `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) VALUES (99999, 1, 1, 1, 0, 0, ${AT})`,
    )
    other.transaction(() => command.advance(false))()
    command.settle()
    expect(held(db)).toEqual(wanted(db))
  })
})

test('what another process with ids ahead of ours writes while an engine is made hides nothing of ours', () => {
  const ahead = createEngine(openOne(), () => AT + 3_600_000, createSealer(null))
  const db = openOne()
  const prepare = db.prepare.bind(db)
  let isMade = false
  db.prepare = ((text: string) => {
    if (!isMade && text.includes('new_people')) {
      isMade = true
      ahead.run([{ name: 'recordEvent', input: eventWrite() }])
    }
    return prepare(text)
  }) as Database['prepare']
  const engine = createEngine(db, () => AT, createSealer(null))
  const [outcome] = engine.run([{ name: 'recordEvent', input: eventWrite() }])
  if (!outcome || !('contactId' in outcome)) throw new Error('an event was refused')
  const query = { appId: 1, contactId: outcome.contactId, name: null, before: null, limit: 9 }
  expect([isMade, createEventReads(db).listEvents(query).rows]).toMatchObject([true, [{}, {}]])
})

test('batches of an older database are put in order, and those are held that belong there', () => {
  const db = openOne()
  createFeed(db).commit(10)
  const [old, young] = [AT - 1_000, AT + 1_000]
  db.run(`DROP TABLE snippet_batches; DROP TABLE timeline_runs; DROP TABLE timeline_run_rows;
    ALTER TABLE timeline RENAME COLUMN id TO event_id; DELETE FROM install WHERE name = 'timeline_merged_until';
    PRAGMA user_version = 11;
    CREATE TABLE snippet_batches (app_id INTEGER NOT NULL, contact_id INTEGER NOT NULL, batch INTEGER NOT NULL,
      received_at INTEGER NOT NULL, items INTEGER NOT NULL, page_load INTEGER, age INTEGER, path TEXT, is_here INTEGER,
      batch_number INTEGER, PRIMARY KEY (app_id, contact_id, batch)) STRICT, WITHOUT ROWID;
    INSERT INTO snippet_batches VALUES (1, 1, 700, ${young}, 2, 8, 5, '/b', 0, 9), (1, 1, 800, ${old}, 1, 7, 4, '/a', 1, 3),
      (1, 2, 900, ${old}, 1, NULL, NULL, NULL, NULL, NULL), (1, 2, 1000, 5, 1, NULL, NULL, NULL, NULL, NULL);
    UPDATE install SET value = '${idAt(AT)}' WHERE name = 'timeline_until'`)
  const upgraded = openOne()
  const reads = createSnippetReads(upgraded, createSealer(null))
  expect(reads.listReports(1, 1, 0)).toEqual([
    { pageLoad: 7, batchNumber: 3, receivedAt: old, reportedAt: old - 4, path: '/a', isHere: true },
    { pageLoad: 8, batchNumber: 9, receivedAt: young, reportedAt: young - 5, path: '/b', isHere: false },
  ])
  expect(reads.listReports(1, 2, 0)).toMatchObject([{ receivedAt: 5 }, { receivedAt: old, path: '', isHere: null }])
  const ids = upgraded.query('SELECT id, batch, items FROM snippet_batches ORDER BY id').values()
  const placeOf = (at: number, row: number) => idAt(at) + row
  expect(ids).toEqual([
    [placeOf(5, 1), 1000, 1],
    [placeOf(old, 2), 800, 1],
    [placeOf(old, 3), 900, 1],
    [placeOf(young, 4), 700, 2],
  ])
  // what is younger than all that the timeline holds waits for its turn
  expect(held(upgraded).filter(([, type]) => type > 2)).toHaveLength(3)
  rest(
    upgraded,
    createTimeline(upgraded, () => 0),
  )
  expect(held(upgraded)).toEqual(wanted(upgraded))
})

test('an older database is filled when it is brought up to date', () => {
  const db = openOne()
  createFeed(db).commit(1_000)
  const file = databasePath(folder)
  db.run(`DROP TABLE timeline; DROP TABLE timeline_runs; DROP TABLE timeline_run_rows;
    DELETE FROM install WHERE name LIKE 'timeline_%until';
    CREATE INDEX events_by_contact ON events (contact_id, type); PRAGMA user_version = 10`)
  db.close()
  open = []
  const upgraded = openOne()
  expect(held(upgraded)).toEqual(wanted(upgraded))
  expect(heldUntil(upgraded)).toBe(1_000)
  expect(upgraded.query(`SELECT name FROM sqlite_schema WHERE name = 'events_by_contact'`).all()).toEqual([])
  expect(new Database(`${file}.before-11`).query('SELECT count(*) AS n FROM events').get()).toEqual({ n: 1_000 })
})

/** The index of people's events is filled behind them (promises 5, product.md). */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { databasePath, openDatabase } from '../../src/store/database.ts'
import { createEngine, type Job } from '../../src/store/engine.ts'
import { createEventReads } from '../../src/store/event-reads.ts'
import { createSealer } from '../../src/store/sealing.ts'
import { createTimeline, type Timeline, timelineUntil } from '../../src/store/timeline.ts'
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
  db.query<Row, []>('SELECT * FROM timeline ORDER BY contact_id, type, event_id').values() as Row[]
const wanted = (db: Database): Row[] =>
  db.query<Row, []>('SELECT contact_id, type, id FROM events ORDER BY contact_id, type, id').values() as Row[]

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
function createFeed(db: Database) {
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
          insert.run(id, (id * 7919) % 101, id % 3, AT)
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
    expect([timelineUntil(db), feed.timeline.hasWaiting()]).toEqual([15, false])
  })

  test('where much comes, some thousand at once, a part with each commit; never more than two such wait', () => {
    const db = openOne()
    const feed = createFeed(db)
    let most = 0
    for (let commit = 0; commit < 150; commit += 1) {
      feed.commit(100)
      // ids are counted up here, so this is how many events a reader looks through
      most = Math.max(most, (commit + 1) * 100 - timelineUntil(db))
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
    expect([timelineUntil(db), feed.timeline.hasWaiting()]).toEqual([7_000, false])
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
    expect(timelineUntil(db)).toBeGreaterThan(600)
  })

  test('whoever is erased again and again keeps nothing from being filled', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 600; commit += 1) {
      feed.commit(30)
      if (commit % 60 === 0) feed.timeline.erase(commit % 101)
      if (commit % 20 === 0) feed.timeline.catchUp()
    }
    expect(timelineUntil(db)).toBeGreaterThan(600 * 30 - 2 * RUN_ROWS)
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
    for (let look = 0; look < 20; look += 1) one.engine.finishTimeline()
    expect(countOf(one.db, 'events')).toBeLessThan(all * 0.8)
    expect(held(one.db)).toEqual(wanted(one.db))
  })

  test('the engine uses a pause: where nothing was written since the last look', () => {
    const { db, engine } = openEngine()
    engine.run([{ name: 'recordEvent', input: eventWrite() }])
    engine.run(Array.from({ length: 300 }, (): Job => ({ name: 'recordEvent', input: eventWrite() })))
    engine.finishTimeline()
    expect(held(db).length).toBe(1)
    engine.finishTimeline()
    expect(held(db)).toEqual(wanted(db))
    const before = db.query('PRAGMA data_version').get()
    const other = openOne()
    const version = other.query('PRAGMA data_version')
    const seen = version.get()
    engine.finishTimeline()
    engine.finishTimeline()
    // and writes nothing where nothing waits
    expect([version.get(), db.query('PRAGMA data_version').get()]).toEqual([seen, before])
  })

  test('what a process that was killed had half written is written once', () => {
    const db = openOne()
    const feed = createFeed(db)
    for (let commit = 0; commit < 60; commit += 1) feed.commit(100)
    expect(held(db).length).toBeGreaterThan(1_000)
    expect(timelineUntil(db)).toBe(100)
    const next = openOne()
    const again = createTimeline(next, () => 0)
    rest(next, again)
    expect(held(next)).toEqual(wanted(next))
    expect(timelineUntil(next)).toBe(6_000)
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

test('an older database is filled when it is brought up to date', () => {
  const db = openOne()
  createFeed(db).commit(1_000)
  const file = databasePath(folder)
  db.run(`DROP TABLE timeline; DELETE FROM install WHERE name = 'timeline_until';
    CREATE INDEX events_by_contact ON events (contact_id, type); PRAGMA user_version = 10`)
  db.close()
  open = []
  const upgraded = openOne()
  expect(held(upgraded)).toEqual(wanted(upgraded))
  expect(timelineUntil(upgraded)).toBe(1_000)
  expect(upgraded.query(`SELECT name FROM sqlite_schema WHERE name = 'events_by_contact'`).all()).toEqual([])
  expect(new Database(`${file}.before-11`).query('SELECT count(*) AS n FROM events').get()).toEqual({ n: 1_000 })
})

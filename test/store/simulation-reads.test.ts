/** What a simulation reads, part by part, is what one statement over everything would. */
import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/database.ts'
import { idAt } from '../../src/core/ids.ts'
import { createSimulationReads } from '../../src/store/simulation-reads.ts'

const FIRST = Date.UTC(2026, 4, 15)
const [EVENT, PAGE] = [0, 1]
const LATER = FIRST + 3_600_000
const RANGE = { appId: 1, from: FIRST }

let folder: string
let db: Database
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventpost-'))
  db = openDatabase(folder)
  db.run(`INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'done'), (2, 1, 'other')`)
})
afterEach(() => {
  db.close()
  rmSync(folder, { recursive: true })
})

/** Rows of ours, each tenth a page view and each seventh of another name, and so many of another app after each. */
function fill(rows: number, strangers: number): void {
  const insert = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)`,
  )
  db.transaction(() => {
    for (let index = 0; index < rows; index += 1) {
      const at = FIRST + index
      const isView = index % 10 === 0
      const [name, type] = [index % 7 === 0 ? 2 : 1, isView ? PAGE : EVENT]
      insert.run(idAt(at), 1, index % 50, name, type, `{"n":${index}}`, isView ? `/${index}` : null, at)
      for (let other = 1; other <= strangers; other += 1) {
        insert.run(idAt(at) + other, 2, 999, 1, EVENT, null, null, at)
      }
    }
  })()
}

const isDone = (index: number): boolean => index % 10 !== 0 && index % 7 !== 0
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

describe.each([0, 1, 9])('with %d rows of others after each', (strangers) => {
  test('every event of a name, every page view and everybody is met once, in order', () => {
    fill(4_321, strangers)
    const reads = createSimulationReads(db, { until: LATER })
    const triggers = [...reads.eachTrigger(RANGE, 'done')].map(({ properties }) => JSON.parse(properties ?? '').n)
    expect(triggers).toEqual(upTo(4_321).filter(isDone))
    const views = [...reads.eachHappening(RANGE, null)].map(({ path }) => path)
    expect(views).toEqual(
      upTo(4_321)
        .filter((index) => index % 10 === 0)
        .map((index) => `/${index}`),
    )
    const people = new Set([...reads.eachContactWith(RANGE, 'done')].map(({ contactId }) => contactId))
    expect([...people].toSorted((a, b) => a - b)).toEqual(upTo(50).filter((index) => index % 10 !== 0))
  })
})

test.each([0, 1, 999, 1_000, 1_001, 2_002])('%d rows, as many as parts end with', (rows) => {
  fill(rows, 0)
  expect([...createSimulationReads(db, { until: LATER }).eachTrigger(RANGE, 'done')]).toHaveLength(
    upTo(rows).filter(isDone).length,
  )
})

/** An event of ours that comes last: of these ids, and received then. */
const add = (id: number, receivedAt: number, contactId = 7): void => {
  db.run(
    'INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at, path) VALUES (?, 1, ?, 1, 0, 0, ?, NULL)',
    [id, contactId, receivedAt],
  )
}

test('what comes while it reads is not read, and no later pass reads it either', () => {
  fill(1_500, 0)
  let isFirst = true
  const giveWay = () => {
    if (isFirst) add(idAt(FIRST + 5_000), FIRST)
    isFirst = false
  }
  const reads = createSimulationReads(db, { until: LATER, giveWay })
  const expected = upTo(1_500).filter(isDone).length
  expect([...reads.eachTrigger(RANGE, 'done')]).toHaveLength(expected)
  expect([...reads.eachHappening(RANGE, 'done')]).toHaveLength(expected)
  expect([...createSimulationReads(db, { until: LATER }).eachTrigger(RANGE, 'done')]).toHaveLength(expected + 1)
})

test('what came later than it is to read is not read, though its id may be ahead of the clock', () => {
  add(idAt(FIRST + 5_000), FIRST, 1)
  add(idAt(FIRST + 5_000) + 1, FIRST + 1, 2)
  db.run(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
          VALUES (${idAt(FIRST + 5_000)}, 1, 'a', 'subscribed', ${FIRST}, 0),
                 (${idAt(FIRST + 5_000) + 1}, 1, 'b', 'subscribed', ${FIRST + 1}, 0)`)
  db.run(`INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items)
          VALUES (1, 1, 1, ${FIRST}, 1), (1, 1, 2, ${FIRST + 1}, 1)`)
  const reads = createSimulationReads(db, { until: FIRST })
  const found = [
    [...reads.eachTrigger(RANGE, 'done')].map(({ contactId }) => contactId),
    [...reads.eachContactWith(RANGE, 'done')].map(({ contactId }) => contactId),
    [...reads.eachReport(1)].map(({ receivedAt }) => receivedAt - FIRST),
    [...reads.eachCreated(RANGE)].map(({ createdAt }) => createdAt - FIRST),
  ]
  expect(found).toEqual([[1], [1], [0], [0]])
})

test.each([0, 1, 2, 4])(
  'who was seen first when, also before the days that are read, of %d in the timeline',
  (until) => {
    const view = db.prepare(
      `INSERT INTO events (id, app_id, contact_id, name_id, type, via, path, received_at, occurred_at)
     VALUES (?, 1, ?, 1, 1, 1, '/', ?, ?)`,
    )
    view.run(1, 5, FIRST - 9_000, null)
    view.run(2, 5, FIRST - 8_000, FIRST - 9_500)
    view.run(3, 6, FIRST + 1, FIRST - 1)
    add(4, FIRST, 7)
    // some are there already of those that are being written
    db.run(`INSERT INTO timeline SELECT contact_id, type, id FROM events WHERE id <= ${until + 2}`)
    db.run(`UPDATE install SET value = '${until}' WHERE name = 'timeline_until'`)
    const reads = createSimulationReads(db, { until: FIRST })
    expect([5, 6, 7].map(reads.firstViewsOf)).toEqual([
      [
        { at: FIRST - 9_000, occurredAt: FIRST - 9_000 },
        { at: FIRST - 8_000, occurredAt: FIRST - 9_500 },
      ],
      [],
      [],
    ])
    expect([...reads.eachFirstViewOf([5, 6, 7])]).toEqual([
      { contactId: 5, at: FIRST - 9_000, occurredAt: FIRST - 9_500 },
    ])
  },
)

test('others get their turn between parts and within them, and nothing is being read in between', () => {
  fill(10_000, 0)
  let turns = 0
  const other = openDatabase(folder)
  other.run('PRAGMA busy_timeout = 0')
  const giveWay = () => {
    turns += 1
    // a reader in the middle of a statement would hold on to the log
    expect(other.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy).toBe(0)
  }
  const reads = createSimulationReads(db, { until: LATER, giveWay })
  for (const _ of reads.eachHappening(RANGE, null)) continue
  other.close()
  expect(turns).toBeGreaterThan(40)
})

test('reports are met once too, however many somebody has', () => {
  const report = db.prepare(
    `INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items) VALUES (1, ?, ?, 0, 1)`,
  )
  db.transaction(() => {
    // one with more than a part holds
    for (const n of upTo(2_500)) report.run(n < 1_200 ? 5 : n, n)
  })()
  expect([...createSimulationReads(db, { until: LATER }).eachReport(1)]).toHaveLength(2_500)
})

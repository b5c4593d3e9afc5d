/** While much comes, the index of people's events grows by runs, and takes them up later. */
import { expect, test } from 'bun:test'
import { mapInOrder } from '../../../src/core/in-order.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { createContactReads } from '../../../src/store/contacts.ts'
import { createEngine } from '../../../src/store/engine/engine.ts'
import type { Job } from '../../../src/store/writes.ts'
import { createEventReads } from '../../../src/store/events.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import { createTimeline } from '../../../src/store/timeline/timeline.ts'
import { indexedUntil, mergedUntil, selectIndexedIds, selectIds } from '../../../src/store/timeline/timeline-reads.ts'
import { useFolder } from '../databases.ts'
import { AT, eventWrite } from '../samples.ts'
import { countOf, createFeed, listIndexed, REST_MS, rest, RUN_ROWS, wanted } from './timeline-rows.ts'
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'
import { isLong } from '../../long-form.ts'

const folder = useFolder()

test('runs wait for a pause, then all are merged at once', () => {
  const db = folder.open()
  const feed = createFeed(db)
  for (let commit = 0; commit < 400; commit += 1) feed.commit(100)
  expect(countOf(db, 'timeline_runs')).toBeGreaterThan(6)
  expect(listIndexed(db).length).toBe(100)
  for (let commit = 0; commit < 250 && countOf(db, 'timeline_runs') > 0; commit += 1) {
    feed.wait(REST_MS)
    feed.commit(1)
  }
  feed.rest()
  expect(listIndexed(db)).toEqual(wanted(db))
  expect([countOf(db, 'timeline_run_rows'), countOf(db, 'timeline_runs'), feed.timeline.hasWaiting()]).toEqual([
    0,
    0,
    false,
  ])
})

test('runs of a single person are merged too', () => {
  const db = folder.open()
  const feed = createFeed(db, 1)
  for (let commit = 0; commit < 120; commit += 1) feed.commit(100)
  expect(countOf(db, 'timeline_runs')).toBeGreaterThan(1)
  feed.rest()
  expect(listIndexed(db)).toEqual(wanted(db))
  expect([countOf(db, 'timeline_run_rows'), countOf(db, 'timeline_runs')]).toEqual([0, 0])
})

const inOrder = (id: number): number => id
const byChance = (id: number): number => (id * 7919) % 5_003

const PEOPLE: [string, (id: number) => number][] = [
  ['recurring people', byChance],
  ['a new person each time', inOrder],
]

test.each(isLong ? PEOPLE : PEOPLE.slice(0, 1))(
  'under constant load runs are merged meanwhile, and a limited number waits: %s',
  (_, personOf) => {
    const db = folder.open()
    const feed = createFeed(db, personOf)
    const waiting = () => countOf(db, `timeline_runs WHERE last > ${mergedUntil(db)}`)
    let [most, fewest, kept] = [0, Number.POSITIVE_INFINITY, 0]
    const commits = isLong ? 200 : 160
    for (let commit = 0; commit < commits; commit += 1) {
      feed.commit(5_000)
      most = Math.max(most, waiting())
      if (most > 128) fewest = Math.min(fewest, waiting())
      kept = Math.max(kept, countOf(db, 'timeline_runs'))
    }
    expect(most).toBeGreaterThan(128)
    expect(most).toBeLessThan(220)
    expect(fewest).toBeLessThan(128)
    // those that were taken up are deleted meanwhile too
    expect(kept).toBeLessThan(220)
    expect(commits * 5_000 - indexedUntil(db)).toBeLessThan(4 * RUN_ROWS)
  },
)

test('a commit merges no more when runs differ in people and rows', () => {
  const db = folder.open()
  const feed = createFeed(db, (id) => (id <= RUN_ROWS ? id * 1_000 : id))
  for (let commit = 0; commit < 200; commit += 1) feed.commit(100)
  feed.wait(2_000)
  let [before, most] = [listIndexed(db).length, 0]
  for (let commit = 0; commit < 60; commit += 1) {
    feed.commit(1)
    const now = countOf(db, 'timeline')
    most = Math.max(most, now - before)
    before = now
  }
  expect(most).toBeWithin(100, 700)
})

test('repeated rollbacks do not keep runs from being merged', () => {
  const db = folder.open()
  const feed = createFeed(db, 5_003)
  for (let commit = 0; commit < (isLong ? 1_200 : 500); commit += 1) feed.commit(100)
  expect(countOf(db, 'timeline_runs')).toBeGreaterThan(isLong ? 20 : 8)
  for (let look = 0; look < 60 && feed.timeline.hasWaiting(); look += 1) {
    if (look % 4 === 3) feed.fail(true)
    db.transaction(() => feed.timeline.advance(true))()
    feed.timeline.settle()
  }
  expect(feed.timeline.hasWaiting()).toBe(false)
  expect(listIndexed(db)).toEqual(wanted(db))
})

test('a merge step in a pause ends at its time limit', () => {
  const db = folder.open()
  const feed = createFeed(db, 5_003)
  for (let commit = 0; commit < 400; commit += 1) feed.commit(100)
  let ms = 0
  const timeline = createTimeline(db, () => (ms += 0.1))
  const step = () => {
    db.transaction(() => timeline.advance(true))()
    timeline.settle()
    return countOf(db, 'timeline')
  }
  const counts = Array.from({ length: 10 }, step)
  const most = Math.max(...counts.map((count, index) => count - (counts[index - 1] ?? 0)))
  expect(most).toBeWithin(100, 40 * 40)
  rest(db, timeline)
  expect(listIndexed(db)).toEqual(wanted(db))
})

test('a rollback while a run is written loses nothing, and nothing is read twice', () => {
  const db = folder.open()
  const feed = createFeed(db)
  for (let commit = 0; commit < 50; commit += 1) feed.commit(100)
  expect(countOf(db, 'timeline_run_rows')).toBeWithin(500, RUN_ROWS)
  feed.fail(false)
  const theirs = db.query<{ id: number }, []>(selectIds('events', { contact: '1', types: '>= 0' })).all()
  const known = wanted(db).flatMap(([contactId, , id]) => (contactId === 1 ? [id] : []))
  expect(theirs.map(({ id }) => id).toSorted()).toEqual(known.toSorted())
  feed.rest()
  expect(listIndexed(db)).toEqual(wanted(db))
})

test('a person with all pending rows is read and changed as fast as others', async () => {
  const db = folder.open()
  const engine = createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES })
  const record = (): Job => ({ name: 'recordEvent', input: eventWrite() })
  for (let commit = 0; commit < 8; commit += 1) await engine.run(Array.from({ length: 5_000 }, record))
  expect(countOf(db, 'timeline_runs')).toBeGreaterThan(5)
  const [reads, { listEvents }] = [createContactReads(createSqliteSql(db)), createEventReads(createSqliteSql(db))]
  const timeOf = async (step: () => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now()
    await step()
    return performance.now() - startedAt
  }
  const { id } = db.query<{ id: number }, []>('SELECT id FROM contacts').get() ?? { id: 0 }
  const list = (name: string | null) => listEvents({ appId: 1, contactId: id, name, before: null, limit: 100 })
  const bestOf = async (step: () => Promise<unknown>): Promise<number> =>
    Math.min(...(await mapInOrder(Array.from({ length: 25 }), () => timeOf(step))))
  expect(await bestOf(() => reads.byId(id))).toBeLessThan(5)
  expect(await bestOf(() => list(null))).toBeLessThan(5)
  expect(await bestOf(() => list('results_ready'))).toBeLessThan(15)
  expect(await reads.byId(id)).toMatchObject({ lastEventAt: AT })
})

test('the next process continues a merge that was killed', () => {
  const db = folder.open()
  const feed = createFeed(db)
  for (let commit = 0; commit < 200; commit += 1) feed.commit(100)
  feed.wait(2_000)
  for (let commit = 0; commit < 12; commit += 1) feed.commit(20)
  const [merged, all] = [listIndexed(db).length, wanted(db).length]
  expect(merged).toBeGreaterThan(1_000)
  expect(merged).toBeLessThan(all / 2)
  // what is taken up but not marked yet is reported once
  const theirs = db.query<{ id: number }, []>(selectIds('events', { contact: '1', types: '>= 0' })).all()
  const known = wanted(db).flatMap(([contactId, , id]) => (contactId === 1 ? [id] : []))
  expect(theirs.map(({ id }) => id).toSorted()).toEqual(known.toSorted())
  const next = folder.open()
  rest(
    next,
    createTimeline(next, () => 0),
  )
  expect(listIndexed(next)).toEqual(wanted(next))
  expect([countOf(next, 'timeline_run_rows'), countOf(next, 'timeline_runs')]).toEqual([0, 0])
})

test('an interrupted write hides nothing that was committed', () => {
  const db = folder.open()
  db.run(`INSERT INTO timeline_runs VALUES (100, 0), (200, 1); INSERT INTO timeline_run_rows VALUES (200, 1, 0, 50);
    UPDATE install SET value = '200' WHERE name = 'timeline_until'`)
  const idsUpTo = (upTo: number) =>
    db
      .query(selectIndexedIds('events', { contact: '1', types: '= 0', upTo: `${upTo}` }))
      .values()
      .flat()
  expect([idsUpTo(49), idsUpTo(60), idsUpTo(150)]).toEqual([[], [50], [50]])
})

test('a command beside the server leaves runs alone, and indexes when there are none', () => {
  const db = folder.open()
  const feed = createFeed(db)
  for (let commit = 0; commit < 120; commit += 1) feed.commit(100)
  const other = folder.open()
  const command = createTimeline(other, () => 0, false)
  const before = [listIndexed(db).length, indexedUntil(db)]
  other.transaction(() => command.advance(false))()
  command.settle()
  expect([listIndexed(db).length, indexedUntil(db)]).toEqual(before)
  feed.rest()
  db.run(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) VALUES (99999, 1, 1, 1, 0, 0, ${AT})`,
  )
  other.transaction(() => command.advance(false))()
  command.settle()
  expect(listIndexed(db)).toEqual(wanted(db))
})

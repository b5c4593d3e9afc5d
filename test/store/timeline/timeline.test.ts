/** The index of people's events is filled behind them. */
import { describe, expect, test } from 'bun:test'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { createEngine } from '../../../src/store/engine/engine.ts'
import type { Job } from '../../../src/store/writes.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import { createTimeline } from '../../../src/store/timeline/timeline.ts'
import { indexedUntil } from '../../../src/store/timeline/timeline-reads.ts'
import { useFolder } from '../databases.ts'
import { failing } from '../failing.ts'
import { AT, eventWrite } from '../samples.ts'
import {
  countOf,
  createFeed,
  emailOf,
  listIndexed,
  lookAround,
  REST_MS,
  rest,
  RUN_ROWS,
  wanted,
} from './timeline-rows.ts'

const folder = useFolder()

function openEngine() {
  const db = folder.open()
  return { db, engine: createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES }) }
}

describe('indexing', () => {
  test('happens in the same commit when little arrives', () => {
    const db = folder.open()
    const feed = createFeed(db)
    for (let commit = 0; commit < 5; commit += 1) {
      feed.commit(3)
      feed.wait(REST_MS)
    }
    expect(listIndexed(db)).toEqual(wanted(db))
    expect([indexedUntil(db), feed.timeline.hasWaiting()]).toEqual([15, false])
  })

  test('happens in parts under load, and at most two parts wait', () => {
    const db = folder.open()
    const feed = createFeed(db)
    let most = 0
    for (let commit = 0; commit < 150; commit += 1) {
      feed.commit(100)
      // ids are counted up here, so this is how many events a reader looks through
      most = Math.max(most, (commit + 1) * 100 - indexedUntil(db))
    }
    expect(most).toBeGreaterThan(RUN_ROWS)
    expect(most).toBeLessThan(2 * RUN_ROWS)
  })

  test('uses a pause for everything that waits', () => {
    const db = folder.open()
    const feed = createFeed(db)
    for (let commit = 0; commit < 70; commit += 1) feed.commit(100)
    expect(feed.timeline.hasWaiting()).toBe(true)
    feed.rest()
    expect(listIndexed(db)).toEqual(wanted(db))
    expect([indexedUntil(db), feed.timeline.hasWaiting()]).toEqual([7_000, false])
  })

  test('does not leave a backlog to the next arrival', () => {
    const db = folder.open()
    const feed = createFeed(db)
    feed.commit(0)
    feed.commit(600)
    for (let commit = 0; commit < 30; commit += 1) {
      feed.wait(REST_MS - 10)
      feed.commit(1)
    }
    expect(indexedUntil(db)).toBeGreaterThan(600)
  })

  test('is not blocked by a person who is erased again and again', () => {
    const db = folder.open()
    const feed = createFeed(db)
    for (let commit = 0; commit < 600; commit += 1) {
      feed.commit(30)
      if (commit % 60 === 0) feed.timeline.erase(commit % 101)
      if (commit % 20 === 0) feed.timeline.catchUp()
    }
    expect(indexedUntil(db)).toBeGreaterThan(600 * 30 - 2 * RUN_ROWS)
  })

  test('a rollback in between undoes only its own rows', () => {
    const db = folder.open()
    const feed = createFeed(db)
    for (let commit = 0; commit < 60; commit += 1) {
      feed.commit(100)
      if (commit % 7 > 0) continue
      feed.fail(commit % 14 === 0)
    }
    feed.rest()
    expect(listIndexed(db)).toEqual(wanted(db))
  })

  test.each(['itself', 'another process'])('does not restore a person that %s erased meanwhile', async (who) => {
    const [one, two] = [openEngine(), openEngine()]
    const record = (index: number): Job => ({ name: 'recordEvent', input: eventWrite({ email: emailOf(index % 4) }) })
    for (let batch = 0; batch < 24; batch += 1)
      await one.engine.run(Array.from({ length: 250 }, (_, index) => record(index)))
    const all = countOf(one.db, 'events')
    expect(countOf(one.db, 'timeline')).toBeGreaterThan(0)
    expect(countOf(one.db, 'timeline')).toBeLessThan(all)
    const { engine } = who === 'itself' ? one : two
    const by = { accountId: 'acc_1', actor: 'cli', at: AT }
    await engine.run([{ name: 'eraseContact', input: { appId: 1, email: emailOf(2), ...by } }])
    await one.engine.run([record(0)])
    for (let look = 0; look < 20; look += 1) await lookAround(one.engine)
    expect(countOf(one.db, 'events')).toBeLessThan(all * 0.8)
    expect(listIndexed(one.db)).toEqual(wanted(one.db))
  })

  test('the engine indexes in a pause after a tick without writes', async () => {
    const { db, engine } = openEngine()
    await engine.run([{ name: 'recordEvent', input: eventWrite() }])
    await engine.run(Array.from({ length: 300 }, (): Job => ({ name: 'recordEvent', input: eventWrite() })))
    await lookAround(engine)
    expect(listIndexed(db).length).toBe(1)
    await lookAround(engine)
    expect(listIndexed(db)).toEqual(wanted(db))
    const before = db.query('PRAGMA data_version').get()
    const other = folder.open()
    const version = other.query('PRAGMA data_version')
    const seen = version.get()
    await lookAround(engine)
    await lookAround(engine)
    // and writes nothing where nothing waits
    expect([version.get(), db.query('PRAGMA data_version').get()]).toEqual([seen, before])
  })

  test('the engine continues in a pause, and waits if the disk is full', async () => {
    const db = folder.open()
    const { failNext } = failing(db, 'COMMIT', 'SQLITE_FULL')
    const engine = createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES })
    const write = (rows: number) =>
      engine.run(Array.from({ length: rows }, (): Job => ({ name: 'recordEvent', input: eventWrite() })))
    for (let commit = 0; commit < 10; commit += 1) await write(5_000)
    expect([await engine.tidy(), await engine.tidy()]).toEqual([false, true])
    failNext()
    expect([await engine.tidy(), await engine.tidy()]).toEqual([false, true])
    await write(1)
    expect(await engine.tidy()).toBe(false)
    let steps = 1
    while (await engine.tidy()) steps += 1
    expect(steps).toBeWithin(2, 1_000)
    expect(listIndexed(db)).toEqual(wanted(db))
  })

  test('rows that a killed process had half written are written once', () => {
    const db = folder.open()
    const feed = createFeed(db)
    for (let commit = 0; commit < 60; commit += 1) feed.commit(100)
    expect(countOf(db, 'timeline_run_rows')).toBeGreaterThan(1_000)
    expect(indexedUntil(db)).toBe(100)
    const next = folder.open()
    const again = createTimeline(next, () => 0)
    rest(next, again)
    expect(listIndexed(next)).toEqual(wanted(next))
    expect([indexedUntil(next), countOf(next, 'timeline_run_rows'), countOf(next, 'timeline_runs')]).toEqual([
      6_000, 0, 0,
    ])
  })
})

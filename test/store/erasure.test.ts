import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { beginBlanking, blankPages, findStalePages } from '../../src/store/blanking.ts'
import { truncateLog } from '../../src/store/checkpoints.ts'
import { databasePath, openDatabase, openForReading } from '../../src/store/database.ts'
import { createEngine } from '../../src/store/engine.ts'
import type { Job } from '../../src/store/writes.ts'
import { createSealer } from '../../src/store/sealing.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { AT, batchWrite, BY, contactWrite, done, eventWrite, idempotency, makeFolder } from './samples.ts'

/** Far beyond what the filling takes, also on a machine that does much else. */
const FILL_MS = 30_000

const markOf = (number: number): string => `zq${String(number).padStart(5, '0')}qz`

/** A word that appears in everything about one person and nowhere else. It scatters, so that rows come in no order. */
const wordOf = (number: number): string => `${Bun.hash(String(number)).toString(36)}${markOf(number)}`
const emailOf = (number: number): string => `${wordOf(number)}@mail-${wordOf(number)}.example.com`

/** Rows that grow, shrink and grow again, so that pages split and merge: what leaves copies behind. */
function jobsOf(number: number, round: number): Job[] {
  const word = wordOf(number)
  const person = { email: emailOf(number), shownEmail: emailOf(number).toUpperCase(), at: AT + round }
  const once = idempotency({ key: `${Bun.hash(`${number} ${round}`)}`, bodyHash: 'h' })
  const add: Job = {
    name: 'addContact',
    input: contactWrite({
      ...person,
      firstName: `First-${word}`,
      tags: [`tag-${word}`, 'all'],
      source: `s-${word}`,
      idempotency: round % 2 ? null : once,
    }),
  }
  const event: Job = {
    name: 'recordEvent',
    input: eventWrite({
      ...person,
      lastName: `Last-${word}`,
      name: 'grew',
      properties: JSON.stringify({ url: `https://x/${word}`.padEnd(20 + ((number * 37) % 150), '.') }),
    }),
  }
  const path = `/${word}`.padEnd(10 + ((number * 53) % 300), '/')
  const report: Job = {
    name: 'recordBatch',
    input: batchWrite({
      email: person.email,
      at: person.at,
      batchId: `${word}.${round}`,
      items: [{ type: round % 2 ? 'leave' : 'page', name: null, path, occurredAt: person.at }],
    }),
  }
  const filling = `fill-${word}-`.repeat((number * round) % 23)
  const update: Job = {
    name: 'updateContact',
    input: contactWrite({
      ...person,
      tags: [`tag${round}-${word}`],
      removeTags: [`tag${round - 1}-${word}`],
      fields: { note: filling || null, [`f-${word}`]: round },
    }),
  }
  return round === 0 ? [add, event, report] : [event, update, report]
}

async function fill(store: Store, people: number[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const jobs = people.flatMap((number) => jobsOf(number, round))
    for (let at = 0; at < jobs.length; at += 1_000) {
      const writes = jobs
        .slice(at, at + 1_000)
        .map(({ name, input }) => (store[name] as (input: unknown) => Promise<object>)(input))
      for (const outcome of await Promise.all(writes)) done(outcome)
    }
  }
}

/** The bytes of every file, read by another process: to close a file here would drop this one's locks. */
function readFolder(folder: string): string {
  const files = readdirSync(folder).map((file) => join(folder, file))
  return Bun.spawnSync(['cat', ...files])
    .stdout.toString('latin1')
    .toLowerCase()
}

function remainsOf(bytes: string, people: number[]): number[] {
  const found = new Set(Array.from(bytes.matchAll(/zq(\d{5})qz/g), (match) => Number(match[1])))
  return people.filter((number) => found.has(number))
}

const ROUNDS = 3
const PEOPLE = Array.from({ length: 3_000 }, (_, index) => index)
const [erased, others] = [PEOPLE.filter((number) => number % 10 === 3), PEOPLE.filter((number) => number % 10 !== 3)]

describe.each([false, true])('an erased person (threads: %p)', (threads) => {
  const { folder, remove } = makeFolder()
  let store: Store
  let before: string[] = []
  const look = (): Promise<string[]> =>
    Promise.all(
      others
        .filter((number) => number % 7 === 0)
        .map(async (number) => JSON.stringify(await store.findContact(1, emailOf(number)))),
    )

  beforeAll(async () => {
    store = await openStore(folder, { threads })
    await fill(store, PEOPLE, ROUNDS)
    before = await look()
  }, FILL_MS)
  afterAll(async () => {
    await store.close()
    remove()
  })

  test('is in the files before', () => {
    expect(remainsOf(readFolder(folder), erased)).toEqual(erased)
  })

  test('is in no byte of any file as soon as the blanking that follows is done', async () => {
    const [first = 0, ...rest] = erased
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(first) }))
    if (threads) expect(await store.installValue('blanking_due')).toBe('1')
    await store.whenBlanked()
    expect(remainsOf(readFolder(folder), [first])).toEqual([])
    for (const outcome of await Promise.all(
      rest.map((number) => store.eraseContact({ ...BY, appId: 1, email: emailOf(number) })),
    ))
      done(outcome)
    await store.whenBlanked()
    expect(remainsOf(readFolder(folder), erased)).toEqual([])
    expect(await store.installValue('blanking_due')).toBe('0')
  })

  test('does not come back when the pages they were on are written again', async () => {
    await fill(store, others.slice(0, 600), 2)
    expect(remainsOf(readFolder(folder), erased)).toEqual([])
  })

  test('leaves all others as they were, and the database whole', async () => {
    const now = await look()
    expect(now.map((row) => row.length > 100)).toEqual(now.map(() => true))
    expect(others.slice(0, 600).length).toBe(600)
    const unchanged = (rows: string[]) => rows.slice(100)
    expect(unchanged(now)).toEqual(unchanged(before))
    await store.close()
    expect(remainsOf(readFolder(folder), erased)).toEqual([])
    const db = openDatabase(folder)
    expect(db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
    const counts = ['contacts', 'events', 'idempotency_records', 'snippet_batches'].map(
      (table) => db.query(`SELECT count(*) FROM ${table}`).values()[0]?.[0],
    )
    // of the batches those of rounds 0 and 2 held a page view; their second sending is a repetition
    expect(counts).toEqual([2_700, 2_700 * (ROUNDS + 2) + 600 * 2, 2_700, 2_700 * ROUNDS])
    db.close()
    store = await openStore(folder, { threads })
  })
})

describe('blanking', () => {
  test('a long read holds the log: the erasure is answered, and blanked once the read has ended', async () => {
    const { folder, remove } = makeFolder()
    const store = await openStore(folder, { threads: true })
    await fill(store, PEOPLE.slice(0, 50), 2)
    const reader = openForReading(folder)
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM contacts').get()
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(7) }))
    expect(await store.findContact(1, emailOf(7))).toBeNull()
    expect(await store.installValue('blanking_due')).toBe('1')
    reader.run('COMMIT')
    reader.close()
    await store.whenBlanked()
    expect(await store.installValue('blanking_due')).toBe('0')
    expect(remainsOf(readFolder(folder), [7])).toEqual([])
    await store.close()
    remove()
  })

  test('a store that is closed at once is closed when the blanking is done', async () => {
    const { folder, remove } = makeFolder()
    const store = await openStore(folder, { threads: true })
    await fill(store, PEOPLE.slice(0, 50), 2)
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(7) }))
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(8) }))
    await store.close()
    expect(remainsOf(readFolder(folder), PEOPLE.slice(0, 10))).toEqual([0, 1, 2, 3, 4, 5, 6, 9])
    const again = openDatabase(folder)
    expect(again.query("SELECT value FROM install WHERE name = 'blanking_due'").values()).toEqual([['0']])
    again.close()
    remove()
  })

  test('what a crash left undone is done at the next start', async () => {
    const { folder, remove } = makeFolder()
    const first = await openStore(folder, { threads: false })
    await fill(first, PEOPLE.slice(0, 50), 2)
    await first.close()
    const db = openDatabase(folder)
    createEngine(db, () => AT, createSealer(null)).run([
      { name: 'eraseContact', input: { ...BY, appId: 1, email: emailOf(7) } },
    ])
    truncateLog(db)
    db.close()
    plant(folder, 'planted-remains')
    const store = await openStore(folder, { threads: true })
    await store.whenBlanked()
    expect(await store.installValue('blanking_due')).toBe('0')
    expect(readFolder(folder)).not.toContain('planted-remains')
    await store.close()
    remove()
  })

  /** Puts text into the unused middle of a page with people. */
  function plant(folder: string, text: string): number {
    const bytes = readFileSync(databasePath(folder))
    for (let page = 1; page < bytes.length / 4_096; page++) {
      const at = page * 4_096
      const [from, to] = [at + 8 + 2 * bytes.readUInt16BE(at + 3), at + bytes.readUInt16BE(at + 5)]
      if (bytes[at] !== 13 || to - from < 100 || bytes.readUInt16BE(at + 3) < 5) continue
      const file = openSync(databasePath(folder), 'r+')
      writeSync(file, text, from + 11)
      closeSync(file)
      return page + 1
    }
    throw new Error('no page with room')
  }

  test('finds and blanks what lies in the middle of a page, and nothing else', async () => {
    const { folder, remove } = makeFolder()
    const store = await openStore(folder, { threads: false })
    await fill(store, PEOPLE.slice(0, 200), 2)
    await store.close()
    const file = openSync(databasePath(folder), 'r+')
    const db = openDatabase(folder)
    expect(blankPages(db, file, { pages: findStalePages(file), mark: beginBlanking(db) ?? '' })).toBe(true)
    expect(findStalePages(file)).toEqual([])
    db.close()
    const clean = readFileSync(databasePath(folder))
    const page = plant(folder, 'planted')
    expect(findStalePages(file)).toEqual([page])
    const again = openDatabase(folder)
    const everyPage = Array.from({ length: clean.length / 4_096 - 1 }, (_, index) => index + 2)
    expect(blankPages(again, file, { pages: everyPage, mark: '0' })).toBe(true)
    again.close()
    expect(findStalePages(file)).toEqual([])
    const after = readFileSync(databasePath(folder))
    const changed = everyPage.filter(
      (number) =>
        !after
          .subarray((number - 1) * 4_096, number * 4_096)
          .equals(clean.subarray((number - 1) * 4_096, number * 4_096)),
    )
    expect(after.includes('planted')).toBe(false)
    const check = openDatabase(folder)
    expect(check.query('PRAGMA integrity_check').values()).toEqual([['ok']])
    check.close()
    // dead cell pointers go as well; every row is where it was
    expect(changed.length).toBeLessThan(everyPage.length)
    closeSync(file)
    remove()
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { createLogErasure, truncateLog } from '../../src/store/engine/checkpoints.ts'
import { logPath, openDatabase, openForReading } from '../../src/store/engine/database.ts'
import { createEngine } from '../../src/store/engine/engine.ts'
import type { Job } from '../../src/store/writes.ts'
import { createSealer } from '../../src/store/engine/sealing.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { AT, visitReportWrite, BY, contactWrite, done, eventWrite, idempotency, makeMigratedFolder } from './samples.ts'
import { comesTrue } from '../waiting.ts'
import { isLong } from '../long-form.ts'

/** Far beyond what the filling takes, also on a machine that does much else. */
const FILL_MS = 120_000

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
    name: 'recordVisitReport',
    input: visitReportWrite({
      email: person.email,
      at: person.at,
      reportId: `${word}.${round}`,
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
  const suppress: Job = {
    name: 'suppress',
    input: { appId: 1, email: person.email, reason: 'unsubscribed', at: person.at },
  }
  return round === 0 ? [add, event, report, suppress] : [event, update, report]
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
const readFolder = (folder: string): string => readFiles(readdirSync(folder).map((file) => join(folder, file)))

function readFiles(files: string[]): string {
  return Bun.spawnSync(['cat', ...files])
    .stdout.toString('latin1')
    .toLowerCase()
}

function remainsOf(bytes: string, people: number[]): number[] {
  const found = new Set(Array.from(bytes.matchAll(/zq(\d{5})qz/g), (match) => Number(match[1])))
  return people.filter((number) => found.has(number))
}

/** The writing thread empties the log a moment after the erasure. */
const eventually = async (isTrue: () => boolean): Promise<void> => expect(await comesTrue(isTrue)).toBe(true)

function openEngine(folder: string) {
  const db = openDatabase(folder)
  return { db, engine: createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES }) }
}

const ROUNDS = 3
const PEOPLE = Array.from({ length: isLong ? 1_000 : 200 }, (_, index) => index)
const [erased, others] = [PEOPLE.filter((number) => number % 10 === 3), PEOPLE.filter((number) => number % 10 !== 3)]
const KEPT = others.length
const REWRITTEN = others.slice(0, KEPT / 2)
const WATCHED = others.filter((number) => number % 7 === 0)

describe.each([false, true])('an erased person (threads: %p)', (threads) => {
  let folder = ''
  let remove = (): void => {}
  let store: Store
  let before: string[] = []
  const look = (): Promise<string[]> =>
    Promise.all(WATCHED.map(async (number) => JSON.stringify(await store.findContact(1, emailOf(number)))))

  beforeAll(async () => {
    ;({ folder, remove } = await makeMigratedFolder())
    store = await openStore(folder, { threads, rules: STORE_RULES })
    await fill(store, PEOPLE, ROUNDS)
    before = await look()
  }, FILL_MS)
  afterAll(async () => {
    await store.close()
    remove()
  })

  test('is in the files before the erasure', () => {
    expect(remainsOf(readFolder(folder), erased)).toEqual(erased)
  })

  test('is in no row, in little unused space, and nowhere after VACUUM', async () => {
    const inputs = erased.map((number) => ({ ...BY, appId: 1, email: emailOf(number) }))
    for (const outcome of await Promise.all(inputs.map(store.eraseContact))) done(outcome)
    if (threads) {
      // what tidies the timeline writes to the emptied log at once, so that it need not be seen empty
      await eventually(() => remainsOf(readFiles([logPath(folder)]), erased).length < erased.length / 2)
    }
    await store.close()
    const db = openDatabase(folder)
    expect(remainsOf(readFolder(folder), erased).length).toBeLessThan(erased.length / 2)
    db.run('VACUUM')
    truncateLog(db)
    db.close()
    expect(remainsOf(readFolder(folder), erased)).toEqual([])
    // the thread has done its part
    store = await openStore(folder, { threads: false, rules: STORE_RULES })
  })

  test('does not reappear when pages are rewritten', async () => {
    await fill(store, REWRITTEN, 2)
    expect(remainsOf(readFolder(folder), erased)).toEqual([])
  })

  test('leaves other people unchanged and the database intact', async () => {
    const now = await look()
    expect(now.map((row) => row.length > 100)).toEqual(now.map(() => true))
    const unchanged = (rows: string[]) => rows.filter((_, index) => !REWRITTEN.includes(WATCHED[index] ?? 0))
    expect(unchanged(now).length).toBeGreaterThan(8)
    expect(unchanged(now)).toEqual(unchanged(before))
    await store.close()
    expect(remainsOf(readFolder(folder), erased)).toEqual([])
    const db = openDatabase(folder)
    expect(db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
    const counts = ['contacts', 'events', 'idempotency_records', 'snippet_batches'].map(
      (table) => db.query(`SELECT count(*) FROM ${table}`).values()[0]?.[0],
    )
    // of the batches those of rounds 0 and 2 had a page view; their second sending is a repetition
    expect(counts).toEqual([KEPT, KEPT * (ROUNDS + 2) + REWRITTEN.length * 2, KEPT, KEPT * ROUNDS])
    db.close()
  })
})

describe('the log', () => {
  test('is emptied soon after an erasure, once a long read has ended', async () => {
    const { folder, remove } = await makeMigratedFolder()
    const store = await openStore(folder, { threads: true, rules: STORE_RULES })
    // from before the log has anything, so that none of it can be dropped meanwhile
    const reader = openForReading(folder)
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM contacts').get()
    await fill(store, PEOPLE.slice(0, 50), 2)
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(7) }))
    expect(await store.findContact(1, emailOf(7))).toBeNull()
    const isInLog = (number: number): boolean => readFileSync(logPath(folder)).includes(emailOf(number))
    expect(isInLog(7)).toBe(true)
    reader.run('COMMIT')
    reader.close()
    // what the idle thread writes later may be in it
    await eventually(() => !isInLog(7))
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(8) }))
    await eventually(() => !isInLog(8))
    await store.close()
    remove()
  })

  test.each([false, true])('is left alone if another program copies it: %p', async (hasExternalCheckpoints) => {
    const { folder, remove } = await makeMigratedFolder()
    const store = await openStore(folder, { threads: true, rules: STORE_RULES, hasExternalCheckpoints })
    // as the other program does, so that the store's connections are not the last ones
    const other = openForReading(folder)
    await fill(store, PEOPLE.slice(0, 10), 2)
    done(await store.eraseContact({ ...BY, appId: 1, email: emailOf(7) }))
    await store.close()
    const { log = 0, checkpointed } =
      other.query<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(NOOP)').get() ?? {}
    expect([log > 0, checkpointed]).toEqual([hasExternalCheckpoints, 0])
    other.close()
    remove()
  })

  test('is emptied at the next start after a crash', async () => {
    const { folder, remove } = await makeMigratedFolder()
    const { db, engine } = openEngine(folder)
    await engine.run(jobsOf(7, 0))
    await engine.run([{ name: 'eraseContact', input: { ...BY, appId: 1, email: emailOf(7) } }])
    expect(remainsOf(readFolder(folder), [7])).toEqual([7])
    const store = await openStore(folder, { threads: true, rules: STORE_RULES })
    await eventually(() => store.stats().logBytes === 0)
    await store.close()
    db.close()
    remove()
  })

  test('is emptied with one try each second', async () => {
    const { folder, remove } = await makeMigratedFolder()
    const { db, engine } = openEngine(folder)
    let now = 0
    const { demand, run } = createLogErasure(db, () => now)
    const logBytes = (): number => statSync(logPath(folder)).size
    const add = async (number: number): Promise<void> => void (await engine.run(jobsOf(number, 0)))
    await add(1)
    run()
    expect(logBytes()).toBe(0)
    await add(2)
    run()
    expect(logBytes()).toBeGreaterThan(0)
    demand()
    now = 999
    run()
    expect(logBytes()).toBeGreaterThan(0)
    now = 1_000
    run()
    expect(logBytes()).toBe(0)
    db.close()
    remove()
  })
})

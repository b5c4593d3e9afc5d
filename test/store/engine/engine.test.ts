import { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { idAt } from '../../../src/core/ids.ts'
import { mapInOrder } from '../../../src/core/in-order.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { createContactReads } from '../../../src/store/contacts.ts'
import { databasePath } from '../../../src/store/engine/database.ts'
import { createEngine, reportBrokenJob } from '../../../src/store/engine/engine.ts'
import type { Job } from '../../../src/store/writes.ts'
import { createEventReads } from '../../../src/store/events.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import type { EventWrite } from '../../../src/store/types.ts'
import { useFolder } from '../databases.ts'
import { failing } from '../failing.ts'
import { AT, BY, contactWrite, done, eventWrite, HOUR, idempotency, countedBy } from '../samples.ts'
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'

const folder = useFolder()
let now = AT
beforeEach(() => void (now = AT))

function openOne() {
  const db = folder.open()
  const engine = createEngine(db, () => now, createSealer(null), { rules: STORE_RULES })
  return { db, engine, findContact: createContactReads(createSqliteSql(db)).findContact }
}

const record = (changes: Partial<EventWrite> = {}): Job => ({ name: 'recordEvent', input: eventWrite(changes) })
/** Fails after its person, its event and its counts were written. */
const recordBadly = (changes: Partial<EventWrite> = {}): Job =>
  record({ ...changes, idempotency: idempotency({ bodyHash: null as unknown as string }) })

async function quietly<T>(run: () => Promise<T>): Promise<{ result: T; lines: string[] }> {
  const log = spyOn(console, 'error').mockImplementation(() => {})
  try {
    const result = await run()
    return { result, lines: log.mock.calls.map((call) => String(call[0])) }
  } finally {
    log.mockRestore()
  }
}

const countRows = (db: Database, table: string): number =>
  db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0

describe('a bad row', () => {
  test('costs a few commits, not one for each neighbour', async () => {
    const { db } = openOne()
    let begins = 0
    const prepare = db.prepare.bind(db)
    db.prepare = ((sql: string) => {
      const statement = prepare(sql)
      return sql === 'BEGIN IMMEDIATE' ? { run: () => void (begins++, statement.run()) } : statement
    }) as Database['prepare']
    const engine = createEngine(db, () => now, createSealer(null), { rules: STORE_RULES })
    const jobs = Array.from({ length: 256 }, (_, index) => (index === 100 ? recordBadly() : record()))
    const { result, lines } = await quietly(() => engine.run(jobs))
    expect(result.flatMap((outcome, index) => ('refusal' in outcome ? [index] : []))).toEqual([100])
    expect(begins).toBe(17)
    expect(countRows(db, 'events')).toBe(255)
    const reason = 'SQLiteError: NOT NULL constraint failed: idempotency_records.body_hash'
    expect(lines).toEqual([`{"level":"error","message":"a write failed","write":"recordEvent","reason":"${reason}"}`])
  })

  test('is logged without its values', async () => {
    const cause = new Error('UNIQUE constraint failed')
    const error = Object.assign(new Error('Failed query: insert\nparams: secret'), { query: '', params: [], cause })
    const { lines } = await quietly(async () => reportBrokenJob('createAccount', error))
    const reason = 'Error: UNIQUE constraint failed'
    expect(lines).toEqual([`{"level":"error","message":"a write failed","write":"createAccount","reason":"${reason}"}`])
  })

  test('leaves no count, name, person or time behind', async () => {
    const { db, engine, findContact } = openOne()
    await engine.run([record({ email: 'old@example.com' })])
    await quietly(() =>
      engine.run([
        recordBadly({ email: 'old@example.com', name: 'bad', at: AT + 5, limits: countedBy('b') }),
        recordBadly({ email: 'new@example.com', name: 'bad', at: AT + 5 }),
        record({ email: 'good@example.com', at: AT + 1 }),
      ]),
    )
    expect(db.query('SELECT name FROM event_names').values()).toEqual([['results_ready']])
    expect(db.query('SELECT name_id, hour, count FROM rollups').values()).toEqual([[1, AT / HOUR, 2]])
    expect([countRows(db, 'limit_usage'), countRows(db, 'contacts')]).toEqual([0, 2])
    expect(db.query('SELECT count FROM new_people').values()).toEqual([[2]])
    now += 2_000
    await engine.run([])
    expect((await findContact(1, 'old@example.com'))?.lastEventAt).toBe(AT)
    expect(
      done((await engine.run([record({ email: 'new@example.com', name: 'bad' })]))[0] ?? { refusal: 'none' }),
    ).toMatchObject({
      created: true,
    })
  })
})

describe('the disk', () => {
  test('full: nothing is saved, reads work, and writes recover', async () => {
    const { db, engine, findContact } = openOne()
    const known = { email: 'known@example.com' }
    await engine.run([record(known)])
    const pages = db.query<{ page_count: number }, []>('PRAGMA page_count').get()?.page_count ?? 0
    db.run(`PRAGMA max_page_count = ${pages}`)
    const many = Array.from({ length: 300 }, (_, index) => record({ email: `p${index}@example.com` }))
    expect(new Set((await engine.run(many)).map((outcome) => JSON.stringify(outcome)))).toEqual(
      new Set(['{"refusal":"unavailable","reason":"database or disk is full"}']),
    )
    expect([countRows(db, 'events'), countRows(db, 'contacts'), db.inTransaction]).toEqual([1, 1, false])
    expect(await findContact(1, known.email)).not.toBeNull()
    db.run('PRAGMA max_page_count = 100000')
    for (const outcome of await engine.run(many)) expect(outcome).toMatchObject({ created: true })
    expect(countRows(db, 'events')).toBe(301)
  })

  test('locked by another process: unavailable, then writes continue', async () => {
    const { db, engine } = openOne()
    db.run('PRAGMA busy_timeout = 1')
    const other = new Database(databasePath(folder.path()))
    other.run('BEGIN IMMEDIATE')
    const refused = { refusal: 'unavailable', reason: 'database is locked' } as const
    expect(await engine.run([record(), record()])).toEqual([refused, refused])
    other.run('ROLLBACK')
    other.close()
    expect((await engine.run([record()]))[0]).toMatchObject({ created: true })
  })

  test.each(['SQLITE_IOERR_WRITE', 'SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC', 'SQLITE_CORRUPT', 'SQLITE_NOTADB'])(
    '%s: no later commit is acknowledged',
    async (code) => {
      const { db } = openOne()
      const commit = failing(db, 'COMMIT', code)
      const engine = createEngine(db, () => now, createSealer(null), { rules: STORE_RULES })
      await engine.run([record()])
      commit.failNext()
      await expect(engine.run([record()])).rejects.toThrow('disk')
      await expect(engine.run([record()])).rejects.toThrow('disk')
      await expect(engine.run([])).rejects.toThrow('disk')
      expect([countRows(db, 'events'), db.inTransaction]).toEqual([1, false])
    },
  )

  test('a failed rollback stops the engine too', async () => {
    const { db } = openOne()
    const rollback = failing(db, 'ROLLBACK', 'SQLITE_IOERR')
    const engine = createEngine(db, () => now, createSealer(null), { rules: STORE_RULES })
    rollback.failNext()
    await expect(engine.run([recordBadly()])).rejects.toThrow('disk')
    await expect(engine.run([record()])).rejects.toThrow('disk')
  })
})

describe('with another process', () => {
  test('writes with higher IDs by another process during the start hide none of ours', async () => {
    const [ahead, db, later] = [folder.open(), folder.open(), AT + HOUR]
    const [contactId, eventId] = [idAt(later), idAt(later) + 1]
    const prepare = db.prepare.bind(db)
    let isMade = false
    db.prepare = ((text: string) => {
      if (!isMade && text.includes('new_people')) {
        isMade = true
        ahead.run(`INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'results_ready')`)
        ahead.run(
          `INSERT INTO contacts (id, app_id, email, status, created_at, updated_at) VALUES (?1, 1, ?2, 'subscribed', ?3, ?3)`,
          [contactId, eventWrite().email, later],
        )
        ahead.run(
          `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at) VALUES (?, 1, ?, 1, 0, 0, ?)`,
          [eventId, contactId, later],
        )
      }
      return prepare(text)
    }) as Database['prepare']
    const engine = createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES })
    const [outcome] = await engine.run([{ name: 'recordEvent', input: eventWrite() }])
    if (!outcome || !('contactId' in outcome)) throw new Error('an event was refused')
    const query = { appId: 1, contactId: outcome.contactId, name: null, before: null, limit: 9 }
    expect([isMade, (await createEventReads(createSqliteSql(db)).listEvents(query)).rows]).toMatchObject([
      true,
      [{}, {}],
    ])
  })

  test('IDs do not collide within a millisecond, and people it erased are gone', async () => {
    const [one, two] = [openOne(), openOne()]
    const ids = new Set<number>()
    for (let i = 0; i < 20; i++) {
      for (const [index, { engine }] of [one, two].entries()) {
        const [first, again] = await engine.run([
          record({ email: `${index}-${i}@example.com` }),
          record({ email: 'shared@example.com' }),
        ])
        ids.add(done(first as { contactId: number }).contactId)
        expect(again).not.toHaveProperty('refusal')
      }
    }
    expect(ids.size).toBe(40)
    expect(countRows(one.db, 'events')).toBe(80)
    await one.engine.run([{ name: 'eraseContact', input: { ...BY, appId: 1, email: 'shared@example.com' } }])
    const outcome = await two.engine.run([record({ email: 'shared@example.com', createContact: false })])
    expect(outcome).toEqual([{ refusal: 'contact_not_found' }])
  })

  test('its commit is reported once, and a checkpoint is not a commit', async () => {
    const [one, two] = [openOne(), openOne()]
    expect(one.engine.hasForeignWrite()).toBe(false)
    await one.engine.run([record()])
    expect(one.engine.hasForeignWrite()).toBe(false)
    expect([two.engine.hasForeignWrite(), two.engine.hasForeignWrite()]).toEqual([true, false])
    await two.engine.run([record()])
    await one.engine.run([record()])
    expect([one.engine.hasForeignWrite(), one.engine.hasForeignWrite()]).toEqual([true, false])
    two.engine.hasForeignWrite()
    two.db.run('PRAGMA wal_checkpoint(PASSIVE)')
    expect([one.engine.hasForeignWrite(), two.engine.hasForeignWrite()]).toEqual([false, false])
  })

  test('pending times of last events are not lost when it updates its own', async () => {
    const [one, two] = [openOne(), openOne()]
    await one.engine.run([record({ email: 'first@example.com' })])
    await one.engine.run([record({ email: 'a@example.com', at: AT + 1 })])
    await two.engine.run([record({ email: 'b@example.com', at: AT + 2 })])
    await one.engine.run([record({ email: 'a@example.com', at: AT + 3 })])
    now += 2_000
    await two.engine.run([record({ email: 'b@example.com', at: AT + 4 })])
    // both die here; a third one starts
    const three = openOne()
    const times = async () =>
      await mapInOrder(['a', 'b'], async (name) => (await three.findContact(1, `${name}@example.com`))?.lastEventAt)
    expect(await times()).toEqual([AT + 3, AT + 4])
    await three.engine.run([record({ email: 'c@example.com' })])
    expect(await times()).toEqual([AT + 3, AT + 4])
  })
})

test('an erasure that is rolled back deletes nothing', async () => {
  const { db, findContact } = openOne()
  const commit = failing(db, 'COMMIT', 'SQLITE_FULL')
  const engine = createEngine(db, () => now, createSealer(null), { rules: STORE_RULES })
  await engine.run([record({ email: 'first@example.com' })])
  await engine.run([record({ email: 'a@example.com', at: AT + 7 })])
  commit.failNext()
  const erased = await engine.run([{ name: 'eraseContact', input: { ...BY, appId: 1, email: 'a@example.com' } }])
  expect(erased).toEqual([{ refusal: 'unavailable', reason: 'disk' }])
  now += 2_000
  await engine.run([])
  expect((await findContact(1, 'a@example.com'))?.lastEventAt).toBe(AT + 7)
})

test('interleaved events are counted by app, name, hour, key and second, also if one fails', async () => {
  const { db, engine } = openOne()
  const turns = [
    record({ appId: 1, name: 'a', at: AT, limits: countedBy('events:key_1') }),
    record({ appId: 1, name: 'b', at: AT, limits: countedBy('events:key_2') }),
    record({ appId: 2, name: 'a', at: AT, limits: countedBy('visitor:x', 'events:key_1') }),
    record({ appId: 1, name: 'a', at: AT + 1_000, limits: countedBy('events:key_1') }),
    record({ appId: 1, name: 'a', at: AT + HOUR, limits: countedBy('events:key_2') }),
  ]
  const failed = await quietly(() =>
    engine.run([...turns, recordBadly({ limits: countedBy('events:key_1'), at: AT }), ...turns]),
  )
  expect(failed.result.filter((one) => 'refusal' in one)).toEqual([{ refusal: 'internal_error' }])
  await engine.run(turns)
  const rollups = db.query('SELECT app_id, hour, count FROM rollups ORDER BY app_id, hour, name_id').values()
  const hour = AT / HOUR
  expect(rollups).toEqual([
    [1, hour, 6],
    [1, hour, 3],
    [1, hour + 1, 3],
    [2, hour, 3],
  ])
  const second = AT / 1_000
  expect(db.query('SELECT bucket, second, count FROM limit_usage ORDER BY bucket, second').values()).toEqual([
    ['events:key_1', second, 6],
    ['events:key_1', second + 1, 3],
    ['events:key_2', second, 3],
    ['events:key_2', second + 3_600, 3],
    ['visitor:x', second, 3],
  ])
})

test('rollups count by app, name and hour, and point to the events', async () => {
  const { db, engine } = openOne()
  const at = (hours: number, appId: number, name: string): Job => record({ at: AT + hours * HOUR, appId, name })
  await engine.run([at(0, 1, 'a'), at(0, 1, 'a'), at(0, 1, 'b'), at(0.99, 2, 'a')])
  await engine.run([at(0.5, 1, 'a'), at(1, 1, 'a'), { name: 'addContact', input: contactWrite() }])
  const rows = db
    .query('SELECT r.app_id, n.name, hour, count FROM rollups r JOIN event_names n ON n.id = name_id ORDER BY 1, 2, 3')
    .values()
  const hour = AT / HOUR
  expect(rows).toEqual([
    [1, 'a', hour, 3],
    [1, 'a', hour + 1, 1],
    [1, 'b', hour, 1],
    [2, 'a', hour, 1],
  ])
  const days = db.query('SELECT app_id, day, name_id, count FROM daily_rollups ORDER BY 1, 2, 3').values()
  const day = Math.floor(hour / 24)
  expect(days).toEqual([
    [1, day, 1, 4],
    [1, day, 2, 1],
    [2, day, 3, 1],
  ])
  const [first] = db.query('SELECT first_event_id, last_event_id FROM rollups WHERE count = 3').values()
  const ids = db.query('SELECT id FROM events WHERE app_id = 1 AND name_id = 1 ORDER BY id').values().flat()
  expect(first).toEqual([ids[0] ?? null, ids[2] ?? null])
})

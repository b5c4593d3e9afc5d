import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { idAt } from '../../../src/core/ids.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { COUNTERS, partsOf } from '../../../src/store/engine/counter-tables.ts'
import {
  APPLICATION_ID,
  databasePath,
  hasDatabase,
  openDatabase,
  openMarked,
} from '../../../src/store/engine/database.ts'
import { lockFolder } from '../../../src/store/engine/folder-lock.ts'
import { Stopped } from '../../../src/store/move/copy.ts'
import { moveToFolder, moveToPostgres, undoMoveToFolder, undoMoveToPostgres } from '../../../src/store/move/move.ts'
import { connectForMove } from '../../../src/store/move/server.ts'
import { isStored, listTables } from '../../../src/store/move/tables.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { findTemplate, makeFolder } from '../../data-folder.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { startProxy } from '../../cluster/proxy.ts'
import { AT, BY, contactWrite, DAY, done, eventWrite, newAccount, visitReportWrite } from '../samples.ts'

let server: PostgresServer
let admin: Bun.SQL
beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1 })
}, 120_000)
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})

let databases = 0
let folders: ReturnType<typeof makeFolder>[] = []
const newFolder = (): string => {
  const made = makeFolder()
  folders.push(made)
  return made.folder
}
let place: { url: string; connections: number; prepares: boolean }
let source: string
beforeEach(async () => {
  databases += 1
  await admin.unsafe(`CREATE DATABASE move${databases}`)
  place = { url: server.url(`move${databases}`), connections: 4, prepares: true }
  source = newFolder()
  copyFileSync(await findTemplate(), databasePath(source))
})
afterEach(() => {
  for (const { remove } of folders) remove()
  folders = []
})

const HOW = { at: AT, note: () => {}, isStopped: () => false }
const there = (folder: string, how = {}) => moveToPostgres({ folder, server: place, ...HOW, ...how })
const back = (folder: string, how = {}) => moveToFolder({ folder, server: place, ...HOW, ...how })
const ask = async <T>(text: string): Promise<T[]> => {
  const sql = new Bun.SQL(place.url, { max: 1 })
  try {
    return [...((await sql.unsafe(text)) as T[])]
  } finally {
    await sql.close()
  }
}

/** Row `n` has the number in each number and the same text in each text, so that it refers to itself only. */
const valueOf = (table: string, column: string, type: string, n: number): string | number => {
  if (table === 'backups' && column === 'kind') return 'manual'
  if (table === 'contacts' && column === 'fields')
    return JSON.stringify({ plan: `p${n}`, size: n, huge: 1e21, on: true })
  if (type === 'double precision') return n / 3
  return type === 'bigint' ? n : `${table === 'events' ? '\\ \t \r\n \\N \\. é 😀 "\u0001' : ''}t${n}`
}

function fillAll(folder: string, rows = 3): void {
  const db = openDatabase(folder)
  db.run('PRAGMA foreign_keys = OFF')
  const triggers = db.query<{ name: string }, []>(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).all()
  for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`)
  db.transaction(() => {
    for (const { name, columns: all } of listTables(db)) {
      const columns = all.filter(isStored)
      const insert = db.query(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`)
      for (let n = 1; n <= rows; n += 1) insert.run(...columns.map((one) => valueOf(name, one.name, one.type, n)))
    }
  })()
  db.close()
}

function dump(folder: string): Record<string, unknown[]> {
  const db = openMarked(folder)
  const found = listTables(db).map(({ name, condition, key }) => [
    name,
    db.query(`SELECT * FROM ${name} WHERE ${condition} ORDER BY ${key.map((one) => one.name).join(', ')}`).values(),
  ])
  db.close()
  return Object.fromEntries(found) as Record<string, unknown[]>
}

const addEvents = (folder: string, count: number): void => {
  const db = openDatabase(folder)
  db.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO events SELECT i * 8192, 1, i % 50, 1, 0, 0, '{"a":' || i || '}', NULL, i, NULL FROM n`,
  )
  db.close()
}

test('each table and column arrives, and comes back', async () => {
  fillAll(source)
  const before = dump(source)
  expect(Object.values(before).every((rows) => rows.length >= 3)).toBeTrue()
  const { rows, replaced } = await there(source)
  expect([rows, replaced]).toEqual([Object.values(before).flat().length, 0])
  const folder = newFolder()
  expect(await back(folder)).toEqual({ rows, replaced: 0 })
  expect(dump(folder)).toEqual(before)
}, 120_000)

test('what SQLite finds by another row has its owner on PostgreSQL', async () => {
  fillAll(source)
  const db = openDatabase(source)
  db.run('UPDATE event_names SET app_id = 7 WHERE id = 2')
  db.run('DELETE FROM event_names WHERE id = 3')
  db.run(`UPDATE api_keys SET account_id = 't1' WHERE id = 't2'`)
  db.run(`UPDATE idempotency_records SET key_id = 't4' WHERE key_id = 't3'`)
  db.close()
  await there(source)
  expect(await ask('SELECT name_id::int AS name, app_id::int AS app FROM contact_events ORDER BY 1')).toEqual([
    { name: 1, app: 1 },
    { name: 2, app: 7 },
    { name: 3, app: 0 },
  ])
  expect(await ask('SELECT key_id AS key, account_id AS account FROM idempotency_records ORDER BY 1')).toEqual([
    { key: 't1', account: 't1' },
    { key: 't2', account: 't1' },
    { key: 't4', account: '' },
  ])
}, 120_000)

test('counts that PostgreSQL stored in parts come back as their sums', async () => {
  fillAll(source)
  const before = dump(source)
  await there(source)
  for (const [counter, { key, counts }] of Object.entries(COUNTERS)) {
    const names = [...key, ...counts].join(', ')
    await ask(`INSERT INTO ${partsOf(counter)} (part, ${names}) SELECT 5, ${names} FROM ${counter}`)
  }
  const folder = newFolder()
  await back(folder)
  const after = dump(folder)
  const db = openMarked(folder)
  const columnsOf = new Map(listTables(db).map(({ name, columns }) => [name, columns.map((one) => one.name)]))
  db.close()
  for (const [counter, { counts }] of Object.entries(COUNTERS)) {
    const isCount = columnsOf.get(counter)?.map((name) => (counts as readonly string[]).includes(name)) ?? []
    const doubled = (before[counter] as (string | number)[][]).map((row) =>
      row.map((value, index) => (isCount[index] === true ? 2 * Number(value) : value)),
    )
    expect([counter, after[counter]]).toEqual([counter, doubled])
  }
}, 120_000)

test('both engines have the same tables, apart from those that are known to differ', async () => {
  await there(source)
  const db = openMarked(source)
  const moved = listTables(db).map(({ name }) => name)
  db.close()
  const names = await ask<{ name: string }>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)
  const own = [
    'address_locks',
    'contact_fields',
    'duties',
    'instances',
    'limit_windows',
    'mail_paces',
    'schema_version',
    'settings_version',
  ]
  const others = names.map(({ name }) => name.replace(/_parts$/, '')).filter((name) => !own.includes(name))
  // events, by month
  const tables = others.filter((name) => !/^events_(\d|before|after)/.test(name))
  expect(tables.toSorted()).toEqual(moved.toSorted())
}, 120_000)

test('the schema is the same as without a move: indexes, constraints, triggers and sequences', async () => {
  fillAll(source)
  await there(source)
  const isNoMonth = (table: string): string => `${table} !~ '^events_[0-9]'`
  const SCHEMA = `SELECT indexdef AS x FROM pg_indexes WHERE schemaname = 'public' AND ${isNoMonth('tablename')}
    UNION ALL SELECT 'invalid ' || indexrelid::regclass FROM pg_index WHERE NOT indisvalid
    UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND ${isNoMonth('conrelid::regclass::text')}
    UNION ALL SELECT pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`
  const moved = await ask(SCHEMA)
  const [row] = await ask<{ id: string }>(`SELECT nextval(pg_get_serial_sequence('apps', 'id')) AS id`)
  expect(Number(row?.id)).toBe(4)
  await admin.unsafe(`CREATE DATABASE fresh`)
  place = { ...place, url: server.url('fresh') }
  await (await openPostgresStore(place, { rules: STORE_RULES })).close()
  expect(moved).toEqual(await ask(SCHEMA))
}, 120_000)

const FILL: ((store: Store) => Promise<unknown>)[] = [
  (store) => store.createAccount(newAccount()),
  (store) =>
    store.saveMessages({
      ...BY,
      appId: 1,
      drafts: [
        {
          id: null,
          name: 'One',
          status: 'live',
          content: { trigger: { event: 'results_ready' }, mail: { subject: 'Hi', body: 'B', category: 'lifecycle' } },
        },
      ],
    }),
  (store) =>
    store.addContact(contactWrite({ firstName: 'Ada', lastName: 'Lovelace', fields: { plan: 'pro' }, tags: ['a'] })),
  (store) => store.recordEvent(eventWrite({ properties: '{"n":"a\\tb"}' })),
  (store) => store.recordVisitReport(visitReportWrite()),
  (store) => store.recordEvent(eventWrite({ email: 'bob@example.com', firstName: 'Bob', at: AT + DAY })),
  (store) => store.updateContact(contactWrite({ fields: { plan: 'free' }, at: AT + DAY })),
  (store) => store.suppress({ appId: 1, email: 'bob@example.com', reason: 'unsubscribed', at: AT + 6 }),
]

const days = { from: 0, until: AT / DAY + 9 }
const READS: ((store: Store, person: number) => Promise<unknown>)[] = [
  (store) => store.findContact(1, 'ada@example.com'),
  (store, id) => store.listContactChanges(id, null, 9),
  (store) => store.listMessages(1),
  (store) => store.readAppResults(1, days),
  (store) => store.hasSentEmail(1),
  (store) => store.listSuppressions({ appId: 1, reason: null, before: null, limit: 9 }),
  (store) => store.summarizeQueue(AT + 2 * DAY),
  (store) => store.listOwners('acc_1'),
  (store) => store.mailSettings(1),
]

test('events are stored in the table of their month', async () => {
  const first = await openStore(source, { now: () => AT, rules: STORE_RULES, threads: false })
  await first.createAccount(newAccount())
  for (const at of [AT - 60 * DAY, AT]) await first.recordEvent(eventWrite({ at }))
  await first.close()
  const db = openMarked(source)
  db.run('UPDATE events SET id = ? WHERE received_at < ?', [idAt(AT - 60 * DAY), AT])
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  await there(source)
  expect(await ask('SELECT tableoid::regclass::text AS name FROM events ORDER BY id')).toEqual([
    { name: 'events_2026_03' },
    { name: 'events_2026_05' },
  ])
  const invalid = await ask('SELECT 1 FROM pg_index WHERE NOT indisvalid')
  expect(invalid).toEqual([])
}, 120_000)

test('a store answers the same after a move, and after the way back', async () => {
  const options = { now: () => AT, rules: STORE_RULES, threads: false }
  const answersOf = async (store: Store): Promise<unknown[]> => {
    const person = (await store.findContact(1, 'ada@example.com'))?.id ?? 0
    const answers: unknown[] = []
    for (const read of READS) answers.push(await read(store, person))
    await store.close()
    return answers
  }
  const first = await openStore(source, options)
  for (const step of FILL) expect(await step(first)).not.toHaveProperty('refusal')
  const before = await answersOf(first)
  expect(JSON.stringify(before)).toContain('Lovelace')
  await there(source)
  expect(await answersOf(await openPostgresStore(place, options))).toEqual(before)
  const folder = newFolder()
  await back(folder)
  const returned = await openStore(folder, options)
  expect(await returned.recordEvent(eventWrite({ at: AT + 3 * DAY }))).toHaveProperty('eventId')
  await returned.close()
  const db = openDatabase(folder)
  const counted = db.query('SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM timeline) AS indexed')
  expect(counted.get()).toEqual({ events: 4, indexed: 5 })
  expect(db.query("SELECT rowid AS id FROM contact_names WHERE contact_names MATCH 'lovelace'").all()).toHaveLength(1)
  expect(db.query('SELECT sum(people) AS people FROM people_by_day').get()).toEqual({ people: 2 })
  expect(db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
  expect(db.query('PRAGMA foreign_key_check').all()).toEqual([])
  db.close()
}, 120_000)

test('what is used of a limit still counts, and ids go on after the last one', async () => {
  const db = openDatabase(source)
  db.run("INSERT INTO limit_usage VALUES ('events:acc_1', 100, 3), ('events:acc_1', 101, 4), ('adds:acc_1', 7, 1)")
  db.run("INSERT INTO topics VALUES (81920, 1, 'News', NULL, 1)")
  db.close()
  await there(source)
  expect(await ask('SELECT bucket, total::int, last_second::int AS last FROM limit_windows ORDER BY 1')).toEqual([
    { bucket: 'adds:acc_1', total: 1, last: 7 },
    { bucket: 'events:acc_1', total: 7, last: 101 },
  ])
  expect(await ask('SELECT DISTINCT ids_until::int AS until FROM instances')).toEqual([{ until: 81_920 }])
}, 120_000)

test('texts that PostgreSQL cannot store are changed and counted', async () => {
  fillAll(source)
  const db = openDatabase(source)
  db.run('UPDATE events SET properties = ?, path = ? WHERE id = 2', ['{"a":"\\u0000 \\ud800"}', 'a\0b'])
  db.close()
  expect((await there(source)).replaced).toBe(2)
  expect(await ask('SELECT properties, path FROM events WHERE id = 2')).toEqual([
    { properties: '{"a":"\\ufffd \\ufffd"}', path: 'a\ufffdb' },
  ])
}, 120_000)

describe('a stopped move', () => {
  const EVENTS = 9_000
  const stopAfter = (notes: number) => {
    let left = notes
    return { note: () => void (left -= 1), isStopped: () => left <= 0 }
  }

  test('goes on where it ended, in both directions', async () => {
    addEvents(source, EVENTS)
    for (const notes of [1, 2, 3, 30]) await expect(there(source, stopAfter(notes))).rejects.toThrow(Stopped)
    const resumed: number[] = []
    await there(source, { note: ({ rows }: { rows: number }) => void resumed.push(rows) })
    expect(Math.min(...resumed)).toBeGreaterThan(2_000)
    const folder = newFolder()
    for (const notes of [1, 2, 3, 30]) {
      await expect(back(folder, stopAfter(notes))).rejects.toThrow(Stopped)
      expect(existsSync(databasePath(folder))).toBeFalse()
    }
    await back(folder)
    expect(dump(folder)).toEqual(dump(source))
    expect(readdirSync(folder).filter((name) => name.includes('moving'))).toEqual([])
  }, 120_000)

  test('keeps both sides from being used until it is finished or given up', async () => {
    addEvents(source, EVENTS)
    await there(source, stopAfter(1)).catch(() => {})
    expect(() => openDatabase(source)).toThrow(/is being moved to postgres:\/\/.*To continue: eventpost move --to/)
    await expect(openPostgresStore(place, { rules: STORE_RULES })).rejects.toThrow('is not finished')
    expect(await undoMoveToPostgres({ folder: source, server: place })).toEqual({ left: null, isUnfinished: true })
    openDatabase(source).close()
    expect(await ask(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([])
    expect(
      await ask(`SELECT 1 FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'note%'`),
    ).toEqual([])
    await there(source)
    expect(await ask('SELECT count(*)::int AS count FROM events')).toEqual([{ count: EVENTS }])
  }, 120_000)

  test('protects the folder that it moves into: nothing creates, opens or replaces a database there', async () => {
    addEvents(source, EVENTS)
    await there(source)
    const folder = newFolder()
    await back(folder, stopAfter(2)).catch(() => {})
    const commands = `To continue: eventpost move --to ${folder}. To undo the move: eventpost move --undo --to ${folder}`
    expect(() => hasDatabase(folder)).toThrow(commands)
    expect(() => openDatabase(folder)).toThrow(commands)
    await expect(openStore(folder, { rules: STORE_RULES, threads: true })).rejects.toThrow(commands)
    expect(readdirSync(folder)).not.toContain('eventpost.db')
    await undoMoveToFolder({ folder, server: place })
    openDatabase(folder).close()
  }, 120_000)

  test('names the whole command that undoes it, if a move goes elsewhere', async () => {
    await there(source, stopAfter(1)).catch(() => {})
    const other = { ...place, url: server.url('postgres') }
    await expect(there(source, { server: other })).rejects.toThrow(
      `Undo that move first: eventpost move --undo --to ${place.url.replace('postgres@', '')} --data ${source}`,
    )
    await there(source)
    const [first, second] = [newFolder(), newFolder()]
    await back(first, stopAfter(1)).catch(() => {})
    await expect(back(second)).rejects.toThrow(`Undo that move first: eventpost move --undo --to ${first}`)
    expect(readdirSync(second)).toEqual([])
  }, 120_000)

  test('does not go on after the source changed', async () => {
    addEvents(source, EVENTS)
    await there(source, stopAfter(2)).catch(() => {})
    const other = new Database(databasePath(source))
    other.run('UPDATE events SET type = 1 WHERE id = 8192')
    other.close()
    await expect(there(source)).rejects.toThrow('The data changed after the move began')
  }, 120_000)
})

test('a change of the source during the move is noticed', async () => {
  addEvents(source, 3_000)
  const other = new Database(databasePath(source))
  const note = (): void => void other.run('UPDATE events SET type = 1 WHERE id = 8192')
  await expect(there(source, { note })).rejects.toThrow('The data changed after the move began')
  other.close()
}, 120_000)

test('a command that was open before the move writes nothing any more', async () => {
  const store = await openStore(source, { now: () => AT, rules: STORE_RULES, threads: false })
  await store.createAccount(newAccount())
  await there(source)
  expect(await store.recordEvent(eventWrite())).toHaveProperty('refusal')
  await store.close()
}, 120_000)

describe('the old side', () => {
  test('a folder says where its data is, and can be used again after an undo', async () => {
    await there(source)
    expect(() => openDatabase(source)).toThrow(/was moved to postgres:\/\/127\.0\.0\.1:\d+\/move\d+ at 2026-05-15/)
    expect(() => openDatabase(source)).toThrow(`eventpost move --undo --to`)
    await expect(there(source)).rejects.toThrow('was moved to')
    await undoMoveToPostgres({ folder: source, server: place })
    openDatabase(source).close()
    await expect(undoMoveToPostgres({ folder: source, server: place })).rejects.toThrow('nothing to undo')
  }, 120_000)

  test('PostgreSQL refuses every write, and can be used again after an undo', async () => {
    await there(source)
    const folder = newFolder()
    await back(folder)
    await expect(openPostgresStore(place, { rules: STORE_RULES })).rejects.toThrow(`was moved to ${folder}`)
    await expect(ask('DELETE FROM events')).rejects.toThrow('The data was moved')
    await undoMoveToFolder({ folder, server: place })
    await (await openPostgresStore(place, { rules: STORE_RULES })).close()
    expect(await ask('DELETE FROM events')).toEqual([])
  }, 120_000)

  test('an instance of PostgreSQL that was cut off meanwhile says where the data is, and stops', async () => {
    await there(source)
    const proxy = await startProxy(() => [{ host: '127.0.0.1', port: server.port }])
    const url = place.url.replace(`:${server.port}`, `:${proxy.port}`)
    const store = await openPostgresStore({ ...place, url }, { rules: STORE_RULES })
    done(await store.createAccount(newAccount()))
    const reasons: string[] = []
    store.onBroken((reason) => reasons.push(reason))
    proxy.cut()
    const connections = () => ask("SELECT 1 FROM pg_stat_activity WHERE application_name = 'eventpost'")
    while ((await connections()).length > 0) await Bun.sleep(5)
    await ask('UPDATE instances SET held_until = 0')
    const folder = join(newFolder(), "it's $$")
    await back(folder)
    proxy.heal()
    const moved = expect.stringContaining(`The data was moved to ${folder}`)
    expect(await store.recordEvent(eventWrite())).toEqual({ refusal: 'unavailable', reason: moved })
    expect(reasons).toEqual([moved])
    await store.close()
    await proxy.stop()
  }, 120_000)
})

test('no limit of the database ends a move', async () => {
  const limits = ['statement_timeout', 'idle_in_transaction_session_timeout']
  for (const limit of limits) await ask(`ALTER DATABASE move${databases} SET ${limit} = '50ms'`)
  const moving = await connectForMove(place, 1)
  const found = await moving.unsafe(`SELECT name, setting FROM pg_settings WHERE name LIKE '%\\_timeout'`)
  await moving.close()
  const settings = new Map(found.map(({ name, setting }: { name: string; setting: string }) => [name, setting]))
  expect(limits.map((limit) => settings.get(limit))).toEqual(['0', '0'])
  // PostgreSQL 17 has it
  expect(settings.get('transaction_timeout') ?? '0').toBe('0')
})

describe('refused', () => {
  test('a target with tables', async () => {
    await ask('CREATE TABLE other (id int)')
    await expect(there(source)).rejects.toThrow('already has tables')
    expect(readdirSync(source)).not.toContain('serve.lock')
    openDatabase(source).close()
  })

  test('a folder with a database', async () => {
    await expect(back(source)).rejects.toThrow('already has a database')
  })

  test('a folder that a server uses', async () => {
    const lock = lockFolder(source)
    await expect(there(source)).rejects.toThrow('Another Eventpost server is using')
    lock.release()
  })

  test('a database that a server uses', async () => {
    await there(source)
    const store = await openPostgresStore(place, { rules: STORE_RULES })
    await store.canCommit()
    const folder = newFolder()
    const [held] = await ask<{ until: number }>('SELECT max(held_until)::float8 AS until FROM instances')
    await expect(back(folder)).rejects.toThrow(
      '1 instance is using the database, connected from 127.0.0.1. Stop all servers',
    )
    const { message } = await back(`${folder}/new/one`).then(
      () => new Error('moved'),
      (error: Error) => error,
    )
    const [, until = ''] = /wait until ([\d-]+T[\d:.]+Z)\./.exec(message) ?? []
    // it may have been renewed meanwhile
    expect(Date.parse(until)).toBeWithin(held?.until ?? Infinity, (held?.until ?? 0) + 30_000)
    // its process is frozen, so that it has connections but no lease
    await ask("UPDATE instances SET held_until = 1 WHERE holder <> ''")
    await expect(back(folder)).rejects.toThrow(
      /Eventpost still has \d+ open connections? from 127\.0\.0\.1\..*pg_terminate_backend/,
    )
    expect(readdirSync(folder)).toEqual([])
    await store.close()
  }, 120_000)

  test('an empty database as the source', async () => {
    await expect(back(newFolder())).rejects.toThrow('There is no Eventpost data')
    await ask('CREATE TABLE other (id int)')
    await expect(back(newFolder())).rejects.toThrow('There is no Eventpost data')
    expect(await ask(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`)).toEqual([
      { name: 'other' },
    ])
  })

  test.each([
    ['postgres://postgres@127.0.0.1:1/eventpost', 'nothing responds there'],
    ['/nothing', 'there is no database nothing'],
    ['//nobody@', 'refuses this user'],
  ])('a URL with %s', async (wrong, reason) => {
    const url = wrong.startsWith('postgres:')
      ? wrong
      : wrong.startsWith('//')
        ? place.url.replace('//postgres@', wrong)
        : place.url.replace(/\/move\d+$/, wrong)
    place = { ...place, url }
    await expect(there(source)).rejects.toThrow(reason)
    openDatabase(source).close()
  })

  test('a user who may not create tables', async () => {
    await admin.unsafe('DROP ROLE IF EXISTS reader')
    await admin.unsafe('CREATE ROLE reader LOGIN')
    place = { ...place, url: place.url.replace('//postgres@', '//reader@') }
    await expect(there(source)).rejects.toThrow("isn't allowed to create tables")
  })

  test('a database that sorts in another order', async () => {
    await admin.unsafe(
      `CREATE DATABASE other${databases} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'`,
    )
    place = { ...place, url: server.url(`other${databases}`) }
    await expect(there(source)).rejects.toThrow('sorts text by the rules of the ICU locale en')
  })
})

describe('a move into a folder that was killed', () => {
  const draftOf = (folder: string): string => `${databasePath(folder)}.moving`
  const fill = async (): Promise<void> => {
    addEvents(source, 10)
    await there(source)
  }

  test('while it made the tables: it is refused, and can be given up and begun again', async () => {
    await fill()
    const folder = newFolder()
    const draft = new Database(draftOf(folder), { create: true })
    draft.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    draft.close()
    await expect(back(folder)).rejects.toThrow('--undo')
    await undoMoveToFolder({ folder, server: place })
    await back(folder)
    expect(dump(folder)).toEqual(dump(source))
  }, 120_000)

  test('before the draft got its name', async () => {
    await fill()
    const folder = newFolder()
    // as SQLite leaves it at first
    await Bun.write(`${draftOf(folder)}.new`, '')
    await back(folder)
    expect(dump(folder)).toEqual(dump(source))
    expect(readdirSync(folder).filter((name) => name.includes('moving'))).toEqual([])
  }, 120_000)

  test('after the copy was complete: the next one ends it', async () => {
    await fill()
    const folder = newFolder()
    // a folder can't be replaced by a file
    const note = (): void => void mkdirSync(join(databasePath(folder), 'in'), { recursive: true })
    await expect(back(folder, { note })).rejects.toThrow()
    rmSync(databasePath(folder), { recursive: true })
    await back(folder)
    expect(dump(folder)).toEqual(dump(source))
  }, 120_000)

  test('after the database got its name: opening it removes the progress', async () => {
    await fill()
    const folder = newFolder()
    await back(folder)
    const db = new Database(databasePath(folder))
    const listOwn = () =>
      db.query("SELECT name FROM sqlite_schema WHERE name LIKE 'move\\_%' ESCAPE '\\'").values().flat()
    expect(listOwn()).toEqual([])
    db.run('CREATE TABLE move_state (id TEXT)')
    openDatabase(folder).close()
    expect(listOwn()).toEqual([])
    db.close()
  }, 120_000)
})

test('the folder of a finished move is private', async () => {
  await there(source)
  const folder = join(newFolder(), 'new')
  await back(folder)
  expect(statSync(databasePath(folder)).mode & 0o777).toBe(0o600)
}, 120_000)

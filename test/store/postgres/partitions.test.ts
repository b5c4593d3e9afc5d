/** Events in a table for each month. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { idAt } from '../../../src/core/ids.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { connectPostgres, type Postgres } from '../../../src/store/postgres/connection.ts'
import { migrate } from '../../../src/store/postgres/migrations.ts'
import first from '../../../src/store/postgres/migrations/0001.sql' with { type: 'text' }
import {
  addMonths,
  arrangePartitions,
  listPartitions,
  makeMonths,
  monthsBetween,
  planMonths,
  withoutPartitions,
} from '../../../src/store/postgres/partitions.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { AT, DAY, eventWrite, newAccount } from '../samples.ts'

const MARCH = Date.UTC(2026, 2, 10)
const APRIL = Date.UTC(2026, 3, 10)
const TEMPLATE = 'migrated'
let server: PostgresServer
let admin: Bun.SQL
let made = 0
let database = ''
let postgres: Postgres

beforeAll(async () => {
  server = await startPostgres({ fsync: 'off' })
  admin = new Bun.SQL(server.url('postgres'), { max: 1 })
  await admin.unsafe(`CREATE DATABASE ${TEMPLATE}`)
  const template = connect(TEMPLATE)
  await migrate(template)
  await template.close()
}, 240_000)
afterAll(async () => {
  await admin?.close()
  await server?.stop()
})
beforeEach(async () => {
  database = `parts_${(made += 1)}`
  await admin.unsafe(`CREATE DATABASE ${database} TEMPLATE ${TEMPLATE}`)
  postgres = connect(database)
})
afterEach(async () => {
  await postgres.close()
  await admin.unsafe(`DROP DATABASE ${database} WITH (FORCE)`)
})

const connect = (name: string): Postgres => connectPostgres({ url: server.url(name), connections: 3, prepares: true })
const openStore = (now: () => number) =>
  openPostgresStore({ url: server.url(database), connections: 3, prepares: true }, { now, rules: STORE_RULES })

const COLUMNS = 'id, app_id, contact_id, name_id, type, via, received_at'
/** Events of one person, a minute apart. */
const insert = async (at: number, rows = 1): Promise<void> =>
  void (await postgres.run(
    `INSERT INTO events (${COLUMNS}) SELECT $1::bigint + n * ${idAt(Date.UTC(2026, 0, 1, 0, 1))}, 1, 1, 1, 0, 0, $2::bigint
     FROM generate_series(0, $3::bigint - 1) AS n`,
    [idAt(at), at, rows],
  ))
const countByTable = async (): Promise<Record<string, number>> => {
  const rows = await postgres.run(
    'SELECT tableoid::regclass::text AS name, count(*) AS rows FROM events GROUP BY 1',
    [],
  )
  return Object.fromEntries(rows.map(({ name, rows: count }) => [String(name), Number(count)]))
}
const listNames = async (): Promise<string[]> => (await listPartitions(postgres)).map(({ name }) => name)
const sizeOfEvents = async (): Promise<number> => {
  const [row] = await postgres.run(
    `SELECT sum(pg_total_relation_size(inhrelid)) AS bytes FROM pg_inherits WHERE inhparent = 'events'::regclass`,
    [],
  )
  return Number(row?.bytes)
}

describe('months', () => {
  test('a new store has this month and the next, and events are stored in theirs', async () => {
    const store = await openStore(() => AT)
    await store.createAccount(newAccount())
    await store.recordEvent(eventWrite())
    await store.close()
    expect(await listNames()).toEqual(['events_before', 'events_2026_05', 'events_2026_06', 'events_after'])
    expect(await countByTable()).toEqual({ events_2026_05: 1 })
  }, 120_000)

  test('follow each other, and rows that no month covers are stored beside them', async () => {
    await arrangePartitions(postgres, MARCH)
    for (const at of [
      MARCH,
      Date.UTC(2026, 3, 1) - 1,
      Date.UTC(2026, 3, 1),
      Date.UTC(2026, 8, 1),
      Date.UTC(2020, 0, 1),
    ])
      await insert(at)
    expect(await countByTable()).toEqual({
      events_before: 1,
      events_2026_03: 2,
      events_2026_04: 1,
      events_after: 1,
    })
  })

  test('take the rows that came before them', async () => {
    await arrangePartitions(postgres, MARCH)
    await insert(Date.UTC(2026, 4, 20), 3)
    await insert(Date.UTC(2026, 5, 20), 2)
    expect(await countByTable()).toEqual({ events_after: 5 })
    await arrangePartitions(postgres, APRIL)
    expect(await countByTable()).toEqual({ events_2026_05: 3, events_after: 2 })
  })

  test('are made once by instances that start at the same time', async () => {
    const others = Array.from({ length: 4 }, () => connect(database))
    try {
      await Promise.all([postgres, ...others].map((one) => makeMonths(one, MARCH)))
      expect(await listNames()).toEqual(['events_before', 'events_2026_03', 'events_2026_04', 'events_after'])
    } finally {
      for (const one of others) await one.close()
    }
  })

  test('a clock that is years ahead makes none', async () => {
    await arrangePartitions(postgres, Date.UTC(2058, 0, 1))
    expect(await listNames()).toEqual(['events_before', 'events_after'])
  })

  test('begin earlier if there are rows', async () => {
    await insert(Date.UTC(2026, 1, 10), 2)
    await arrangePartitions(postgres, AT)
    expect(await listNames()).toEqual([
      'events_before',
      'events_2026_01',
      'events_2026_05',
      'events_2026_06',
      'events_after',
    ])
    expect(await countByTable()).toEqual({ events_2026_01: 2 })
  })

  test('what was skipped between two months becomes one table', () => {
    const parts = [
      { name: 'events_before', from: null, to: 0 },
      { name: 'events_after', from: 0, to: null },
    ]
    const [march, april] = monthsBetween(MARCH, MARCH)
    const planned = planMonths(parts, monthsBetween(MARCH, MARCH))
    expect(planned).toEqual([
      { name: 'events_2026_01', from: 0, to: march?.from ?? -1 },
      march,
      april,
    ] as typeof planned)
  })
})

test('the planner knows what all months have together', async () => {
  await addMonths(postgres, monthsBetween(MARCH, APRIL))
  await insert(MARCH, 100)
  await insert(APRIL, 100)
  await arrangePartitions(postgres, APRIL)
  const [row] = await postgres.run(
    `SELECT reltuples::bigint AS rows, (SELECT count(*) FROM pg_stats WHERE tablename = 'events' AND inherited) AS columns
     FROM pg_class WHERE oid = 'events'::regclass`,
    [],
  )
  expect(row?.rows).toBe(200)
  expect(Number(row?.columns)).toBeGreaterThan(5)
})

describe('dropping', () => {
  test('a month that ended and is empty is dropped, which frees its disk space', async () => {
    await addMonths(postgres, monthsBetween(MARCH, APRIL))
    await insert(MARCH, 20_000)
    await insert(APRIL)
    const before = await sizeOfEvents()
    await postgres.run('DELETE FROM events WHERE id < $1', [idAt(APRIL)])
    await arrangePartitions(postgres, APRIL)
    expect(await listNames()).toEqual(['events_before', 'events_2026_04', 'events_2026_05', 'events_after'])
    expect(before - (await sizeOfEvents())).toBeGreaterThan(2_000_000)
    await insert(MARCH)
    expect(await countByTable()).toEqual({ events_before: 1, events_2026_04: 1 })
  }, 120_000)

  test('not while it has an event, or ended less than a day ago', async () => {
    await addMonths(postgres, monthsBetween(MARCH, APRIL))
    await insert(MARCH)
    await arrangePartitions(postgres, APRIL)
    expect(await listNames()).toContain('events_2026_03')
    await postgres.run('DELETE FROM events', [])
    await arrangePartitions(postgres, Date.UTC(2026, 3, 1) + DAY - 1)
    expect(await listNames()).toContain('events_2026_03')
    await arrangePartitions(postgres, Date.UTC(2026, 3, 1) + DAY)
    expect(await listNames()).not.toContain('events_2026_03')
  })

  test('retention empties months by rows, and the store drops them', async () => {
    let now = MARCH
    const store = await openStore(() => now)
    await store.createAccount(newAccount())
    await store.recordEvent(eventWrite({ at: now }))
    await postgres.run('INSERT INTO app_retention (app_id, event_days) VALUES (1, 7)', [])
    now = Date.UTC(2026, 4, 10)
    for (let isMore = true; isMore;) {
      const outcome = await store.expire({ at: now })
      isMore = 'isMore' in outcome && outcome.isMore
    }
    await store.arrangePartitions(now)
    expect(await listNames()).toEqual(['events_before', 'events_2026_05', 'events_2026_06', 'events_after'])
    await store.close()
  }, 120_000)
})

describe('while the table is read', () => {
  test('nothing is changed, and a writer does not wait for the reader', async () => {
    await addMonths(postgres, monthsBetween(MARCH, MARCH))
    const reader = connect(database)
    try {
      await reader.transaction(async () => {
        await reader.run('SELECT count(*) FROM events', [])
        const startedAt = performance.now()
        const arranging = arrangePartitions(postgres, AT)
        await insert(MARCH)
        // 250 ms and the time for the insert; without its own limit, the lock would be waited for 3 s
        expect(performance.now() - startedAt).toBeLessThan(2_500)
        await arranging
      })
      expect(await listNames()).toEqual(['events_before', 'events_2026_03', 'events_2026_04', 'events_after'])
      await arrangePartitions(postgres, AT)
      expect(await listNames()).toContain('events_2026_06')
    } finally {
      await reader.close()
    }
  }, 120_000)
})

describe('reading', () => {
  const explain = async (text: string): Promise<string> => {
    const rows = await postgres.run(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ${text}`, [])
    return rows.map((row) => String(row['QUERY PLAN'])).join('\n')
  }
  beforeEach(async () => {
    await addMonths(postgres, monthsBetween(Date.UTC(2026, 0, 1), AT))
    for (const month of [0, 1, 2, 3, 4]) await insert(Date.UTC(2026, month, 2), 2_000)
    await postgres.runScript('ANALYZE events')
  })

  test.each([
    'SELECT * FROM events WHERE app_id = 1 ORDER BY id DESC LIMIT 50',
    'SELECT id FROM events WHERE contact_id = 1 AND type = 0 ORDER BY id DESC LIMIT 50',
  ])('the newest are read from the newest month alone: %s', async (text) => {
    const plan = await explain(text)
    expect(plan).not.toMatch(/Sort|Seq Scan/)
    expect(plan).toMatch(/events_2026_05 .*\(actual rows=50 loops=1\)/)
    for (const month of ['01', '02', '03', '04'])
      expect(plan).toMatch(new RegExp(`events_2026_${month} .*\\(never executed\\)`))
  })

  test('an event is read from its month alone', async () => {
    const plan = await explain(`SELECT * FROM events WHERE id = ${idAt(MARCH)}`)
    expect(plan.match(/ on events_\w+/g)).toEqual([' on events_2026_03'])
  })

  test('events of a list are deleted from their months alone', async () => {
    const { isOneOfEvents } = postgres.sql.dialect
    const list = `'[${idAt(Date.UTC(2026, 2, 2))}, ${idAt(Date.UTC(2026, 2, 2, 0, 1))}]'`
    const plan = await explain(`DELETE FROM events WHERE ${isOneOfEvents('id', list)}`)
    expect(plan.match(/^.*events_2026_03.*loops=1\)$/m)?.[0]).toContain('actual rows=2')
    expect(plan.match(/\(never executed\)/g)?.length).toBeGreaterThanOrEqual(7)
  })
})

test('a database without partitions has one table', async () => {
  const plain = withoutPartitions(first)
  expect(plain).not.toContain('PARTITION')
  await admin.unsafe(`DROP DATABASE IF EXISTS plain`)
  await admin.unsafe('CREATE DATABASE plain')
  const one = connect('plain')
  try {
    await one.runScript(plain)
    await arrangePartitions(one, MARCH)
    expect(await listPartitions(one)).toEqual([])
    const [row] = await one.run(
      `SELECT count(*) AS tables FROM pg_class WHERE relname LIKE 'events\\_%' AND relkind = 'r'`,
      [],
    )
    expect(row?.tables).toBe(0)
  } finally {
    await one.close()
  }
}, 120_000)

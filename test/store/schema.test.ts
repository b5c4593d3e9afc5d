import type { Database } from 'bun:sqlite'
import type { Sql } from '../../src/store/engine/sql.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { afterAll, describe, expect, test } from 'bun:test'
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import { createContactReads } from '../../src/store/contacts.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createSuppressionReads } from '../../src/store/suppressions.ts'
import { createEventReads } from '../../src/store/events.ts'
import * as schema from '../../src/store/schema.ts'
import { makeMigratedFolder } from './samples.ts'

const { folder, remove } = await makeMigratedFolder()
const db = openDatabase(folder)
afterAll(() => {
  db.close()
  remove()
})

const tables: SQLiteTable[] = Object.values(schema)

type Column = { name: string; type: string; notnull: number; pk: number }
type Index = { name: string; unique: number; origin: string }

const columnsOf = (table: string): Column[] =>
  db.query<Column, [string]>('SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid').all(table)

/** Indexes that a statement made, and the unique constraints, each with its columns. */
const indexesOf = (table: string) =>
  db
    .query<Index, [string]>(`SELECT name, "unique", origin FROM pragma_index_list(?) WHERE origin <> 'pk'`)
    .all(table)
    .map((index) => ({
      name: index.origin === 'c' ? index.name : null,
      unique: index.unique === 1,
      columns: db.query('SELECT name FROM pragma_index_info(?) ORDER BY seqno').values(index.name).flat().map(String),
    }))

type Named = { columns: unknown[]; name: string | null }
const keyOf = ({ columns, name }: Named): string => `${String(columns)} ${name}`
const byColumns = (a: Named, b: Named): number => (keyOf(a) < keyOf(b) ? -1 : 1)

/** The same of Drizzle's view. A unique constraint has a name only where the migration gives its index one. */
function describedBy(table: SQLiteTable) {
  const { name, columns, primaryKeys, indexes, uniqueConstraints } = getTableConfig(table)
  const composite = primaryKeys.flatMap((key) => key.columns.map((column) => column.name))
  const made = new Set(db.query(`SELECT name FROM sqlite_schema WHERE type = 'index'`).values().flat())
  return {
    name,
    columns: columns.map((column) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      notnull: Number(column.notNull && !(column.primary && column.getSQLType() === 'integer')),
      pk: column.primary ? 1 : composite.indexOf(column.name) + 1,
    })),
    indexes: [
      ...indexes.map(({ config }) => ({
        name: config.name as string | null,
        unique: config.unique,
        columns: config.columns.map((column) => ('name' in column ? String(column.name) : '')),
      })),
      ...uniqueConstraints.map((constraint) => ({
        name: made.has(constraint.getName() ?? '') ? (constraint.getName() ?? null) : null,
        unique: true,
        columns: constraint.columns.map((column) => column.name),
      })),
      ...columns
        .filter((column) => column.isUnique)
        .map((column) => ({ name: null, unique: true, columns: [column.name] })),
    ].toSorted(byColumns),
  }
}

test('all tables are strict', () => {
  const made = db.query(
    `SELECT strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'`,
  )
  const strict = made.values().flat()
  expect(strict).toEqual(strict.map(() => 1))
  expect(strict.length).toBeGreaterThan(tables.length)
})

describe('schema.ts equals the result of the migrations', () => {
  test.each(tables.map((table) => [getTableConfig(table).name, table] as const))('%s', (name, table) => {
    const { columns, indexes } = describedBy(table)
    expect(columns).toEqual(columnsOf(name))
    expect(indexes).toEqual(indexesOf(name).toSorted(byColumns))
  })
})

/** The plans of every statement that `read` makes. */
async function plansOf(create: (db: Sql) => () => Promise<unknown>): Promise<string[]> {
  const texts = new Set<string>()
  const watched = Object.create(db) as Database
  // also what was prepared before, when it is used
  watched.prepare = ((text: string) =>
    new Proxy(db.query(text), {
      get(statement, name) {
        texts.add(text)
        const value: unknown = Reflect.get(statement, name)
        return typeof value === 'function' ? value.bind(statement) : value
      },
    })) as Database['prepare']
  watched.query = db.query.bind(db)
  Object.defineProperty(watched, 'inTransaction', { get: () => db.inTransaction })
  const read = create(createSqliteSql(watched))
  texts.clear()
  await read()
  return Array.from(texts, (text) =>
    db
      .query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${text}`)
      .all(
        ...Array.from(
          new Set(Array.from(text.matchAll(/\?(\d*)/g), ({ 1: number, index }) => number || index)),
          () => null,
        ),
      )
      .map((row) => row.detail)
      .join('; '),
  )
}

describe('lists use an index and need no sort', () => {
  const people = { appId: 1, tag: null, updatedAfter: null, before: null, limit: 50 }
  const events = { appId: 1, contactId: null, name: null, before: null, limit: 50 }
  const listContacts = (query: Parameters<ReturnType<typeof createContactReads>['listContacts']>[0]) => (db: Sql) => {
    const { listContacts: list } = createContactReads(db)
    return () => list(query)
  }
  const listEvents = (query: Parameters<ReturnType<typeof createEventReads>['listEvents']>[0]) => (db: Sql) => {
    const { listEvents: list } = createEventReads(db)
    return () => list(query)
  }
  const listSuppressions = (reason: 'bounced' | null) => (db: Sql) => {
    const { listSuppressions: list } = createSuppressionReads(db)
    return () => list({ appId: 1, reason, before: null, limit: 50 })
  }
  const searchSuppressions = (db: Sql) => {
    const { searchSuppressions: search } = createSuppressionReads(db)
    return () => search({ appId: 1, start: 'ada', limit: 50 })
  }
  const countSuppressions = (filter: { reason?: 'bounced'; start?: string }) => (db: Sql) => {
    const { countSuppressions: count } = createSuppressionReads(db)
    return () => count({ appId: 1, reason: null, start: null, ...filter }, 10_001)
  }
  db.run(`INSERT INTO event_names VALUES (1, 1, 'known')`)
  db.run('INSERT INTO rollups VALUES (1, 1, 1, 1, 1, 9)')

  test.each([
    [{}, 'time (app_id=?)'],
    [{ reason: 'bounced' }, 'reason (app_id=? AND reason=?)'],
    [{ start: 'ada' }, 'email (app_id=? AND email>? AND email<?)'],
  ] as const)('suppressions with %p are counted on an index', async (filter, index) => {
    expect(await plansOf(countSuppressions(filter))).toContain(
      `CO-ROUTINE counted; SEARCH suppressions USING COVERING INDEX suppressions_by_${index}; SCAN counted`,
    )
  })

  test.each([
    ['people of an app', listContacts(people), 'contacts_by_app (app_id=? AND rowid<?)'],
    [
      'people with a tag',
      listContacts({ ...people, tag: 'x' }),
      'contact_tags USING PRIMARY KEY (app_id=? AND tag=? AND contact_id<?)',
    ],
    [
      'people by their change',
      listContacts({ ...people, updatedAfter: 1 }),
      'contacts_by_update (app_id=? AND updated_at>? AND updated_at<?)',
    ],
    [
      'people by their change with a tag',
      listContacts({ ...people, updatedAfter: 1, tag: 'x' }),
      'contacts_by_update (app_id=? AND updated_at>? AND updated_at<?)',
    ],
    ['the newest events of an app', listEvents(events), 'events_by_app (app_id=? AND rowid>? AND rowid<?)'],
    [
      "a person's timeline",
      listEvents({ ...events, contactId: 5 }),
      'timeline USING PRIMARY KEY (contact_id=? AND type=? AND id>? AND id<?)',
    ],
    [
      "a person's timeline by name",
      listEvents({ ...events, contactId: 5, name: 'known' }),
      'timeline USING PRIMARY KEY (contact_id=? AND type=? AND id>? AND id<?)',
    ],
    [
      'the suppressions of an app',
      listSuppressions(null),
      'suppressions_by_time (app_id=? AND (created_at,email_hash)<(?,?))',
    ],
    [
      'suppressions by reason',
      listSuppressions('bounced'),
      'suppressions_by_reason (app_id=? AND reason=? AND (created_at,email_hash)<(?,?))',
    ],
    [
      'suppressions by the start of an address',
      searchSuppressions,
      'suppressions_by_email (app_id=? AND email>? AND email<?)',
    ],
    ['events by name', listEvents({ ...events, name: 'known' }), 'events_by_app (app_id=? AND rowid>? AND rowid<?)'],
  ])('%s', async (_, create, index) => {
    const plans = await plansOf(create)
    expect(plans.some((plan) => plan.includes(index))).toBe(true)
    for (const plan of plans) {
      // but what a look at an index has given, and to see whether there is any run
      // and the few ids that each part of the timeline gave, which are sorted together
      const rest = plan.replaceAll(/SCAN \(subquery-\d+\); USE TEMP B-TREE/g, '')
      expect(rest.replaceAll(/SCAN (newest|json_each|timeline_runs$)/g, '')).not.toContain('SCAN')
      // the hours of one name are sorted by event: a few thousand short rows
      if (!plan.includes('rollups')) expect(rest).not.toContain('TEMP B-TREE')
    }
  })
})

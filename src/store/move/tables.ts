import type { Database } from 'bun:sqlite'
import { COUNTERS, partsOf } from '../engine/counter-tables.ts'
import { MARK } from './mark.ts'

/** `from`: SQL of SQLite for a column that only PostgreSQL has. */
export type Column = { name: string; type: 'bigint' | 'text' | 'double precision'; from?: string }
/** Rows are copied in the order of their key. `condition`: of the rows that are copied. */
export type Table = { name: string; columns: readonly Column[]; key: readonly Column[]; condition: string }
export type Key = readonly (string | number)[]

/** Indexes and counts that the target builds from other tables. */
const DERIVED =
  /^(timeline|timeline_run_rows|timeline_runs|contact_names.*|contact_index_progress|contact_fields|people_days)$/
/** Of a move itself. */
const OWN = /^move_/
const CONDITIONS = new Map([
  // not what is about the engine
  ['install', `name NOT IN ('${MARK}', 'timeline_until', 'timeline_merged_until')`],
])

/** What a new database has is copied, too. */
export const EMPTY_INSTALL = `DELETE FROM install WHERE ${CONDITIONS.get('install')}`

/** What SQLite finds by another row. */
const ADDED = new Map<string, Column>([
  [
    'contact_events',
    {
      name: 'app_id',
      type: 'bigint',
      from: 'coalesce((SELECT app_id FROM event_names WHERE event_names.id = name_id), 0)',
    },
  ],
  [
    'idempotency_records',
    {
      name: 'account_id',
      type: 'text',
      from: `coalesce((SELECT account_id FROM api_keys WHERE api_keys.id = key_id), '')`,
    },
  ],
])

const TYPES = new Map<string, Column['type']>([
  ['INTEGER', 'bigint'],
  ['TEXT', 'text'],
  ['REAL', 'double precision'],
])

type Row = { tableName: string; name: string; type: string; position: number }

/** Both engines have them with the same columns. */
export function listTables(db: Database): Table[] {
  const rows = db
    .query<Row, []>(
      `SELECT t.name AS tableName, c.name, c.type, c.pk AS position FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0 ORDER BY t.name, c.cid`,
    )
    .all()
  const byName = Object.entries(Object.groupBy(rows, ({ tableName }) => tableName))
  return byName
    .filter(([name]) => !DERIVED.test(name) && !OWN.test(name))
    .map(([name, columns = []]) => toTable(name, columns))
}

function toTable(name: string, rows: readonly Row[]): Table {
  const toColumn = ({ name: column, type }: Row): Column => ({ name: column, type: typeOf(`${name}.${column}`, type) })
  const added = ADDED.get(name)
  const key = rows.filter(({ position }) => position > 0).toSorted((a, b) => a.position - b.position)
  return {
    name,
    columns: [...rows.map(toColumn), ...(added ? [added] : [])],
    key: key.map(toColumn),
    condition: CONDITIONS.get(name) ?? 'true',
  }
}

function typeOf(column: string, type: string): Column['type'] {
  const found = TYPES.get(type)
  if (found === undefined) throw new Error(`${column} has a type that can't be moved: ${type}`)
  return found
}

/** By SQLite, too. */
export const isStored = ({ from }: Column): boolean => from === undefined

export const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => `"${name}"`).join(', ')

const STORED = new Map(Object.keys(COUNTERS).map((name) => [name, partsOf(name)]))

/** The table of PostgreSQL that has the rows. What is read is a sum of it, if they are counts. */
export const storedName = ({ name }: Pick<Table, 'name'>): string => STORED.get(name) ?? name

/** For WHERE, as both engines write it. `values`: SQL, one for each column of the key. */
export const compareKey = ({ key }: Table, operator: '>' | '<=', values: readonly string[]): string =>
  `(${namesOf(key)}) ${operator} (${values.join(', ')})`

/**
 * What store modules run their statements on. SQLite answers at once and PostgreSQL later, so callers await. Texts are
 * written for both: `?` for values in their order, `coalesce`, `CASE`, `IS NOT DISTINCT FROM`, `ON CONFLICT (columns)`, and
 * quoted names where they have capitals. What differs comes from `dialect`.
 */
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core'
import { LATE_IDS } from '../../core/ids.ts'
import { type Counter, COUNTERS, type CounterTable, partsOf } from './counter-tables.ts'
import {
  type IdFilter,
  type NewestFilter,
  type PersonTable,
  selectIds,
  selectIndexedIds,
  selectSomeIds,
  selectUnindexedPeople,
} from '../timeline/timeline-reads.ts'

export type SqlValue = string | number | null
export type Maybe<T> = T | Promise<T>

export type Statement<Row, Values extends readonly SqlValue[]> = {
  get(...values: Values): Maybe<Row | null>
  all(...values: Values): Maybe<Row[]>
  run(...values: Values): Maybe<{ changes: number }>
}

export type Sql = {
  prepare<Row = unknown, Values extends readonly SqlValue[] = SqlValue[]>(text: string): Statement<Row, Values>
  dialect: Dialect
  /** All reads of `read` see the same state. It must not be called within `read`. */
  readTogether<Result>(read: () => Promise<Result>): Promise<Result>
  /** Tables of schema.ts. */
  orm: Orm
}

const NO_LOCK = (): string => ''

/** For transactions that only read, in which PostgreSQL locks no rows. */
export const withoutLocks = (sql: Sql): Sql => ({
  ...sql,
  dialect: { ...sql.dialect, lock: NO_LOCK, lockInOrder: NO_LOCK },
})

export type Orm = BaseSQLiteDatabase<'sync' | 'async', unknown>

type Fields = Record<string, string>

/**
 * Parts of texts that the engines write differently. Arguments are SQL, except for names and paths. A path has the names of
 * members and the positions of a JSON value, such as `cause.delivery` or `status.1`. Columns with JSON are texts.
 */
export type Dialect = {
  engine: 'sqlite' | 'postgres'
  /** `list`: a JSON array of numbers. */
  isOneOf(column: string, list?: string): string
  /** The same of the table of events, which PostgreSQL may store in parts by id: those without the ids are not read. */
  isOneOfEvents(column: string, list: string): string
  /** `list`: a JSON array of texts. */
  isOneOfTexts(column: string, list?: string): string
  /** In FROM: the `value` of each number in a JSON array. */
  numbersOf(list: string, name: string): string
  /** In FROM: the `value` of each text in a JSON array. */
  textsOf(list: string, name: string): string
  /** In FROM: the `value` of each item in a JSON array, for `->>` with a position. */
  itemsOf(list: string, name: string): string
  /** In FROM: the `key` and `value` of each member of a JSON object; `path` leads to it. */
  membersOf(json: string, path: string, name: string): string
  /** A JSON object as text, from names to expressions. */
  jsonObject(fields: Fields): string
  /** A JSON array of values that have types, for another JSON value. */
  jsonArray(...values: string[]): string
  /** Text that is JSON, for another JSON value. */
  jsonOf(text: string): string
  /** A JSON array of one column's values as text, of all rows, maybe in order. */
  jsonArrayOf(column: string, order?: string): string
  /** A part of a JSON value. PostgreSQL returns text, whatever it is; both return null if it isn't there. */
  jsonMember(json: string, path: string): string
  /** The length of an array in a JSON value; null if it isn't there. */
  jsonLength(json: string, path: string): string
  /** A JSON value with another part. `value` has a type. */
  jsonSet(json: string, path: string, value: string): string
  /** The same with JSON. */
  jsonSetJson(json: string, path: string, value: string): string
  /** A JSON object without a member. */
  jsonWithout(json: string, name: string): string
  greatest(...values: string[]): string
  least(...values: string[]): string
  /** The position of a part in a text, from 1; 0 if it isn't there. */
  positionOf(part: string, text: string): string
  /** JOIN with ON, of tables that are read in this order. */
  crossJoin: string
  /** JOIN with those counts, of a table before it, that `on` selects by their key. */
  joinCounts(counter: Counter, on: string): string
  /** The same for their sums alone: a count may be several rows. */
  joinParts(counter: Counter, on: string): string
  /** INSERT with a value for each column of the key, and for each count, which is added to what is stored. */
  addCounts(counter: Counter): string
  /** JOIN of those rows of a table whose ids a subquery finds for each row before. Only their ids may be selected. */
  joinIds(table: string, name: string, ids: string): string
  /** After the name of a table: the index that its rows are found with. */
  indexedBy(name: string): string
  /** The columns of a key that has the app on PostgreSQL only. */
  keyOfApp(...columns: string[]): string
  /** A column whose index must not be used. */
  unindexed(column: string): string
  /** After all else: rows of this table stay as they are until the transaction ends. */
  lock(table: string): string
  /** The same, in the order of their ids. */
  lockInOrder(table: string): string
  /** Ids of rows that are locked in their order, of those that a query finds. `where`: what must still be so then. */
  lockIds(table: string, ids: string, where?: string): string
  /** Like `lock`, in a subquery of one table, for rows that a DELETE finds: without those that other transactions delete. */
  skipLocked: string
  /** How far an id may be below one that was committed before it. */
  lateIds: number
  /** The ids of a person's events or visit reports, of some types. */
  personIds(table: PersonTable, filter: IdFilter): string
  /** The first or last ids of one type. */
  somePersonIds(table: PersonTable, filter: NewestFilter): string
  /** Without those that are not indexed yet. */
  indexedPersonIds(table: PersonTable, filter: IdFilter): string
  /** Of a JSON array of people, those with rows that are not indexed yet; null: there are none. */
  unindexedPeople: ((table: PersonTable, types: string, people: string) => string) | null
}

const listFields = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, expression]) => `'${name}', ${expression}`)
    .join(', ')

/** `target`: of ON CONFLICT. `part`: that the counts are added to. */
function addTo(table: string, { key, counts }: CounterTable, target: string, part: Fields = {}): string {
  const names = [...key, ...counts]
  const sums = counts.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${[...names, ...Object.keys(part)].join(', ')})
    VALUES (${[...names.map(() => '?'), ...Object.values(part)].join(', ')})
    ON CONFLICT ${target} DO UPDATE SET ${sums.join(', ')}`
}

const isPosition = (step: string): boolean => /^\d+$/.test(step)

const sqlitePath = (path: string): string =>
  `'$${path
    .split('.')
    .filter((step) => step !== '')
    .map((step) => (isPosition(step) ? `[${step}]` : `.${step}`))
    .join('')}'`

export const SQLITE: Dialect = {
  engine: 'sqlite',
  isOneOf: (column, list = '?') => `${column} IN (SELECT value FROM json_each(${list}))`,
  isOneOfEvents: (column, list) => SQLITE.isOneOf(column, list),
  isOneOfTexts: (column, list = '?') => `${column} IN (SELECT value FROM json_each(${list}))`,
  numbersOf: (list, name) => `json_each(${list}) AS ${name}`,
  textsOf: (list, name) => `json_each(${list}) AS ${name}`,
  itemsOf: (list, name) => `json_each(${list}) AS ${name}`,
  membersOf: (json, path, name) => `json_each(${json}, ${sqlitePath(path)}) AS ${name}`,
  jsonObject: (fields) => `json_object(${listFields(fields)})`,
  jsonArray: (...values) => `json_array(${values.join(', ')})`,
  jsonOf: (text) => `json(${text})`,
  jsonArrayOf: (column, order) => `json_group_array(${column}${order === undefined ? '' : ` ORDER BY ${order}`})`,
  jsonMember: (json, path) => `${json} ->> ${sqlitePath(path)}`,
  jsonLength: (json, path) => `json_array_length(${json}, ${sqlitePath(path)})`,
  jsonSet: (json, path, value) => `json_set(${json}, ${sqlitePath(path)}, ${value})`,
  jsonSetJson: (json, path, value) => `json_set(${json}, ${sqlitePath(path)}, json(${value}))`,
  jsonWithout: (json, name) => `json_remove(${json}, ${sqlitePath(name)})`,
  greatest: (...values) => `max(${values.join(', ')})`,
  least: (...values) => `min(${values.join(', ')})`,
  positionOf: (part, text) => `instr(${text}, ${part})`,
  crossJoin: 'CROSS JOIN',
  joinCounts: (counter, on) => `CROSS JOIN ${counter} ON ${on}`,
  joinParts: (counter, on) => `CROSS JOIN ${counter} ON ${on}`,
  addCounts: (counter) => addTo(counter, COUNTERS[counter], ''),
  joinIds: (table, name, ids) => `CROSS JOIN ${table} AS ${name} ON ${name}.id IN (${ids})`,
  indexedBy: (name) => ` INDEXED BY ${name}`,
  keyOfApp: (...columns) => columns.join(', '),
  unindexed: (column) => `+${column}`,
  lock: NO_LOCK,
  lockInOrder: NO_LOCK,
  lockIds: (_, ids) => ids,
  skipLocked: '',
  lateIds: 0,
  personIds: selectIds,
  somePersonIds: selectSomeIds,
  indexedPersonIds: selectIndexedIds,
  unindexedPeople: selectUnindexedPeople,
}

const postgresPath = (path: string): string => `'{${path.replaceAll('.', ',')}}'`
const asJson = (text: string): string => `CAST(CAST(${text} AS text) AS json)`
const asBinary = (text: string): string => `CAST(CAST(${text} AS text) AS jsonb)`

const endOf = (end: 'min' | 'max', list: string): string =>
  `(SELECT ${end}(value::bigint) FROM json_array_elements_text(${asJson(list)}) AS t (value))`

const rowsOfPerson = (table: PersonTable, { contact, types, from, upTo }: IdFilter): string =>
  [
    `SELECT id FROM ${table} WHERE contact_id = ${contact} AND type ${types}`,
    ...(from === undefined ? [] : [`id >= ${from}`]),
    ...(upTo === undefined ? [] : [`id <= ${upTo}`]),
  ].join(' AND ')

/** OFFSET keeps the condition within: rows are found by their index for each row before, and only those are summed. */
const joinFound = (table: string, name: string, on: string): string =>
  `CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE ${on} OFFSET 0) AS ${name}`

/** JSON is read as `json`, which takes each text that JSON.stringify writes. `jsonb` does not take all. */
export const POSTGRES: Dialect = {
  engine: 'postgres',
  // an array is looked up in an index, whatever the planner expects of the list
  isOneOf: (column, list = '?') =>
    `${column} = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text(${asJson(list)}) AS t (value)))`,
  isOneOfEvents: (column, list) =>
    `${POSTGRES.isOneOf(column, list)} AND ${column} BETWEEN ${endOf('min', list)} AND ${endOf('max', list)}`,
  isOneOfTexts: (column, list = '?') =>
    `${column} = ANY (ARRAY(SELECT value FROM json_array_elements_text(${asJson(list)}) AS t (value)))`,
  numbersOf: (list, name) =>
    `(SELECT value::bigint FROM json_array_elements_text(${asJson(list)}) AS t (value)) AS ${name}`,
  textsOf: (list, name) => `json_array_elements_text(${asJson(list)}) AS ${name} (value)`,
  itemsOf: (list, name) => `json_array_elements(${asJson(list)}) AS ${name} (value)`,
  membersOf: (json, path, name) => `json_each(${asJson(json)} #> ${postgresPath(path)}) AS ${name}`,
  jsonObject: (fields) => `json_build_object(${listFields(fields)})::text`,
  jsonArray: (...values) => `json_build_array(${values.join(', ')})`,
  jsonOf: asJson,
  jsonArrayOf: (column, order) =>
    `coalesce(json_agg(${column}${order === undefined ? '' : ` ORDER BY ${order}`})::text, '[]')`,
  jsonMember: (json, path) => `(${asJson(json)} #>> ${postgresPath(path)})`,
  jsonLength: (json, path) => `json_array_length(${asJson(json)} #> ${postgresPath(path)})`,
  jsonSet: (json, path, value) =>
    `jsonb_set(${asBinary(json)}, ${postgresPath(path)}, coalesce(to_jsonb(${value}), 'null'))::text`,
  jsonSetJson: (json, path, value) =>
    `jsonb_set(${asBinary(json)}, ${postgresPath(path)}, coalesce(${asBinary(value)}, 'null'))::text`,
  jsonWithout: (json, name) => `(${asBinary(json)} - '${name}')::text`,
  greatest: (...values) => `greatest(${values.join(', ')})`,
  least: (...values) => `least(${values.join(', ')})`,
  positionOf: (part, text) => `strpos(${text}, ${part})`,
  crossJoin: 'JOIN',
  joinCounts: (counter, on) => joinFound(counter, counter, on),
  joinParts: (counter, on) => joinFound(partsOf(counter), counter, on),
  addCounts: (counter) =>
    addTo(partsOf(counter), COUNTERS[counter], `(${COUNTERS[counter].key.join(', ')}, part)`, { part: 'own_part()' }),
  joinIds: (_, name, ids) => `CROSS JOIN LATERAL (${ids}) AS ${name}`,
  indexedBy: () => '',
  keyOfApp: (...columns) => [...columns, 'app_id'].join(', '),
  unindexed: (column) => column,
  lock: (table) => ` FOR UPDATE OF ${table}`,
  lockInOrder: (table) => ` ORDER BY ${table}.id FOR UPDATE OF ${table}`,
  lockIds: (table, ids, where = 'TRUE') =>
    `SELECT id FROM ${table} WHERE id = ANY (ARRAY(${ids})) AND ${where} ORDER BY id FOR UPDATE`,
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  lateIds: LATE_IDS,
  personIds: rowsOfPerson,
  somePersonIds: (table, { order, limit, ...filter }) =>
    `${rowsOfPerson(table, filter)} ORDER BY id ${order} LIMIT ${limit}`,
  indexedPersonIds: rowsOfPerson,
  unindexedPeople: null,
}

import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { timeOfId } from '../../core/ids.ts'
import { databasePath, logPath } from '../engine/database.ts'
import { cleanLines, lineOf } from './lines.ts'
import { sampleLines } from './samples.ts'
import type { Part, Source } from './sides.ts'
import { compareKey, type Key, namesOf, type Table } from './tables.ts'

/** Rows that become one value of SQLite: 200 KB of events. */
const PART_ROWS = 2_000

type Lines = { bytes: Uint8Array | null; rows: number }

/** `db`: everything is read in one transaction of it. */
export function createFolderSource(db: Database, fingerprint: string): Source {
  db.run('BEGIN')
  // the transaction begins with its first read
  db.query('SELECT count(*) FROM sqlite_schema').get()
  return {
    fingerprint,
    count: async ({ name, condition }) =>
      db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${name} WHERE ${condition}`).get()?.rows ?? 0,
    read: (table, after) => readParts(db, table, after),
    sample: async (table, after, rows) => cleanLines(sampleLines(db, table, after, rows)).bytes,
    close: async () => db.close(),
  }
}

async function* readParts(db: Database, table: Table, first: Key | null): AsyncIterable<Part> {
  for (let after = first; ;) {
    const last = findLast(db, table, after)
    if (last === null) return
    const { bytes, rows } = readSlice(db, table, after, last)
    yield { ...cleanLines(bytes ?? new Uint8Array()), rows, last }
    if (rows < PART_ROWS) return
    after = last
  }
}

const marksOf = (key: Key): string[] => key.map(() => '?')

const isAfter = (table: Table, after: Key | null): string =>
  after === null ? table.condition : `${table.condition} AND ${compareKey(table, '>', marksOf(after))}`

/** The key of the last row of the next slice; null if there are no more rows. */
function findLast(db: Database, table: Table, after: Key | null): Key | null {
  const names = namesOf(table.key)
  const from = `FROM (SELECT ${names} FROM ${table.name} WHERE ${isAfter(table, after)} ORDER BY ${names} LIMIT ${PART_ROWS})`
  const reversed = table.key.map(({ name }) => `"${name}" DESC`).join(', ')
  const found = db.query(`SELECT ${names} ${from} ORDER BY ${reversed} LIMIT 1`).values(...(after ?? []))[0]
  return (found as Key | undefined) ?? null
}

function readSlice(db: Database, table: Table, after: Key | null, last: Key): Lines {
  const range = `${isAfter(table, after)} AND ${compareKey(table, '<=', marksOf(last))}`
  const rows = `SELECT * FROM ${table.name} WHERE ${range} ORDER BY ${namesOf(table.key)}`
  const text = `SELECT CAST(group_concat(${lineOf(table)}, '') AS BLOB) AS bytes, count(*) AS rows FROM (${rows})`
  return db.query<Lines, (string | number)[]>(text).get(...(after ?? []), ...last) ?? { bytes: null, rows: 0 }
}

/** When the oldest event came (ms UTC); null: there are none. */
export function findFirstEventTime(db: Database): number | null {
  const id = db.query<{ id: number | null }, []>('SELECT min(id) AS id FROM events').get()?.id ?? null
  return id === null ? null : timeOfId(id)
}

/** The database file, whose log must be empty: its size and when it was written. */
export function fingerprintFolder(folder: string): string {
  const { size, mtimeNs } = statSync(databasePath(folder), { bigint: true })
  const logBytes = statSync(logPath(folder), { throwIfNoEntry: false })?.size ?? 0
  return [size, mtimeNs, logBytes].join(' ')
}

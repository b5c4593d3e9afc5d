import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { timeOfId } from '../../core/ids.ts'
import { databasePath, logPath } from '../engine/database.ts'
import { cleanLines, describeLines } from './lines.ts'
import { sampleLines } from './samples.ts'
import type { Part, Source } from './sides.ts'
import type { Key, Table } from './tables.ts'

/** Rows that become one value of SQLite: 200 KB of events. */
const PART_ROWS = 2_000

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
    const lines = sampleLines(db, table, after, PART_ROWS)
    if (lines.length === 0) return
    const { rows, last } = describeLines(table, lines)
    yield { ...cleanLines(lines), rows, last }
    if (rows < PART_ROWS) return
    after = last
  }
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

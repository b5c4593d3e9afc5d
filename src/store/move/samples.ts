import type { Database } from 'bun:sqlite'
import { lineOf } from './lines.ts'
import { compareKey, type Key, namesOf, type Table } from './tables.ts'

/** The lines of the first rows after this key in SQLite. */
export function sampleLines(db: Database, table: Table, after: Key | null, rows: number): Uint8Array {
  const condition =
    after === null
      ? table.condition
      : compareKey(
          table,
          '>',
          after.map(() => '?'),
        )
  const slice = `SELECT * FROM ${table.name} WHERE ${table.condition} AND ${condition} ORDER BY ${namesOf(table.key)} LIMIT ${rows}`
  const found = db
    .query<{ bytes: Uint8Array | null }, (string | number)[]>(
      `SELECT CAST(group_concat(${lineOf(table)}, '') AS BLOB) AS bytes FROM (${slice})`,
    )
    .get(...(after ?? []))
  return found?.bytes ?? new Uint8Array()
}

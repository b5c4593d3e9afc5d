import type { Sql, SqlValue } from './sql.ts'

type Type = 'bigint' | 'text'

/** Adds rows in their order. PostgreSQL gets all in one statement, because each takes a round trip. */
export function createInsert<Columns extends Record<string, Type>>(db: Sql, table: string, columns: Columns) {
  type Row = { [N in keyof Columns]: (Columns[N] extends 'bigint' ? number : string) | null }
  const names = Object.keys(columns)
  const into = `INSERT INTO ${table} (${names.join(', ')})`
  if (db.dialect.engine === 'sqlite') {
    const insert = db.prepare<never, SqlValue[]>(`${into} VALUES (${names.map(() => '?').join(', ')})`)
    return async (rows: readonly Row[]): Promise<void> => {
      for (const row of rows) await insert.run(...names.map((name) => row[name] ?? null))
    }
  }
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
  const insert = db.prepare<never, [string]>(
    `${into} SELECT ${names.join(', ')} FROM json_to_recordset(CAST(CAST(? AS text) AS json)) AS rows (${types.join(', ')})`,
  )
  return async (rows: readonly Row[]): Promise<void> => {
    if (rows.length > 0) await insert.run(JSON.stringify(rows))
  }
}

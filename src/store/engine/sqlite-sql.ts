import type { Database } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { inSnapshot } from './transactions.ts'
import { type Orm, type Sql, SQLITE, type SqlValue, type Statement } from './sql.ts'

const known = new WeakMap<Database, Sql>()

/** The statements of a database, as store modules run them. */
export function createSqliteSql(db: Database): Sql {
  const found = known.get(db)
  if (found) return found
  const sql: Sql = {
    prepare: <Row, Values extends readonly SqlValue[]>(text: string) =>
      db.prepare(text) as unknown as Statement<Row, Values>,
    dialect: SQLITE,
    orm: drizzle(db) as unknown as Orm,
    readTogether: (read) => inSnapshot(db, read),
  }
  known.set(db, sql)
  return sql
}

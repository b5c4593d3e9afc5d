import type { DataLocation } from '../core/data-location.ts'
import { openForReading } from './engine/database.ts'
import type { Sql } from './engine/sql.ts'
import { createSqliteSql } from './engine/sqlite-sql.ts'
import { connectPostgres } from './postgres/connection.ts'
import { openPostgresStore } from './postgres/store.ts'
import { type OpenOptions, openStore, type Store } from './store.ts'

/** Opens the store wherever the data is. @throws StoreError with the reason and the remedy */
export const openStoreAt = (
  location: DataLocation,
  options: OpenOptions & { onCreate?: () => void; mayCreate?: boolean },
): Promise<Store> => ('folder' in location ? openStore(location.folder, options) : openPostgresStore(location, options))

/** For a thread that only reads. `sql`: its statements; close it after. */
export function openForReadingAt(location: DataLocation): { sql: Sql; close: () => Promise<void> } {
  if ('folder' in location) {
    const db = openForReading(location.folder)
    return { sql: createSqliteSql(db), close: async () => db.close() }
  }
  const { sql, close } = connectPostgres({ ...location, connections: 2 })
  return { sql, close }
}

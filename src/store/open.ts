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
/** Whether others wrote to a folder's database since the last call. Another connection than the one that reads. */
export function watchWrites(folder: string): { hasWrites: () => boolean; close: () => void } {
  const db = openForReading(folder)
  const version = db.prepare<{ data_version: number }, []>('PRAGMA data_version')
  let seen = version.get()?.data_version
  return {
    hasWrites() {
      const before = seen
      seen = version.get()?.data_version
      return seen !== before
    },
    close: () => db.close(),
  }
}

export function openForReadingAt(location: DataLocation): { sql: Sql; close: () => Promise<void> } {
  if ('folder' in location) {
    const db = openForReading(location.folder)
    return { sql: createSqliteSql(db), close: async () => db.close() }
  }
  const { sql, close } = connectPostgres({ ...location, connections: 2 })
  return { sql, close }
}

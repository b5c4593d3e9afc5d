import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach } from 'bun:test'
import { openDatabase } from '../../src/store/engine/database.ts'
import { makeFolder } from './samples.ts'

/** Called once in a file: a folder for each of its tests, whose database is opened as often as wanted; all ends with the test. */
export function useFolder() {
  let made: ReturnType<typeof makeFolder>
  let opened: Database[] = []
  beforeEach(() => void (made = makeFolder()))
  afterEach(() => {
    for (const db of opened) db.close()
    opened = []
    made.remove()
  })
  const keep = (db: Database): Database => {
    opened.push(db)
    return db
  }
  return {
    path: (): string => made.folder,
    open: (migrations?: readonly string[]): Database => keep(openDatabase(made.folder, migrations)),
    /** Any other database, which ends with the test too. */
    keep,
  }
}

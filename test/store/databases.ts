import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach } from 'bun:test'
import type { Sql } from '../../src/store/engine/sql.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'
import { copyFileSync, existsSync } from 'node:fs'
import { databasePath, openDatabase } from '../../src/store/engine/database.ts'
import { findTemplate, makeFolder } from '../data-folder.ts'

/** Called once in a file: a folder for each of its tests, whose database is opened as often as wanted; all ends with the test. */
export function useFolder() {
  let made: ReturnType<typeof makeFolder>
  let opened: Database[] = []
  let template = ''
  beforeEach(async () => {
    made = makeFolder()
    template = await findTemplate()
  })
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
    /** Without `migrations`, a new database is a copy of one that is migrated already. */
    open: (migrations?: readonly string[]): Database => {
      const path = databasePath(made.folder)
      if (migrations === undefined && !existsSync(path)) copyFileSync(template, path)
      return keep(openDatabase(made.folder, migrations))
    },
    /** Any other database, which ends with the test too. */
    keep,
  }
}

/** The texts that a module prepares. */
export function listTexts(db: Database, create: (sql: Sql) => unknown): string[] {
  const texts: string[] = []
  const prepare = (text: string): unknown => void texts.push(text)
  create({ ...createSqliteSql(db), prepare: prepare as Sql['prepare'] })
  return texts
}

import { Database } from 'bun:sqlite'
import { accessSync, chmodSync, constants, existsSync, linkSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from './errors.ts'
import { MIGRATIONS } from './migrations/index.ts'

export const DATABASE_FILE = 'eventpost.db'
/** "EVPT": tells our files from any other SQLite database. */
const APPLICATION_ID = 0x45565054
/** How long a command waits for the write lock of another process. */
const BUSY_TIMEOUT_MS = 5_000
/** 16 MB of pages: enough for the hot ends of the indexes, small beside the 120 MB the service may use. */
const CACHE_KIB = 16_384
/** A log that grew once is cut back to this when it starts over. */
const LOG_BYTES_KEPT = 64 * 1024 * 1024

export const databasePath = (folder: string): string => join(folder, DATABASE_FILE)

/** Makes the folder if it is missing. @throws StoreError `folder_unwritable` */
export function ensureFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    throw new StoreError(
      'folder_unwritable',
      `The data folder ${folder} cannot be written to. Give this user the right to, or choose another with --data.`,
    )
  }
}

/**
 * Opens the database of a data folder and brings its schema up to date. A missing one is made under another name and
 * linked into place whole, so a crash never leaves half a database and an existing file is never replaced.
 * @throws StoreError with the reason and the remedy
 */
export function openDatabase(folder: string, migrations: readonly string[] = MIGRATIONS): Database {
  ensureFolder(folder)
  const path = databasePath(folder)
  if (!existsSync(path)) createDatabase(path, migrations)
  const db = openFile(path)
  try {
    migrate(db, path, migrations)
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/** A second connection for reading; the first one must have been opened before. */
export function openForReading(folder: string): Database {
  const db = openFile(databasePath(folder))
  db.run('PRAGMA query_only = ON')
  return db
}

function createDatabase(path: string, migrations: readonly string[]): void {
  const draft = `${path}.${process.pid}.new`
  removeDatabase(draft)
  const db = new Database(draft, { create: true, strict: true })
  try {
    chmodSync(draft, 0o600)
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    setPragmas(db, path)
    applyMigrations(db, 0, migrations)
    db.close()
    linkSync(draft, path)
  } catch (error) {
    db.close()
    // another process was faster: its database is as good as ours
    if (!existsSync(path)) throw error
  } finally {
    removeDatabase(draft)
  }
}

function removeDatabase(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
}

function openFile(path: string): Database {
  const corrupt = new StoreError(
    'corrupt',
    `${path} is damaged or is no database. Nothing was changed. Move it away and bring back a backup: cp BACKUP ${path}`,
  )
  let db: Database
  try {
    db = new Database(path, { create: false, readwrite: true, strict: true })
  } catch {
    throw new StoreError(
      'folder_unwritable',
      `${path} cannot be opened. Give this user the right to read and write it.`,
    )
  }
  try {
    const { application_id: id } = db.query<{ application_id: number }, []>('PRAGMA application_id').get() ?? {}
    const tables = db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0
    if (id !== APPLICATION_ID) throw tables > 0 ? foreignFile(path) : corrupt
    setPragmas(db, path)
    return db
  } catch (error) {
    db.close()
    throw error instanceof StoreError ? error : isUnwritable(error) ? unwritable(path) : corrupt
  }
}

const isUnwritable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^SQLITE_(READONLY|CANTOPEN|PERM)/.test(String(error.code))

const unwritable = (path: string): StoreError =>
  new StoreError('folder_unwritable', `${path} cannot be written to. Give this user the right to read and write it.`)

const foreignFile = (path: string): StoreError =>
  new StoreError('foreign_file', `${path} is a database of another program. Choose another folder with --data.`)

/** Sets what durability rests on and reads it back, because SQLite answers a refused pragma with silence (promises 1). */
function setPragmas(db: Database, path: string): void {
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const mode = db.query<{ journal_mode: string }, []>('PRAGMA journal_mode = WAL').get()?.journal_mode
  if (mode !== 'wal') throw walRefused(path)
  db.run('PRAGMA synchronous = FULL')
  db.run('PRAGMA foreign_keys = ON')
  db.run('PRAGMA secure_delete = ON')
  db.run('PRAGMA temp_store = MEMORY')
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`)
  // the checkpointer decides when, so that no request waits for a copy of the whole log
  db.run('PRAGMA wal_autocheckpoint = 0')
  db.run(`PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`)
  const expected = { synchronous: 2, foreign_keys: 1, secure_delete: 1 } as const
  for (const [name, value] of Object.entries(expected)) {
    const read = Object.values(db.query<Record<string, unknown>, []>(`PRAGMA ${name}`).get() ?? {})[0]
    if (read !== value) throw new Error(`PRAGMA ${name} is ${String(read)} and should be ${value}`)
  }
}

const walRefused = (path: string): StoreError =>
  new StoreError(
    'wal_refused',
    `The file system of ${path} does not take SQLite's write-ahead log (network folders often refuse it). Choose a folder on a local disk with --data.`,
  )

/** The schema version of an open database. */
export const schemaVersion = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0

function migrate(db: Database, path: string, migrations: readonly string[]): void {
  const version = schemaVersion(db)
  if (version > migrations.length) {
    throw new StoreError(
      'newer_schema',
      `${path} has schema version ${version}; this executable knows up to ${migrations.length}. Start a newer executable.`,
    )
  }
  if (version === migrations.length) return
  backUpBefore(db, `${path}.before-${version + 1}`)
  applyMigrations(db, version, migrations)
}

/** A whole copy beside the database, kept: the way back if an upgrade disappoints. */
function backUpBefore(db: Database, copy: string): void {
  rmSync(copy, { force: true })
  db.run('VACUUM INTO ?', [copy])
  chmodSync(copy, 0o600)
}

/** Each migration is one transaction with its version number, so a crash leaves the one before or the one after. */
function applyMigrations(db: Database, from: number, migrations: readonly string[]): void {
  for (const [index, sql] of migrations.slice(from).entries()) {
    const target = from + index + 1
    db.transaction(() => {
      // another process may have migrated while this one waited for the lock
      if (schemaVersion(db) >= target) return
      db.run(sql)
      db.run(`PRAGMA user_version = ${target}`)
    }).immediate()
  }
}

import { Database } from 'bun:sqlite'
import { chmodSync, existsSync, linkSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from './errors.ts'
import { ensureFolder, folderFault } from './folder.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { applyMigrations, upgrade } from './upgrades.ts'

const DATABASE_FILE = 'eventpost.db'
/** "EVPT": tells our files from any other SQLite database. */
const APPLICATION_ID = 0x45565054
/** How long a command waits for the write lock of another process. */
export const BUSY_TIMEOUT_MS = 5_000
/**
 * Pages kept by each connection: the hot ends of the indexes. What else is asked for lies in the system's own cache; more
 * here made nothing faster, and counts towards the 160 MB the service may use (measured).
 */
const CACHE_KIB = 2_048

export const databasePath = (folder: string): string => join(folder, DATABASE_FILE)
export const logPath = (folder: string): string => `${databasePath(folder)}-wal`

/** Whether a data folder holds a database. @throws StoreError `folder_unwritable` where nobody can tell */
export function hasDatabase(folder: string): boolean {
  try {
    return statSync(databasePath(folder), { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw folderFault(folder, error)
  }
}

/** A file that other users could open; `isRestricted` is false where its mode could not be changed. */
export type ExposedFile = { file: string; mode: string; isRestricted: boolean }

const OTHERS = 0o077

/**
 * Gives the database, its log and shared memory, and the copies beside it the mode 0600. SQLite gives its -wal and -shm
 * files the mode of the database, so this comes before the database is opened.
 */
export function restrictDatabase(folder: string): ExposedFile[] {
  if (process.platform === 'win32') return []
  const names = listNames(folder).filter((name) => name.startsWith(DATABASE_FILE) || /\.db(-wal|-shm)?$/.test(name))
  return names.flatMap((name) => {
    const file = join(folder, name)
    const mode = modeOf(file)
    if (mode === null || (mode & OTHERS) === 0) return []
    return [{ file, mode: mode.toString(8).padStart(4, '0'), isRestricted: restrict(file) }]
  })
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // opening the database says what is wrong
    return []
  }
}

/** null: it is no file, or went away meanwhile. */
function modeOf(file: string): number | null {
  const found = statSync(file, { throwIfNoEntry: false })
  return found?.isFile() ? found.mode & 0o777 : null
}

function restrict(file: string): boolean {
  try {
    chmodSync(file, 0o600)
    return true
  } catch {
    // it belongs to another user
    return false
  }
}

export const describeExposed = ({ file, mode, isRestricted }: ExposedFile): string =>
  isRestricted
    ? `other users of this machine could open ${file} (mode ${mode}); its mode is 0600 now`
    : `other users of this machine can open ${file} (mode ${mode}), and its mode cannot be changed: it belongs to another user`

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
    upgrade(db, path, migrations)
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
    if (!existsSync(path)) throw toStoreError(error, path)
  } finally {
    removeDatabase(draft)
  }
}

function removeDatabase(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
}

function openFile(path: string): Database {
  let db: Database
  try {
    db = new Database(path, { create: false, readwrite: true, strict: true })
  } catch (error) {
    throw toStoreError(error, path)
  }
  // statements that Drizzle and the hot paths prepare are the connection's own and end with it: an open one would keep
  // the connection, its locks and the log alive after `close`
  db.prepare = db.query as Database['prepare']
  try {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const { application_id: id } = db.query<{ application_id: number }, []>('PRAGMA application_id').get() ?? {}
    const tables = db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0
    if (id !== APPLICATION_ID) throw tables > 0 ? foreignFile(path) : corrupt(path)
    setPragmas(db, path)
    return db
  } catch (error) {
    db.close()
    throw toStoreError(error, path)
  }
}

/** What SQLite says about a file, in words; only damage is called damage, because its remedy gives up what is there. */
function toStoreError(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return corrupt(path)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return locked(path)
  if (code.startsWith('SQLITE_IOERR_SHM')) return walRefused(path)
  return code.startsWith('SQLITE_') ? unusable(path, code) : error
}

const corrupt = (path: string): StoreError =>
  new StoreError(
    'corrupt',
    `${path} is damaged or is no database. Nothing was changed. Move it away, with ${path}-wal and ${path}-shm where they exist, and bring back a backup: cp BACKUP ${path}`,
  )

const locked = (path: string): StoreError =>
  new StoreError('folder_in_use', `${path} is locked by another program. Stop that one first, then try again.`)

const unusable = (path: string, code: string): StoreError =>
  new StoreError(
    'folder_unwritable',
    `${path} cannot be opened for writing (${code}). Give this user the right to read and write it, and see that the disk is not full.`,
  )

const foreignFile = (path: string): StoreError =>
  new StoreError('foreign_file', `${path} is a database of another program. Choose another folder with --data.`)

/** Sets what durability rests on and reads it back, because SQLite answers a refused pragma with silence. */
function setPragmas(db: Database, path: string): void {
  const mode = db.query<{ journal_mode: string }, []>('PRAGMA journal_mode = WAL').get()?.journal_mode
  if (mode !== 'wal') throw walRefused(path)
  db.run('PRAGMA synchronous = FULL')
  db.run('PRAGMA foreign_keys = ON')
  db.run('PRAGMA secure_delete = ON')
  db.run('PRAGMA temp_store = MEMORY')
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`)
  // the checkpointer decides when, so that no request waits for a copy of the whole log
  db.run('PRAGMA wal_autocheckpoint = 0')
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

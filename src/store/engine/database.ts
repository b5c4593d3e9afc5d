import { Database } from 'bun:sqlite'
import { chmodSync, existsSync, linkSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { diskFull, isDamage, isOutOfRoom, StoreError } from './errors.ts'
import { ensureFolder, folderFault, requireAccess } from './folder.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { describeDraft, dropProgress, findMark, folderPlace, refuseMarked } from '../move/mark.ts'
import { prepareLazily } from './statements.ts'
import { applyMigrations, type OnUpgrade, upgrade } from './upgrades.ts'

const DATABASE_FILE = 'eventpost.db'
/** "EVPT": distinguishes our files from other SQLite databases. */
export const APPLICATION_ID = 0x45565054
export const BUSY_TIMEOUT_MS = 5_000
/**
 * Page cache per connection, for the hot ends of the indexes. The system caches the rest; a larger cache made nothing
 * faster, and counts towards the 160 MB that the service may use (measured).
 */
const CACHE_KIB = 2_048

export const databasePath = (folder: string): string => join(folder, DATABASE_FILE)
export const logPath = (folder: string): string => `${databasePath(folder)}-wal`

/** Of a move into the folder that is not finished. */
export const draftPath = (folder: string): string => `${databasePath(folder)}.moving`

export const hasDraft = (folder: string): boolean => existsSync(draftPath(folder))

/** @throws StoreError `folder_unwritable` if the folder cannot be read, `moved` if a move into it is not finished */
export function hasDatabase(folder: string): boolean {
  if (hasDraft(folder)) throw new StoreError('moved', describeDraft(folder))
  return hasDatabaseFile(folder)
}

/** For a move into the folder. @throws StoreError `folder_unwritable` */
export function hasDatabaseFile(folder: string): boolean {
  try {
    return statSync(databasePath(folder), { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw folderFault(folder, error)
  }
}

export type ExposedFile = { file: string; mode: string; isRestricted: boolean }

const OTHER_USERS_BITS = 0o077

/**
 * Sets mode 0600 on the database, its WAL and shared memory, and copies next to it. SQLite gives new -wal and -shm
 * files the database's mode, so call this before opening it.
 */
export const restrictDatabase = (folder: string): ExposedFile[] =>
  findExposed(folder).map((exposed) => ({ ...exposed, isRestricted: restrict(exposed.file) }))

/** Files of the database, and copies next to it, that other users of the machine can open. */
export function findExposed(folder: string): Omit<ExposedFile, 'isRestricted'>[] {
  if (process.platform === 'win32') return []
  const names = listNames(folder).filter((name) => name.startsWith(DATABASE_FILE) || /\.db(-wal|-shm)?$/.test(name))
  return names.flatMap((name) => {
    const file = join(folder, name)
    const mode = modeOf(file)
    if (mode === null || (mode & OTHER_USERS_BITS) === 0) return []
    return [{ file, mode: mode.toString(8).padStart(4, '0') }]
  })
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function modeOf(file: string): number | null {
  const found = statSync(file, { throwIfNoEntry: false })
  return found?.isFile() ? found.mode & 0o777 : null
}

function restrict(file: string): boolean {
  try {
    chmodSync(file, 0o600)
    return true
  } catch {
    return false
  }
}

export const describeExposed = ({ file, mode, isRestricted }: ExposedFile): string =>
  isRestricted
    ? `other users of this machine could open ${file} (mode ${mode}); changed its mode to 0600`
    : `other users of this machine can open ${file} (mode ${mode}); its mode cannot be changed because it belongs to another user`

/**
 * A new database is created under a temporary name and linked into place, so a crash leaves no partial database and
 * an existing file is never replaced.
 * @throws StoreError with the reason and the remedy
 */
export function openDatabase(
  folder: string,
  migrations: readonly string[] = MIGRATIONS,
  onUpgrade: OnUpgrade = () => {},
): Database {
  ensureFolder(folder)
  const path = databasePath(folder)
  if (!hasDatabase(folder)) createDatabase(path, migrations)
  const db = openFile(path)
  try {
    upgrade(db, path, migrations, onUpgrade)
    dropProgress(db)
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/** As it is: an older schema is not migrated. */
export const openUnchanged = (folder: string): Database => openFile(databasePath(folder))

/** For a move, although its data is moved. */
export const openMarked = (folder: string): Database => openFile(databasePath(folder), { mayBeMarked: true })

export function openForReading(folder: string): Database {
  const db = openUnchanged(folder)
  db.run('PRAGMA query_only = ON')
  return db
}

function createDatabase(path: string, migrations: readonly string[]): void {
  const draft = `${path}.${process.pid}.new`
  removeDatabase(draft)
  try {
    makeDatabase(draft, migrations).close()
    linkSync(draft, path)
  } catch (error) {
    // another process created the database first
    if (!existsSync(path)) throw toStoreError(error, path)
  } finally {
    removeDatabase(draft)
  }
}

/** A new file with the tables. */
export function makeDatabase(path: string, migrations: readonly string[] = MIGRATIONS): Database {
  const db = new Database(path, { create: true, strict: true })
  try {
    chmodSync(path, 0o600)
    db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    setPragmas(db, path)
    applyMigrations(db, 0, migrations)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function removeDatabase(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
}

/**
 * Where a parameter may decide whether a partial index fits, SQLite plans the statement again for every value
 * (sqlite.org/c3ref/prepare.html). Behind a plus the planner sees no value (measured: 5 us, not 37, for a delivery).
 */
const holdPlan = (text: string): string =>
  text.replaceAll(/'[^']*'|\?\d*/g, (found) => (found.startsWith('?') ? `+${found}` : found))

/** Whatever the name of the file is. @throws StoreError with the reason and the remedy */
export function openFile(path: string, { mayBeMarked = false } = {}): Database {
  requireAccess([path, `${path}-wal`, `${path}-shm`])
  let db: Database
  try {
    db = new Database(path, { create: false, readwrite: true, strict: true })
  } catch (error) {
    throw toStoreError(error, path)
  }
  // cached statements close with the connection; an open prepared statement would keep its locks and the WAL alive
  db.prepare = ((text: string) => prepareLazily(() => db.query(holdPlan(text)))) as Database['prepare']
  try {
    db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const { application_id: id } = db.query<{ application_id: number }, []>('PRAGMA application_id').get() ?? {}
    const tables = db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_schema').get()?.n ?? 0
    if (id !== APPLICATION_ID) throw tables > 0 ? foreignFile(path) : corrupt(path)
    setPragmas(db, path)
    if (!mayBeMarked) refuseMarked(findMark(db), folderPlace(dirname(path)))
    return db
  } catch (error) {
    db.close()
    throw toStoreError(error, path)
  }
}

/** Only damage is reported as corrupt, because the remedy gives up the file's content. */
function toStoreError(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (isDamage(error)) return corrupt(path)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return locked(path)
  if (isOutOfRoom(error, dirname(path))) return diskFull(dirname(path))
  if (code.startsWith('SQLITE_IOERR_SHM')) return walRefused(path)
  return code.startsWith('SQLITE_') ? unusable(path, code) : error
}

const corrupt = (path: string): StoreError =>
  new StoreError('corrupt', `${path} is damaged or is not a database. Nothing was changed. ${restoreAdvice(path)}`)

const restoreAdvice = (path: string): string =>
  `Move the file away together with ${path}-wal and ${path}-shm, if they exist, and restore a backup: eventpost restore FILE --data ${dirname(path)}`

/** Damage beyond the first pages shows only when they are read; other errors stay as they are. */
export function describeDamage(error: unknown, folder: string): unknown {
  if (!isDamage(error)) return error
  const path = databasePath(folder)
  return new StoreError('corrupt', `${path} is damaged. Stop the server if it is running. ${restoreAdvice(path)}`)
}

const locked = (path: string): StoreError =>
  new StoreError('folder_in_use', `${path} is locked by another program. Stop that program, then try again.`)

const unusable = (path: string, code: string): StoreError =>
  new StoreError(
    'folder_unwritable',
    `${path} cannot be opened for writing (${code}). Give this user read and write permission, and check the disk.`,
  )

const foreignFile = (path: string): StoreError =>
  new StoreError('foreign_file', `${path} is another program's database. Choose another folder with --data.`)

/** Reads each pragma back, because SQLite ignores a refused pragma silently. */
function setPragmas(db: Database, path: string): void {
  const mode = db.query<{ journal_mode: string }, []>('PRAGMA journal_mode = WAL').get()?.journal_mode
  if (mode !== 'wal') throw walRefused(path)
  db.run('PRAGMA synchronous = FULL')
  db.run('PRAGMA foreign_keys = ON')
  db.run('PRAGMA secure_delete = ON')
  db.run('PRAGMA temp_store = MEMORY')
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`)
  // the checkpoint thread checkpoints, so that no request waits for it
  db.run('PRAGMA wal_autocheckpoint = 0')
  const expected = { synchronous: 2, foreign_keys: 1, secure_delete: 1 } as const
  for (const [name, value] of Object.entries(expected)) {
    const read = Object.values(db.query<Record<string, unknown>, []>(`PRAGMA ${name}`).get() ?? {})[0]
    if (read !== value) throw new Error(`PRAGMA ${name} is ${String(read)} instead of ${value}`)
  }
}

const walRefused = (path: string): StoreError =>
  new StoreError(
    'wal_refused',
    `The file system of ${path} does not support SQLite's write-ahead log (network folders often don't). Choose a folder on a local disk with --data.`,
  )

import { Database } from 'bun:sqlite'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { diskFull, isOutOfRoom, StoreError } from './errors.ts'
import { ensureFolder, removeEmpty, requireAccess } from './folder.ts'

const LOCK_FILE = 'serve.lock'
/** Longer than `isFolderServed` holds its lock. */
const LOCK_WAIT_MS = 1_000
/** Of the running or last server: the base URL, used in links that commands print, and where it listens. */
const ADDRESS_FILE = 'serve.url'

export type FolderLock = {
  release(): void
  /** Releases the lock, and removes what it created: its file, and the folder if that is otherwise empty. */
  abandon(): void
  /** `listensOn`: such as 127.0.0.1:8080 */
  noteAddress(address: { baseUrl: string; listensOn: string }): void
}

/**
 * Uses the operating system's lock on an empty SQLite file, so a killed process leaves no lock behind. Other commands
 * don't take it.
 * @throws StoreError `folder_in_use`, `folder_unwritable`, `disk_full`
 */
export function lockFolder(folder: string): FolderLock {
  const created = ensureFolder(folder)
  const lockFile = join(folder, LOCK_FILE)
  requireAccess([lockFile])
  const isNew = !existsSync(lockFile)
  const db = takeLock(lockFile)
  return {
    release: () => db.close(),
    abandon() {
      // before others can take it
      if (isNew) rmSync(lockFile, { force: true })
      db.close()
      if (created !== null) removeEmpty(folder, created)
    },
    noteAddress: ({ baseUrl, listensOn }) =>
      writeFileSync(join(folder, ADDRESS_FILE), `${baseUrl}\n${listensOn}\n`, { mode: 0o600 }),
  }
}

function takeLock(lockFile: string): Database {
  let db: Database | null = null
  try {
    db = new Database(lockFile, { create: true })
    db.run(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`)
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    db.run('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db?.close()
    throw lockFault(lockFile, error)
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
const isBusy = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_BUSY')

function lockFault(lockFile: string, error: unknown): StoreError {
  // the name of a relative one, such as data, would read as a word
  const folder = resolve(dirname(lockFile))
  if (isBusy(error))
    return new StoreError(
      'folder_in_use',
      `Another Eventpost server is using ${folder}. Stop it first, or choose another folder with --data.`,
    )
  if (isOutOfRoom(error, folder)) return diskFull(folder)
  return new StoreError(
    'folder_unwritable',
    `${lockFile} can't be used (${codeOf(error)}). Check the disk, or delete the file if no server is running.`,
  )
}

/**
 * Whether a server runs on it. Creates no lock file: as another user's, it would keep the server from starting. A shared
 * lock, which others that look don't take for a server.
 */
export function isFolderServed(folder: string): boolean {
  const lockFile = join(folder, LOCK_FILE)
  if (!existsSync(lockFile)) return false
  requireAccess([lockFile])
  let db: Database | null = null
  try {
    db = new Database(lockFile, { readonly: true })
    db.run('PRAGMA busy_timeout = 0')
    db.query('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw lockFault(lockFile, error)
  } finally {
    db?.close()
  }
}

export const readAddress = (folder: string): string | null => readAddresses(folder)[0] || null

/** Unlike its base URL, this reaches the server itself, past any proxy. */
export const readListening = (folder: string): string | null => readAddresses(folder)[1] || null

function readAddresses(folder: string): string[] {
  try {
    return readFileSync(join(folder, ADDRESS_FILE), 'utf8').split('\n')
  } catch {
    return []
  }
}

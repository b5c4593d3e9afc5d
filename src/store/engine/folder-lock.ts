import { Database } from 'bun:sqlite'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from './errors.ts'
import { ensureFolder, removeEmpty, requireAccess } from './folder.ts'

const LOCK_FILE = 'serve.lock'
/** Of the running or last server: the base URL, used in links that commands print, and where it listens. */
const ADDRESS_FILE = 'serve.url'

export type FolderLock = {
  release(): void
  /** Releases the lock, and removes the folder if the lock created it and it is otherwise empty. */
  abandon(): void
  /** `listensOn`: such as 127.0.0.1:8080 */
  noteAddress(address: { baseUrl: string; listensOn: string }): void
}

/**
 * Uses the operating system's lock on an empty SQLite file, so a killed process leaves no lock behind. Other commands
 * don't take it.
 * @throws StoreError `folder_in_use`, `folder_unwritable`
 */
export function lockFolder(folder: string): FolderLock {
  const created = ensureFolder(folder)
  const lockFile = join(folder, LOCK_FILE)
  requireAccess([lockFile])
  const db = new Database(lockFile, { create: true })
  try {
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    db.run('BEGIN EXCLUSIVE')
  } catch {
    db.close()
    throw new StoreError(
      'folder_in_use',
      `Another Eventpost server is using ${folder}. Stop it first, or choose another folder with --data.`,
    )
  }
  return {
    release: () => db.close(),
    abandon() {
      db.close()
      if (created === null) return
      rmSync(lockFile, { force: true })
      removeEmpty(folder, created)
    },
    noteAddress: ({ baseUrl, listensOn }) =>
      writeFileSync(join(folder, ADDRESS_FILE), `${baseUrl}\n${listensOn}\n`, { mode: 0o600 }),
  }
}

/** Another user may own it. */
/** Whether a server runs on it. Creates no lock file: as another user's, it would keep the server from starting. */
export function isFolderServed(folder: string): boolean {
  if (!existsSync(join(folder, LOCK_FILE))) return false
  try {
    lockFolder(folder).release()
    return false
  } catch (error) {
    if (error instanceof StoreError && error.code === 'folder_in_use') return true
    throw error
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

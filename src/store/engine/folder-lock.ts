import { Database } from 'bun:sqlite'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from './errors.ts'
import { ensureFolder, removeEmpty, requireAccess } from './folder.ts'

const LOCK_FILE = 'serve.lock'
/** The base URL of the running or last server, used in links that commands print. */
const ADDRESS_FILE = 'serve.url'

export type FolderLock = {
  release(): void
  /** Releases the lock, and removes the folder if the lock created it and it is otherwise empty. */
  abandon(): void
  noteAddress(baseUrl: string): void
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
    noteAddress: (baseUrl) => writeFileSync(join(folder, ADDRESS_FILE), `${baseUrl}\n`, { mode: 0o600 }),
  }
}

/** Whether a server runs on it. It must exist. */
export function isFolderServed(folder: string): boolean {
  try {
    lockFolder(folder).release()
    return false
  } catch (error) {
    if (error instanceof StoreError && error.code === 'folder_in_use') return true
    throw error
  }
}

export function readAddress(folder: string): string | null {
  try {
    return readFileSync(join(folder, ADDRESS_FILE), 'utf8').trim() || null
  } catch {
    return null
  }
}

import { Database } from 'bun:sqlite'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from './errors.ts'
import { ensureFolder, removeEmpty } from './folder.ts'

const LOCK_FILE = 'serve.lock'
/** Where the server of this folder is reached, or was when it last ran: links that commands print lead there. */
const ADDRESS_FILE = 'serve.url'

export type FolderLock = {
  release(): void
  /** Releases it and takes away the folder, if the lock made it and nothing was put into it since. */
  abandon(): void
  /** Leaves the base URL where `readAddress` finds it. */
  noteAddress(baseUrl: string): void
}

/**
 * Holds a data folder for one `serve`. The lock is the operating system's own on an empty SQLite file, so a killed
 * process leaves none behind; the other commands do not take it and work beside a running server.
 * @throws StoreError `folder_in_use`, `folder_unwritable`
 */
export function lockFolder(folder: string): FolderLock {
  const made = ensureFolder(folder)
  const lockFile = join(folder, LOCK_FILE)
  const db = new Database(lockFile, { create: true })
  try {
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    db.run('BEGIN EXCLUSIVE')
  } catch {
    db.close()
    throw new StoreError(
      'folder_in_use',
      `Another eventpost serves ${folder}. Stop it first, or choose another folder with --data.`,
    )
  }
  return {
    release: () => db.close(),
    abandon() {
      db.close()
      if (made === null) return
      rmSync(lockFile, { force: true })
      removeEmpty(folder, made)
    },
    noteAddress: (baseUrl) => writeFileSync(join(folder, ADDRESS_FILE), `${baseUrl}\n`, { mode: 0o600 }),
  }
}

/** The base URL that the last server of this folder noted; null where there is none. */
export function readAddress(folder: string): string | null {
  try {
    return readFileSync(join(folder, ADDRESS_FILE), 'utf8').trim() || null
  } catch {
    return null
  }
}

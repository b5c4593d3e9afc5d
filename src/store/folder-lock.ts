import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { ensureFolder } from './database.ts'
import { StoreError } from './errors.ts'

/**
 * Holds a data folder for one `serve`. The lock is the operating system's own on an empty SQLite file, so a killed
 * process leaves none behind; the other commands do not take it and work beside a running server.
 * @throws StoreError `folder_in_use`
 */
export function lockFolder(folder: string): { release(): void } {
  ensureFolder(folder)
  const db = new Database(join(folder, 'serve.lock'), { create: true })
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
  return { release: () => db.close() }
}

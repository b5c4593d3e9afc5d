import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError } from './errors.ts'

export type FolderFault = 'missing' | 'not_folder' | 'read_only' | 'denied'

/** Why this process can't write into it; null: it can. */
export function findFolderFault(folder: string): FolderFault | null {
  try {
    if (!statSync(folder).isDirectory()) return 'not_folder'
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return 'missing'
    if (code === 'ENOTDIR') return 'not_folder'
    return code === 'EROFS' ? 'read_only' : 'denied'
  }
}

/** The name of the user that owns it, else their number, which `chown` takes as well. */
export function ownerOf(folder: string): string {
  const { uid } = statSync(folder)
  try {
    // os.userInfo() has what $USER says
    const users = readFileSync('/etc/passwd', 'utf8').split('\n')
    return users.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0] ?? String(uid)
  } catch {
    return String(uid)
  }
}

/** The write-ahead log, changes of the schema and sorting need room, some of it in proportion to the data. */
const LEAST_RESERVE_BYTES = 64 * 1024 * 1024
const RESERVE_SHARE = 0.2

/** What a copy of this size must leave free on the disk of the database. */
export const reserveBytes = (dataBytes: number): number =>
  Math.max(LEAST_RESERVE_BYTES, Math.ceil(dataBytes * RESERVE_SHARE))

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** @returns the first folder created, or null @throws StoreError `folder_unwritable` */
export function ensureFolder(folder: string): string | null {
  try {
    const created = mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? null
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return created
  } catch (error) {
    throw folderFault(folder, error)
  }
}

export function removeEmpty(folder: string, first: string): void {
  let path = resolve(folder)
  while (path.startsWith(resolve(first)) && readdirSync(path).length === 0) {
    rmdirSync(path)
    path = dirname(path)
  }
}

export function folderFault(folder: string, error: unknown): StoreError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const isFile = code === 'EEXIST' || code === 'ENOTDIR'
  return new StoreError(
    'folder_unwritable',
    isFile
      ? `${folder} is not a folder. Set --data to the folder that contains the database.`
      : `Eventpost can't read from or write to the data folder ${folder}. Give this user permission, or choose another folder with --data.`,
  )
}

/** Files that don't exist are fine. @throws StoreError `folder_unwritable` if this user can't read and write one */
export function requireAccess(files: string[]): void {
  for (const file of files) {
    try {
      accessSync(file, constants.R_OK | constants.W_OK)
    } catch (error) {
      if (error instanceof Error && 'code' in error && /^(EACCES|EPERM)$/.test(String(error.code)))
        throw fileFault(file)
    }
  }
}

function fileFault(file: string): StoreError {
  const user = process.getuid?.()
  const owner = statSync(file, { throwIfNoEntry: false })?.uid
  const advice =
    user === undefined || user === owner
      ? 'Give this user permission to do both.'
      : `Run this as the server's user, or give the files to this user: sudo chown -R ${user} ${resolve(dirname(file))}`
  return new StoreError('folder_unwritable', `This user can't read and write ${file}. ${advice}`)
}

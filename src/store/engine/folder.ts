import { accessSync, constants, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError } from './errors.ts'

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
      ? `${folder} is not a folder. Set --data to the folder of the database.`
      : `Eventpost can't read from or write to the data folder ${folder}. Give this user permission, or choose another folder with --data.`,
  )
}

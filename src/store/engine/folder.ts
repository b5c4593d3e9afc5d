import { accessSync, constants, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError } from './errors.ts'

/**
 * Makes the data folder if it is missing, and those above it. @returns the first that was made, or null
 * @throws StoreError `folder_unwritable`
 */
export function ensureFolder(folder: string): string | null {
  try {
    const made = mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? null
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return made
  } catch (error) {
    throw folderFault(folder, error)
  }
}

/** Takes away empty folders, from `folder` up to `first`, which ensureFolder made. */
export function removeEmpty(folder: string, first: string): void {
  let path = resolve(folder)
  while (path.startsWith(resolve(first)) && readdirSync(path).length === 0) {
    rmdirSync(path)
    path = dirname(path)
  }
}

/** Why a folder cannot be used, and what to do. */
export function folderFault(folder: string, error: unknown): StoreError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const isFile = code === 'EEXIST' || code === 'ENOTDIR'
  return new StoreError(
    'folder_unwritable',
    isFile
      ? `${folder} is not a folder. Name the folder of the database with --data.`
      : `The data folder ${folder} cannot be read and written. Give this user the right to, or choose another with --data.`,
  )
}

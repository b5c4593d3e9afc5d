import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreError } from '../../../src/store/engine/errors.ts'
import { ensureFolder, removeEmpty } from '../../../src/store/engine/folder.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventpost-folder-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function faultOf(path: string): StoreError {
  try {
    ensureFolder(path)
  } catch (error) {
    if (error instanceof StoreError) return error
  }
  throw new Error('it was made')
}

describe('ensureFolder', () => {
  test('creates missing folders for its user only, and returns the first one', () => {
    expect(ensureFolder(join(folder, 'a', 'b'))).toBe(join(folder, 'a'))
    expect(statSync(join(folder, 'a', 'b')).mode & 0o777).toBe(0o700)
    expect(ensureFolder(join(folder, 'a', 'b'))).toBeNull()
  })

  test('refuses a file or a path below one, and leaves it', () => {
    const file = join(folder, 'file')
    writeFileSync(file, 'mine')
    for (const path of [file, join(file, 'data')]) {
      expect(faultOf(path)).toMatchObject({
        code: 'folder_unwritable',
        message: `${path} is not a folder. Set --data to the folder that contains the database.`,
      })
    }
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })

  // tests may run as root, whom permission bits do not bind; /proc binds root too
  test('refuses a folder without write permission', () => {
    expect(faultOf('/proc/eventpost')).toMatchObject({
      code: 'folder_unwritable',
      message:
        "Eventpost can't read from or write to the data folder /proc/eventpost. Give this user permission, or choose another folder with --data.",
    })
  })
})

describe('removeEmpty', () => {
  test('removes empty folders, up to the first one it created', () => {
    mkdirSync(join(folder, 'kept', 'first', 'last'), { recursive: true })
    removeEmpty(join(folder, 'kept', 'first', 'last'), join(folder, 'kept', 'first'))
    expect([existsSync(join(folder, 'kept')), existsSync(join(folder, 'kept', 'first'))]).toEqual([true, false])
  })

  test('leaves a folder with content and those above it', () => {
    mkdirSync(join(folder, 'first', 'last'), { recursive: true })
    writeFileSync(join(folder, 'first', 'mine'), '')
    removeEmpty(join(folder, 'first', 'last'), join(folder, 'first'))
    expect(existsSync(join(folder, 'first', 'last'))).toBe(false)
    expect(existsSync(join(folder, 'first', 'mine'))).toBe(true)
  })
})

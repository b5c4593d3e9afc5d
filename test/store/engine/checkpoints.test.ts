/** The log is written over and over while commits come, and its file given back when they have stopped. */
import type { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import {
  copyLongLog,
  createLogTrim,
  finishAfterCommit,
  finishCheckpoint,
} from '../../../src/store/engine/checkpoints.ts'
import { logPath, openForReading } from '../../../src/store/engine/database.ts'
import { useFolder } from '../databases.ts'

const MINUTE = 60_000
const MB = 1_000_000

// in memory: a shared disk would need any time for hundreds of megabytes
const databases = useFolder()
let folder: string
let db: Database
let reader: Database
beforeEach(() => {
  db = databases.open()
  folder = databases.path()
  reader = databases.keep(openForReading(folder))
})

const pagesInLog = (): number => db.query<{ log: number }, []>('PRAGMA wal_checkpoint(NOOP)').get()?.log ?? -1
const fileBytes = (): number => statSync(logPath(folder)).size
/** One commit that changes about so many pages. */
const commit = (pages: number): void => {
  db.query(`INSERT OR REPLACE INTO install (name, value) VALUES (?, ?)`).run(
    crypto.randomUUID(),
    'v'.repeat(pages * 4_080),
  )
}

/** Copies the log but for the last commit, as it is where commits come meanwhile. */
function copyAllBut(pages: number): void {
  const blocking = openForReading(folder)
  blocking.run('BEGIN')
  blocking.query('SELECT * FROM install').get()
  commit(pages)
  copyLongLog(reader)
  blocking.close()
}

test('a copied log of 64 MB restarts after a commit, and the file keeps its size', () => {
  for (let part = 0; part < 14; part += 1) commit(1_000)
  copyAllBut(900)
  finishAfterCommit(db)
  commit(1)
  expect(pagesInLog()).toBeGreaterThan(14_000)
  for (let part = 0; part < 2; part += 1) commit(1_000)
  copyAllBut(900)
  finishAfterCommit(db)
  commit(1)
  expect(pagesInLog()).toBeLessThan(100)
  expect(fileBytes()).toBeGreaterThan(64 * MB)
})

test('a commit waits only for a few milliseconds of copying', () => {
  for (let part = 0; part < 17; part += 1) commit(1_000)
  copyAllBut(1_100)
  finishAfterCommit(db)
  commit(1)
  expect(pagesInLog()).toBeGreaterThan(17_000)
})

describe('a large log file is truncated after a minute without need', () => {
  let now = 0
  let trim: () => void
  beforeEach(() => {
    now = 0
    trim = createLogTrim(db, logPath(folder), () => now)
    for (let part = 0; part < 17; part += 1) commit(1_000)
  })
  const after = (ms: number): void => {
    now += ms
    trim()
  }

  test('when nothing arrived', () => {
    copyLongLog(reader)
    after(MINUTE - 1)
    expect(fileBytes()).toBeGreaterThan(64 * MB)
    after(1)
    expect(fileBytes()).toBe(0)
  })

  test('when little arrived, although the log restarts again and again', () => {
    copyLongLog(reader)
    let restarts = 0
    for (let second = 0; second < 59; second += 1) {
      const before = pagesInLog()
      if (second % 5 === 0) commit(700)
      if (pagesInLog() < before) restarts += 1
      copyLongLog(reader)
      finishCheckpoint(db)
      after(1_000)
    }
    expect(restarts).toBeGreaterThan(2)
    expect(fileBytes()).toBeGreaterThan(64 * MB)
    after(1_000)
    expect(fileBytes()).toBe(0)
  })

  test('but not during a read', () => {
    const blocking = openForReading(folder)
    blocking.run('BEGIN')
    blocking.query('SELECT * FROM install').get()
    commit(1)
    copyLongLog(reader)
    for (let minute = 0; minute < 3; minute += 1) after(MINUTE)
    expect(fileBytes()).toBeGreaterThan(64 * MB)
    blocking.close()
    finishCheckpoint(db)
    after(MINUTE)
    expect(fileBytes()).toBe(0)
  })
})

test('a small log file is left alone', () => {
  let now = 0
  const trim = createLogTrim(db, logPath(folder), () => now)
  commit(10)
  now += 2 * MINUTE
  trim()
  expect(fileBytes()).toBeGreaterThan(0)
})

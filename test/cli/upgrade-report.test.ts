import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createUpgradeReport } from '../../src/cli/upgrade-report.ts'
import { makeFolder } from './process.ts'

const { folder, remove } = makeFolder()
const MB = 1024 * 1024
const versions = { from: 51, to: 53 }

beforeEach(() => void jest.useFakeTimers())
afterEach(() => {
  jest.useRealTimers()
  remove()
})

test('an upgrade says what it does, how far it is every two seconds, and where the copy is', () => {
  const lines: string[] = []
  let now = 0
  const report = createUpgradeReport(
    (line) => lines.push(line),
    () => now,
  )
  const pass = (seconds: number): void => {
    now += seconds * 1_000
    jest.advanceTimersByTime(seconds * 1_000)
  }
  const [file, log] = [join(folder, 'draft'), join(folder, 'log')]
  report({ ...versions, phase: 'copying', file, bytes: 100 * MB })
  pass(2)
  writeFileSync(file, '')
  truncateSync(file, 45.5 * MB)
  pass(2)
  // the last pages may be more than the estimate
  truncateSync(file, 101 * MB)
  pass(2)
  for (const version of [52, 53]) report({ ...versions, phase: 'migrating', file: log, version })
  pass(2)
  report({ ...versions, phase: 'done', copy: '/data/eventpost.db.before-52' })
  pass(60)
  expect(lines).toEqual([
    'upgrading the database from schema version 51 to 53: copying it first (100 MB)',
    'upgrading the database: 0% copied in 2 s',
    'upgrading the database: 45% copied in 4 s',
    'upgrading the database: 100% copied in 6 s',
    'upgrading the database: copied; changing it now',
    'upgrading the database: schema version 53 of 53, 0 B written in 8 s',
    'upgraded the database from schema version 51 to 53 in 8 s; the copy made before the upgrade, /data/eventpost.db.before-52, is removed after a week',
  ])
})

/** A database of an older version is kept, and brought to this one (promises 6). */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath, openDatabase } from '../../src/store/database.ts'
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/store/migrations/index.ts'
import { schemaVersion } from '../../src/store/upgrades.ts'
import { makeFolder } from './samples.ts'

let folder = ''
let remove = (): void => {}
let open: Database[] = []

beforeEach(() => {
  ;({ folder, remove } = makeFolder())
})
afterEach(() => {
  for (const db of open) db.close()
  open = []
  remove()
})

function keep(db: Database): Database {
  open.push(db)
  return db
}
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const pragma = (db: Database, name: string): unknown => db.query(`PRAGMA ${name}`).values()[0]?.[0]

function runScript(script: string, ...args: string[]) {
  return Bun.spawn([process.execPath, '-e', script, ...args], { stdout: 'pipe', stderr: 'pipe', stdin: 'pipe' })
}

describe('an older schema', () => {
  const two = [...MIGRATIONS, 'CREATE TABLE extra (a TEXT) STRICT; INSERT INTO extra VALUES (1);']
  const version = SCHEMA_VERSION + 1
  const backup = (): string => `${databasePath(folder)}.before-${version}`

  beforeEach(() => {
    const db = openDatabase(folder)
    db.run(`INSERT INTO install (name, value) VALUES ('old', 'kept')`)
    db.close()
  })
  const oldValue = (db: Database) => db.query(`SELECT value FROM install WHERE name = 'old'`).values()

  test('is brought up to date, and a whole copy of it is kept', () => {
    const db = keep(openDatabase(folder, two))
    expect([schemaVersion(db), oldValue(db), db.query('SELECT a FROM extra').values()]).toEqual([
      version,
      [['kept']],
      [['1']],
    ])
    expect(modeOf(backup())).toBe('600')
    const copy = keep(new Database(backup()))
    expect([schemaVersion(copy), oldValue(copy), pragma(copy, 'integrity_check')]).toEqual([
      SCHEMA_VERSION,
      [['kept']],
      'ok',
    ])
    expect(readdirSync(folder).filter((file) => file.endsWith('.copy'))).toEqual([])
  })

  test('has its events counted by day', () => {
    const daily = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE daily_rollups'))
    const other = makeFolder()
    const old = openDatabase(other.folder, MIGRATIONS.slice(0, daily))
    for (const [name, hour] of [
      [1, 47],
      [1, 48],
      [1, 71],
      [2, 48],
    ]) {
      old.run('INSERT INTO rollups VALUES (1, ?, ?, 5, 1, 2)', [name ?? 0, hour ?? 0])
    }
    old.close()
    const db = openDatabase(other.folder)
    expect(db.query('SELECT app_id, day, name_id, count FROM daily_rollups').values()).toEqual([
      [1, 1, 1, 5],
      [1, 2, 1, 10],
      [1, 2, 2, 5],
    ])
    db.close()
    other.remove()
  })

  test('the copy is a database that opens again', () => {
    openDatabase(folder, two).close()
    const other = join(folder, 'restored')
    mkdirSync(other)
    writeFileSync(databasePath(other), readFileSync(backup()))
    expect(oldValue(keep(openDatabase(other)))).toEqual([['kept']])
  })

  test('stays whole when a migration fails half way; those before it stay done', () => {
    const bad = [...two, 'CREATE TABLE more (a TEXT) STRICT; INSERT INTO nowhere VALUES (1);']
    expect(() => openDatabase(folder, bad)).toThrow('no such table: nowhere')
    const db = keep(openDatabase(folder, two))
    const tables = db.query(`SELECT name FROM sqlite_schema WHERE name IN ('extra', 'more')`).values()
    expect([schemaVersion(db), tables, oldValue(db)]).toEqual([version, [['extra']], [['kept']]])
    expect(existsSync(backup())).toBe(true)
  })

  test('upgraded by three processes at once: all succeed, and the copy is of the old version', async () => {
    const source = join(import.meta.dir, '../../src/store/database.ts')
    const script = `
      const { openDatabase } = await import(process.argv[1])
      for await (const _ of process.stdin) break
      openDatabase(process.argv[2], JSON.parse(process.argv[3]))`
    const children = [1, 2, 3].map(() => runScript(script, source, folder, JSON.stringify(two)))
    await Bun.sleep(60)
    for (const child of children) {
      child.stdin.write('go')
      child.stdin.end()
    }
    const ends = children.map(async (child) => [await child.exited, await new Response(child.stderr).text()])
    expect(await Promise.all(ends)).toEqual(ends.map(() => [0, '']))
    const db = keep(openDatabase(folder, two))
    expect([db.query('SELECT a FROM extra').values(), oldValue(db)]).toEqual([[['1']], [['kept']]])
    expect(schemaVersion(keep(new Database(backup())))).toBe(SCHEMA_VERSION)
  })

  test('is left alone by an executable that knows no more', () => {
    openDatabase(folder).close()
    expect(readdirSync(folder)).toEqual(['eventpost.db'])
  })
})

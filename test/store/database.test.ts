import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath, openDatabase, openForReading } from '../../src/store/database.ts'
import type { StoreError } from '../../src/store/errors.ts'
import { lockFolder } from '../../src/store/folder-lock.ts'
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/store/migrations/index.ts'
import { openStore } from '../../src/store/store.ts'
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

/** The error that opening gives, from a command and from `serve`; the same from both. */
async function refusalOf(where: string): Promise<StoreError> {
  const errors: StoreError[] = []
  for (const threads of [false, true]) {
    const store = await openStore(where, { threads }).catch((error: StoreError) => void errors.push(error))
    if (store) throw new Error('it was opened')
  }
  const [error, other] = errors
  if (!error || !other) throw new Error('no error')
  expect([other.name, other.code, other.message]).toEqual(['StoreError', error.code, error.message])
  return error
}

function runScript(script: string, ...args: string[]) {
  return Bun.spawn([process.execPath, '-e', script, ...args], { stdout: 'pipe', stderr: 'pipe', stdin: 'pipe' })
}

describe('a new database', () => {
  test('has the pragmas that durability rests on, read back, for writing and for reading', () => {
    for (const db of [keep(openDatabase(folder)), keep(openForReading(folder))]) {
      const names = [
        'journal_mode',
        'synchronous',
        'foreign_keys',
        'secure_delete',
        'wal_autocheckpoint',
        'busy_timeout',
      ]
      expect(names.map((name) => pragma(db, name))).toEqual(['wal', 2, 1, 1, 0, 5_000])
      expect([pragma(db, 'auto_vacuum'), pragma(db, 'page_size')]).toEqual([0, 4_096])
    }
  })

  test('is whole, of mode 0600 with its log, and alone in its folder after it is closed', () => {
    const db = keep(openDatabase(folder))
    db.run(`INSERT INTO install (name, value) VALUES ('a', 'b')`)
    const files = readdirSync(folder).toSorted()
    expect(files).toEqual(['eventpost.db', 'eventpost.db-shm', 'eventpost.db-wal'])
    expect(files.map((file) => modeOf(join(folder, file)))).toEqual(['600', '600', '600'])
    expect(schemaVersion(db)).toBe(SCHEMA_VERSION)
    expect(pragma(db, 'integrity_check')).toBe('ok')
    db.close()
    expect(readdirSync(folder)).toEqual(['eventpost.db'])
  })

  test.each([false, true])('a store leaves one file that holds everything (threads: %p)', async (threads) => {
    const store = await openStore(folder, { threads })
    await store.keepInstallValue({ name: 'kept', value: 'whole' })
    expect(await store.installValue('kept')).toBe('whole')
    await Promise.all([store.close(), store.close()])
    expect(readdirSync(folder)).toEqual(['eventpost.db'])
    const again = await openStore(folder, { threads: false })
    expect(await again.installValue('kept')).toBe('whole')
    await again.close()
  })

  test('a connection for reading cannot write', () => {
    keep(openDatabase(folder))
    const db = keep(openForReading(folder))
    expect(() => db.run(`INSERT INTO install (name, value) VALUES ('a', 'b')`)).toThrow('readonly')
  })

  test('made by two processes at once: both succeed with one database', async () => {
    const source = join(import.meta.dir, '../../src/store/database.ts')
    const script = `
      const { openDatabase } = await import(process.argv[1])
      for await (const _ of process.stdin) break
      const db = openDatabase(process.argv[2])
      db.run("INSERT INTO install (name, value) VALUES (?, 'x')", [process.argv[3]])`
    for (let round = 0; round < 3; round++) {
      const where = join(folder, `round${round}`)
      const children = ['a', 'b', 'c'].map((name) => runScript(script, source, where, name))
      await Bun.sleep(60)
      for (const child of children) (child.stdin.write('go'), child.stdin.end())
      const ends = await Promise.all(
        children.map(async (child) => [await child.exited, await new Response(child.stderr).text()]),
      )
      expect(ends).toEqual(ends.map(() => [0, '']))
      const db = keep(openDatabase(where))
      expect(db.query(`SELECT group_concat(name, '') FROM install WHERE value = 'x'`).values()).toEqual([['abc']])
      expect(readdirSync(where).filter((file) => file.includes('.new'))).toEqual([])
    }
  })
})

describe('what is refused, and left as it was', () => {
  const REMEDIES: [string, StoreError['code'], string, () => void][] = [
    [
      'a file that is no database',
      'corrupt',
      'bring back a backup: cp BACKUP',
      () => writeFileSync(databasePath(folder), 'x'.repeat(8_192)),
    ],
    ['a file without a byte', 'corrupt', 'bring back a backup', () => writeFileSync(databasePath(folder), '')],
    [
      'a database cut in half',
      'corrupt',
      'bring back a backup',
      () => {
        openDatabase(folder).close()
        writeFileSync(databasePath(folder), readFileSync(databasePath(folder)).subarray(0, 40_960))
      },
    ],
    [
      'a database whose first page is damaged',
      'corrupt',
      'bring back a backup',
      () => {
        openDatabase(folder).close()
        writeFileSync(databasePath(folder), readFileSync(databasePath(folder)).fill(0xff, 100, 4_096))
      },
    ],
    [
      'a database of another program',
      'foreign_file',
      'Choose another folder with --data',
      () => {
        const db = new Database(databasePath(folder), { create: true })
        db.run('CREATE TABLE songs (title TEXT)')
        db.close()
      },
    ],
    [
      'a newer schema',
      'newer_schema',
      `has schema version ${SCHEMA_VERSION + 1}; this executable knows up to ${SCHEMA_VERSION}`,
      () => {
        const db = openDatabase(folder)
        db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
        db.close()
      },
    ],
    [
      'a folder where the file should be',
      'folder_unwritable',
      'cannot be opened',
      () => mkdirSync(databasePath(folder)),
    ],
  ]
  test.each(REMEDIES)('%s', async (_, code, remedy, prepare) => {
    prepare()
    const path = databasePath(folder)
    const before = statSync(path).isFile() ? readFileSync(path) : null
    const error = await refusalOf(folder)
    expect([error.code, error.message.split('\n').length]).toEqual([code, 1])
    expect(error.message).toContain(remedy)
    expect(error.message).toContain(path)
    if (before) expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(folder).filter((file) => !/^eventpost\.db(-wal|-shm)?$/.test(file))).toEqual([])
  })

  test('a database that another program holds is called locked and not damaged', () => {
    openDatabase(folder).close()
    const path = databasePath(folder)
    const holder = keep(new Database(path))
    holder.run('PRAGMA journal_mode = DELETE')
    holder.run('BEGIN EXCLUSIVE')
    const script = `
      const { openDatabase } = await import(process.argv[1])
      try { openDatabase(process.argv[2]) } catch (error) { console.log(error.code, error.message) }`
    const source = join(import.meta.dir, '../../src/store/database.ts')
    const { stdout } = Bun.spawnSync([process.execPath, '-e', script, source, folder])
    expect(stdout.toString()).toStartWith(`folder_in_use ${path} is locked by another program.`)
  }, 10_000)
})

describe('lockFolder', () => {
  const source = join(import.meta.dir, '../../src/store/folder-lock.ts')
  const script = `
    const { lockFolder } = await import(process.argv[1])
    try { lockFolder(process.argv[2]); console.log('held') } catch (error) { console.log(error.code) }
    for await (const _ of process.stdin) break`
  const attempt = async () => {
    const child = runScript(script, source, folder)
    const { value } = await child.stdout.getReader().read()
    return { child, said: new TextDecoder().decode(value).trim() }
  }

  test('one process at a time; a killed one leaves nothing behind', async () => {
    const first = await attempt()
    expect(first.said).toBe('held')
    const second = await attempt()
    expect(second.said).toBe('folder_in_use')
    second.child.kill()
    expect(() => lockFolder(folder)).toThrow('Stop it first, or choose another folder with --data')
    const command = await openStore(folder, { threads: false })
    await command.close()
    first.child.kill('SIGKILL')
    await first.child.exited
    const lock = lockFolder(folder)
    const third = await attempt()
    expect(third.said).toBe('folder_in_use')
    third.child.kill()
    lock.release()
    const fourth = await attempt()
    expect(fourth.said).toBe('held')
    fourth.child.kill()
  })
})

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

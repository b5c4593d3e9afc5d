import { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath, openDatabase, openForReading } from '../../../src/store/engine/database.ts'
import type { StoreError } from '../../../src/store/engine/errors.ts'
import { SCHEMA_VERSION } from '../../../src/store/engine/migrations/index.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openStore } from '../../../src/store/store.ts'
import { schemaVersion } from '../../../src/store/engine/upgrades.ts'
import { isLong } from '../../long-form.ts'
import { useFolder } from '../databases.ts'

const databases = useFolder()
const { keep } = databases
let folder = ''
beforeEach(() => void (folder = databases.path()))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const pragma = (db: Database, name: string): unknown => db.query(`PRAGMA ${name}`).values()[0]?.[0]

/** The error that opening gives, to a command or to `serve`. */
async function refusalOf(where: string, threads: boolean): Promise<StoreError> {
  const opened = await openStore(where, { threads, rules: STORE_RULES }).catch((error: StoreError) => error)
  if ('close' in opened) throw new Error('it was opened')
  return opened
}

describe('a new database', () => {
  test('has the durability pragmas, read back from both connections', () => {
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

  test('is intact, has mode 0600 like its log, and is the only file after closing', () => {
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

  test.each([false, true])('closing a store leaves one complete file (threads: %p)', async (threads) => {
    const store = await openStore(folder, { threads, rules: STORE_RULES })
    await store.keepInstallValue({ name: 'kept', value: 'whole' })
    expect(await store.installValue('kept')).toBe('whole')
    await Promise.all([store.close(), store.close()])
    expect(readdirSync(folder)).toEqual(['eventpost.db'])
    const again = await openStore(folder, { threads: false, rules: STORE_RULES })
    expect(await again.installValue('kept')).toBe('whole')
    await again.close()
  })

  test('a read connection cannot write', () => {
    databases.open()
    const db = keep(openForReading(folder))
    expect(() => db.run(`INSERT INTO install (name, value) VALUES ('a', 'b')`)).toThrow('readonly')
  })

  test('processes that create it at once share one database', async () => {
    const source = join(import.meta.dir, '../../../src/store/engine/database.ts')
    const script = `
      const { openDatabase } = await import(process.argv[1])
      console.log('ready')
      for await (const where of console) {
        if (where === '') break
        const db = openDatabase(where)
        db.run("INSERT INTO install (name, value) VALUES (?, 'x')", [process.argv[2]])
        db.close()
        console.log('done')
      }`
    const children = ['a', 'b', 'c'].map((name) => {
      const words = [process.execPath, '-e', script, source, name]
      const child = Bun.spawn(words, { stdout: 'pipe', stderr: 'pipe', stdin: 'pipe' })
      return { child, lines: child.stdout.pipeThrough(new TextDecoderStream()).getReader() }
    })
    const readAll = async (): Promise<unknown[]> =>
      await Promise.all(children.map(async ({ lines }) => (await lines.read()).value))
    expect(await readAll()).toEqual(children.map(() => 'ready\n'))
    for (let round = 0; round < 3; round++) {
      const where = join(folder, `round${round}`)
      for (const { child } of children) {
        void child.stdin.write(`${where}\n`)
        void child.stdin.flush()
      }
      expect(await readAll()).toEqual(children.map(() => 'done\n'))
      const db = keep(openDatabase(where))
      expect(db.query(`SELECT group_concat(name, '') FROM install WHERE value = 'x'`).values()).toEqual([['abc']])
      expect(readdirSync(where).filter((file) => file.includes('.new'))).toEqual([])
    }
    for (const { child } of children) {
      void child.stdin.write('\n')
      void child.stdin.end()
    }
    const ends = children.map(async ({ child }) => [await child.exited, await new Response(child.stderr).text()])
    expect(await Promise.all(ends)).toEqual(children.map(() => [0, '']))
  })
})

describe('a database that is refused and left unchanged', () => {
  const REMEDIES: [string, StoreError['code'], string, () => void][] = [
    [
      'a file that is not a database',
      'corrupt',
      'restore a backup: eventpost restore FILE',
      () => writeFileSync(databasePath(folder), 'x'.repeat(8_192)),
    ],
    ['an empty file', 'corrupt', 'restore a backup', () => writeFileSync(databasePath(folder), '')],
    [
      'a database cut in half',
      'corrupt',
      'restore a backup',
      () => {
        databases.open().close()
        writeFileSync(databasePath(folder), readFileSync(databasePath(folder)).subarray(0, 40_960))
      },
    ],
    [
      'a database whose first page is damaged',
      'corrupt',
      'restore a backup',
      () => {
        databases.open().close()
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
      `has schema version ${SCHEMA_VERSION + 1}; this executable supports versions up to ${SCHEMA_VERSION}`,
      () => {
        const db = databases.open()
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
  const isFirstOfCode = (name: string, code: string): boolean =>
    REMEDIES.find(([, other]) => other === code)?.[0] === name
  test.each(REMEDIES)('%s', async (name, code, remedy, prepare) => {
    prepare()
    const path = databasePath(folder)
    const before = statSync(path).isFile() ? readFileSync(path) : null
    const error = await refusalOf(folder, false)
    if (isFirstOfCode(name, code) || isLong) {
      const other = await refusalOf(folder, true)
      expect([other.name, other.code, other.message]).toEqual(['StoreError', error.code, error.message])
    }
    expect([error.code, error.message.split('\n').length]).toEqual([code, 1])
    expect(error.message).toContain(remedy)
    expect(error.message).toContain(path)
    if (before) expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(folder).filter((file) => !/^eventpost\.db(-wal|-shm)?$/.test(file))).toEqual([])
  })

  test('a database locked by another program is reported as locked, not damaged', () => {
    databases.open().close()
    const path = databasePath(folder)
    const holder = keep(new Database(path))
    holder.run('PRAGMA journal_mode = DELETE')
    holder.run('BEGIN EXCLUSIVE')
    const script = `
      const { openDatabase } = await import(process.argv[1])
      try { openDatabase(process.argv[2]) } catch (error) { console.log(error.code, error.message) }`
    const source = join(import.meta.dir, '../../../src/store/engine/database.ts')
    const { stdout } = Bun.spawnSync([process.execPath, '-e', script, source, folder])
    expect(stdout.toString()).toStartWith(`folder_in_use ${path} is locked by another program.`)
  })
})

describe('prepared statements', () => {
  test('give parameters as they were bound, and leave texts alone', () => {
    const db = databases.open()
    const values = [null, 1.5, 9, 'text', '7', new Uint8Array([1, 2])]
    const types = db.prepare<{ types: string }, typeof values>(
      "SELECT concat_ws(' ', typeof(?), typeof(?), typeof(?), typeof(?), typeof(?), typeof(?)) AS types",
    )
    expect(types.get(...values)?.types).toBe('null real integer text text blob')
    expect(db.prepare("SELECT ?2 AS b, ?1 AS a, 'why?' AS c, 'it''s ?1' AS d").get('x', 'y')).toEqual({
      b: 'y',
      a: 'x',
      c: 'why?',
      d: "it's ?1",
    })
  })

  test('find a row by an index whatever is bound', () => {
    const db = databases.open()
    const plan = db.prepare<{ detail: string }, [number]>(
      'EXPLAIN QUERY PLAN SELECT 1 FROM deliveries JOIN contacts ON contacts.id = contact_id WHERE deliveries.id = ?',
    )
    expect(plan.all(1).map(({ detail }) => detail.split(' ')[0])).toEqual(['SEARCH', 'SEARCH'])
  })
})

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { copyLongLog, finishCheckpoint } from '../../../src/store/engine/checkpoints.ts'
import { isDraft, openSource, writeBackup } from '../../../src/store/engine/backup-files.ts'
import { databasePath, logPath, openDatabase, openForReading } from '../../../src/store/engine/database.ts'
import { lockFolder } from '../../../src/store/engine/folder-lock.ts'
import { SCHEMA_VERSION } from '../../../src/store/engine/migrations/index.ts'
import { restoreDatabase } from '../../../src/store/restores.ts'
import { findTemplate, makeFolder } from '../../data-folder.ts'

let made: ReturnType<typeof makeFolder>
let folder = ''
let file = ''
let target = ''
let opened: Database[] = []
beforeEach(async () => {
  made = makeFolder()
  folder = made.folder
  file = `${folder}/backup.db`
  target = `${folder}/target`
  copyFileSync(await findTemplate(), databasePath(folder))
})
afterEach(() => {
  for (const db of opened) db.close()
  opened = []
  made.remove()
})
const keep = (db: Database): Database => {
  opened.push(db)
  return db
}

const backUp = () => writeBackup({ folder, descriptor: openSource(folder) }, file)
const restore = (from = file, masterKey: string | null = null) =>
  restoreDatabase(from, { folder: target, masterKey, at: 1 })
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'none',
    (error: unknown) => (error as { code?: string }).code ?? error,
  )
const others = (): string[] => readdirSync(folder).filter((name) => !name.startsWith('eventpost.db'))

describe('a backup', () => {
  test('has every commit that preceded it and no half of one, while others write and copy the log', async () => {
    const [writer, checkpointer] = [keep(openDatabase(folder)), keep(openForReading(folder))]
    writer.run('CREATE TABLE pairs (id INTEGER PRIMARY KEY, text TEXT)')
    const insert = writer.query('INSERT INTO pairs (text) VALUES (?), (?)')
    let commits = 0
    const commit = (): void => {
      const text = String(commits++).padEnd(1_000, 'x')
      insert.run(text, text)
    }
    // longer than a step of the copy, so that the others get their turns between two
    while (statSync(databasePath(folder)).size < 2 * 1024 * 1024) {
      for (let count = 0; count < 500; count += 1) commit()
      copyLongLog(checkpointer)
    }
    const before = commits
    let isOver = false
    const work = (async () => {
      while (!isOver) {
        // enough for the log to begin anew, which a copy without a read transaction would miss
        for (let count = 0; count < 1_200; count += 1) commit()
        copyLongLog(checkpointer)
        finishCheckpoint(writer)
        await Bun.sleep(0)
      }
    })()
    const bytes = await backUp()
    isOver = true
    await work
    expect(commits).toBeGreaterThan(before)

    const copy = keep(new Database(file, { readonly: true }))
    const counted = copy.query<{ n: number; odd: number }, []>(
      'SELECT count(*) AS n, sum(pair) AS odd FROM (SELECT count(*) % 2 AS pair FROM pairs GROUP BY text)',
    )
    const { n, odd } = counted.get() ?? { n: 0, odd: 1 }
    expect(odd).toBe(0)
    expect(n).toBeGreaterThanOrEqual(before)
    expect(n).toBeLessThanOrEqual(commits)
    expect([statSync(file).size, statSync(file).mode & 0o777]).toEqual([bytes, 0o600])
    expect(others()).toEqual(['backup.db'])
  })

  test.each(['begins anew', 'is truncated'])(
    'has every commit that preceded it when the log %s meanwhile',
    async (how) => {
      const writer = keep(openDatabase(folder))
      writer.run('CREATE TABLE numbers (id INTEGER PRIMARY KEY, value INTEGER, text TEXT)')
      const insert = writer.query('INSERT INTO numbers (value, text) VALUES (0, ?)')
      for (let count = 0; count < 400; count += 1) insert.run('x'.repeat(1_000))
      writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
      const before = 30
      let commits = 0
      const commit = (): void => void writer.run('UPDATE numbers SET value = ?', [++commits])
      while (commits < before) commit()
      // the next commit overwrites the log, which is longer than a step of the copy
      copyLongLog(keep(openForReading(folder)))
      finishCheckpoint(writer)
      const work = backUp()
      const draftSize = (): number =>
        Math.max(
          0,
          ...readdirSync(folder).map((name) => (name.endsWith('.tmp-wal') ? statSync(`${folder}/${name}`).size : 0)),
        )
      while (draftSize() < 1024 * 1024) await Bun.sleep(0)
      if (how === 'begins anew') for (let count = 0; count < 5; count += 1) commit()
      else writer.run('PRAGMA wal_checkpoint(TRUNCATE)')
      await work
      const copy = keep(new Database(file, { readonly: true }))
      const { least } = copy.query<{ least: number }, []>('SELECT min(value) AS least FROM numbers').get() ?? {
        least: -1,
      }
      expect(least).toBeGreaterThanOrEqual(before)
    },
  )

  test('replaces no file', async () => {
    writeFileSync(file, 'mine')
    expect(await codeOf(backUp())).toBe('file_exists')
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect(others()).toEqual(['backup.db'])
  })

  test('is not begun where it would fill the disk of the database', async () => {
    // sparse, and larger than any disk has room for
    truncateSync(databasePath(folder), 2 ** 42)
    const message = await backUp().then(String, String)
    expect(message).toMatch(
      /A backup needs 4.8 TB of free space in .+, including a reserve for the server, but only .+ is free/,
    )
    expect(others()).toEqual([])
  })

  test('needs a folder', async () => {
    file = `${folder}/none/backup.db`
    expect(await codeOf(backUp())).toBe('folder_unwritable')
  })

  test('is not made of a damaged database', async () => {
    const db = openDatabase(folder)
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    damage(databasePath(folder))
    expect(await codeOf(backUp())).toBe('corrupt')
    expect(others()).toEqual([])
  })

  test('removes what a killed one with the same name left', async () => {
    const ended = Bun.spawnSync(['true']).pid
    // in a container, every server has the same process ID
    const left = [ended, process.pid].flatMap((pid) => [`backup.db.${pid}.tmp`, `backup.db.${pid}.tmp-wal`])
    for (const name of [...left, `backup.db.${process.ppid}.tmp`]) writeFileSync(`${folder}/${name}`, 'half')
    await backUp()
    expect(others().sort()).toEqual(['backup.db', `backup.db.${process.ppid}.tmp`])
  })

  test('names what a killed one leaves', () => {
    expect(['a.db.12.tmp', 'a.db.12.tmp-wal', 'a.db', 'a.tmp'].filter(isDraft)).toEqual([
      'a.db.12.tmp',
      'a.db.12.tmp-wal',
    ])
  })
})

/** An index is found damaged only by a check. */
function damage(path: string): void {
  const db = new Database(path)
  const page = db.query<{ page: number }, []>(
    `SELECT rootpage AS page FROM sqlite_schema WHERE name = 'messages_by_name'`,
  )
  const at = ((page.get()?.page ?? 0) - 1) * 4_096
  db.close()
  const bytes = readFileSync(path)
  bytes.fill(0x7f, at, at + 4_096)
  writeFileSync(path, bytes)
}

describe('a restore', () => {
  beforeEach(async () => void (await backUp()))

  test('puts the backup into a new folder, for this user only', async () => {
    expect(await restore()).toEqual({ paused: 0, ended: 0, newestEventAt: null })
    expect(readdirSync(target).sort()).toEqual(['eventpost.db', 'serve.lock'])
    expect(statSync(databasePath(target)).mode & 0o777).toBe(0o600)
    keep(openDatabase(target))
  })

  test.each<[name: string, code: string, change: () => void]>([
    ['a file that is missing', 'missing', () => void (file = `${folder}/none.db`)],
    ['a folder', 'missing', () => void (file = folder)],
    ['an empty file', 'foreign_file', () => truncateSync(file, 0)],
    ['a text', 'foreign_file', () => writeFileSync(file, 'INSERT INTO people\n'.repeat(100))],
    [
      "another program's database",
      'foreign_file',
      () => {
        file = `${folder}/other.db`
        const db = new Database(file)
        db.run('CREATE TABLE notes (text)')
        db.close()
      },
    ],
    ['a truncated file', 'corrupt', () => truncateSync(file, statSync(file).size - 8_192)],
    ['a damaged file', 'corrupt', () => damage(file)],
    [
      'a newer schema',
      'newer_schema',
      () => {
        const db = new Database(file)
        db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
        db.close()
      },
    ],
  ])('refuses %s, and leaves nothing', async (_, code, change) => {
    change()
    expect(await codeOf(restore())).toBe(code)
    expect(existsSync(target)).toBe(false)
  })

  test('looks for the file before it looks whether a server uses the folder', async () => {
    const lock = lockFolder(folder)
    target = folder
    expect(await codeOf(restore(`${folder}/none.db`))).toBe('missing')
    lock.release()
  })

  test('refuses a folder with a database or what is left of one', async () => {
    await restore()
    const before = readFileSync(databasePath(target))
    expect(await codeOf(restore())).toBe('file_exists')
    expect(readFileSync(databasePath(target))).toEqual(before)
    target = folder
    expect(await codeOf(restore())).toBe('file_exists')
    target = `${made.folder}/left`
    await restore()
    const bytes = readFileSync(databasePath(target))
    writeFileSync(logPath(target), bytes)
    await Bun.file(databasePath(target)).delete()
    expect(await codeOf(restore())).toBe('file_exists')
  })

  test('refuses without the key that sealed it', async () => {
    await restore(file, 'the first key that is long enough')
    const sealed = `${folder}/sealed.db`
    await writeBackup({ folder: target, descriptor: openSource(target) }, sealed)
    target = `${folder}/next`
    for (const key of [null, 'another key that is long enough too']) {
      expect(await codeOf(restore(sealed, key))).toBe('sealed')
      expect(existsSync(target)).toBe(false)
    }
    expect(await codeOf(restore(sealed, 'the first key that is long enough'))).toBe('none')
  })

  test('refuses the database of a running server, whose log changes meanwhile', async () => {
    const lock = lockFolder(folder)
    const link = `${made.folder}/link.db`
    symlinkSync(databasePath(folder), link)
    for (const path of [databasePath(folder), link]) expect(await codeOf(restore(path))).toBe('folder_in_use')
    lock.release()
    expect(await codeOf(restore(databasePath(folder)))).toBe('none')
  })

  test('takes a database that was copied together with its log', async () => {
    const db = keep(openDatabase(folder))
    db.run(`INSERT INTO install (name, value) VALUES ('in the log', '1')`)
    const copy = `${folder}/copy.db`
    copyFileSync(databasePath(folder), copy)
    copyFileSync(logPath(folder), `${copy}-wal`)
    const link = `${folder}/link.db`
    symlinkSync(copy, link)
    for (const path of [copy, link]) {
      target = `${path}-restored`
      await restore(path)
      const restored = keep(openDatabase(target))
      expect(restored.query(`SELECT value FROM install WHERE name = 'in the log'`).values()).toEqual([['1']])
    }
  })
})

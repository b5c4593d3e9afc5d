/** A data folder that cannot be used: one line that says what to do, exit 1, and nothing is changed. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { SCHEMA_VERSION } from '../../src/store/engine/migrations/index.ts'
import { eventpost, MANY_MS, makeFolder, type Ran, setUp, startServer } from '../cli/process.ts'
import { canMakeFaults, createShim } from './shim.ts'

const { folder, remove } = makeFolder()
const good = join(folder, 'good')
const bad = join(folder, 'bad')
const database = join(bad, 'eventpost.db')

beforeAll(async () => {
  await setUp(good)
})
afterAll(remove)

const serve = (data: string, env = {}): Promise<Ran> => eventpost(['serve', '--port', '0', '--data', data], { env })

/** The program as a user without rights: root may read everything. */
const asNobody = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--clear-groups'] : []
const nobody = [...asNobody, process.execPath, join(import.meta.dir, '../../src/main.ts')]
const canBeNobody = process.platform === 'linux' && Bun.which('setpriv') !== null && Bun.spawnSync(nobody).success

const refusedWith = (words: string) => ({
  code: 1,
  out: '',
  err: expect.stringMatching(new RegExp(`^eventpost: [^\\n]*${words}[^\\n]*\\n$`)),
})

const changeDatabase = (sql: string): void => {
  const db = new Database(database)
  db.run(sql)
  db.close()
}

/** What is done to a copy of a good folder, and what is said about it. */
const BAD: { what: string; make: () => void; says: string }[] = [
  {
    what: 'a file of nothing',
    make: () => truncateSync(database),
    says: 'is damaged or is not a database.*eventpost\\.db-wal.*eventpost restore FILE',
  },
  { what: 'noise', make: () => writeFileSync(database, Buffer.alloc(50_000, 0xa5)), says: 'is damaged' },
  { what: 'text', make: () => writeFileSync(database, 'Dear diary,\n'.repeat(500)), says: 'is damaged' },
  { what: 'half a file', make: () => truncateSync(database, 30_000), says: 'is damaged' },
  {
    what: "another program's database",
    make: () => {
      rmSync(database)
      changeDatabase('CREATE TABLE songs (title TEXT)')
    },
    says: "is another program's database",
  },
  {
    what: 'a newer database',
    make: () => changeDatabase('PRAGMA user_version = 9999'),
    says: `has schema version 9999; this executable supports versions up to ${SCHEMA_VERSION}`,
  },
]

describe('serve refuses', () => {
  for (const { what, make, says } of BAD) {
    test(what, async () => {
      rmSync(bad, { recursive: true, force: true })
      cpSync(good, bad, { recursive: true })
      make()
      const bytes = readFileSync(database)
      expect(await serve(bad)).toEqual(refusedWith(says))
      expect(readFileSync(database).equals(bytes)).toBe(true)
      // the other commands say the same
      expect(await eventpost(['key', 'list', '--data', bad])).toEqual(refusedWith(says))
      expect(readFileSync(database).equals(bytes)).toBe(true)
      expect(readdirSync(bad).filter((name) => /\.(new|copy|before)/.test(name))).toEqual([])
    })
  }

  test('a folder in use by another server, which continues', async () => {
    const first = await startServer({ data: good })
    expect(await serve(good)).toEqual(
      refusedWith('Another Eventpost server is using .* choose another folder with --data'),
    )
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200)
    expect((await first.stop()).code).toBe(0)
  })

  test(
    'a port in use by another server',
    async () => {
      const first = await startServer({ data: good })
      const { port } = new URL(first.url)
      const other = join(folder, 'other')
      const ran = await eventpost(['serve', '--port', port, '--data', other])
      expect(ran).toEqual(refusedWith(`Port ${port} on 127.0.0.1 is in use.*--port`))
      expect(existsSync(other)).toBe(false)
      expect((await first.stop()).code).toBe(0)
    },
    MANY_MS,
  )

  for (const host of ['nonsense', '203.0.113.7']) {
    test(`the address ${host}`, async () => {
      const ran = await eventpost(['serve', '--port', '0', '--host', host, '--data', good])
      expect(ran).toEqual(refusedWith(`The server can't listen on ${host}.*--host`))
    })
  }

  test(
    'and removes its new folders, but no existing one',
    async () => {
      const [above, empty] = [join(folder, 'above'), join(folder, 'was-there')]
      mkdirSync(empty)
      for (const data of [join(above, 'below'), empty]) {
        expect((await eventpost(['serve', '--host', 'nonsense', '--data', data])).code).toBe(1)
      }
      expect([existsSync(above), existsSync(empty)]).toEqual([false, true])
    },
    MANY_MS,
  )

  // root may write anywhere, so a folder that forbids it would prove nothing
  test('a folder that cannot be created', async () => {
    expect(await serve('/proc/eventpost')).toEqual(
      refusedWith('read from or write to the data folder /proc/eventpost.*--data'),
    )
  })

  test(
    'a path that is not a folder, like other commands',
    async () => {
      for (const data of ['/dev/null', '/dev/null/data']) {
        const says = refusedWith(`${data} is not a folder.*--data`)
        expect(await serve(data)).toEqual(says)
        expect(await eventpost(['key', 'list', '--data', data])).toEqual(says)
      }
    },
    MANY_MS,
  )

  test.skipIf(!canBeNobody)(
    'a folder that others may not read; the other commands say the same',
    async () => {
      const closed = join(folder, 'closed')
      cpSync(good, closed, { recursive: true })
      chmodSync(closed, 0o000)
      const says = refusedWith('read from or write to the data folder .*closed.*--data')
      for (const words of [
        ['serve', '--port', '0'],
        ['key', 'list'],
        ['init', '--email', 'a@b.example', '--app', 'Demo'],
      ]) {
        expect(await eventpost([...words, '--data', closed], { program: nobody })).toEqual(says)
      }
      chmodSync(closed, 0o700)
    },
    MANY_MS,
  )

  test.skipIf(!canBeNobody)(
    'files that others may not read, in a folder that they may',
    async () => {
      const files = join(folder, 'files')
      cpSync(good, files, { recursive: true })
      const lock = join(files, 'serve.lock')
      writeFileSync(lock, '')
      for (const file of [join(files, 'eventpost.db'), lock]) chmodSync(file, asNobody.length > 0 ? 0o600 : 0)
      chmodSync(folder, 0o711)
      if (asNobody.length > 0) chownSync(files, 65_534, 65_534)
      const run = (...words: string[]) => eventpost([...words, '--data', files], { program: nobody })
      const advice =
        asNobody.length > 0 ? '\\. Run this as .*: sudo chown -R 65534 /.*files' : '\\. Give this user permission'
      expect(await run('serve', '--port', '0')).toEqual(refusedWith(`read and write .*serve\\.lock${advice}`))
      rmSync(lock)
      for (const words of [
        ['serve', '--port', '0'],
        ['backup', join(folder, 'none.db')],
      ])
        expect(await run(...words)).toEqual(refusedWith(`read and write .*eventpost\\.db${advice}`))
    },
    MANY_MS,
  )

  describe.skipIf(!canMakeFaults)('a file system without shared memory', () => {
    test('for a new database, without leftovers', async () => {
      const fresh = join(folder, 'fresh')
      const shim = createShim(folder, fresh)
      expect(await serve(fresh, shim.env('FAULT_NO_SHM'))).toEqual(refusedWith('write-ahead log.*local disk'))
      expect(existsSync(fresh)).toBe(false)
    })

    test('for an existing database, which stays unchanged', async () => {
      rmSync(bad, { recursive: true, force: true })
      cpSync(good, bad, { recursive: true })
      const bytes = readFileSync(database)
      const shim = createShim(folder, bad)
      expect(await serve(bad, shim.env('FAULT_NO_SHM'))).toEqual(refusedWith('write-ahead log.*local disk'))
      expect(readFileSync(database).equals(bytes)).toBe(true)
    })
  })
})

test('other commands than serve and init create no database', async () => {
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  expect(await eventpost(['key', 'list', '--data', empty])).toEqual(refusedWith('There is no database in'))
  expect(existsSync(join(empty, 'eventpost.db'))).toBe(false)
})

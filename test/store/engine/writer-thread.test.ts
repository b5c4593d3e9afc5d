import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath } from '../../../src/store/engine/database.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { eventWrite, makeMigratedFolder, newAccount } from '../samples.ts'
import { BEST_OF_FIVE, until } from '../../waiting.ts'

let folder = ''
let remove = (): void => {}
let store: Store

beforeEach(async () => {
  ;({ folder, remove } = await makeMigratedFolder())
  store = await openStore(folder, { threads: true, rules: STORE_RULES })
})
afterEach(async () => {
  await store.close()
  remove()
})

describe('a store with threads', () => {
  test(
    'reports writes of other processes within a second, also under load',
    async () => {
      await store.createAccount(newAccount())
      let noticed = 0
      store.onForeignWrite(() => noticed++)
      let isLoaded = true
      const load = (async () => {
        while (isLoaded) await store.recordEvent(eventWrite())
      })()
      const command = await openStore(folder, { threads: false, rules: STORE_RULES })
      expect(await command.revokeKey({ accountId: 'acc_1', actor: 'cli', at: 1, keyId: 'key_1' })).toEqual({
        done: true,
      })
      const startedAt = performance.now()
      await until(() => noticed === 1)
      expect(performance.now() - startedAt).toBeLessThan(2_000)
      isLoaded = false
      await load
      expect(await store.findAccess('hash_1')).toBeNull()
      await command.close()
      expect(existsSync(`${databasePath(folder)}-wal`)).toBe(true)
      expect(await store.recordEvent(eventWrite())).toMatchObject({ created: false })
    },
    BEST_OF_FIVE,
  )

  test('refuses writes while its file is missing, still reads, and recovers', async () => {
    await store.recordEvent(eventWrite())
    const faults: (string | null)[] = []
    store.onFault((reason) => faults.push(reason))
    const away = join(folder, 'away.db')
    renameSync(databasePath(folder), away)
    await until(async () => !(await store.canCommit()))
    const reason = 'the database file was replaced or removed'
    expect(await store.recordEvent(eventWrite())).toEqual({ refusal: 'unavailable', reason })
    expect(await store.findContact(1, eventWrite().email)).not.toBeNull()
    expect(faults).toEqual([reason])
    renameSync(away, databasePath(folder))
    await until(store.canCommit)
    expect(await store.recordEvent(eventWrite())).toMatchObject({ created: false })
    expect(faults).toEqual([reason, null])
  })

  test(
    'a damaged file leaves pending writes unconfirmed, refuses new ones, and closes',
    async () => {
      await store.recordEvent(eventWrite())
      const reasons: string[] = []
      store.onBroken((reason) => reasons.push(reason))
      const script = `
      const { Database } = await import('bun:sqlite')
      const fs = await import('node:fs')
      const db = new Database(process.argv[1])
      const pages = db.query("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'contacts' AND rootpage > 0").values().flat()
      db.run("INSERT INTO install VALUES ('other', 'writer')")
      db.run('PRAGMA wal_checkpoint(TRUNCATE)')
      const file = fs.openSync(process.argv[1], 'r+')
      for (const page of pages) fs.writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (page - 1) * 4096)`
      const child = Bun.spawnSync([process.execPath, '-e', script, databasePath(folder)])
      expect(child.stderr.toString()).toBe('')
      const outcomes = await Promise.all([store.recordEvent(eventWrite()), store.recordEvent(eventWrite())])
      expect(outcomes).toEqual([{ refusal: 'commit_unconfirmed' }, { refusal: 'commit_unconfirmed' }])
      expect(reasons).toEqual(['database disk image is malformed'])
      expect(await store.recordEvent(eventWrite())).toEqual({ refusal: 'unavailable' })
      expect(await store.canCommit()).toBe(false)
      // where the thread notices the damage before the writes come, they are refused
    },
    BEST_OF_FIVE,
  )

  test('a folder that cannot be opened leaves no threads behind', async () => {
    const script = `
      const { openStore } = await import(process.argv[1])
      await openStore('/proc/eventpost', { threads: true }).catch((error) => console.log(error.code))`
    const source = join(import.meta.dir, '../../../src/store/store.ts')
    const child = Bun.spawn([process.execPath, '-e', script, source], { stdout: 'pipe' })
    expect([await child.exited, (await new Response(child.stdout).text()).trim()]).toEqual([0, 'folder_unwritable'])
  })
})

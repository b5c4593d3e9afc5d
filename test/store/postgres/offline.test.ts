import { expect, test } from 'bun:test'
import { changeMasterKeyIn, holdRestored } from '../../../src/store/postgres/offline.ts'

const GONE = { url: 'postgres://ada@127.0.0.1:1/eventpost', connections: 2, prepares: true }

test.each([
  ['a restored database', () => holdRestored(GONE, 0)],
  ['a new master key', () => changeMasterKeyIn(GONE, 'a'.repeat(32), null)],
])('%s on a server that is gone: the reason and what to check', async (_, work) => {
  await expect(work()).rejects.toThrow(
    "postgres://127.0.0.1:1/eventpost can't be used: PostgreSQL can't be reached: Failed to connect. Check EVENTPOST_DATABASE_URL (user ada) and the database server.",
  )
  await expect(work()).rejects.toMatchObject({ name: 'StoreError', code: 'unreachable' })
})

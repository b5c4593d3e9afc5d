/** Usage of limits in SQLite, where one process counts before it writes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { AT, countedBy, eventWrite, makeMigratedFolder, newAccount } from './samples.ts'

const { folder, remove } = await makeMigratedFolder()
let store: Store
beforeAll(async () => {
  store = await openStore(folder, { threads: false, rules: STORE_RULES, now: () => AT })
  await store.createAccount(newAccount())
})
afterAll(async () => {
  await store.close()
  remove()
})

test('lists usage of limits by second, with refused writes, and deletes it after an hour', async () => {
  const record = (at: number, buckets: string[], createContact: boolean) =>
    store.recordEvent(
      eventWrite({ email: `${createContact}@example.com`, at, limits: countedBy(...buckets), createContact }),
    )
  await Promise.all([
    record(AT, ['events:key_1'], true),
    record(AT + 999, ['events:key_1', 'abuse:x'], true),
    record(AT + 1_000, ['events:key_1'], false),
  ])
  await record(AT + 100, ['events:key_1'], true)
  const second = AT / 1_000
  const last = { bucket: 'events:key_1', second: second + 1, count: 1 }
  const all = [{ bucket: 'abuse:x', second, count: 1 }, { bucket: 'events:key_1', second, count: 3 }, last]
  expect(await store.listUsage(second - 1)).toEqual(all)
  expect(await store.listUsage(second)).toEqual([last])
  await store.cleanUp({ at: AT + 3_600_999 })
  expect(await store.listUsage(0)).toEqual(all)
  await store.cleanUp({ at: AT + 3_601_000 })
  expect(await store.listUsage(0)).toEqual([last])
})

import { openTestStore } from '../data-folder.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES, giveFirstMessages } from '../../src/accounts/first-messages.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { MIGRATIONS } from '../../src/store/engine/migrations/index.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import type { Store } from '../../src/store/store.ts'
import { createTestServer, NOW } from '../helper.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { makeFolder } from '../store/samples.ts'

const NAMES = FIRST_MESSAGES.map(({ name }) => name)

// PostgreSQL has no schema from before messages
describe.skipIf(isOnPostgres)('a database from before messages', () => {
  const { folder, remove } = makeFolder()
  let store: Store
  beforeEach(async () => {
    const before = MIGRATIONS.findIndex((text) => text.includes('CREATE TABLE messages'))
    const old = openDatabase(folder, MIGRATIONS.slice(0, before))
    old.run(
      `INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES ('acc_1', 'Old', 1, 1), ('acc_2', 'Older', 1, 1)`,
    )
    old.run(`INSERT INTO apps (id, account_id, public_id, site_id, name, created_at)
    VALUES (1, 'acc_1', 'app_1', 'site_1', 'One', 1), (2, 'acc_1', 'app_2', 'site_2', 'Two', 1), (3, 'acc_2', 'app_3', 'site_3', 'Three', 1)`)
    old.close()
    store = await openTestStore(folder, { rules: STORE_RULES })
  })
  afterEach(async () => {
    await store.close()
    remove()
  })

  const namesOf = async (): Promise<string[][]> =>
    Promise.all([1, 2, 3].map(async (appId) => (await store.listMessages(appId)).map(({ name }) => name)))

  test('each app gets the drafts once, also after they are deleted', async () => {
    const content = { trigger: { event: 'paid' }, mail: { subject: 'S', body: 'B' } }
    const own = { id: null, name: 'Own', content, status: null }
    await store.saveMessages({ accountId: 'acc_1', appId: 2, actor: 'test', at: NOW, drafts: [own] })
    await giveFirstMessages(store, NOW)
    expect(await namesOf()).toEqual([NAMES, ['Own'], NAMES])
    const [first] = await store.listMessages(1)
    expect(first).toMatchObject({ status: 'draft', version: 1, createdAt: NOW, content: FIRST_MESSAGES[0]?.content })
    for (const { id } of await store.listMessages(1)) {
      await store.deleteMessage({ id, accountId: 'acc_1', appId: 1, actor: 'test', at: NOW })
    }
    await giveFirstMessages(store, NOW + 1)
    expect(await namesOf()).toEqual([[], ['Own'], NAMES])
  })

  test('drafts that could not be saved are added at the next start', async () => {
    const full = { ...store, saveMessages: async () => ({ refusal: 'unavailable' as const }) }
    await giveFirstMessages(full, NOW)
    expect(await namesOf()).toEqual([[], [], []])
    await giveFirstMessages(store, NOW)
    expect(await namesOf()).toEqual([NAMES, NAMES, NAMES])
  })
})

test('the start of the server adds them', async () => {
  const server = await createTestServer()
  expect(await server.parts().store.installValue('first_messages')).toBe('given')
  await server.close()
})

import { expect, test } from 'bun:test'
import { useClosing } from '../closing.ts'
import { createTestServer } from '../helper.ts'

const keep = useClosing()

async function open() {
  let [reads, fails, isCurrent] = [0, false, true]
  const server = keep(
    await createTestServer({
      wrapStore: (store) => ({
        ...store,
        isCurrent: () => isCurrent,
        async findAccess(...asked) {
          reads += 1
          if (fails) throw new Error('no answer')
          return await store.findAccess(...asked)
        },
      }),
    }),
  )
  const { access } = server.parts()
  return {
    server,
    access,
    findMany: () => Array.from({ length: 100 }, async () => await access.find(server.first.apiKey)),
    countReads: () => reads,
    setFailing: (isFailing: boolean) => void (fails = isFailing),
    setCurrent: (isIt: boolean) => void (isCurrent = isIt),
  }
}

test('requests that come at once share a read of their key', async () => {
  const { server, findMany, countReads } = await open()
  const found = await Promise.all(findMany())
  expect(new Set(found.map((one) => one?.key.id))).toEqual(new Set([server.first.keyId]))
  expect(countReads()).toBe(1)
})

test('those after a change read again', async () => {
  const { server, access, findMany, countReads } = await open()
  const before = findMany()
  await server.revokeKey(server.first.keyId)
  expect(await access.find(server.first.apiKey)).toBeNull()
  await Promise.all(before)
  expect([await access.find(server.first.apiKey), countReads()]).toEqual([null, 3])
})

test('a read that fails is not shared with later requests', async () => {
  const { server, access, findMany, setFailing } = await open()
  setFailing(true)
  const outcomes = await Promise.allSettled(findMany())
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']))
  setFailing(false)
  expect((await access.find(server.first.apiKey))?.key.id).toBe(server.first.keyId)
})

test('while nobody knows whether keys have changed, those that come at once share a read, and later ones read again', async () => {
  const { server, access, findMany, setCurrent, countReads } = await open()
  expect((await access.find(server.first.apiKey))?.key.id).toBe(server.first.keyId)
  setCurrent(false)
  await Promise.all(findMany())
  expect(countReads()).toBe(2)
  await access.find(server.first.apiKey)
  expect(countReads()).toBe(3)
})

test('uses of keys that the store refuses are saved with those that come later', async () => {
  let refuses = true
  const saved: unknown[] = []
  const server = keep(
    await createTestServer({
      wrapStore: (store) => ({
        ...store,
        async noteKeyUse(uses) {
          if (refuses) return { refusal: 'unavailable' }
          saved.push(...uses)
          return await store.noteKeyUse(uses)
        },
      }),
    }),
  )
  const { access } = server.parts()
  const found = await access.find(server.first.apiKey)
  if (!found) throw new Error('the key is not known')
  const seenAt = server.clock.now()
  access.noteUse(found, true)
  const refused = access.saveUses()
  server.clock.tick(1_000)
  access.noteUse(found, false)
  await refused
  refuses = false
  await access.saveUses()
  expect(saved).toEqual([{ keyId: server.first.keyId, lastUsedAt: seenAt + 1_000, seenInBrowserAt: seenAt }])
})

/** Waiting emails that use a new version of their message. */
import { beforeEach, expect, test } from 'bun:test'
import { moveWaiting, saveMessage } from '../../src/messages/messages.ts'
import { isRefusal } from '../../src/core/refusals.ts'
import { type TestServer, useSharedServer } from '../helper.ts'
import { createMessaging, messageOf, type Messaging, MINUTE } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const WAITING = { wait: { minutes: 10 } }
const textOf = (body: string) => ({ mail: { subject: 'Ready', body } })

async function move(id: number, changes: object) {
  const value = messageOf({ ...WAITING, ...changes })
  const saved = await saveMessage(messaging.context(), messaging.by, { id, value, movesWaiting: true })
  if (isRefusal(saved)) throw new Error(saved.refusal)
  return saved
}
const versions = async () => (await messaging.deliveries()).map(({ version }) => version)

test('they are due at the same time, and checked by the new rules', async () => {
  const { id } = await messaging.put(messageOf(WAITING))
  await messaging.event()
  const [before] = await messaging.deliveries()
  await move(id, { wait: { minutes: 60 }, onlyIf: [{ rule: 'tag', has: 'beta' }] })
  const [after] = await messaging.deliveries()
  expect(after).toEqual({ ...before, version: 2 } as typeof after & object)
  server.clock.tick(11 * MINUTE)
  expect(await messaging.decide()).toMatchObject([{ verdict: 'skip', reason: 'tag' }])
})

test('events that joined an email move with it', async () => {
  const again = { again: { once: 'property', property: 'resultId', collect: { minutes: 30 } } } as const
  const { id } = await messaging.put(messageOf({ ...WAITING, ...again }))
  for (const resultId of [1, 2]) await messaging.event({ properties: { resultId } })
  await move(id, { ...again, ...textOf('New') })
  await messaging.event({ properties: { resultId: 3 } })
  expect((await messaging.deliveries()).map(({ version, state }) => [version, state])).toEqual([
    [2, 'waiting'],
    [2, 'joined'],
    [2, 'joined'],
  ])
})

test('those that a mail server may have had keep their version', async () => {
  const { id } = await messaging.put(messageOf(WAITING))
  await messaging.event()
  server.clock.tick(11 * MINUTE)
  const at = server.clock.now()
  const { delivery } = await messaging.claimOne()
  const claim = { id: delivery.id, claimedBy: 'test', attempt: delivery.attempt, at }
  await messaging.store().markHanded({ ...claim, record: '{"at":0,"verdicts":[]}' })
  await messaging.store().markUnknown({ ...claim, reason: 'stopped' })
  await move(id, textOf('New'))
  expect(await messaging.deliveries()).toMatchObject([{ version: 1, state: 'deferred', resent: true }])
})

test('those of another trigger keep their version', async () => {
  const { id } = await messaging.put(messageOf(WAITING))
  await messaging.event()
  await messaging.put(messageOf({ ...WAITING, trigger: { event: 'other' } }), id)
  await messaging.event({ event: 'other', email: 'bob@example.com' })
  await move(id, { trigger: { event: 'other' }, ...textOf('New') })
  expect(await versions()).toEqual([1, 3])
})

test('any number moves, in parts', async () => {
  const { id } = await messaging.put(messageOf(WAITING))
  for (let index = 0; index < 5; index += 1) await messaging.event({ email: `${index}@example.com` })
  await messaging.put(messageOf({ ...WAITING, ...textOf('New') }), id)
  const store = messaging.store()
  const inTwos = {
    ...store,
    moveWaiting: (moving: Parameters<typeof store.moveWaiting>[0]) => store.moveWaiting({ ...moving, most: 2 }),
  }
  expect(await moveWaiting(inTwos, { id, version: 2 })).toBeNull()
  expect(await versions()).toEqual([2, 2, 2, 2, 2])
})

import { beforeEach, describe, expect, test } from 'bun:test'
import { deleteMessage } from '../../src/messages/messages.ts'
import { explainMessageFor } from '../../src/deliveries/message-explanations.ts'
import { dayOf } from '../durations.ts'
import { DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging, RESULT } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let now: number
let messaging: Messaging
let first: number
beforeEach(async () => {
  server = await openServer()
  now = server.clock.now()
  messaging = await createMessaging(server)
  first = (await messaging.put(messageOf({ name: 'First', again: { everyHours: 1 }, wait: { minutes: 5 } }))).id
})

const second = (changes: object = {}) =>
  messageOf({ name: 'Second', trigger: { message: 'First' }, wait: { minutes: 3 * 24 * 60 }, ...changes })
/** By message: state and when it is due. */
const listed = async (id: number) =>
  (await messaging.deliveries())
    .filter(({ messageId }) => messageId === id)
    .map(({ state, dueAt, eventId }) => [state, dueAt - now, eventId !== null])
const sendFirst = async () => {
  await messaging.event()
  server.clock.tick(5 * MINUTE)
  await messaging.decide()
}

describe('a message that another one triggers', () => {
  test('is due after the email was sent, once, with the values of its event', async () => {
    const { id } = await messaging.put(second())
    await messaging.event()
    expect(await listed(id)).toEqual([])
    server.clock.tick(5 * MINUTE)
    await messaging.decide()
    expect(await listed(id)).toEqual([['waiting', 3 * DAY + 5 * MINUTE, true]])
    server.clock.tick(2 * HOUR)
    await sendFirst()
    expect(await listed(id)).toHaveLength(1)
    server.clock.tick(3 * DAY)
    const [work] = await Promise.all(
      (await messaging.deliveries()).slice(-1).map((one) => messaging.store().findWork(one.id)),
    )
    expect(work?.event?.properties).toBe(JSON.stringify(RESULT))
  })

  test('can follow each email, which another attempt does not repeat', async () => {
    const { id } = await messaging.put(second({ again: { once: 'trigger' } }))
    for (const count of [1, 2]) {
      await sendFirst()
      expect(await listed(id)).toHaveLength(count)
      server.clock.tick(2 * HOUR)
    }
  })

  test('is not triggered by emails that are skipped, nor while it is not live', async () => {
    const { id } = await messaging.put(second({ status: 'paused' }))
    await sendFirst()
    await messaging.put(
      messageOf({ name: 'First', again: { everyHours: 1 }, onlyIf: [{ rule: 'tag', has: 'none' }] }),
      first,
    )
    server.clock.tick(2 * HOUR)
    await messaging.put(second(), id)
    await messaging.event()
    expect((await messaging.decide()).map(({ reason }) => reason)).toEqual(['tag'])
    expect(await listed(id)).toEqual([])
    const person = await messaging.store().findContact(messaging.app.id, ADA)
    const message = await messaging.store().findMessage(messaging.app.id, id)
    if (!person || !message) throw new Error('nothing to explain')
    const { why } = await explainMessageFor({ store: messaging.store(), clock: server.clock }, person, message)
    expect(why).toBe(
      `“First” was sent to ada@example.com on ${dayOf(now)}, 12:05 UTC. The message was paused at the time. It went live again on ${dayOf(now)}, 14:05 UTC.`,
    )
  })

  test('is triggered by an email whose outcome stays unknown, which no resend repeats', async () => {
    const { id } = await messaging.put(second({ again: { once: 'trigger' }, wait: { minutes: 0 } }))
    await messaging.put(messageOf({ name: 'First', ifUnconfirmed: 'leave' }), first)
    await messaging.event()
    const { id: deliveryId, attempt } = (await messaging.claimOne('other')).delivery
    await messaging.store().markHanded({
      id: deliveryId,
      claimedBy: 'other',
      attempt,
      at: server.clock.now(),
      record: '{"at":0,"verdicts":[]}',
    })
    await messaging.store().releaseClaims({ notOf: 'test', at: server.clock.now() })
    expect((await listed(id)).map(([state]) => state)).toEqual(['waiting'])
    await messaging.store().resendDelivery({ appId: messaging.app.id, id: deliveryId, at: server.clock.now() })
    await messaging.decide()
    expect((await listed(first)).map(([state]) => state)).toEqual(['sent'])
    expect((await listed(id)).map(([state]) => state)).toEqual(['sent'])
  })

  test('keeps its trigger when that is renamed, and forbids to delete it', async () => {
    const { id } = await messaging.put(second())
    await messaging.put({ ...messageOf({ name: 'Hello' }), status: 'paused' }, first)
    const { store, app, by } = messaging
    expect((await store().findMessage(app.id, id))?.content.trigger).toEqual({ message: 'Hello' })
    expect(await deleteMessage(store(), { ...by, id: first })).toMatchObject({
      refusal: 'message_in_use',
      message: '“Second” is triggered by this message. Choose another trigger for it before you delete this message.',
    })
    await messaging.put(messageOf({ name: 'Hello' }), first)
    await sendFirst()
    expect(await listed(id)).toHaveLength(1)
  })
})

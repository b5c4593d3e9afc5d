/** Topics through messages: where they come from, and what a change of them means. */
import { beforeEach, expect, test } from 'bun:test'
import { saveTopic } from '../../src/messages/topics.ts'
import { type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, type Messaging } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const names = async () => (await messaging.store().listTopics(messaging.app.id)).map(({ name }) => name)
const save = (text: { name: string; description?: string }, id: number | null = null) =>
  saveTopic(messaging.store(), messaging.by, { id, text: { description: '', ...text } })
const idOf = async (name: string) => (await messaging.store().findTopicByName(messaging.app.id, name))?.id ?? 0
const personId = async () => (await messaging.store().findContact(messaging.app.id, ADA))?.id ?? 0
const choose = async (choice: { end?: string[]; resume?: string[]; actor?: string }) =>
  messaging.store().chooseTopics({
    contactId: await personId(),
    end: [],
    resume: [],
    actor: null,
    at: server.clock.now(),
    ...choice,
  })

test('a message adds the topic that it names, unless there are too many', async () => {
  await messaging.put(messageOf({ topic: 'Tips' }))
  expect(await names()).toEqual(['Tips'])
  for (let count = 1; count < 20; count++) expect(await save({ name: `t${count}` })).toEqual({ done: true })
  expect(await save({ name: 'one more' })).toMatchObject({ field: 'name' })
  await expect(messaging.put(messageOf({ name: 'B', topic: 'one more' }))).rejects.toThrow('at most 20')
  await messaging.put(messageOf({ name: 'C', topic: 't1' }))
})

test('a name is taken once, and a topic in use stays', async () => {
  await messaging.put(messageOf({ topic: 'Tips' }))
  expect(await save({ name: 'Tips' })).toMatchObject({ field: 'name', message: expect.stringContaining('already') })
  expect(await save({ name: ' ' })).toMatchObject({ field: 'name' })
  expect(await save({ name: 'x', description: 'x'.repeat(201) })).toMatchObject({ field: 'description' })
  const store = messaging.store()
  expect(await store.deleteTopic({ ...messaging.by, id: await idOf('Tips') })).toEqual({ refusal: 'message_in_use' })
})

test('a topic stays while emails about it wait, whatever the message is about since', async () => {
  const { id } = await messaging.put(messageOf({ topic: 'Tips', wait: { minutes: 5 } }))
  await messaging.event()
  await messaging.put(messageOf({ wait: { minutes: 5 } }), id)
  const remove = async () => messaging.store().deleteTopic({ ...messaging.by, id: await idOf('Tips') })
  expect(await remove()).toEqual({ refusal: 'delivery_in_use' })
  server.clock.tick(300_000)
  expect(await messaging.decide()).toMatchObject([{ verdict: 'send' }])
  expect(await remove()).toEqual({ done: true })
})

test('an email that a member resends has its topic again', async () => {
  const { id } = await messaging.put(messageOf({ topic: 'Tips' }))
  await messaging.event()
  await messaging.store().setMessageStatus({ ...messaging.by, id, status: 'paused' })
  expect(await messaging.decide()).toMatchObject([{ reason: 'message_paused' }])
  await messaging.put({ ...messageOf(), status: 'paused' }, id)
  const store = messaging.store()
  expect(await store.deleteTopic({ ...messaging.by, id: await idOf('Tips') })).toEqual({ done: true })
  const [email] = await messaging.deliveries()
  const { accountId, actor } = messaging.by
  const resending = { appId: messaging.app.id, id: email?.id ?? 0, at: server.clock.now(), by: { accountId, actor } }
  expect(await store.resendDelivery(resending)).toEqual({ done: true })
  expect(await names()).toEqual(['Tips'])
  expect(await store.deleteTopic({ ...messaging.by, id: await idOf('Tips') })).toEqual({ refusal: 'delivery_in_use' })
})

test('a new name applies to messages, and people who ended the topic have ended it', async () => {
  const { id } = await messaging.put(messageOf({ topic: 'Tips' }))
  await messaging.event()
  await choose({ end: ['Tips'] })
  expect(await save({ name: 'Advice' }, await idOf('Tips'))).toEqual({ done: true })
  expect((await messaging.store().findMessage(messaging.app.id, id))?.content.topic).toBe('Advice')
  expect(await messaging.store().listEndedTopics(messaging.app.id, ADA)).toMatchObject([{ topic: 'Advice' }])
})

test('emails of an ended topic are cancelled or skipped, others are sent, and resumed ones again', async () => {
  await messaging.put(messageOf({ name: 'Tip', topic: 'Tips', wait: { minutes: 5 }, again: { everyHours: 1 } }))
  await messaging.put(messageOf({ name: 'Other', again: { everyHours: 1 } }))
  await messaging.event()
  await choose({ end: ['Tips'] })
  const [tip] = (await messaging.deliveries()).filter(({ reason }) => reason === 'topic')
  expect(tip?.state).toBe('skipped')
  const decide = async () => (await messaging.decide()).map(({ name, reason }) => `${name}: ${reason ?? 'sent'}`)
  expect(await decide()).toEqual(['Other: sent'])
  server.clock.tick(2 * 3_600_000)
  await messaging.event()
  server.clock.tick(300_000)
  expect((await decide()).toSorted()).toEqual(['Other: sent', 'Tip: topic'])
  await choose({ resume: ['Tips'] })
  server.clock.tick(2 * 3_600_000)
  await messaging.event()
  server.clock.tick(300_000)
  expect((await decide()).toSorted()).toEqual(['Other: sent', 'Tip: sent'])
})

test('what a member ended, a link does not resume, and an erased address has still ended it', async () => {
  await messaging.event()
  await save({ name: 'Tips' })
  await choose({ end: ['Tips'], actor: 'mem_1' })
  await choose({ resume: ['Tips'] })
  const store = messaging.store()
  expect(await store.listEndedTopics(messaging.app.id, ADA)).toMatchObject([{ topic: 'Tips', actor: 'mem_1' }])
  const changes = await store.listContactChanges(await personId(), null, 10)
  expect(changes.map(({ actor, change }) => [actor, change.topics])).toEqual([['mem_1', [['Tips'], []]]])
  await store.eraseContact({ ...messaging.by, email: ADA })
  expect(await store.findTopicEnd(messaging.app.id, ADA, 'Tips')).toBe(server.clock.now())
})

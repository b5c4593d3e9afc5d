/** What starts a message, in the transaction of what arrived, and how often. */
import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { MessageContent, Trigger } from '../../src/store/message-types.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore } from '../../src/store/store.ts'
import { DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import { ADA, createMessaging, here, messageOf, MINUTE, type Messaging, page, track } from '../messaging.ts'
import { isLong } from '../long-form.ts'
import { CAPTURED } from './conformance/delivery-queue.ts'
import { eventWrite } from './samples.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
/** When the test began. */
let now: number
beforeEach(async () => {
  server = await openServer()
  now = server.clock.now()
  await server.setPlan({ snippetLimits: false })
  messaging = await createMessaging(server)
})

const add = (body: object = {}) =>
  server.call('POST', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA, ...body } })
const change = (body: object) =>
  server.call('PATCH', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA, ...body } })

describe('a trigger', () => {
  type Case = [name: string, trigger: Trigger, act: () => Promise<unknown>, count: number]
  const where = (is: string, to?: string | number | boolean, property = 'plan'): Trigger =>
    ({ event: 'e', where: [{ property, is, to }] }) as Trigger
  const tell = (properties: object | undefined, event = 'e') => messaging.event({ event, properties })
  const CASES: Case[] = [
    ['an event', { event: 'e' }, () => tell(undefined), 1],
    ['another event', { event: 'e' }, () => tell(undefined, 'E'), 0],
    ['an action of the browser', { event: 'e' }, async () => (await add(), messaging.browse('a', track('e'))), 1],
    [
      'a page view of that path',
      { page: '/pricing' },
      async () => (await add(), messaging.browse('a', page('/pricing'))),
      1,
    ],
    [
      'a page view of another path',
      { page: '/pricing' },
      async () => (await add(), messaging.browse('a', page('/pricing/x'))),
      0,
    ],
    [
      'a return to that page, open before',
      { page: '/pricing' },
      async () => (await add(), messaging.browse('a', here('/pricing'))),
      0,
    ],
    [
      'a page view below a path',
      { page: '/docs/*' },
      async () => (await add(), messaging.browse('a', page('/docs/x'))),
      1,
    ],
    ['a contact created by a contact call', { contact: 'created' }, () => add(), 1],
    ['a contact created by an event', { contact: 'created' }, () => tell(undefined), 1],
    ['a contact that exists', { contact: 'created' }, async () => (await add(), add(), change({ firstName: 'A' })), 1],
    ['a tag of a new person', { tag: 'beta' }, () => add({ tags: ['beta'] }), 1],
    [
      'a tag added later, and once more',
      { tag: 'beta' },
      async () => (await add(), await change({ tags: ['beta'] }), change({ tags: ['beta'] })),
      1,
    ],
    ['another tag', { tag: 'beta' }, () => add({ tags: ['BETA'] }), 0],
    ['equal', where('equal', 'pro'), () => tell({ plan: 'pro' }), 1],
    ['equal, other case', where('equal', 'pro'), () => tell({ plan: 'Pro' }), 0],
    ['equal, a number typed as text', where('equal', '3'), () => tell({ plan: 3 }), 1],
    ['equal, absent', where('equal', 'undefined'), () => tell({}), 0],
    ['equal, an object', where('equal', '[object Object]'), () => tell({ plan: {} }), 0],
    ['notEqual, absent', where('notEqual', 'pro'), () => tell({}), 1],
    ['contains, in a text', where('contains', 'ro'), () => tell({ plan: 'pro' }), 1],
    ['contains, in a list', where('contains', 'pro'), () => tell({ plan: ['free', 'pro'] }), 1],
    ['contains, a part of a list item', where('contains', 'ro'), () => tell({ plan: ['pro'] }), 0],
    ['above', where('above', 2), () => tell({ plan: '2.5' }), 1],
    ['above, equal', where('above', 2), () => tell({ plan: 2 }), 0],
    ['below, no number', where('below', 2), () => tell({ plan: 'one' }), 0],
    ['below, blank', where('below', 2), () => tell({ plan: ' ' }), 0],
    ['present', where('present'), () => tell({ plan: false }), 1],
    ['present, blank', where('present'), () => tell({ plan: '' }), 0],
    ['absent', where('absent'), () => tell({ plan: null }), 1],
    ['present, an inherited property', where('present', undefined, 'toString'), () => tell({}), 0],
    ['present, __proto__', where('present', undefined, '__proto__'), () => tell({}), 0],
    ['no properties at all', where('absent'), () => tell(undefined), 1],
  ]
  test.each(CASES)('%s', async (_, trigger, act, count) => {
    await messaging.put(messageOf({ trigger }))
    await act()
    expect(await messaging.deliveries()).toHaveLength(count)
  })

  test('an event 72 hours old triggers; an older one is only stored', async () => {
    await messaging.put(messageOf({ again: { everyHours: 1 } }))
    await messaging.event({ occurredAt: new Date(now - 3 * DAY - 1).toISOString() })
    expect(await messaging.deliveries()).toEqual([])
    await messaging.event({ occurredAt: new Date(now - 3 * DAY).toISOString() })
    expect(await messaging.deliveries()).toHaveLength(1)
  })

  test('starts only live messages of the same app, from the moment they are live', async () => {
    const { id } = await messaging.put(messageOf({ name: 'M', again: { everyHours: 1 } }))
    const set = (status: 'live' | 'paused' | 'draft') =>
      messaging.store().setMessageStatus({ ...messaging.by, id, status })
    const body = { app: server.second.appId, email: ADA, event: 'results_ready', createContact: true }
    await server.call('POST', '/api/v1/events', { key: server.second.apiKey, body })
    expect(await messaging.deliveries()).toEqual([])
    for (const [email, status] of [
      ['1@example.com', 'paused'],
      ['2@example.com', 'draft'],
      ['3@example.com', 'live'],
    ] as const) {
      await set(status)
      await messaging.event({ email })
    }
    expect(await messaging.deliveries()).toHaveLength(1)
  })

  test('a message that another process set live triggers at once', async () => {
    const { id } = await messaging.put({ ...messageOf(), status: 'draft' })
    await messaging.event()
    const other = await openStore(server.folder, { threads: false, rules: STORE_RULES })
    await other.setMessageStatus({ ...messaging.by, id, status: 'live' })
    await other.close()
    await messaging.event()
    expect(await messaging.deliveries()).toHaveLength(1)
  })

  test('a failing write beside it leaves the event and its delivery intact', async () => {
    await messaging.put(messageOf())
    const log = spyOn(console, 'error').mockImplementation(() => {})
    const broken = eventWrite({ appId: messaging.app.id, email: 'zoe@example.com', name: 1 as unknown as string })
    const bad = messaging.store().recordEvent({ ...broken, properties: {} as unknown as string })
    const [, answer] = await Promise.all([bad, messaging.event()])
    log.mockRestore()
    expect(await bad).toEqual({ refusal: 'internal_error' })
    expect(answer.status).toBe(202)
    expect((await messaging.deliveries()).map(({ contactId }) => contactId)).toHaveLength(1)
    const all = { appId: messaging.app.id, contactId: null, name: null, before: null, limit: 9 }
    expect((await messaging.store().listEvents(all)).rows).toHaveLength(1)
  })
})

describe('when', () => {
  const dueAfter = async (content: Partial<MessageContent>, event: object = {}): Promise<unknown> => {
    await messaging.put(messageOf(content))
    await messaging.event({ ...event })
    const [delivery] = await messaging.deliveries()
    return delivery && [delivery.triggeredAt - now, delivery.dueAt - now, delivery.plannedAt - now]
  }
  test('immediately', async () => expect(await dueAfter({})).toEqual([0, 0, 0]))
  test('minutes after the event', async () =>
    expect(await dueAfter({ wait: { minutes: 10 } })).toEqual([0, 10 * MINUTE, 10 * MINUTE]))
  test('minutes after an event from a while ago', async () =>
    expect(await dueAfter({ wait: { minutes: 10 } }, { occurredAt: new Date(now - 4 * MINUTE).toISOString() })).toEqual(
      [-4 * MINUTE, 6 * MINUTE, 6 * MINUTE],
    ))
  test('at once if the wait is over already', async () =>
    expect(await dueAfter({ wait: { minutes: 10 } }, { occurredAt: new Date(now - HOUR).toISOString() })).toEqual([
      -HOUR,
      0,
      0,
    ]))
  test('at a time of day in the timezone of the app', async () => {
    await messaging.set({ timezone: 'America/Bogota' })
    // noon in Greenwich is 7:00 in Bogotá, all year
    expect(await dueAfter({ wait: { until: '09:00' } })).toEqual([0, 2 * HOUR, 2 * HOUR])
  })
})

describe('once', () => {
  const count = async () => (await messaging.deliveries()).filter(({ state }) => state !== 'skipped').length

  test('64 simultaneous events make one delivery, in many races', async () => {
    const races = isLong ? 1_000 : 100
    await messaging.put(messageOf({ wait: { minutes: 10 } }))
    const store = messaging.store()
    const of = (race: number) =>
      eventWrite({
        accountId: messaging.app.accountId,
        appId: messaging.app.id,
        email: `p${race}@example.com`,
        at: now,
      })
    const run = (race: number) => Promise.all(Array.from({ length: 64 }, () => store.recordEvent(of(race))))
    // as many at once as the queue takes
    for (let race = 0; race < races; race += 25) {
      const outcomes = await Promise.all(Array.from({ length: 25 }, (_, index) => run(race + index)))
      expect(outcomes.flat().filter((outcome) => 'refusal' in outcome)).toEqual([])
    }
    const deliveries = await messaging.deliveries()
    expect(deliveries).toHaveLength(races)
    expect(new Set(deliveries.map(({ contactId }) => contactId)).size).toBe(races)
  })

  test('per person: waiting and sent emails use it up, a skipped one frees it', async () => {
    await messaging.put(messageOf({ wait: { minutes: 1 }, onlyIf: [{ rule: 'tag', has: 'beta' }] }))
    await messaging.event()
    await messaging.event()
    expect(await count()).toBe(1)
    server.clock.tick(MINUTE)
    await messaging.decide()
    expect(await count()).toBe(0)
    await change({ tags: ['beta'] })
    await messaging.event()
    server.clock.tick(MINUTE)
    await messaging.decide()
    await messaging.event()
    server.clock.tick(30 * DAY)
    await messaging.event()
    expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['skipped', 'sent'])
  })

  test('per person and value of a property', async () => {
    await messaging.put(messageOf({ again: { once: 'property', property: 'resultId' } }))
    for (const resultId of [1, '1', 1, 2, { a: 1 }, { a: 2 }, undefined, null, undefined]) {
      await messaging.event({ properties: { resultId } })
    }
    await messaging.event({ email: 'eve@example.com', properties: { resultId: 1 } })
    expect(await count()).toBe(7)
  })

  test('every 24 hours, counted from when it was sent', async () => {
    await messaging.put(messageOf({ again: { everyHours: 24 } }))
    await messaging.event()
    await messaging.event()
    expect(await count()).toBe(1)
    await messaging.decide()
    server.clock.tick(DAY - 1)
    await messaging.event()
    expect(await count()).toBe(1)
    server.clock.tick(1)
    await messaging.event()
    expect(await count()).toBe(2)
  })

  test('per person after an edit: a recipient of an earlier version gets no other', async () => {
    const { id } = await messaging.put(messageOf({ again: { once: 'property', property: 'resultId' } }))
    await messaging.event({ properties: { resultId: 1 } })
    await messaging.decide()
    await messaging.put(messageOf({ again: { once: 'person' } }), id)
    await messaging.event({ properties: { resultId: 2 } })
    expect(await count()).toBe(1)
    await messaging.event({ email: 'eve@example.com', properties: { resultId: 2 } })
    expect(await count()).toBe(2)
  })

  test('applies to one message: two messages on one trigger send two emails', async () => {
    await messaging.put(messageOf({ name: 'One' }))
    await messaging.put(messageOf({ name: 'Two', wait: { minutes: 60 } }))
    await messaging.event()
    expect(await count()).toBe(2)
  })
})

test('waiting deliveries keep the version they were queued with', async () => {
  const { id, version } = await messaging.put(messageOf({ wait: { minutes: 1 }, again: { everyHours: 1 } }))
  await messaging.event()
  const second = await messaging.put(messageOf({ mail: { subject: 'New', body: 'New' } }), id)
  await messaging.event({ email: 'eve@example.com' })
  expect([version, second.version]).toEqual([1, 2])
  expect((await messaging.deliveries()).map((delivery) => delivery.version)).toEqual([1, 2])
  server.clock.tick(MINUTE)
  const claimed = [await messaging.claimOne(), await messaging.claimOne()]
  const subjects = claimed.map(({ message }) => message.content.mail.subject)
  expect(subjects.toSorted()).toEqual(['New', 'Ready'])
})

test('a captured email that is resent waits, and nothing is queued beside it', async () => {
  await messaging.put(messageOf({ again: { everyHours: 1 } }))
  await messaging.event()
  const store = messaging.store()
  const at = server.clock.now()
  const { id, appId, attempt } = (await messaging.claimOne('a')).delivery
  await store.markCaptured({ id, claimedBy: 'a', attempt, at, record: '{"at":0,"verdicts":[]}', ...CAPTURED })
  expect(await store.resendDelivery({ appId, id, at })).toEqual({ done: true })
  server.clock.tick(MINUTE)
  await messaging.event()
  expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['waiting'])
})

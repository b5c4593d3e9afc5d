/** What waits is stopped as soon as something arrives that settles it, and who came back is noted. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { MessageContent, Rule } from '../../src/store/message-types.ts'
import { DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import {
  ADA,
  createMessaging,
  here,
  leave,
  messageOf,
  MINUTE,
  type Messaging,
  page,
  recordOf,
  RESULT,
  track,
} from '../messaging.ts'

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

const change = (body: object) =>
  server.call('PATCH', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA, ...body } })
const RESULTS = '/results/1'

describe('an arrival cancels a waiting email', () => {
  type Case = [name: string, rule: Rule, act: () => Promise<unknown>, reason: string | null]
  const CASES: Case[] = [
    ['a view of the result', { rule: 'notSeen' }, () => messaging.browse('a', page(RESULTS)), 'seen'],
    [
      'a return to the result, which was open before',
      { rule: 'notSeen' },
      () => messaging.browse('a', here(RESULTS)),
      'seen',
    ],
    [
      'a return to the result, reported after leaving',
      { rule: 'notSeen' },
      async () => {
        server.clock.tick(MINUTE)
        await messaging.browse('a', here(RESULTS, 1_000), leave(RESULTS))
      },
      'seen',
    ],
    ['a return to another page', { rule: 'notSeen' }, () => messaging.browse('a', here('/results/2')), null],
    [
      'a return to the result that happened before',
      { rule: 'notSeen' },
      () => messaging.browse('a', here(RESULTS, HOUR)),
      null,
    ],
    ['a view of another page', { rule: 'notSeen' }, () => messaging.browse('a', page('/results/2')), null],
    [
      'a view of the result that happened before',
      { rule: 'notSeen' },
      () => messaging.browse('a', page(RESULTS, HOUR)),
      null,
    ],
    [
      'an event that must not be done',
      { rule: 'notDone', event: 'paid' },
      () => messaging.event({ event: 'paid' }),
      'done',
    ],
    [
      'an action that must not be done',
      { rule: 'notDone', event: 'paid' },
      () => messaging.browse('a', track('paid')),
      'done',
    ],
    [
      'it happened before',
      { rule: 'notDone', event: 'paid' },
      () => messaging.event({ event: 'paid', occurredAt: new Date(now - 1).toISOString() }),
      null,
    ],
    [
      'it happened before, and counts at any time',
      { rule: 'notDone', event: 'paid', since: 'ever' },
      () => messaging.event({ event: 'paid', occurredAt: new Date(now - 1).toISOString() }),
      'done',
    ],
    ['another event', { rule: 'notDone', event: 'paid' }, () => messaging.event({ event: 'tried' }), null],
    ['a tag is removed', { rule: 'tag', has: 'old' }, () => change({ removeTags: ['old'] }), 'tag'],
    ['a tag that was never there', { rule: 'tag', has: 'beta' }, () => change({ tags: ['other'] }), null],
    ['a tag that must not be there', { rule: 'tag', lacks: 'beta' }, () => change({ tags: ['beta'] }), 'tag'],
    [
      'a field that no longer matches',
      { rule: 'field', field: 'plan', is: 'equal', to: 'free' },
      () => change({ fields: { plan: 'pro' } }),
      'field',
    ],
    [
      'a field that still matches',
      { rule: 'field', field: 'plan', is: 'present' },
      () => change({ fields: { plan: 'pro' } }),
      null,
    ],
    [
      'a field that never matched',
      { rule: 'field', field: 'seats', is: 'above', to: 3 },
      () => change({ fields: { seats: 1 } }),
      null,
    ],
    ['the person is back and may leave again', { rule: 'away' }, () => messaging.browse('a', page('/home')), null],
  ]
  test.each(CASES)('%s', async (_, rule, act, reason) => {
    const body = { newsletter: server.first.appId, email: ADA, tags: ['old'], fields: { plan: 'free' } }
    await server.call('POST', '/api/v1/contacts', { body })
    await messaging.put(messageOf({ wait: { minutes: 10 }, onlyIf: [{ rule: 'status', is: 'subscribed' }, rule] }))
    await messaging.event()
    server.clock.tick(10 * MINUTE - 1)
    await act()
    const [delivery] = await messaging.deliveries()
    expect([delivery?.state, delivery?.reason]).toEqual(reason ? ['skipped', reason] : ['waiting', null])
    if (reason && delivery) {
      expect(recordOf(delivery)).toMatchObject({
        at: server.clock.now(),
        verdicts: [{ rule: rule.rule, verdict: 'fail' }],
      })
    }
  })

  test('events of another person cancel nothing', async () => {
    await messaging.put(messageOf({ wait: { minutes: 10 }, onlyIf: [{ rule: 'notDone', event: 'paid' }] }))
    await messaging.event()
    await messaging.event({ email: 'eve@example.com', event: 'paid' })
    expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['waiting'])
  })

  test('an email that a member resends is not cancelled by a rule', async () => {
    await messaging.put(messageOf({ onlyIf: [{ rule: 'tag', has: 'beta' }, { rule: 'notSeen' }] }))
    await messaging.event()
    await messaging.decide()
    const [skipped] = await messaging.deliveries()
    await messaging.store().resendDelivery({ appId: messaging.app.id, id: skipped?.id ?? 0, at: server.clock.now() })
    await messaging.browse('a', page(RESULTS))
    expect((await messaging.deliveries()).map(({ state }) => state)).toEqual(['waiting'])
    expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(['send'])
  })

  test('a claimed email is cancelled too and cannot be handed over', async () => {
    await messaging.put(messageOf({ onlyIf: [{ rule: 'notSeen' }] }))
    await messaging.event()
    const { delivery } = await messaging.claimOne('a')
    await messaging.browse('a', page(RESULTS))
    const claim = { id: delivery.id, claimedBy: 'a', attempt: 1, at: server.clock.now(), record: '{}' }
    expect(await messaging.store().markHanded(claim)).toEqual({ isMarked: false, because: 'lost' })
    expect((await messaging.deliveries()).map(({ reason }) => reason)).toEqual(['seen'])
  })

  test('a waiting email keeps the cancelling rules of its version', async () => {
    const { id } = await messaging.put(messageOf({ wait: { minutes: 10 }, onlyIf: [{ rule: 'notSeen' }] }))
    await messaging.event()
    await messaging.put(messageOf({ wait: { minutes: 10 } }), id)
    await messaging.browse('a', page(RESULTS))
    expect((await messaging.deliveries()).map(({ reason }) => reason)).toEqual(['seen'])
  })
})

describe('unsubscribing', () => {
  const categories: [MessageContent['mail']['category'], string | null][] = [
    ['lifecycle', 'unsubscribed'],
    ['transactional', null],
  ]
  test.each(categories)('what waits of %s mail', async (category, reason) => {
    await messaging.put(messageOf({ wait: { minutes: 10 }, mail: { subject: 'S', body: 'B', category } }))
    await messaging.event()
    const [delivery] = await messaging.deliveries()
    const unsubscribe = () =>
      messaging.store().unsubscribe({ contactId: delivery?.contactId ?? 0, at: server.clock.now() })
    expect(await unsubscribe()).toEqual({ appId: messaging.app.id })
    expect(await unsubscribe()).toEqual({ appId: messaging.app.id })
    expect((await messaging.deliveries()).map((one) => one.reason)).toEqual([reason])
    expect((await messaging.store().findContact(messaging.app.id, ADA))?.status).toBe('unsubscribed')
    server.clock.tick(10 * MINUTE)
    expect((await messaging.decide()).map(({ verdict }) => verdict)).toEqual(reason ? [] : ['send'])
    await messaging.event({ email: ADA, event: 'results_ready' })
  })

  test('stays after the person is erased', async () => {
    await messaging.put(messageOf())
    await messaging.event()
    await messaging.store().suppress({ appId: messaging.app.id, email: ADA, reason: 'unsubscribed', at: now })
    await server.call('DELETE', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA } })
    expect(await messaging.deliveries()).toEqual([])
    await messaging.event()
    expect(await messaging.decide()).toMatchObject([{ verdict: 'skip', reason: 'unsubscribed' }])
  })

  test('an unsubscribe between the decision and the hand-over stops the email', async () => {
    await messaging.put(messageOf())
    await messaging.event()
    const { delivery } = await messaging.claimOne('a')
    // the person's status only, as a member may set it: what is claimed is not stopped by that
    await messaging.store().suppress({ appId: messaging.app.id, email: ADA, reason: 'bounced', at: now })
    const claim = { id: delivery.id, claimedBy: 'a', attempt: 1, at: server.clock.now(), record: '{}' }
    expect(await messaging.store().markHanded(claim)).toMatchObject({ isMarked: false })
    expect((await messaging.deliveries()).map(({ state, reason }) => [state, reason])).toEqual([['skipped', 'bounced']])
  })
})

describe('records that the person came back and opened the result', () => {
  type Case = [name: string, minutes: number, path: string, cameBack: boolean, opened: boolean]
  const CASES: Case[] = [
    ['another page', 1, '/home', true, false],
    ['the result', 1, RESULTS, true, true],
    ['within seven days', 7 * 24 * 60, RESULTS, true, true],
    ['later', 7 * 24 * 60 + 1, RESULTS, false, false],
  ]
  test.each(CASES)('%s', async (_, minutes, path, cameBack, opened) => {
    const { id } = await messaging.put(messageOf())
    await messaging.event()
    await messaging.decide()
    server.clock.tick(minutes * MINUTE)
    await messaging.browse('a', page(path))
    const [delivery] = await messaging.deliveries()
    const at = server.clock.now()
    expect([delivery?.cameBackAt, delivery?.openedAt]).toEqual([cameBack ? at : null, opened ? at : null])
    const counts = await messaging.store().countDeliveries(id)
    expect(counts).toMatchObject({ sent: 1, cameBack: Number(cameBack), opened: Number(opened) })
  })

  test('a return to an open page counts as coming back, but not as a page view', async () => {
    await messaging.put(messageOf())
    await messaging.browse('a', page('/home'))
    await messaging.event()
    await messaging.decide()
    server.clock.tick(MINUTE)
    await messaging.browse('a', here('/home'))
    server.clock.tick(MINUTE)
    await messaging.browse('b', here(RESULTS))
    const [delivery] = await messaging.deliveries()
    expect([delivery?.cameBackAt, delivery?.openedAt]).toEqual([now + MINUTE, now + 2 * MINUTE])
  })

  test('keeps the first time, allows opening after coming back, and ignores views before the email', async () => {
    await messaging.put(messageOf())
    await messaging.event({ properties: { ...RESULT, url: `https://first.example${RESULTS}/?ref=mail#top` } })
    server.clock.tick(HOUR)
    await messaging.decide()
    const read = async () => (await messaging.deliveries()).map(({ cameBackAt, openedAt }) => [cameBackAt, openedAt])
    await messaging.browse('a', page(RESULTS, MINUTE))
    expect(await read()).toEqual([[null, null]])
    const times = [DAY, 2 * DAY, 3 * DAY].map((ms) => now + HOUR + ms)
    for (const [index, path] of ['/home', RESULTS, RESULTS].entries()) {
      server.clock.wallMs = times[index] ?? 0
      await messaging.browse(`b${index}`, page(path))
    }
    expect(await read()).toEqual([[times[0] ?? 0, times[1] ?? 0]])
  })
})

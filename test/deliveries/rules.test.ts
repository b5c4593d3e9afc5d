import { beforeEach, describe, expect, test } from 'bun:test'
import type { Rule } from '../../src/store/message-types.ts'
import { DAY, HOUR, type TestServer, useSharedServer } from '../helper.ts'
import {
  ADA,
  createMessaging,
  leave,
  messageOf,
  MINUTE,
  type Messaging,
  page,
  recordOf,
  track,
  verdictsOf,
} from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let now: number
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  now = server.clock.now()
  await server.setPlan({ snippetLimits: false })
  messaging = await createMessaging(server)
})

const RESULTS = '/results/1'

describe('a rule at the time of sending', () => {
  const send = async (rule: Rule, act: () => Promise<unknown> = async () => {}, minutes = 10): Promise<string[]> => {
    await messaging.event({ event: 'known' })
    server.clock.tick(2)
    await messaging.put(messageOf({ wait: { minutes }, onlyIf: [rule] }))
    await messaging.event()
    server.clock.tick(MINUTE)
    await act()
    server.clock.tick(minutes * MINUTE)
    return verdictsOf(await messaging.decide())
  }
  const change = (body: object) =>
    server.call('PATCH', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA, ...body } })
  const tell = (event: string, more: object = {}) => messaging.event({ event, ...more })

  type Case = [name: string, rule: Rule, act: () => Promise<unknown>, outcome: string[]]
  const nothing = async (): Promise<void> => {}
  const CASES: Case[] = [
    ['done, and it was', { rule: 'done', event: 'paid' }, () => tell('paid'), ['send']],
    ['done, and it was not', { rule: 'done', event: 'paid' }, nothing, ['not_done']],
    [
      'done by an action of the browser',
      { rule: 'done', event: 'paid' },
      () => messaging.browse('a', track('paid')),
      ['send'],
    ],
    ['done at any time, before the trigger', { rule: 'done', event: 'known', since: 'ever' }, nothing, ['send']],
    ['done since the trigger, but it was before', { rule: 'done', event: 'known' }, nothing, ['not_done']],
    ['done within a day', { rule: 'done', event: 'known', since: { days: 1 } }, nothing, ['send']],
    [
      'done, and only the trigger itself was',
      { rule: 'done', event: 'results_ready', since: 'ever' },
      nothing,
      ['not_done'],
    ],
    ['notDone, and it was not', { rule: 'notDone', event: 'paid' }, nothing, ['send']],
    [
      'notDone, and it happened before the trigger',
      { rule: 'notDone', event: 'paid' },
      () => tell('paid', { occurredAt: new Date(now - 1).toISOString() }),
      ['send'],
    ],
    ['tag, and it was added', { rule: 'tag', has: 'beta' }, () => change({ tags: ['beta'] }), ['send']],
    ['tag, and it is not there', { rule: 'tag', has: 'beta' }, nothing, ['tag']],
    ['no tag, and it is not there', { rule: 'tag', lacks: 'beta' }, nothing, ['send']],
    [
      'field, and it holds',
      { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
      () => change({ fields: { plan: 'pro' } }),
      ['send'],
    ],
    [
      'field, and it holds another',
      { rule: 'field', field: 'plan', is: 'equal', to: 'pro' },
      () => change({ fields: { plan: 'free' } }),
      ['field'],
    ],
    ['field that they do not have', { rule: 'field', field: 'constructor', is: 'present' }, nothing, ['field']],
    ['status', { rule: 'status', is: 'subscribed' }, nothing, ['send']],
    ['away from someone the script never saw', { rule: 'away', ifUnknown: 'skip' }, nothing, ['never_reported']],
    ['notSeen of someone the script never saw', { rule: 'notSeen', ifUnknown: 'skip' }, nothing, ['never_reported']],
    ['seen of someone the script never saw', { rule: 'seen' }, nothing, ['never_reported']],
    ['seen, and it was', { rule: 'seen' }, () => messaging.browse('a', page(`${RESULTS}/`)), ['send']],
    ['seen, and another page was', { rule: 'seen' }, () => messaging.browse('a', page('/results/12')), ['not_seen']],
  ]
  test.each(CASES)('%s', async (_, rule, act, outcome) => expect(await send(rule, act)).toEqual(outcome))

  test('a late view counts by the time it happened', async () => {
    await messaging.event({ event: 'known' })
    server.clock.tick(HOUR)
    await messaging.put(messageOf({ wait: { minutes: 10 }, onlyIf: [{ rule: 'notSeen' }] }))
    await messaging.event()
    server.clock.tick(9 * MINUTE)
    // the browser came online later; the page was open when the event came
    await messaging.browse('a', page(RESULTS, 20 * MINUTE), leave(RESULTS))
    server.clock.tick(MINUTE)
    expect(verdictsOf(await messaging.decide())).toEqual(['seen'])
  })

  test('an event from a clock ahead of ours counts by the time it happened', async () => {
    await messaging.event({ event: 'known' })
    await messaging.event({ event: 'paid', occurredAt: new Date(server.clock.now() + 9 * MINUTE).toISOString() })
    server.clock.tick(MINUTE)
    await messaging.put(messageOf({ onlyIf: [{ rule: 'notDone', event: 'paid' }] }))
    await messaging.event()
    expect(verdictsOf(await messaging.decide())).toEqual(['done'])
  })

  test('days later it is still known that the page was open at the event', async () => {
    await messaging.event({ event: 'known' })
    await messaging.browse('a', page(RESULTS))
    server.clock.tick(MINUTE)
    await messaging.put(messageOf({ wait: { minutes: 3 * 24 * 60 }, onlyIf: [{ rule: 'notSeen' }] }))
    await messaging.event()
    server.clock.tick(MINUTE)
    await messaging.browse('a', leave(RESULTS))
    server.clock.tick(3 * DAY)
    await messaging.store().cleanUp({ at: server.clock.now() })
    expect(verdictsOf(await messaging.decide())).toEqual(['seen'])
  })

  test('the record contains every rule with its value, also after a failed one', async () => {
    await send({ rule: 'tag', has: 'beta' })
    const [delivery] = await messaging.deliveries()
    expect(delivery && recordOf(delivery)).toEqual({
      at: now + 11 * MINUTE + 2,
      verdicts: [
        { rule: 'suppression', about: null, value: null, verdict: 'pass' },
        { rule: 'message', about: null, value: 'live', verdict: 'pass' },
        { rule: 'tag', about: 'beta', value: false, verdict: 'fail' },
      ],
    })
  })
})

describe('a paid invoice', () => {
  const invoice = (event: string, invoiceId: unknown) => messaging.event({ event, properties: { invoiceId } })

  test('stops the reminder about itself, while it waits and when it is due, and no other', async () => {
    const onlyIf: Rule[] = [{ rule: 'notDone', event: 'invoice.paid', since: 'ever', same: 'invoiceId' }]
    const again = { once: 'property' as const, property: 'invoiceId' }
    await messaging.put(messageOf({ trigger: { event: 'invoice.due' }, wait: { minutes: 10 }, again, onlyIf }))
    await invoice('invoice.paid', 1)
    for (const id of [1, 2, 3, null]) await invoice('invoice.due', id)
    server.clock.tick(MINUTE)
    await invoice('invoice.paid', '3')
    await invoice('invoice.paid', null)
    const statesOf = async () => (await messaging.deliveries()).map(({ state, reason }) => reason ?? state)
    expect(await statesOf()).toEqual(['waiting', 'waiting', 'done', 'waiting'])
    server.clock.tick(9 * MINUTE)
    await messaging.decide()
    expect(await statesOf()).toEqual(['done', 'sent', 'done', 'sent'])
  })
})

test("a visit to the home page is no visit to a partner's page", async () => {
  const onlyIf: Rule[] = [{ rule: 'notSeen', ifUnknown: 'send' }]
  await messaging.put(messageOf({ again: { once: 'property', property: ['url'] }, onlyIf }))
  await messaging.browse('first', page('/start'), leave('/start'))
  await messaging.event({ properties: { url: 'https://partner.example/', headline: 'Ready' } })
  await messaging.event({ properties: { url: 'https://first.example/#/results/1', headline: 'Ready' } })
  await messaging.event({ properties: { url: 'https://first.example/', headline: 'Ready' } })
  server.clock.tick(MINUTE)
  await messaging.browse('second', page('/'), leave('/'))
  server.clock.tick(HOUR)
  expect((await messaging.deliveries()).map(({ state, reason }) => reason ?? state)).toEqual([
    'waiting',
    'waiting',
    'seen',
  ])
  expect(verdictsOf(await messaging.decide())).toEqual(['send', 'send'])
})

/** Who is written to and who is not, decided at the moment of sending (spec 1.5; messages.md). */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/core/message-drafts.ts'
import type { MessageContent, Rule } from '../../src/store/message-types.ts'
import { createTestServer, DAY, HOUR, NOW, type TestServer } from '../helper.ts'
import {
  ADA,
  createMessaging,
  type Decided,
  leave,
  messageOf,
  MINUTE,
  type Messaging,
  page,
  recordOf,
  track,
} from '../messaging.ts'

let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await createTestServer()
  await server.setPlan({ snippetLimits: false })
  messaging = await createMessaging(server)
})
afterEach(() => server.close())

const RESULTS = '/results/1'
const verdicts = (decided: Decided[]) => decided.map(({ verdict, reason }) => reason ?? verdict)

describe('the draft "Results ready, they left"', () => {
  /** What Ada does before and after the event, in minutes around it, and what becomes of the mail after ten, or thirty. */
  /** The minute, the tab where it is another than the first, and what it reports. */
  type Act = [minute: number, ...events: (object | string)[]]
  type Visit = [name: string, before: Act[], after: Act[], outcome: string]
  const [draft] = FIRST_MESSAGES
  const VISITS: Visit[] = [
    ['was never seen', [], [], 'send'],
    [
      'left before',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [],
      'send',
    ],
    [
      'left a moment before',
      [
        [-5, page('/wait')],
        [-0.01, leave('/wait')],
      ],
      [],
      'send',
    ],
    ['closed without a word half an hour before', [[-31, page('/wait')]], [], 'send'],
    ['watches the page where the results appear', [[-5, page(RESULTS)]], [[20, leave(RESULTS)]], 'seen'],
    ['watches another page', [[-5, page('/wait')]], [[20, leave('/wait')]], 'not_away'],
    ['watches another page and does something there', [[-5, page('/wait')]], [[9, track('zoomed')]], 'not_away'],
    ['lost their tab without a word five minutes before', [[-5, page('/wait')]], [], 'send'],
    ['lost the tab with the results without a word', [[-5, page(RESULTS)]], [], 'send'],
    ['comes back after it to another tab', [[-5, page('/wait')]], [[5, 'b', page('/home')]], 'not_away'],
    ['was on another page, and left after', [[-5, page('/wait')]], [[1, leave('/wait')]], 'not_away'],
    [
      'had left, and opens the results',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [[3, page(RESULTS)]],
      'seen',
    ],
    [
      'opened the results and left again',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [
        [1, page(RESULTS)],
        [2, leave(RESULTS)],
      ],
      'seen',
    ],
    [
      'came back to another page',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [[8, page('/home')]],
      'not_away',
    ],
    [
      'looked in and left three minutes ago',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [
        [6, page('/home')],
        [7, leave('/home')],
      ],
      'not_away',
    ],
    [
      'looked in and left six minutes ago',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [
        [3, page('/home')],
        [4, leave('/home')],
      ],
      'send',
    ],
  ]

  const play = async (acts: Act[], at: number): Promise<void> => {
    for (const [minute, ...told] of acts) {
      server.clock.wallMs = at + minute * MINUTE
      const events = told.filter((one) => typeof one === 'object')
      await messaging.browse(told.find((one) => typeof one === 'string') ?? 'a', ...events)
    }
  }

  test.each(VISITS)('to someone who %s', async (_, before, after, outcome) => {
    await server.call('POST', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA } })
    await messaging.put({ ...draft?.content, name: 'Left', status: 'live' })
    await play(before, NOW + HOUR)
    server.clock.wallMs = NOW + HOUR
    await messaging.event()
    const isEarly = ([minute]: Act): boolean => minute <= 10
    await play(after.filter(isEarly), NOW + HOUR)
    server.clock.wallMs = NOW + HOUR + 10 * MINUTE - 1
    expect(await messaging.decide()).toEqual([])
    server.clock.wallMs += 1
    const [decided] = await messaging.decide()
    await play(
      after.filter((act) => !isEarly(act)),
      NOW + HOUR,
    )
    server.clock.wallMs = NOW + HOUR + 30 * MINUTE - 1
    expect(await messaging.decide()).toEqual([])
    server.clock.wallMs += 1
    expect(await messaging.decide()).toHaveLength(decided?.verdict === 'defer' ? 1 : 0)
    const [delivery, ...others] = await messaging.deliveries()
    expect(others).toEqual([])
    expect(delivery?.state === 'sent' ? 'send' : delivery?.reason).toBe(outcome)
  })

  test('two tabs: one is left, in the other the person is still here', async () => {
    await messaging.event({ event: 'other' })
    await messaging.put({ ...draft?.content, name: 'Left', status: 'live' })
    await messaging.browse('a', page('/one'))
    await messaging.browse('b', page('/two'))
    server.clock.tick(MINUTE)
    await messaging.browse('a', leave('/one'))
    await messaging.event()
    server.clock.tick(MINUTE)
    await messaging.browse('b', leave('/two'))
    server.clock.tick(9 * MINUTE)
    expect(verdicts(await messaging.decide())).toEqual(['not_away'])
  })

  test('who was here when it came is known to the end of the wait, after days and a restart', async () => {
    const wait = { minutes: 5 * 24 * 60 }
    for (const [name, at] of [
      ['Left', 'trigger'],
      ['Here', 'trigger'],
    ] as const) {
      await messaging.put(messageOf({ name, wait, onlyIf: [{ rule: 'away', at }], trigger: { event: name } }))
    }
    await messaging.event({ event: 'known' })
    await messaging.browse('a', page('/wait'))
    server.clock.tick(MINUTE)
    await messaging.event({ event: 'Here' })
    server.clock.tick(MINUTE)
    await messaging.browse('a', leave('/wait'))
    server.clock.tick(MINUTE)
    await messaging.event({ event: 'Left' })
    for (let day = 0; day < 5; day += 1) {
      server.clock.tick(DAY)
      await messaging.store().cleanUp({ at: server.clock.now() })
    }
    await server.restart()
    const decided = await messaging.decide()
    expect(decided.map(({ name, verdict }) => [name, verdict]).toSorted()).toEqual([
      ['Here', 'skip'],
      ['Left', 'send'],
    ])
    const [delivery] = await messaging.deliveries()
    const reports = () => messaging.store().listReports(messaging.app.id, delivery?.contactId ?? 0, 0)
    expect(await reports()).toHaveLength(2)
    server.clock.tick(HOUR)
    await messaging.store().cleanUp({ at: server.clock.now() })
    expect(await reports()).toEqual([])
  })
})

describe('a rule, judged at the moment of sending', () => {
  const send = async (rule: Rule, act: () => Promise<unknown> = async () => {}, minutes = 10): Promise<string[]> => {
    await messaging.event({ event: 'known' })
    server.clock.tick(2)
    await messaging.put(messageOf({ wait: { minutes }, onlyIf: [rule] }))
    await messaging.event()
    server.clock.tick(MINUTE)
    await act()
    server.clock.tick(minutes * MINUTE)
    return verdicts(await messaging.decide())
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
    ['done ever, before the trigger', { rule: 'done', event: 'known', since: 'ever' }, nothing, ['send']],
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
      'notDone, and it happened before it was triggered',
      { rule: 'notDone', event: 'paid' },
      () => tell('paid', { occurredAt: new Date(NOW - 1).toISOString() }),
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
    ['field that is none of theirs', { rule: 'field', field: 'constructor', is: 'present' }, nothing, ['field']],
    ['status', { rule: 'status', is: 'subscribed' }, nothing, ['send']],
    ['away from someone the script never saw', { rule: 'away', ifUnknown: 'skip' }, nothing, ['not_away']],
    ['notSeen of someone the script never saw', { rule: 'notSeen', ifUnknown: 'skip' }, nothing, ['seen']],
    ['seen of someone the script never saw', { rule: 'seen' }, nothing, ['not_seen']],
    ['seen, and it was', { rule: 'seen' }, () => messaging.browse('a', page(`${RESULTS}/`)), ['send']],
    ['seen, and another page was', { rule: 'seen' }, () => messaging.browse('a', page('/results/12')), ['not_seen']],
  ]
  test.each(CASES)('%s', async (_, rule, act, outcome) => expect(await send(rule, act)).toEqual(outcome))

  test('a view that came late counts by when it happened', async () => {
    await messaging.event({ event: 'known' })
    server.clock.tick(HOUR)
    await messaging.put(messageOf({ wait: { minutes: 10 }, onlyIf: [{ rule: 'notSeen' }] }))
    await messaging.event()
    server.clock.tick(9 * MINUTE)
    // came when the machine was online again, with what followed: it was open when the event came
    await messaging.browse('a', page(RESULTS, 20 * MINUTE), leave(RESULTS))
    server.clock.tick(MINUTE)
    expect(verdicts(await messaging.decide())).toEqual(['seen'])
  })

  test('days after the event it is known that the page was open when it came', async () => {
    await messaging.event({ event: 'known' })
    await messaging.browse('a', page(RESULTS))
    server.clock.tick(MINUTE)
    await messaging.put(messageOf({ wait: { minutes: 3 * 24 * 60 }, onlyIf: [{ rule: 'notSeen' }] }))
    await messaging.event()
    server.clock.tick(MINUTE)
    await messaging.browse('a', leave(RESULTS))
    server.clock.tick(3 * DAY)
    await messaging.store().cleanUp({ at: server.clock.now() })
    expect(verdicts(await messaging.decide())).toEqual(['seen'])
  })

  test('the record holds every rule with its value, also those after one that failed', async () => {
    await send({ rule: 'tag', has: 'beta' })
    const [delivery] = await messaging.deliveries()
    expect(delivery && recordOf(delivery)).toEqual({
      at: NOW + 11 * MINUTE + 2,
      verdicts: [
        { rule: 'wish', about: null, value: null, verdict: 'pass' },
        { rule: 'message', about: null, value: 'live', verdict: 'pass' },
        { rule: 'tag', about: 'beta', value: false, verdict: 'fail' },
      ],
    })
  })
})

describe('what the app has set', () => {
  const two = async (content: Partial<MessageContent> = {}): Promise<void> => {
    await messaging.put(messageOf({ ...content, name: 'One' }))
    await messaging.put(messageOf({ ...content, name: 'Two' }))
    await messaging.event()
  }

  test('at most one a day: the second follows when the first is a day old, also where both are judged at once', async () => {
    await messaging.set({ perPersonDay: 1 })
    await two()
    expect(verdicts(await messaging.decide())).toEqual(['send', 'perDay'])
    server.clock.tick(DAY - 1)
    expect(await messaging.decide()).toEqual([])
    server.clock.tick(1)
    expect(verdicts(await messaging.decide())).toEqual(['send'])
  })

  test('at most one a week, given up after 72 hours', async () => {
    await messaging.set({ perPersonWeek: 1 })
    await two()
    expect(verdicts(await messaging.decide())).toEqual(['send', 'gave_up'])
  })

  test('limits are of one person, and not of transactional mail', async () => {
    await messaging.set({ perPersonDay: 1 })
    await two({ mail: { subject: 'Receipt', body: 'Paid', category: 'transactional' } })
    expect(verdicts(await messaging.decide())).toEqual(['send', 'send'])
    await messaging.event({ email: 'eve@example.com' })
    expect(verdicts(await messaging.decide())).toEqual(['send', 'send'])
  })

  test('mail waits for the send window, in the zone of the app', async () => {
    await messaging.set({
      sendWindow: { days: [1, 2, 3, 4, 5], from: '09:00', until: '17:00' },
      timezone: 'Asia/Tokyo',
    })
    await messaging.put(messageOf())
    // Friday noon in Greenwich is Friday 21:00 in Tokyo
    await messaging.event()
    expect(verdicts(await messaging.decide())).toEqual(['window'])
    const [delivery] = await messaging.deliveries()
    expect(delivery).toMatchObject({ state: 'deferred', dueAt: Date.UTC(2026, 4, 18, 0) })
    server.clock.wallMs = Date.UTC(2026, 4, 18, 0)
    expect(verdicts(await messaging.decide())).toEqual(['send'])
  })

  test('what is later than the time to give up is given up', async () => {
    await messaging.set({ giveUpHours: 1 })
    await messaging.put(messageOf())
    await messaging.event()
    server.clock.tick(HOUR + 1)
    expect(verdicts(await messaging.decide())).toEqual(['gave_up'])
  })

  test('what comes due while the message is paused is skipped, and goes out when a member sends it on', async () => {
    const { id } = await messaging.put(messageOf())
    await messaging.event()
    await messaging.store().setMessageStatus({ ...messaging.by, id, status: 'paused' })
    expect(verdicts(await messaging.decide())).toEqual(['message_paused'])
    const [delivery] = await messaging.deliveries()
    const again = { appId: messaging.app.id, id: delivery?.id ?? 0, at: server.clock.now() }
    expect(await messaging.store().resendDelivery({ ...again, appId: 2 })).toEqual({ refusal: 'delivery_not_found' })
    expect(await messaging.store().resendDelivery(again)).toEqual({ done: true })
    expect(verdicts(await messaging.decide())).toEqual(['send'])
    expect(await messaging.store().resendDelivery(again)).toEqual({ refusal: 'delivery_in_use' })
  })
})

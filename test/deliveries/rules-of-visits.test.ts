import { beforeEach, describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
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

describe('the draft "Results ready, they left"', () => {
  /** Minute, tab (default: the first) and report. */
  type Act = [minute: number, ...events: (object | string)[]]
  /** Acts in minutes around the event, and the outcome after ten minutes or, if it waits, later. */
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
    ['closed without a report half an hour before', [[-31, page('/wait')]], [], 'send'],
    ['is on the page of the results', [[-5, page(RESULTS)]], [[20, leave(RESULTS)]], 'seen'],
    ['is on another page', [[-5, page('/wait')]], [[20, leave('/wait')]], 'not_away'],
    ['is on another page and does something there', [[-5, page('/wait')]], [[9, track('zoomed')]], 'not_away'],
    ['lost the tab without a report five minutes before', [[-5, page('/wait')]], [], 'send'],
    ['lost the tab with the results without a report', [[-5, page(RESULTS)]], [], 'send'],
    ['returns to another tab afterwards', [[-5, page('/wait')]], [[5, 'b', page('/home')]], 'not_away'],
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
      'came_back',
    ],
    [
      'had hidden the tab with the results, and comes back to it',
      [
        [-5, page(RESULTS)],
        [-4, leave(RESULTS)],
      ],
      [[3, here(RESULTS)]],
      'seen',
    ],
    [
      'returned to the results briefly, reported after leaving again',
      [
        [-5, page(RESULTS)],
        [-4, leave(RESULTS)],
      ],
      [[3, here(RESULTS, 60_000), leave(RESULTS, 1_000)]],
      'seen',
    ],
    [
      'had hidden another page, and comes back to it',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [[8, here('/wait')]],
      'came_back',
    ],
    [
      'returned to another page and hid it before the last minutes',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [
        [1, here('/wait')],
        [2, leave('/wait')],
      ],
      'send',
    ],
    [
      'was back on another page at the event, reported later',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [[1, here('/wait', 2 * 60_000), leave('/wait')]],
      'not_away',
    ],
    [
      'visited and left three minutes ago',
      [
        [-5, page('/wait')],
        [-4, leave('/wait')],
      ],
      [
        [6, page('/home')],
        [7, leave('/home')],
      ],
      'came_back',
    ],
    [
      'visited and left six minutes ago',
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
    for (const [minute, ...acted] of acts) {
      server.clock.wallMs = at + minute * MINUTE
      const events = acted.filter((one) => typeof one === 'object')
      await messaging.browse(acted.find((one) => typeof one === 'string') ?? 'a', ...events)
    }
  }

  test.each(VISITS)('to someone who %s', async (_, before, after, outcome) => {
    await server.call('POST', '/api/v1/contacts', { body: { newsletter: server.first.appId, email: ADA } })
    await messaging.put({ ...draft?.content, name: 'Left', status: 'live' })
    await play(before, now + HOUR)
    server.clock.wallMs = now + HOUR
    await messaging.event()
    const isEarly = ([minute]: Act): boolean => minute <= 10
    await play(after.filter(isEarly), now + HOUR)
    server.clock.wallMs = now + HOUR + 10 * MINUTE - 1
    expect(await messaging.decide()).toEqual([])
    server.clock.wallMs += 1
    const [decided] = await messaging.decide()
    const late = after.filter((act) => !isEarly(act))
    await play(late, now + HOUR)
    // once they have been away for five minutes, else half an hour after the event
    const [left] = late.at(-1) ?? []
    server.clock.wallMs = now + HOUR + (left === undefined ? 30 : left + 5) * MINUTE - 1
    expect(await messaging.decide()).toEqual([])
    server.clock.wallMs += 1
    expect(await messaging.decide()).toHaveLength(decided?.verdict === 'wait' ? 1 : 0)
    const [delivery, ...others] = await messaging.deliveries()
    expect(others).toEqual([])
    expect(delivery?.state === 'sent' ? 'send' : delivery?.reason).toBe(outcome)
  })

  test('two tabs: one closes, and the person is still present in the other', async () => {
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
    expect(verdictsOf(await messaging.decide())).toEqual(['not_away'])
  })

  test('presence at the event is known until the wait ends, after days and a restart', async () => {
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

describe('a result is one page in all spellings of its URL', () => {
  const SPELLINGS = [
    'https://first.example/results/1',
    ' https://first.example/results/1',
    'https://first.example/results/1/\n',
    'HTTPS://FIRST.example:443/results/1?utm_source=mail#top',
  ]
  test.each(SPELLINGS)('someone who opened it gets no email about it: %j', async (url) => {
    await messaging.put(messageOf({ wait: { minutes: 10 }, onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] }))
    await messaging.browse('a', page('/'))
    server.clock.tick(MINUTE)
    await messaging.event({ properties: { url } })
    server.clock.tick(MINUTE)
    await messaging.browse('b', page(RESULTS))
    server.clock.tick(20 * MINUTE)
    expect(await messaging.decide()).toEqual([])
    expect(await messaging.deliveries()).toMatchObject([{ state: 'skipped', reason: 'seen' }])
  })

  test.each(SPELLINGS)('opening it is a result of the email: %j', async (url) => {
    await messaging.put(messageOf())
    await messaging.event({ properties: { url } })
    await messaging.decide()
    server.clock.tick(MINUTE)
    await messaging.browse('a', page(RESULTS))
    expect(await messaging.deliveries()).toMatchObject([{ openedAt: server.clock.now() }])
  })

  test('it starts one email', async () => {
    await messaging.put(messageOf({ again: { once: 'property', property: ['resultId', 'url'] } }))
    for (const url of SPELLINGS) await messaging.event({ properties: { url } })
    expect(await messaging.deliveries()).toHaveLength(1)
  })
})

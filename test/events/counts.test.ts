import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type CountRange, isCountRange, readCounts } from '../../src/events/counts.ts'
import { createTestServer, DAY, EVENTS, HOUR, type TestServer } from '../helper.ts'

let server: TestServer
beforeEach(async () => {
  server = await createTestServer()
})
afterEach(() => server.close())

/** The clock stands at noon of Friday 15 May 2026. */
const read = async (range: CountRange, name: string | null = null) => {
  const [app] = await server.parts().store.listApps(server.first.accountId)
  if (!app) throw new Error('no app')
  const { points, ...rest } = await readCounts(server.parts(), app, range, name)
  const at = (point: { at: number }) => new Date(point.at).toISOString().slice(0, 13)
  const some = points.filter(({ count }) => count > 0).map((point) => [at(point), point.count])
  return {
    ...rest,
    some,
    length: points.length,
    first: at(points[0] ?? { at: 0 }),
    last: at(points.at(-1) ?? { at: 0 }),
  }
}

/** Sends an event as if it were so long ago. */
async function sendBefore(ms: number, event: string, account = server.first): Promise<void> {
  server.clock.wallMs -= ms
  const body = { app: account.appId, email: 'ada@example.com', event, createContact: true }
  expect((await server.call('POST', EVENTS, { body, key: account.apiKey })).status).toBe(202)
  server.clock.wallMs += ms
}

describe('counts', () => {
  beforeEach(async () => {
    await sendBefore(200 * DAY, 'old')
    await sendBefore(26 * 7 * DAY, 'old')
    await sendBefore(29 * DAY, 'a')
    await sendBefore(30 * DAY, 'a')
    await sendBefore(47 * HOUR, 'a')
    await sendBefore(48 * HOUR, 'b')
    await sendBefore(4 * DAY, 'b')
    await sendBefore(5 * DAY, 'b')
    for (let i = 0; i < 3; i++) await sendBefore(0, 'b')
    await sendBefore(0, 'other', server.second)
  })

  test('of the last 48 hours, this one among them', async () => {
    expect(await read('hours')).toEqual({
      names: [
        { name: 'b', count: 3 },
        { name: 'a', count: 1 },
      ],
      total: 4,
      isWhole: true,
      some: [
        ['2026-05-13T13', 1],
        ['2026-05-15T12', 3],
      ],
      length: 48,
      first: '2026-05-13T13',
      last: '2026-05-15T12',
    })
  })

  test('of the last 30 days, today among them', async () => {
    const { names, some, length, first, last, total } = await read('days')
    expect([length, first, last, total]).toEqual([30, '2026-04-16T00', '2026-05-15T00', 8])
    expect(names).toEqual([
      { name: 'b', count: 6 },
      { name: 'a', count: 2 },
    ])
    expect(some).toEqual([
      ['2026-04-16T00', 1],
      ['2026-05-10T00', 1],
      ['2026-05-11T00', 1],
      ['2026-05-13T00', 2],
      ['2026-05-15T00', 3],
    ])
  })

  test('of the last 26 weeks, each from Monday on', async () => {
    const { some, length, first, last, total } = await read('weeks')
    expect([length, first, last, total]).toEqual([26, '2025-11-17T00', '2026-05-11T00', 9])
    expect(some).toEqual([
      ['2026-04-13T00', 2],
      ['2026-05-04T00', 1],
      ['2026-05-11T00', 6],
    ])
  })

  test.each([
    ['hours', [['2026-05-13T13', 1]]],
    [
      'days',
      [
        ['2026-04-16T00', 1],
        ['2026-05-13T00', 1],
      ],
    ],
    [
      'weeks',
      [
        ['2026-04-13T00', 2],
        ['2026-05-11T00', 1],
      ],
    ],
  ] as const)('of one name in %s: the names beside it stay', async (range, some) => {
    const counts = await read(range, 'a')
    expect(counts.some).toEqual(some.map((point) => [...point]))
    expect(counts.names).toEqual((await read(range)).names)
  })

  test('of a name without events', async () => {
    expect(await read('hours', 'nothing')).toMatchObject({ some: [], length: 48, total: 4 })
  })

  test('at midnight hours are the same', async () => {
    server.clock.wallMs += 12 * HOUR - 1
    expect(await read('hours')).toMatchObject({ total: 4 - 1, first: '2026-05-14T00', some: [['2026-05-15T12', 3]] })
  })
})

test('an app without events has a chart without any', async () => {
  expect(await read('weeks')).toMatchObject({ names: [], total: 0, isWhole: true, some: [], length: 26 })
})

test('lists the 200 most frequent names, and the sum of all', async () => {
  const events = Array.from({ length: 100 }, (_, i) => i)
  for (const part of [0, 1, 2]) {
    const batch = events.map((i) => ({
      app: server.first.appId,
      email: 'ada@example.com',
      event: `n${part * 100 + i}`,
      createContact: true,
    }))
    expect((await server.call('POST', `${EVENTS}/batch`, { body: { events: batch } })).status).toBe(207)
  }
  for (const range of ['hours', 'days'] as const) {
    const { names, total } = await read(range)
    expect([names.length, total]).toEqual([200, 300])
  }
})

test.each([
  ['hours', true],
  ['weeks', true],
  ['toString', false],
  ['', false],
])('%p is a range: %p', (text, is) => {
  expect(isCountRange(text)).toBe(is)
})

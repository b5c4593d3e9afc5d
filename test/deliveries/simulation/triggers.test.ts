import { beforeEach, describe, expect, test } from 'bun:test'
import { DAY, HOUR } from '../../helper.ts'
import { MINUTE, page } from '../../messaging.ts'
import { outcomesOf, type Simulating, useSimulating } from './simulating.ts'

const openSimulating = useSimulating()

let at: Simulating
beforeEach(async () => {
  at = await openSimulating()
})

const ago = (ms: number) => ({ occurredAt: new Date(at.clock.now() - ms).toISOString() })

describe('a late event', () => {
  test.each([
    ['starts nothing after 72 hours', 73 * HOUR, {}],
    ['starts it before that', 71 * HOUR, { 'ada@example.com': 'send' }],
  ])('%s', async (_, ms, expected) => {
    await at.putLive()
    await at.event('ada@example.com', ago(ms))
    at.clock.tick(MINUTE)
    expect(await at.decideLive()).toEqual(expected)
    const simulation = await at.simulate()
    expect(outcomesOf(simulation)).toEqual(expected)
    expect(simulation.triggered).toBe(Object.keys(expected).length)
  })

  test('is decided at its arrival, with everything known by then', async () => {
    const content = { wait: { minutes: 10 }, onlyIf: [{ rule: 'notSeen' as const }] }
    await at.putLive(content)
    for (const email of ['saw@example.com', 'away@example.com']) await at.event(email, { event: 'signed_up' })
    at.clock.tick(2 * HOUR)
    await at.browse('saw@example.com', page('/results/1'))
    at.clock.tick(HOUR)
    for (const email of ['saw@example.com', 'away@example.com']) await at.event(email, ago(2 * HOUR + 30 * MINUTE))
    const cameAt = at.clock.now()
    at.clock.tick(MINUTE)
    const expected = { 'saw@example.com': 'seen', 'away@example.com': 'send' }
    expect(await at.decideLive()).toEqual(expected)
    const simulation = await at.simulate(content)
    expect(outcomesOf(simulation)).toEqual(expected)
    expect(simulation.lines.map(({ triggeredAt, dueAt }) => [triggeredAt, dueAt])).toEqual(
      simulation.lines.map(() => [cameAt - 2 * HOUR - 30 * MINUTE, cameAt]),
    )
  })

  test('counts for "again" by its arrival', async () => {
    const again = { everyHours: 24 }
    await at.putLive({ again })
    await at.event('ada@example.com')
    at.clock.tick(MINUTE)
    await at.decideLive()
    at.clock.tick(25 * HOUR)
    await at.event('ada@example.com', ago(20 * HOUR))
    at.clock.tick(MINUTE)
    await at.decideLive()
    expect(await at.messaging.deliveries()).toHaveLength(2)
    expect((await at.simulate({ again })).counts).toEqual({ send: 2 })
  })

  test('may be a page view', async () => {
    const trigger = { page: '/pricing' }
    await at.event('ada@example.com', { event: 'signed_up' })
    await at.browse('ada@example.com', { ...page('/pricing'), age: 20 * HOUR })
    const cameAt = at.clock.now()
    at.clock.tick(MINUTE)
    const { lines } = await at.simulate({ trigger })
    expect(lines.map(({ triggeredAt, dueAt }) => [cameAt - triggeredAt, dueAt])).toEqual([[20 * HOUR, cameAt]])
  })
})

test('an event in the near future waits, as with live sending', async () => {
  const content = { wait: { minutes: 1 } }
  await at.putLive(content)
  await at.event('ada@example.com', ago(-5 * MINUTE))
  at.clock.tick(MINUTE)
  expect(await at.decideLive()).toEqual({ 'ada@example.com': 'waiting' })
  expect(outcomesOf(await at.simulate(content))).toEqual({ 'ada@example.com': 'waiting' })
  at.clock.tick(DAY)
  expect(outcomesOf(await at.simulate(content))).toEqual({ 'ada@example.com': 'send' })
})

test('an event that arrived before the range but happened within it is included', async () => {
  await at.event('ada@example.com', ago(-5 * MINUTE))
  at.clock.tick(7 * DAY + 4 * MINUTE)
  expect(outcomesOf(await at.simulate())).toEqual({ 'ada@example.com': 'send' })
  at.clock.tick(2 * MINUTE)
  expect(outcomesOf(await at.simulate())).toEqual({})
})

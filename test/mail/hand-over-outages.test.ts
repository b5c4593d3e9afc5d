import { describe, expect, test } from 'bun:test'
import { HOUR } from '../helper.ts'
import type { Doing } from './mail-server.ts'
import { countEach, impatient, live, MINUTE, useSharedSending } from './sending.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const start = useSharedSending()

describe('a server that fails for ten minutes', () => {
  type Failing = { connect?: () => Doing; sender?: () => Doing; dot?: () => Doing }
  const failures: [string, Failing][] = [
    ['answers 421 at the greeting', { connect: () => 421 }],
    ['answers 454 to the sender', { sender: () => 454 }],
    ['answers 421 at the final dot', { dot: () => 421 }],
    ['drops every connection', { connect: () => 'drop' }],
    ['refuses the sender permanently', { sender: () => 553 }],
  ]
  test.each(failures)('%s: every mail arrives once, soon after', async (_, failing) => {
    let isDown = true
    const whenDown = (doing: (() => Doing) | undefined) => doing && ((): Doing => (isDown ? doing() : 'accept'))
    const behaviour = {
      connect: whenDown(failing.connect),
      sender: whenDown(failing.sender),
      dot: whenDown(failing.dot),
    }
    const sending = await start({}, behaviour)
    await sending.sendEvents(60)
    await sending.sendDue()
    expect(await sending.findPause()).not.toBe(null)
    await live(sending, 10 * MINUTE)
    expect(sending.server.received).toEqual([])
    // it was tried now and then, not once per email and minute
    const attempts = (await sending.deliveries()).reduce((sum, { attempt }) => sum + attempt, 0)
    expect(attempts).toBeLessThan(60 * 10)
    isDown = false
    await live(sending, 30 * MINUTE)
    expect(await sending.states()).toEqual({ sent: 60 })
    expect(countEach(sending)).toEqual(Array(60).fill(1))
    expect(await sending.findPause()).toBe(null)
  })

  test('does not use up the retry delays of deferred emails', async () => {
    let isDown = true
    const asked = new Set<string>()
    const recipient = (to: string): Doing => {
      if (asked.has(to)) return 'accept'
      asked.add(to)
      return 451
    }
    const sending = await start({}, { connect: () => (isDown ? 421 : 'accept'), recipient })
    await sending.sendEvents(60)
    await live(sending, HOUR)
    isDown = false
    await live(sending, 20 * MINUTE)
    const { sent = 0 } = await sending.states()
    // emails that tested the server in this hour wait longer
    expect(sent).toBeWithin(50, 61)
  })

  test(
    'does not slow down events',
    async () => {
      const sending = await start({}, { connect: () => 'hang' }, { createProvider: impatient })
      await sending.sendEvents(20)
      const loop = sending.sendDue()
      const startedAt = performance.now()
      await sending.sendEvents(1_000)
      expect(performance.now() - startedAt).toBeLessThan(5_000)
      await loop
      expect(sending.server.received).toEqual([])
    },
    { timeout: 120_000, ...BEST_OF_FIVE },
  )
})

describe('a connection that breaks', () => {
  test('before the final dot: every email arrives once', async () => {
    let drops = 20
    const sending = await start({}, { recipient: () => (drops-- > 0 ? 'drop' : 'accept') })
    await sending.sendEvents(60)
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ sent: 60 })
    expect(countEach(sending)).toEqual(Array(60).fill(1))
  })

  test('after the final dot: the outcome is unknown, and the email is resent', async () => {
    const broken = new Set<string>()
    const dot = (to: string) =>
      Number(/\d+/.exec(to)?.[0]) % 10 === 0 && broken.size < 6 && !broken.has(to) ? drop(to) : 'accept'
    const drop = (to: string) => {
      broken.add(to)
      return 'drop' as const
    }
    const sending = await start({}, { dot, keepsDropped: true })
    await sending.sendEvents(60)
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ sent: 60 })
    const twice = Array.from(sending.server.counts()).filter(([, all]) => all.length > 1)
    expect(twice.map(([to]) => to).sort()).toEqual([...broken].sort())
    expect((await sending.deliveries()).filter(({ resent }) => resent)).toHaveLength(6)
  })

  test('after the final dot, without automatic resending: the email stays unknown', async () => {
    const sending = await start(
      { ifUnconfirmed: 'leave' },
      { dot: (to) => (to === 'p3@example.com' ? 'drop' : 'accept'), keepsDropped: true },
    )
    await sending.sendEvents(10)
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ sent: 9, 'unknown: econnection': 1 })
    expect(countEach(sending)).toEqual(Array(10).fill(1))
  })
})

import { describe, expect, test } from 'bun:test'
import { useClosing } from '../closing.ts'
import { createTestSender, HOUR } from '../helper.ts'
import {
  countIn,
  findLimits,
  liveInSteps,
  startHesitant,
  startWithConnections,
  startWithQuota,
  THROTTLED,
} from './limited-servers.ts'
import { startMailServer } from './mail-server.ts'
import { addApp, countEach, live, MINUTE, type Sending, startSecond, useSending } from './sending.ts'

const keep = useClosing()
const start = useSending()

/** `LIMITS=all`: as many emails as the described servers get in hours; takes minutes. */
const isAll = process.env.LIMITS === 'all'

const SECOND = 1_000

describe('a server that accepts 3 connections', () => {
  /** Answers the emails that it has, so that those after them come. */
  function gate() {
    const waiting: (() => void)[] = []
    return {
      dot: () => new Promise<'accept'>((resolve) => void waiting.push(() => resolve('accept'))),
      answer: () => waiting.splice(0).forEach((resolve) => resolve()),
      count: () => waiting.length,
    }
  }

  test('always has 3, and few more are tried', async () => {
    const { dot, answer, count } = gate()
    const sending = keep(await startWithConnections(3, { dot }))
    const emails = isAll ? 99 : 60
    await sending.sendEvents(emails)
    const running = sending.sendDue()
    while (sending.refused() < 1) await Bun.sleep(1)
    for (let left = emails; left > 0; left -= 3) {
      while (count() < 3) await Bun.sleep(1)
      answer()
    }
    await running
    expect(await sending.states()).toEqual({ sent: emails })
    expect(countEach(sending)).toEqual(Array(emails).fill(1))
    // seven of the first ten at most, then one at a time
    expect(sending.refused()).toBeWithin(1, 13)
    expect(await findLimits(sending)).toMatchObject({ connections: { most: 3 }, rate: null, closed: null })
    expect((await sending.deliveries()).every(({ attempt }) => attempt === 1)).toBe(true)
    expect(await sending.findPause()).toBe(null)
  })

  test('and later 5: they are found', async () => {
    let most = 2
    const { dot, answer, count } = gate()
    const sending = await start({}, { dot, connect: () => (sending.server.connections() <= most ? 'accept' : 421) })
    await sending.setSettings({ perSecond: 1_000 })
    const emails = 300
    await sending.sendEvents(emails)
    const running = sending.sendDue()
    while (count() < 2 || (await findLimits(sending)) === null) await Bun.sleep(1)
    expect(await findLimits(sending)).toMatchObject({ connections: { most: 2 } })
    most = 5
    let seen = 0
    while (sending.server.received.length < emails) {
      seen = Math.max(seen, count())
      answer()
      await Bun.sleep(20)
    }
    await running
    expect(seen).toBe(5)
    expect(countEach(sending)).toEqual(Array(emails).fill(1))
  })
})

test.each([
  ['as Amazon SES words it', THROTTLED],
  ['without saying why', 'as the test says'],
])('a server that accepts 14 emails a second gets nine of ten: %s', async (_, words) => {
  const sending = keep(await startWithQuota({ count: 14, periodMs: SECOND, code: 454, words }))
  const seconds = isAll ? 20 : 8
  await sending.sendEvents(14 * (seconds + 2))
  await liveInSteps(sending, seconds * SECOND, isAll ? 10 : 20)
  expect(sending.accepted.length).toBeGreaterThanOrEqual(0.9 * 14 * seconds)
  expect(sending.refused()).toBeLessThan(0.2 * sending.accepted.length)
  const states = Object.keys(await sending.states()).filter((state) => state !== 'sent')
  expect(states.filter((state) => !['waiting', 'claimed', 'deferred: server_limited'].includes(state))).toEqual([])
  expect(await findLimits(sending)).toMatchObject({ rate: { count: expect.any(Number), periodMs: 1_020 } })
  expect((await findLimits(sending))?.rate?.count).toBeWithin(12, 18)
  await liveInSteps(sending, 10 * SECOND, 20)
  expect([await sending.states(), await sending.findPause()]).toEqual([{ sent: 14 * (seconds + 2) }, null])
})

describe('a server that accepts so many emails an hour', () => {
  const [count, emails] = isAll ? [100, 1_500] : [10, 50]

  test.each([
    ['and says so', '4.7.1 Hourly limit exceeded'],
    ['without saying so', 'as the test says'],
  ])(
    'gets them each hour, %s',
    async (_, words) => {
      const sending = keep(await startWithQuota({ count, periodMs: HOUR, code: 450, words }))
      await sending.sendEvents(emails)
      await liveInSteps(sending, (emails / count + 1) * HOUR, MINUTE)
      expect(await sending.states()).toEqual({ sent: emails })
      expect(countEach(sending)).toEqual(Array(emails).fill(1))
      const hours = countIn(sending.accepted, HOUR)
      expect(Math.min(...hours.slice(0, -1))).toBeGreaterThanOrEqual(0.9 * count)
      // some tries until the hour is known, then at most a few
      expect(sending.refused()).toBeLessThan(200)
      expect(await findLimits(sending)).toMatchObject({ rate: { count: expect.any(Number) } })
    },
    120_000,
  )

  test('uses up neither tries nor the time to give up, also across restarts', async () => {
    const sending = keep(await startWithQuota({ count: 10, periodMs: HOUR, code: 450, words: 'Hourly limit exceeded' }))
    await sending.setSettings({ giveUpHours: 2 })
    await sending.sendEvents(60)
    await liveInSteps(sending, 3 * HOUR, MINUTE)
    // the next process knows nothing of it
    const next = createTestSender(sending.parts(), {
      defaults: { smtpUrl: sending.server.url, from: 'a@first.example' },
    })
    for (let minute = 0; minute < 5 * 60; minute += 1) {
      await next.sendDue()
      sending.clock.tick(MINUTE)
    }
    await next.stop()
    expect(await sending.states()).toEqual({ sent: 60 })
    expect(countEach(sending)).toEqual(Array(60).fill(1))
    expect(Math.min(...countIn(sending.accepted, HOUR).slice(0, -1))).toBeGreaterThanOrEqual(9)
  })

  test('writes next to nothing while emails wait', async () => {
    const sending = keep(await startWithQuota({ count: 10, periodMs: HOUR, code: 450, words: 'Hourly limit exceeded' }))
    await sending.sendEvents(200)
    await liveInSteps(sending, 2 * HOUR, MINUTE)
    const store = sending.store()
    const { claimDeliveries, saveLimitWaits } = store
    let writes = 0
    store.claimDeliveries = (input) => (writes++, claimDeliveries(input))
    store.saveLimitWaits = (input) => (writes++, saveLimitWaits(input))
    await liveInSteps(sending, 30 * MINUTE, SECOND)
    // one a minute about the wait, and some to send what the hour allows
    expect(writes).toBeLessThan(30 + 20)
  })
})

test('recipients that are refused at first are retried as before, and stop no one', async () => {
  const asked = new Set<string>()
  const first = (to: string) => to.startsWith('p') && Number(/\d+/.exec(to)?.[0]) % 2 === 0
  const recipient = (to: string) => (!first(to) || asked.has(to) ? 'accept' : (asked.add(to), 451))
  const sending = await start({}, { recipient, words: () => '4.7.1 Greylisting in action, please come back later' })
  await sending.sendEvents(60)
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 30, 'deferred: smtp_451': 30 })
  expect(await findLimits(sending)).toBe(null)
  await live(sending, MINUTE)
  expect(await sending.states()).toEqual({ sent: 60 })
})

/** Until all emails are in these states; at most an hour. */
async function countMinutes(sending: Sending, states: Record<string, number>): Promise<number> {
  const isDone = async () => Bun.deepEquals(await sending.states(), states)
  let minutes = 0
  for (; minutes < 60 && !(await isDone()); minutes += 1) await liveInSteps(sending, MINUTE, SECOND)
  return minutes
}

describe('a server that refuses everyone at first, for 30 seconds,', () => {
  const QUIET = { afterMs: 30 * SECOND, code: 451, words: 'Please try again later' }

  test('without saying why is found out', async () => {
    const sending = keep(await startHesitant(QUIET))
    await sending.sendEvents(100)
    await liveInSteps(sending, 12 * MINUTE, SECOND)
    expect(await sending.states()).toEqual({ sent: 100 })
    // the next ones don't wait for it
    await sending.sendEvents(160)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 100, 'deferred: smtp_451': 60 })
  })

  test.each([
    ['without saying why', QUIET, 3],
    ['as if because of a limit', { ...QUIET, words: '4.7.1 Rate limit exceeded' }, 6],
    ['with 454', { ...QUIET, code: 454 }, 6],
  ])("gets everyone's email: %s", async (_, hesitant, minutes) => {
    const sending = keep(await startHesitant(hesitant))
    // more than two claims, and all due at the same time
    await sending.sendEvents(60)
    expect(await countMinutes(sending, { sent: 60 })).toBeWithin(1, minutes + 1)
    expect(countEach(sending)).toEqual(Array(60).fill(1))
  })

  test('gets the emails of many apps of a login, and few are claimed in vain', async () => {
    const sending = keep(await startHesitant({ ...QUIET, words: '4.7.1 Rate limit exceeded' }))
    for (let app = 0; app < 20; app += 1) {
      const sendEvent = await addApp(sending, { name: `app${app}` })
      for (const person of ['p', 'q']) await sendEvent(`${person}${app}@example.com`)
    }
    const store = sending.store()
    const { claimDeliveries } = store
    let claimed = 0
    store.claimDeliveries = async (input) => {
      const found = await claimDeliveries(input)
      claimed += 'works' in found ? found.works.length : 0
      return found
    }
    await liveInSteps(sending, 8 * MINUTE, SECOND)
    expect(countEach(sending)).toEqual(Array(40).fill(1))
    expect(claimed).toBeLessThan(400)
  })
})

test('an email that is always refused as if because of a limit delays others by seconds', async () => {
  const recipient = (to: string) => (to.startsWith('p3@') ? 452 : 'accept')
  const sending = await start({}, { recipient, words: () => '4.3.1 Message exceeds the limit' })
  await sending.sendEvents(60)
  await liveInSteps(sending, 20 * SECOND, SECOND)
  expect(await sending.states()).toEqual({ sent: 59, 'deferred: server_limited': 1 })
})

test('the wait of an email for a limit counts, even if no other one waits', async () => {
  let isOpen = false
  const recipient = () => (isOpen ? 'accept' : 450)
  const sending = await start({}, { recipient, words: () => 'Hourly limit exceeded' })
  await sending.setSettings({ giveUpHours: 1 })
  await sending.sendEvents(1)
  await liveInSteps(sending, 3 * HOUR, MINUTE)
  isOpen = true
  await liveInSteps(sending, HOUR, MINUTE)
  expect(await sending.states()).toEqual({ sent: 1 })
})

test('a limit of one login slows its apps in turn, and no other login', async () => {
  const sending = keep(await startWithQuota({ count: 10, periodMs: HOUR, code: 450, words: 'Hourly limit exceeded' }))
  const sendSecond = await startSecond(sending, {})
  await sending.sendEvents(100)
  await liveInSteps(sending, MINUTE, SECOND)
  for (let person = 0; person < 20; person += 1) await sendSecond(`q${person}@example.com`)
  await liveInSteps(sending, 4 * HOUR, MINUTE)
  const countFrom = (host: string): number => sending.server.received.filter(({ from }) => from.endsWith(host)).length
  // of 30 in three hours, although the emails of the other app are older
  expect(countFrom('second.example')).toBeWithin(6, 20)
  expect(sending.server.received.length).toBeGreaterThanOrEqual(40)
  const own = await startMailServer()
  keep({ close: own.stop })
  await sending.setSettings({ smtpUrl: own.url })
  sending.clock.tick(SECOND)
  await sending.sendDue()
  expect(own.received.length).toBe(100 - countFrom('first.example'))
  expect(await findLimits(sending)).toBe(null)
})

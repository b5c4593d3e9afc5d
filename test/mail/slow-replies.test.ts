import { describe, expect, test } from 'bun:test'
import { readSmtpUrl } from '../../src/core/mail-addresses.ts'
import type { Provider } from '../../src/mail/provider.ts'
import { SIDE_BY_SIDE } from '../../src/mail/lanes.ts'
import { createSmtpProvider, SMTP_LIMITS, type SmtpLimits } from '../../src/mail/smtp.ts'
import { createTestSender } from '../helper.ts'
import { LONG_RUNNING } from '../postgres/test-databases.ts'
import { countEach, findSecondPause, live, MINUTE, type Sending, startSecond, useSending } from './sending.ts'
import { until } from '../waiting.ts'

const start = useSending()

/** Waits for the reply to the final dot are this much shorter: a minute is 1.5 s. */
const FASTER = 40
const SCALED: SmtpLimits = {
  ...SMTP_LIMITS,
  dotMs: SMTP_LIMITS.dotMs / FASTER,
  slowDotMs: SMTP_LIMITS.slowDotMs / FASTER,
}

const createScaled =
  (limits: SmtpLimits) =>
  (url: string): Provider | null => {
    const server = readSmtpUrl(url)
    return server && createSmtpProvider(server, limits)
  }
const scaled = createScaled(SCALED)

/** Answers the dots of "slow" recipients when `answer` is called. */
function unansweredDots() {
  const unanswered: (() => void)[] = []
  const dot = (to: string) =>
    to.startsWith('slow')
      ? new Promise<'accept'>((resolve) => unanswered.push(() => resolve('accept')))
      : ('accept' as const)
  return { dot, unanswered, answer: () => unanswered.splice(0).forEach((resolve) => resolve()) }
}

const sendSlow = async (sending: Sending, count: number): Promise<void> => {
  for (let number = 0; number < count; number += 1) await sending.sendEvent(`slow${number}@example.com`)
}

test('waits for replies over 61 seconds: none of 20 emails arrives twice', async () => {
  const dot = async () => {
    await Bun.sleep((61_000 + Math.random() * 40_000) / FASTER)
    return 'accept' as const
  }
  const createProvider = createScaled({ ...SCALED, answerMs: SMTP_LIMITS.answerMs / FASTER })
  const sending = await start({}, { dot }, { createProvider })
  await sending.sendEvents(20)
  await sending.sendDue()
  await until(async () => (await sending.states()).sent === 20)
  await live(sending, 30 * MINUTE)
  expect(await sending.states()).toEqual({ sent: 20 })
  expect(countEach(sending)).toEqual(Array(20).fill(1))
  expect((await sending.deliveries()).filter(({ resent }) => resent)).toEqual([])
})

test('without a reply in 10 minutes the outcome is unknown', async () => {
  const sending = await start({ ifUnconfirmed: 'leave' }, { dot: () => 'hang' }, { createProvider: scaled })
  await sending.sendEvent('ada@example.com')
  const startedAt = performance.now()
  await sending.sendDue()
  await until(async () => 'unknown: etimedout' in (await sending.states()))
  expect(performance.now() - startedAt).toBeGreaterThan(SCALED.dotMs * 0.95)
})

describe('while replies to final dots are missing', () => {
  test('other emails of the same app are sent', async () => {
    const { dot, unanswered, answer } = unansweredDots()
    const sending = await start({}, { dot }, { createProvider: scaled })
    await sendSlow(sending, SIDE_BY_SIDE + 5)
    const running = sending.sendDue()
    await until(() => unanswered.length === SIDE_BY_SIDE + 5)
    await sending.sendEvents(30)
    // the first may have ended, as nothing else was due
    const others = sending.sendDue()
    await until(() => sending.server.received.length === 30)
    await until(() => sending.sender().countHanded() === SIDE_BY_SIDE + 5)
    answer()
    await Promise.all([running, others])
    await until(async () => (await sending.states()).sent === SIDE_BY_SIDE + 35)
    expect(countEach(sending)).toEqual(Array(SIDE_BY_SIDE + 35).fill(1))
  })

  test('emails of another account at the same server are sent, without a pause', async () => {
    const { dot, unanswered, answer } = unansweredDots()
    const sending = await start({}, { dot }, { createProvider: scaled })
    const sendSecond = await startSecond(sending, { smtpUrl: sending.server.url })
    await sendSlow(sending, SIDE_BY_SIDE)
    const running = sending.sendDue()
    await until(() => unanswered.length === SIDE_BY_SIDE)
    await sendSecond('quick@example.com')
    const others = sending.sendDue()
    await until(() => sending.server.received.length === 1)
    expect([await sending.findPause(), await findSecondPause(sending)]).toEqual([null, null])
    answer()
    await Promise.all([running, others])
  })

  test('no more than 40 wait at one login', async () => {
    const { dot, unanswered, answer } = unansweredDots()
    const sending = await start({}, { dot }, { createProvider: scaled })
    const most = SIDE_BY_SIDE + SMTP_LIMITS.slowConnections
    await sendSlow(sending, most + 20)
    const running = sending.sendDue()
    await until(() => unanswered.length === most)
    await Bun.sleep(3 * SCALED.slowDotMs)
    expect([unanswered.length, sending.sender().countHanded()]).toEqual([most, most])
    while (sending.server.received.length < most + 20) {
      answer()
      await Bun.sleep(20)
    }
    await running
    await until(async () => (await sending.states()).sent === most + 20)
  })

  test('a stop waits for them, drops emails without a dot, and none arrives twice', async () => {
    const { dot, unanswered, answer } = unansweredDots()
    let isHanging = false
    const recipient = () => (isHanging ? 'hang' : 'accept')
    const sending = await start({}, { dot, recipient }, { createProvider: scaled })
    await sendSlow(sending, SIDE_BY_SIDE - 2)
    void sending.sendDue()
    await until(() => unanswered.length === SIDE_BY_SIDE - 2)
    isHanging = true
    sending.clock.tick(1)
    await sending.sendEvents(2)
    void sending.sendDue()
    await until(async () => (await sending.states()).claimed === 2)
    let isStopped = false
    const stopping = sending
      .sender()
      .stop()
      .then(() => void (isStopped = true))
    await Bun.sleep(200)
    expect(isStopped).toBe(false)
    answer()
    await stopping
    expect(await sending.states()).toEqual({ sent: SIDE_BY_SIDE - 2, claimed: 2 })
    isHanging = false
    const defaults = { smtpUrl: sending.server.url, from: 'a@first.example' }
    const next = createTestSender(sending.parts(), { claimedBy: LONG_RUNNING, defaults })
    await next.start()
    await until(async () => (await sending.states()).sent === SIDE_BY_SIDE)
    await next.stop()
    expect(countEach(sending)).toEqual(Array(SIDE_BY_SIDE).fill(1))
  })
})

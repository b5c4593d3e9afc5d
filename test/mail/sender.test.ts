/** What the sender promises with a mail server that misbehaves (messages.md, Sending). */
import { afterEach, describe, expect, test } from 'bun:test'
import { RETRY_MS } from '../../src/mail/retries.ts'
import type { SendWindow } from '../../src/store/message-types.ts'
import type { Doing } from './mail-server.ts'
import { createSmtpProvider, SMTP_LIMITS } from '../../src/mail/smtp.ts'
import { readSmtpUrl } from '../../src/core/mail-addresses.ts'
import type { Provider } from '../../src/mail/provider.ts'
import { IN_THE_AIR } from '../../src/mail/dispatch.ts'
import { createTestSender } from '../helper.ts'
import { type Sending, startSending } from './sending.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const open: Sending[] = []
afterEach(async () => {
  for (const sending of open.splice(0)) await sending.close()
})

async function start(...given: Parameters<typeof startSending>): Promise<Sending> {
  const sending = await startSending(...given)
  open.push(sending)
  return sending
}

/** A server that does not answer within a moment is given up, as it would be after a minute. */
const impatient = (url: string): Provider | null => {
  const server = readSmtpUrl(url)
  return server && createSmtpProvider(server, { ...SMTP_LIMITS, connectMs: 500, answerMs: 500, mailMs: 10_000 })
}

/** Lets time go by until a moment has come, sending what is due in each minute. */
async function live(sending: Sending, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += MINUTE) {
    sending.clock.tick(MINUTE)
    await sending.sendDue()
  }
}

const once = (sending: Sending) => Array.from(sending.server.counts().values(), (all) => all.length)

describe('an event', () => {
  test('becomes one mail to the person', async () => {
    const sending = await start()
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(sending.server.received).toMatchObject([{ from: 'hello@first.example', to: ['ada@example.com'] }])
    expect(sending.server.received[0]?.raw).toContain('https://first.example/results/1')
    expect(await sending.states()).toEqual({ sent: 1 })
    const [delivery] = await sending.deliveries()
    expect(delivery).toMatchObject({ attempt: 1, sentAt: sending.clock.now(), handedAt: sending.clock.now() })
  })

  test('comes once, in 64 at the same instant', async () => {
    const sending = await start()
    await Promise.all(Array.from({ length: 64 }, () => sending.sendEvent('ada@example.com')))
    await Promise.all([sending.sendDue(), sending.sendDue()])
    expect(sending.server.received).toHaveLength(1)
  })

  test('waits until it is due', async () => {
    const sending = await start({ wait: { minutes: 10 } })
    await sending.sendEvent('ada@example.com')
    await live(sending, 9 * MINUTE)
    expect(sending.server.received).toHaveLength(0)
    await live(sending, MINUTE)
    expect(sending.server.received).toHaveLength(1)
  })

  test.each([
    [{ headline: 'Ready' }, 'skipped: missing_value', 'event.url'],
    [{ url: 'https://first.example/' }, 'skipped: missing_value', 'event.headline'],
  ])('that lacks a value (%p) sends nothing and says so', async (properties, state, about) => {
    const sending = await start()
    await sending.sendEvent('ada@example.com', properties)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ [state]: 1 })
    const [delivery] = await sending.deliveries()
    expect(JSON.parse(delivery?.record ?? '').verdicts).toContainEqual({
      rule: 'template',
      about,
      value: 'missing',
      verdict: 'fail',
    })
  })

  test('whose url is not on the own domain is sent without that link, and says so', async () => {
    const sending = await start()
    await sending.sendEvent('ada@example.com', { headline: 'Ready', url: 'https://evil.example/' })
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 1 })
    expect(sending.server.received[0]?.raw).not.toContain('evil')
    const [delivery] = await sending.deliveries()
    expect(JSON.parse(delivery?.record ?? '').verdicts).toContainEqual({
      rule: 'link',
      about: 'https://evil.example/',
      value: false,
      verdict: 'pass',
    })
  })
})

test('without a mail server every mail is kept, and nothing leaves', async () => {
  const sending = await start({}, {}, { defaults: { smtpUrl: null, from: 'hello@first.example' } })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 1 })
  const [kept] = await sending.store().listCaptured(sending.app.id, null, 10)
  const mail = await sending.store().findCaptured(sending.app.id, kept?.deliveryId ?? 0)
  expect(mail?.raw).toContain('To: ada@example.com')
  expect(sending.server.received).toEqual([])
})

test('without a sender nothing is sent, and that is said', async () => {
  const sending = await start({}, {}, { defaults: { smtpUrl: null, from: null } })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'skipped: no_sender': 1 })
})

describe('a server that fails for ten minutes', () => {
  type Failing = { connect?: () => Doing; sender?: () => Doing; dot?: () => Doing }
  const failures: [string, Failing][] = [
    ['answers 421 at the greeting', { connect: () => 421 }],
    ['answers 454 to the sender', { sender: () => 454 }],
    ['answers 421 at the final dot', { dot: () => 421 }],
    ['drops every connection', { connect: () => 'drop' }],
    ['refuses the sender for good', { sender: () => 553 }],
  ]
  test.each(failures)(
    '%s: every mail arrives once, soon after',
    async (_, failing) => {
      let isDown = true
      const whenDown = (doing: (() => Doing) | undefined) => doing && ((): Doing => (isDown ? doing() : 'accept'))
      const behaviour = {
        connect: whenDown(failing.connect),
        sender: whenDown(failing.sender),
        dot: whenDown(failing.dot),
      }
      const sending = await start({}, behaviour, { createProvider: impatient })
      await sending.sendEvents(60)
      await sending.sendDue()
      expect(sending.sender().listPauses()).toMatchObject([{ server: expect.stringContaining('127.0.0.1:') }])
      await live(sending, 10 * MINUTE)
      expect(sending.server.received).toEqual([])
      // it was asked now and then, and not once for each mail and minute
      const attempts = (await sending.deliveries()).reduce((sum, { attempt }) => sum + attempt, 0)
      expect(attempts).toBeLessThan(60 * 10)
      isDown = false
      await live(sending, 30 * MINUTE)
      expect(await sending.states()).toEqual({ sent: 60 })
      expect(once(sending)).toEqual(Array(60).fill(1))
      expect(sending.sender().listPauses()).toEqual([])
    },
    60_000,
  )

  test('takes events as fast as ever', async () => {
    const sending = await start({}, { connect: () => 'hang' }, { createProvider: impatient })
    await sending.sendEvents(20)
    const loop = sending.sendDue()
    const startedAt = performance.now()
    await sending.sendEvents(1_000)
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    await loop
    expect(sending.server.received).toEqual([])
  }, 30_000)
})

describe('a connection that breaks', () => {
  test('before the final dot: every mail arrives once', async () => {
    let drops = 20
    const sending = await start({}, { recipient: () => (drops-- > 0 ? 'drop' : 'accept') })
    await sending.sendEvents(60)
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ sent: 60 })
    expect(once(sending)).toEqual(Array(60).fill(1))
  }, 30_000)

  test('after the final dot: nobody knows, and the mail is sent once more', async () => {
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
  }, 30_000)

  test('after the final dot, where the message leaves it to a person: it is unknown, and there is no second', async () => {
    const sending = await start(
      { ifUnconfirmed: 'leave' },
      { dot: (to) => (to === 'p3@example.com' ? 'drop' : 'accept'), keepsDropped: true },
    )
    await sending.sendEvents(10)
    await sending.sendDue()
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ sent: 9, 'unknown: econnection': 1 })
    expect(once(sending)).toEqual(Array(10).fill(1))
  }, 30_000)
})

describe('one recipient among a hundred', () => {
  test('who does not exist is not written to again; the others get theirs', async () => {
    const sending = await start({}, { recipient: (to) => (to === 'p50@example.com' ? 550 : 'accept') })
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'failed: smtp_550': 1 })
    expect(once(sending)).toEqual(Array(99).fill(1))
  })

  test('whose mailbox is full gets it later, and holds up nobody', async () => {
    let isFull = true
    const sending = await start({}, { recipient: (to) => (to === 'p50@example.com' && isFull ? 452 : 'accept') })
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'deferred: smtp_452': 1 })
    await live(sending, 30 * MINUTE)
    isFull = false
    await live(sending, 4 * HOUR)
    expect(await sending.states()).toEqual({ sent: 100 })
  }, 30_000)

  test('whose server hangs holds up nobody', async () => {
    const sending = await start(
      {},
      { recipient: (to) => (to === 'p5@example.com' ? 'hang' : 'accept') },
      { createProvider: impatient },
    )
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'deferred: etimedout': 1 })
  })
})

test('a mailbox that is not there is put on the list', async () => {
  const sending = await start({ again: { everyHours: 1 } }, { recipient: () => 550, unknownMailbox: true })
  await sending.sendEvent('gone@example.com')
  await sending.sendDue()
  expect(await sending.store().findSuppression(sending.app.id, 'gone@example.com')).toBe('bounced')
  sending.clock.tick(2 * HOUR)
  await sending.sendEvent('gone@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'failed: smtp_550': 1, 'skipped: bounced': 1 })
})

test('what cannot be sent is tried ever more rarely, and given up after 72 hours', async () => {
  const sending = await start({}, { recipient: () => 451 })
  await sending.sendEvent('ada@example.com')
  const tries: number[] = []
  while (true) {
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    if (delivery?.state === 'deferred') tries.push(sending.clock.now())
    if (delivery?.state !== 'deferred') break
    sending.clock.tick(delivery.dueAt - sending.clock.now())
  }
  const gaps = tries.slice(1).map((at, index) => at - (tries[index] ?? 0))
  expect(gaps.slice(0, 6)).toEqual(RETRY_MS)
  expect(new Set(gaps.slice(5))).toEqual(new Set([8 * HOUR]))
  expect(sending.clock.now() - (tries[0] ?? 0)).toBeWithin(64 * HOUR, 72 * HOUR)
  expect(await sending.states()).toEqual({ 'failed: smtp_451': 1 })
})

test('an app sends at its pace, and holds up no other', async () => {
  const sending = await start()
  await sending.setSettings({ perSecond: 5 })
  await sending.sendEvents(40)
  await sending.sendDue()
  const first = sending.server.received.length
  expect(first).toBeGreaterThanOrEqual(5)
  expect(first).toBeLessThanOrEqual(15)
  for (let second = 0; second < 20; second++) {
    sending.clock.tick(1_000)
    await sending.sendDue()
  }
  expect(once(sending)).toEqual(Array(40).fill(1))
})

test('to stop is to let what is in the air land, and to claim nothing more', async () => {
  const [arrived, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<'accept'>()]
  const dot = () => {
    arrived.resolve()
    return answer.promise
  }
  const sending = await start({}, { dot })
  await sending.sendEvents(100)
  const running = sending.sendDue()
  await arrived.promise
  let isStopped = false
  const stopping = sending
    .sender()
    .stop()
    .then(() => void (isStopped = true))
  await Bun.sleep(50)
  expect([isStopped, sending.server.received.length]).toEqual([false, 0])
  answer.resolve('accept')
  await Promise.all([stopping, running])
  const landed = sending.server.received.length
  expect(landed).toBeWithin(1, IN_THE_AIR + 1)
  expect((await sending.states()).sent).toBe(landed)
  // the next process takes up what this one had claimed
  const next = createTestSender(sending.parts(), { defaults: { smtpUrl: sending.server.url, from: 'a@first.example' } })
  await next.start()
  while ((await sending.states()).sent !== 100) await Bun.sleep(20)
  await next.stop()
  expect(once(sending)).toEqual(Array(100).fill(1))
}, 20_000)

test('a delivery that cannot even be read is put off, and holds up nobody', async () => {
  const faults: unknown[] = []
  const sending = await start({}, {}, { onFault: (error) => void faults.push(error) })
  await sending.sendEvents(20)
  // as no form of ours would leave it
  await sending.setSettings({ sendWindow: { days: [5], from: '09:00' } as unknown as SendWindow })
  await sending.sendDue()
  expect(faults.length).toBe(20)
  expect(await sending.states()).toEqual({ 'deferred: error': 20 })
})

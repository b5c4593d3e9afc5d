/** What the sender promises with a mail server that misbehaves (messages.md, Sending). */
import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readSmtpUrl } from '../../src/core/mail-addresses.ts'
import type { DeliveryState } from '../../src/store/message-types.ts'
import type { Provider } from '../../src/mail/provider.ts'
import { RETRY_MS } from '../../src/mail/retries.ts'
import { createSmtpProvider, SMTP_LIMITS } from '../../src/mail/smtp.ts'
import { useClosing } from '../closing.ts'
import { CONTACTS, HOUR } from '../helper.ts'
import { recordOf } from '../messaging.ts'
import type { Doing } from './mail-server.ts'
import { countEach, live, MINUTE, type Sending, startSending } from './sending.ts'

const keep = useClosing()
const start = async (...given: Parameters<typeof startSending>): Promise<Sending> => keep(await startSending(...given))

/** A server that does not answer within a moment is given up, as it would be after a minute. */
const impatient = (url: string): Provider | null => {
  const server = readSmtpUrl(url)
  return server && createSmtpProvider(server, { ...SMTP_LIMITS, connectMs: 500, answerMs: 500, mailMs: 10_000 })
}

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
      expect(sending.sender().listPauses()).toMatchObject([{ place: expect.any(String) }])
      await live(sending, 10 * MINUTE)
      expect(sending.server.received).toEqual([])
      // it was asked now and then, and not once for each mail and minute
      const attempts = (await sending.deliveries()).reduce((sum, { attempt }) => sum + attempt, 0)
      expect(attempts).toBeLessThan(60 * 10)
      isDown = false
      await live(sending, 30 * MINUTE)
      expect(await sending.states()).toEqual({ sent: 60 })
      expect(countEach(sending)).toEqual(Array(60).fill(1))
      expect(sending.sender().listPauses()).toEqual([])
    },
    60_000,
  )

  test('uses up none of the waits of mails that are asked to come again', async () => {
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
    // those by which the server was tried in this hour wait longer
    expect(sent).toBeWithin(50, 61)
  }, 60_000)

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
    expect(countEach(sending)).toEqual(Array(60).fill(1))
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
    expect(countEach(sending)).toEqual(Array(10).fill(1))
  }, 30_000)
})

describe('one recipient among a hundred', () => {
  test('who does not exist is not written to again; the others get theirs', async () => {
    const sending = await start({}, { recipient: (to) => (to === 'p50@example.com' ? 550 : 'accept') })
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'failed: smtp_550': 1 })
    expect(countEach(sending)).toEqual(Array(99).fill(1))
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

  test('whose mailbox is full is asked ever more rarely, also from one morning to the next', async () => {
    const tries: number[] = []
    let now = (): number => 0
    const sending = await start({}, { recipient: () => (tries.push(now()), 452) })
    now = sending.clock.now
    const noon = sending.clock.now()
    await sending.setSettings({ sendWindow: { days: [0, 1, 2, 3, 4, 5, 6], from: '11:00', until: '14:00' } })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    await live(sending, 30 * HOUR)
    const [first, second] = [tries.filter((at) => at < noon + 12 * HOUR), tries.filter((at) => at > noon + 12 * HOUR)]
    expect(first.map((at) => Math.round((at - noon) / MINUTE))).toEqual([0, 1, 6, 21, 81])
    // the next wait is of four hours, and then of eight: none ends in this morning's hours
    expect(second).toHaveLength(1)
  }, 60_000)

  test('whose server hangs holds up nobody', async () => {
    const sending = await start(
      {},
      { recipient: (to) => (to === 'p5@example.com' ? 'hang' : 'accept') },
      { createProvider: impatient },
    )
    await sending.sendEvents(100)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 99, 'deferred: etimedout': 1 })
  }, 30_000)
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

test('a mailbox that is not there gets on the list although the disk was full', async () => {
  const sending = await start({}, { recipient: () => 550, unknownMailbox: true })
  await sending.sendEvent('gone@example.com')
  const store = sending.store()
  const { suppress } = store
  let refused = 0
  store.suppress = async (input) => (refused++ === 0 ? { refusal: 'unavailable' } : suppress(input))
  await sending.sendDue()
  expect([refused, await store.findSuppression(sending.app.id, 'gone@example.com')]).toEqual([2, 'bounced'])
  expect(await sending.states()).toEqual({ 'failed: smtp_550': 1 })
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
  expect(gaps.slice(0, 5)).toEqual(RETRY_MS)
  expect(new Set(gaps.slice(5))).toEqual(new Set([8 * HOUR]))
  expect(sending.clock.now() - (tries[0] ?? 0)).toBeWithin(64 * HOUR, 72 * HOUR)
  expect(await sending.states()).toEqual({ 'failed: smtp_451': 1 })
})

describe('what the rules said stays known', () => {
  test.each<[string, Parameters<typeof startSending>, DeliveryState, number]>([
    ['who was refused for good', [{}, { recipient: () => 550 }], 'failed', 1],
    ['what the server asked for later', [{}, { recipient: () => 451 }], 'deferred', 1],
    ['what was given up after its last try', [{}, { recipient: () => 451 }], 'failed', 4],
    ['what may have arrived', [{ ifUnconfirmed: 'leave' }, { dot: () => 'drop', keepsDropped: true }], 'unknown', 1],
  ])('of %s', async (_, given, state, tries) => {
    const sending = await start(...given)
    await sending.setSettings({ giveUpHours: 1 })
    await sending.sendEvent('ada@example.com')
    for (let tried = 0; tried < tries; tried += 1) {
      await sending.sendDue()
      sending.clock.tick(20 * MINUTE)
    }
    const [delivery] = await sending.deliveries()
    expect(delivery?.state).toBe(state)
    expect(delivery && recordOf(delivery).verdicts.map(({ rule }) => rule)).toEqual(['wish', 'message'])
  })
})

/** Read by another process: to close a file of the database here would drop the locks on it. */
const readFiles = (folder: string): string =>
  Bun.spawnSync(['cat', ...readdirSync(folder).map((file) => join(folder, file))]).stdout.toString('latin1')

describe('what the mail server said', () => {
  const said = async ({ deliveries }: Sending): Promise<string | undefined> => {
    const [delivery] = await deliveries()
    return delivery && recordOf(delivery).said
  }
  /** A server that does as it is told, and says so. */
  const startSaying = async (first: Doing) => {
    const next: { does: Doing; says: string } = { does: first, says: '5.7.1 Not you, ada@example.com' }
    const defaults = { smtpUrl: null, from: 'hello@first.example' }
    const sending = await start({}, { recipient: () => next.does, words: () => next.says }, { defaults })
    await sending.setSettings({ smtpUrl: sending.server.url })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    return { sending, next }
  }

  test('for good is kept with the delivery', async () => {
    const { sending } = await startSaying(550)
    expect(await said(sending)).toBe('550 5.7.1 Not you, ada@example.com')
  })

  test('is there while it waits, replaced by what it says next, and gone once it is sent', async () => {
    const { sending, next } = await startSaying(450)
    expect(await said(sending)).toBe('450 5.7.1 Not you, ada@example.com')
    next.says = 'Come again'
    await live(sending, MINUTE)
    expect(await said(sending)).toBe('450 Come again')
    next.does = 'drop'
    await live(sending, 5 * MINUTE)
    expect([await sending.states(), await said(sending)]).toEqual([{ 'deferred: econnection': 1 }, undefined])
    next.does = 451
    await live(sending, 15 * MINUTE)
    expect(await said(sending)).toBe('451 Come again')
    next.does = 'accept'
    await live(sending, 4 * HOUR)
    expect([await sending.states(), await said(sending)]).toEqual([{ sent: 1 }, undefined])
  })

  test('is still there where something else puts it off, and gone where the mail is kept', async () => {
    const { sending } = await startSaying(450)
    await sending.setSettings({ sendWindow: { days: [0, 1, 2, 3, 4, 5, 6], from: '03:00', until: '04:00' } })
    await live(sending, MINUTE)
    expect([await sending.states(), await said(sending)]).toEqual([
      { 'deferred: window': 1 },
      '450 5.7.1 Not you, ada@example.com',
    ])
    await sending.setSettings({ sendWindow: null, smtpUrl: null })
    await live(sending, 16 * HOUR)
    expect([await sending.states(), await said(sending)]).toEqual([{ kept: 1 }, undefined])
  })

  test('is still there while the server is left alone', async () => {
    const { sending, next } = await startSaying(450)
    next.does = 421
    await sending.sendEvent('bob@example.com')
    await sending.sendDue()
    // both are due, and only one of them tries the server
    await live(sending, MINUTE)
    const other = (await sending.deliveries()).find(({ reason }) => reason === 'server_paused')
    expect(other && recordOf(other).said).toMatch(/^4(50|21) 5.7.1 Not you/)
  })

  test('is not held once the person is erased', async () => {
    const { sending } = await startSaying(550)
    expect(readFiles(sending.folder)).toContain('Not you, ada@example.com')
    const body = { newsletter: sending.app.publicId, email: 'ada@example.com' }
    expect((await sending.call('DELETE', CONTACTS, { body })).status).toBe(200)
    await sending.store().whenBlanked()
    expect(await sending.deliveries()).toEqual([])
    expect(readFiles(sending.folder)).not.toContain('Not you')
  })
})

import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import type { Provider } from '../../src/mail/provider.ts'
import { PER_SECOND } from '../../src/deliveries/pace.ts'
import { CLAIMED, createRate, SIDE_BY_SIDE } from '../../src/mail/lanes.ts'
import { useClosing } from '../closing.ts'
import { inTurns } from '../helper.ts'
import { startMailServer } from './mail-server.ts'
import {
  addApp,
  AT_ONCE,
  countEach,
  live,
  MINUTE,
  findSecondPause,
  type Sending,
  startSecond,
  startSending,
} from './sending.ts'
import { isOnPostgres } from '../postgres/test-databases.ts'
import { comesTrue } from '../waiting.ts'
import { isLong } from '../long-form.ts'

const keep = useClosing()
const start = async (...given: Parameters<typeof startSending>): Promise<Sending> => keep(await startSending(...given))

const SLOW = 'smtp://slow.example'
const QUICK = 'smtp://quick.example'

/** Slow servers answer when `answer` is called. */
async function startServers() {
  const sent: string[] = []
  const waiting: (() => void)[] = []
  let [isSlow, most] = [true, 0]
  const createProvider = (url: string): Provider => ({
    send: async ({ to }, handOver) => {
      if (isSlow && url.includes('slow'))
        await new Promise<void>((resolve) => (most = Math.max(most, waiting.push(resolve))))
      if (!(await handOver())) return { is: 'withheld' }
      sent.push(to)
      return { is: 'sent' }
    },
    close: () => {},
  })
  const sending = await startSending({}, {}, { createProvider })
  const answer = (): void => waiting.splice(0).forEach((resolve) => resolve())
  const end = (): void => {
    isSlow = false
    answer()
  }
  keep({
    close: async () => {
      end()
      await sending.close()
    },
  })
  await sending.setSettings({ smtpUrl: SLOW, perSecond: 1_000 })
  return { sending, sent, answer, end, waiting: () => waiting.length, most: () => most }
}

type Added = { name: string; mails: number; smtpUrl?: string }

/** More writes at once wait too long on a busy machine, and are refused. */
const APPS_AT_ONCE = 20

/** In the first account, with its own or another slow server. */
async function addSlowApp(
  sending: Sending,
  { name, mails, smtpUrl = `smtp://slow-${name}.example` }: Added,
): Promise<void> {
  const sendEvent = await addApp(sending, { name, settings: { smtpUrl } })
  await inTurns(mails, (index) => sendEvent(`p${index}@example.com`), AT_ONCE)
}

test('a slow mail server of one account does not delay another', async () => {
  const { sending, sent, end, most } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  // far more than are claimed at once
  const mails = isLong ? 300 : 80
  await sending.sendEvents(mails)
  sending.clock.tick(1)
  await sendSecond('before@example.com')
  const running = sending.sendDue()
  expect(await comesTrue(() => sent.length === 1)).toBe(true)
  // nor does what is queued meanwhile
  await sendSecond('after@example.com')
  expect(await comesTrue(() => sent.length === 2)).toBe(true)
  expect(sent).toEqual(['before@example.com', 'after@example.com'])
  end()
  await running
  expect([sent.length, most()]).toEqual([mails + 2, SIDE_BY_SIDE])
})

/** Of eight. The test's server answers at once, so on PostgreSQL more are sent before the next ones are claimed. */
const WAVES = isOnPostgres ? 6 : 4

test('at a shared server, an email waits for a few of another account, not for all', async () => {
  const { sending, sent, answer, end, waiting } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: SLOW })
  await sending.sendEvents(80)
  sending.clock.tick(1)
  await sendSecond('one@example.com')
  const running = sending.sendDue()
  for (let wave = 0; wave < WAVES; wave += 1) {
    expect(await comesTrue(() => waiting() === SIDE_BY_SIDE)).toBe(true)
    answer()
  }
  expect(await comesTrue(() => sent.includes('one@example.com'))).toBe(true)
  expect(sent.length).toBeLessThanOrEqual(WAVES * SIDE_BY_SIDE)
  end()
  await running
  expect(sent.length).toBe(81)
})

const MAILS = isLong ? 30 : 8

test('claims stay limited, however many apps are slow', async () => {
  const { sending, sent, end } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  await sending.sendEvents(60)
  await inTurns(29, (index) => addSlowApp(sending, { name: `a${index}`, mails: MAILS }), AT_ONCE)
  sending.clock.tick(1)
  await sendSecond('one@example.com')
  const running = sending.sendDue()
  // no slow one ends before the test ends it
  expect(await comesTrue(() => sent.length === 1)).toBe(true)
  const { claimed = 0 } = await countStates(sending)
  expect(claimed).toBeWithin(CLAIMED / 2, CLAIMED)
  end()
  await running
  expect(sent.length).toBe(60 + 29 * MAILS + 1)
})

test('a slow login does not delay another one, however many apps wait', async () => {
  const { sending, sent, end, waiting, most } = await startServers()
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  const apps = CLAIMED + 20
  await inTurns(apps, (index) => addSlowApp(sending, { name: `a${index}`, mails: 1, smtpUrl: SLOW }), APPS_AT_ONCE)
  sending.clock.tick(1)
  await sendSecond('before@example.com')
  const running = sending.sendDue()
  // no slow one ends before the test ends it
  expect(await comesTrue(() => sent.length === 1)).toBe(true)
  expect(await comesTrue(() => waiting() === SIDE_BY_SIDE)).toBe(true)
  await sendSecond('after@example.com')
  expect(await comesTrue(() => sent.length === 2)).toBe(true)
  expect(sent).toEqual(['before@example.com', 'after@example.com'])
  const { claimed = 0 } = await countStates(sending)
  expect(claimed).toBeWithin(SIDE_BY_SIDE, CLAIMED * 0.75)
  end()
  await running
  expect([sent.length, most()]).toEqual([apps + 2, SIDE_BY_SIDE])
})

test('an app that waits for its rate does not delay another', async () => {
  const { sending, sent, end } = await startServers()
  end()
  await sending.setSettings({ perSecond: 1 })
  await sending.sendEvents(30)
  await sending.sender().start()
  expect(await comesTrue(() => sent.length === 1)).toBe(true)
  const sendSecond = await startSecond(sending, { smtpUrl: QUICK })
  await sendSecond('one@example.com')
  expect(await comesTrue(() => sent.length === 2)).toBe(true)
  expect(sent.at(-1)).toBe('one@example.com')
})

test('an email whose lease is too short to send is claimed again', async () => {
  const { sending, sent, answer, end, waiting } = await startServers()
  await sending.sendEvents(18)
  const running = sending.sendDue()
  expect(await comesTrue(() => waiting() === SIDE_BY_SIDE)).toBe(true)
  sending.clock.tick(4 * MINUTE)
  answer()
  await running
  expect(await sending.states()).toEqual({ sent: SIDE_BY_SIDE, claimed: 8 })
  end()
  await live(sending, MINUTE)
  expect([await sending.states(), new Set(sent).size, sent.length]).toEqual([{ sent: 18 }, 18, 18])
})

test('waits for its turn without polling the store', async () => {
  const { sending, end, waiting } = await startServers()
  await sending.sendEvents(60)
  const store = sending.store()
  const { listDueApps } = store
  let asked = 0
  store.listDueApps = (input) => {
    asked += 1
    return listDueApps(input)
  }
  const running = sending.sendDue()
  expect(await comesTrue(() => waiting() === SIDE_BY_SIDE)).toBe(true)
  await Bun.sleep(300)
  expect(asked).toBeLessThanOrEqual(5)
  end()
  await running
  expect(await sending.states()).toEqual({ sent: 60 })
})

test('an email whose result is being saved leaves its turn to the next', async () => {
  const { sending, sent, end } = await startServers()
  end()
  await sending.sendEvents(SIDE_BY_SIDE + 5)
  const store = sending.store()
  const { markSent } = store
  const saving = Promise.withResolvers<void>()
  store.markSent = async (claim) => {
    await saving.promise
    return markSent(claim)
  }
  const running = sending.sendDue()
  expect(await comesTrue(() => sent.length === SIDE_BY_SIDE + 5)).toBe(true)
  expect(await sending.states()).toEqual({ handed: SIDE_BY_SIDE + 5 })
  saving.resolve()
  await running
  expect(await sending.states()).toEqual({ sent: SIDE_BY_SIDE + 5 })
})

async function countStates({ store, first }: Sending): Promise<Record<string, number>> {
  const apps = await store().listApps(first.accountId)
  const query = { messageId: null, contactId: null, states: null, before: null, limit: 10_000 }
  const rows = (await Promise.all(apps.map(({ id }) => store().listDeliveries({ ...query, appId: id })))).flat()
  return Object.fromEntries(
    Array.from(
      Map.groupBy(rows, ({ state }) => state),
      ([state, all]) => [state, all.length],
    ),
  )
}

test('a claimed email that waited uses the settings stored when it starts', async () => {
  const { sending, sent, end, waiting } = await startServers()
  await sending.sendEvents(15)
  const going = sending.sendDue()
  expect(await comesTrue(() => waiting() === SIDE_BY_SIDE)).toBe(true)
  const by = { accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() }
  const message = await sending.store().findMessageByName(sending.app.id, 'Results ready')
  await sending.store().setMessageStatus({ ...by, id: message?.id ?? 0, status: 'paused' })
  end()
  await going
  expect(await sending.states()).toEqual({ 'skipped: message_paused': 15 })
  expect(sent).toEqual([])
})

const PLEA = { reason: 'smtp_421', until: expect.any(Number), isOwn: false, isAsked: true }

/** One app's server failed for a quarter of an hour, so its pauses are longest; the other works. */
async function startFailing() {
  const sending = await start({}, { connect: () => 421 })
  const good = await startMailServer()
  keep({ close: good.stop })
  await sending.sendEvents(20)
  await sending.sendDue()
  await live(sending, 15 * MINUTE)
  expect([sending.server.received, await sending.findPause()]).toEqual([[], PLEA])
  return { sending, good }
}

test('an app that leaves a failing mail server sends within a second', async () => {
  const { sending, good } = await startFailing()
  await sending.setSettings({ smtpUrl: good.url })
  await sending.sendEvent('new@example.com')
  sending.clock.tick(1_000)
  await sending.sendDue()
  expect(good.counts().has('new@example.com')).toBe(true)
})

test('then sends once what the old server did not accept', async () => {
  const { sending, good } = await startFailing()
  await sending.setSettings({ smtpUrl: good.url })
  sending.clock.tick(1_000)
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 20 })
  expect(countEach({ ...sending, server: good })).toEqual(Array(20).fill(1))
})

test('other settings do not restart the tries of an app that stays', async () => {
  const { sending } = await startFailing()
  const before = await sending.deliveries()
  await sending.setSettings({ perSecond: 7, fromEmail: 'other@first.example' })
  sending.clock.tick(1_000)
  await sending.sendDue()
  expect(await sending.deliveries()).toEqual(before)
})

const { privateKey: DKIM_KEY } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

test.each(['drop', 454, 421] as const)('an app to whose sender the server says %p keeps nobody out', async (doing) => {
  const isFirst = (from: string): boolean => from.endsWith('first.example')
  const sending = await start({}, { sender: (from) => (isFirst(from) ? doing : 'accept') })
  // signing takes longer, so it comes after the others in its turn
  const dkim = { dkimDomain: 'second.example', dkimSelector: 'k', dkimKey: DKIM_KEY }
  const sendSecond = await startSecond(sending, dkim)
  await sending.sendEvents(100)
  await sending.sendDue()
  await sendSecond('cy@example.com')
  for (let pause = 0; pause < 3; pause += 1) {
    sending.clock.tick(5 * MINUTE)
    await sending.sendDue()
  }
  expect(sending.server.received.map(({ to }) => to)).toEqual([['cy@example.com']])
})

test('a server that refuses the login is detected once for all its apps, and tried by one email', async () => {
  let [asked, isDown] = [0, true]
  const sending = await start({}, { connect: () => (isDown ? (asked++, 421) : 'accept') })
  const sendSecond = await startSecond(sending, {})
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  await sendSecond('cy@example.com')
  await sending.sendDue()
  expect([asked, await sending.findPause(), await findSecondPause(sending)]).toEqual([1, PLEA, PLEA])
  sending.clock.tick(15_000)
  await sending.sendDue()
  expect(asked).toBe(2)
  isDown = false
  await live(sending, 2 * MINUTE)
  expect(countEach(sending)).toEqual([1, 1])
  expect([await sending.findPause(), await findSecondPause(sending)]).toEqual([null, null])
})

test('an app whose emails never reach the server does not keep the turn', async () => {
  let [isDown, claimed, claimedBefore] = [true, 0, Infinity]
  const dot = () => {
    claimedBefore = Math.min(claimedBefore, claimed)
    return 'accept' as const
  }
  const sending = await start({}, { connect: () => (isDown ? 421 : 'accept'), dot })
  await sending.setSettings({ perSecond: 1_000, dkimDomain: 'first.example', dkimSelector: 'k', dkimKey: 'broken' })
  const sendSecond = await startSecond(sending, {})
  await sendSecond('cy@example.com')
  await sending.sendDue()
  expect(await sending.findPause()).toEqual(PLEA)
  isDown = false
  const mails = isLong ? 500 : 200
  await sending.sendEvents(mails)
  sending.clock.tick(MINUTE)
  const store = sending.store()
  const { claimDeliveries } = store
  store.claimDeliveries = async (input) => {
    const outcome = await claimDeliveries(input)
    claimed += 'works' in outcome ? outcome.works.length : 0
    return outcome
  }
  await sending.sendDue()
  expect(sending.server.received.map(({ to }) => to)).toEqual([['cy@example.com']])
  // most of the others still waited
  expect(claimedBefore).toBeLessThan(mails / 2)
})

test('a clock set back does not extend a pause', async () => {
  let isDown = true
  const sending = await start({}, { connect: () => (isDown ? 421 : 'accept') })
  await sending.sendEvents(1)
  await sending.sendDue()
  isDown = false
  sending.clock.wallMs -= 24 * 60 * MINUTE
  await sending.sendEvent('new@example.com')
  await live(sending, MINUTE)
  expect(sending.server.received.map(({ to }) => to)).toEqual([['new@example.com']])
})

test.each(['drop', 454, 421] as const)(
  'a server that says %p to one app and takes the mails of another is soon paused for the one only',
  async (doing) => {
    const sending = await start({}, { sender: (from) => (from.endsWith('first.example') ? doing : 'accept') })
    const sendSecond = await startSecond(sending, {})
    const mails = isLong ? 100 : 40
    await sending.sendEvents(mails)
    await inTurns(mails, (person) => sendSecond(`q${person}@example.com`), AT_ONCE)
    await sending.sendDue()
    for (let waited = 0; waited < 5 * MINUTE; waited += 5_000) {
      sending.clock.tick(5_000)
      await sending.sendDue()
    }
    expect([sending.server.received.length, new Set(countEach(sending))]).toEqual([mails, new Set([1])])
    expect((await sending.findPause())?.isOwn).toBe(true)
    expect(await findSecondPause(sending)).toBe(null)
  },
)

describe('the rate of an app', () => {
  const startRate = (perSecond: number | null) => {
    const clock = { ms: 0, monotonicMs: () => clock.ms }
    return { clock, rate: createRate(clock, perSecond) }
  }

  test('allows 100 at once, then 100 a second', () => {
    const { clock, rate } = startRate(null)
    expect(PER_SECOND).toBe(100)
    for (let mail = 0; mail < 100; mail++) rate.spend()
    expect(rate.waitMs()).toBe(10)
    clock.ms += 10
    expect(rate.waitMs()).toBe(0)
    let sent = 0
    for (let ms = 0; ms < 10_000; ms++) {
      clock.ms += 1
      if (rate.waitMs() > 0) continue
      rate.spend()
      sent += 1
    }
    expect(sent).toBeWithin(990, 1_010)
  })

  test('waits for the overdraft', () => {
    const { clock, rate } = startRate(2)
    for (let mail = 0; mail < 12; mail++) rate.spend()
    expect(rate.waitMs()).toBe(5_500)
    clock.ms += 5_500
    expect(rate.waitMs()).toBe(0)
  })

  test('saves up nothing, and follows the setting', () => {
    const { clock, rate } = startRate(5)
    for (let mail = 0; mail < 5; mail++) rate.spend()
    expect(rate.waitMs()).toBe(200)
    clock.ms += 3_600_000
    for (let mail = 0; mail < 5; mail++) rate.spend()
    expect(rate.waitMs()).toBe(200)
    rate.change(1)
    expect(rate.waitMs()).toBe(1_000)
    clock.ms += 60_000
    rate.spend()
    expect(rate.waitMs()).toBe(1_000)
  })
})

/** Which apps wait for a mail server that is left alone, and which do no longer. */
import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { useClosing } from '../closing.ts'
import { startMailServer } from './mail-server.ts'
import { countEach, live, MINUTE, type Sending, startSecond, startSending } from './sending.ts'

const keep = useClosing()
const start = async (...given: Parameters<typeof startSending>): Promise<Sending> => keep(await startSending(...given))

/** An app whose mail server failed for a quarter of an hour, so that its pauses are the longest, and one that works. */
async function startFailing() {
  const sending = await start({}, { connect: () => 421 })
  const good = await startMailServer()
  keep({ close: good.stop })
  await sending.sendEvents(20)
  await sending.sendDue()
  await live(sending, 15 * MINUTE)
  expect([sending.server.received, sending.sender().listPauses().length]).toEqual([[], 1])
  return { sending, good }
}

test('an app that has left a failing mail server sends within a second', async () => {
  const { sending, good } = await startFailing()
  await sending.setSettings({ smtpUrl: good.url })
  await sending.sendEvent('new@example.com')
  sending.clock.tick(1_000)
  await sending.sendDue()
  expect(good.counts().has('new@example.com')).toBe(true)
})

test('what the old server did not take goes then too, each once', async () => {
  const { sending, good } = await startFailing()
  await sending.setSettings({ smtpUrl: good.url })
  sending.clock.tick(1_000)
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 20 })
  expect(countEach({ ...sending, server: good })).toEqual(Array(20).fill(1))
})

test('an app that stays is not tried for what else it sets', async () => {
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

test.each(['drop', 454, 421] as const)(
  'an app to whose sender the server says %p keeps nobody out: after each pause the next app tries',
  async (doing) => {
    const isFirst = (from: string): boolean => from.endsWith('first.example')
    const sending = await start({}, { sender: (from) => (isFirst(from) ? doing : 'accept') })
    // it takes longer to write, and comes after the others though it is its turn
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
  },
)

test('an app whose mails never get as far as the server does not keep the turn', async () => {
  let isDown = true
  const sending = await start({}, { connect: () => (isDown ? 421 : 'accept') })
  await sending.setSettings({ perSecond: 1_000, dkimDomain: 'first.example', dkimSelector: 'k', dkimKey: 'broken' })
  const sendSecond = await startSecond(sending, {})
  await sendSecond('cy@example.com')
  await sending.sendDue()
  expect(sending.sender().listPauses()).toHaveLength(1)
  isDown = false
  await sending.sendEvents(500)
  sending.clock.tick(MINUTE)
  const running = sending.sendDue()
  while (sending.server.received.length === 0) await Bun.sleep(5)
  // most of the others wait still
  expect((await sending.deliveries()).filter(({ state }) => state === 'waiting').length).toBeGreaterThan(250)
  await running
})

test('a clock that is set back makes no pause longer', async () => {
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
  'a server that says %p to one app and takes the mails of another is soon left alone by the one only',
  async (doing) => {
    const sending = await start({}, { sender: (from) => (from.endsWith('first.example') ? doing : 'accept') })
    const sendSecond = await startSecond(sending, {})
    await sending.sendEvents(100)
    for (let person = 0; person < 100; person += 1) await sendSecond(`q${person}@example.com`)
    await sending.sendDue()
    for (let waited = 0; waited < 5 * MINUTE; waited += 5_000) {
      sending.clock.tick(5_000)
      await sending.sendDue()
    }
    expect([sending.server.received.length, new Set(countEach(sending))]).toEqual([100, new Set([1])])
    const paused = sending.sender().listPauses()
    expect(paused.filter(({ until }) => until > sending.clock.now()).map(({ place }) => place)).toEqual([
      'login 0, app 1 as hello@first.example',
    ])
  },
  20_000,
)

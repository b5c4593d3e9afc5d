import { describe, expect, test } from 'bun:test'
import type { SMTPServerOptions } from 'smtp-server'
import { SIDE_BY_SIDE } from '../../src/mail/lanes.ts'
import { createTemplateWorker } from '../../src/messages/template-worker.ts'
import { Unavailable } from '../../src/store/engine/errors.ts'
import type { Again, SendWindow } from '../../src/store/message-types.ts'
import { useClosing } from '../closing.ts'
import { createTestSender, EVENTS } from '../helper.ts'
import { LONG_RUNNING } from '../postgres/test-databases.ts'
import { startMailServer } from './mail-server.ts'
import { readMail } from './reading.ts'
import {
  CONTENT,
  countEach,
  live,
  MINUTE,
  findSecondPause,
  startSecond,
  useSending,
  useSharedSending,
} from './sending.ts'

const keep = useClosing()
const start = useSharedSending()
/** For tests with the second account. */
const startAlone = useSending()

describe('an event', () => {
  test('becomes one email to the person', async () => {
    const sending = await start()
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(sending.server.received).toMatchObject([{ from: 'hello@first.example', to: ['ada@example.com'] }])
    expect(sending.server.received[0]?.raw).toContain('https://first.example/results/1')
    expect(await sending.states()).toEqual({ sent: 1 })
    const [delivery] = await sending.deliveries()
    expect(delivery).toMatchObject({ attempt: 1, sentAt: sending.clock.now(), handedAt: sending.clock.now() })
  })

  test('sends one email for 64 simultaneous copies', async () => {
    const sending = await start()
    await Promise.all(Array.from({ length: 64 }, () => sending.sendEvent('ada@example.com')))
    await Promise.all([sending.sendDue(), sending.sendDue()])
    expect(sending.server.received).toHaveLength(1)
  })

  test('waits while the clock is off', async () => {
    const sending = await start()
    let isOff = true
    sending.store().isClockOff = () => isOff
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ waiting: 1 })
    isOff = false
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 1 })
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
  ])('without a value (%p) sends nothing and says so', async (properties, state, about) => {
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

  describe.each([
    ['a further event', [{ headline: 'A' }, {}, { headline: 'C' }]],
    ['the first event', [{}, { headline: 'A' }, { headline: 'C' }]],
  ])('%s of an email that lists several', (_, events) => {
    test('lacks a value, so only the others are sent', async () => {
      const body = '{% for event in events %}{{ event.headline }}\n{% endfor %}'
      const again: Again = { once: 'property', property: 'n', collect: { minutes: 30 } }
      const sending = await start({ wait: { minutes: 10 }, again, mail: { subject: 'Ready', body } })
      for (const [n, one] of events.entries()) await sending.sendEvent('ada@example.com', { n, ...one })
      await live(sending, 10 * MINUTE)
      expect(await sending.states()).toEqual({ 'skipped: missing_value': 1, sent: 1, joined: 1 })
      const skipped = (await sending.deliveries()).find(({ state }) => state === 'skipped')
      const verdict = { rule: 'template', about: 'event.headline', value: 'missing', verdict: 'fail' }
      expect(JSON.parse(skipped?.record ?? '').verdicts).toContainEqual(verdict)
      expect(readMail(sending.server.received[0]?.raw ?? '').parts[0]?.text).toMatch(/A\s+C/)
    })
  })

  test('without a value, like all others of its email, sends nothing', async () => {
    const again: Again = { once: 'property', property: 'n', collect: { minutes: 30 } }
    const sending = await start({ wait: { minutes: 10 }, again, mail: { subject: '{{ event.headline }}', body: 'Hi' } })
    for (const n of [1, 2, 3]) await sending.sendEvent('ada@example.com', { n })
    await live(sending, 10 * MINUTE)
    expect(await sending.states()).toEqual({ 'skipped: missing_value': 3 })
  })

  test('whose email has no text sends nothing and says so', async () => {
    const sending = await start({
      mail: { subject: 'Ready', body: '{% if event.score %}{{ event.score }}{% endif %}' },
    })
    await sending.sendEvent('ada@example.com')
    await sending.sendEvent('bob@example.com', { score: 3 })
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'skipped: empty_mail': 1, sent: 1 })
    const [, delivery] = await sending.deliveries()
    const verdict = { rule: 'template', about: 'body', value: 'empty', verdict: 'fail' }
    expect(JSON.parse(delivery?.record ?? '').verdicts).toContainEqual(verdict)
  })

  test('with a foreign URL is sent without that link, and says so', async () => {
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

describe('an email links to what the answer to its event announced', () => {
  test.each<[string, string | undefined, string]>([
    ['https://first.example/1', undefined, 'https://first.example/1'],
    [' https://first.example/2\n', 'url_trimmed', 'https://first.example/2'],
    // replaced by the app's home page
    ['https://first.example/a b', 'url_not_linkable', 'https://first.example'],
    ['https://elsewhere.example/4', 'url_not_linkable', 'https://first.example'],
  ])('%j', async (url, code, link) => {
    const sending = await start()
    const event = { app: sending.app.publicId, email: 'ada@example.com', event: 'results_ready', createContact: true }
    const properties = { headline: 'Ready.', url }
    const { body } = await sending.call('POST', EVENTS, { body: { ...event, properties } })
    expect(body.warnings?.map((warning) => warning.code)).toEqual(code === undefined ? undefined : [code])
    await sending.sendDue()
    const html = readMail(sending.server.received[0]?.raw ?? '').parts.find(({ type }) => type.includes('html'))?.text
    expect(html).toContain('See your results')
    expect(/href="([^"]*)"[^>]*>See your results/.exec(html ?? '')?.[1]).toBe(link)
  })
})

test('without a mail server every email is captured, and none is sent', async () => {
  const sending = await start({}, {}, { defaults: { smtpUrl: null, from: 'hello@first.example' } })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ kept: 1 })
  const [kept] = await sending.store().listCaptured(sending.app.id, null, 10)
  const mail = await sending.store().findCaptured(sending.app.id, kept?.deliveryId ?? 0)
  expect(mail?.raw).toContain('To: ada@example.com')
  expect(mail?.content).toMatchObject({ to: 'ada@example.com', from: expect.stringContaining('hello@first.example') })
  expect(sending.server.received).toEqual([])
})

test('without a sender nothing is sent, and the reason is shown', async () => {
  const sending = await start({}, {}, { defaults: { smtpUrl: null, from: null } })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ 'skipped: no_sender': 1 })
})

test('an app sends at its rate and does not delay another', async () => {
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
  expect(countEach(sending)).toEqual(Array(40).fill(1))
})

test('an account with a refused password does not delay another at the same server', async () => {
  const onAuth: SMTPServerOptions['onAuth'] = ({ username, password }, _, done) =>
    password === 'right' ? done(null, { user: username }) : done(Object.assign(new Error('no'), { responseCode: 535 }))
  const shared = await startMailServer({}, { authOptional: false, disabledCommands: [], onAuth })
  keep({ close: shared.stop })
  const urlOf = (login: string) => `smtp://${login}@127.0.0.1:${shared.port}`
  const sending = await startAlone()
  await sending.setSettings({ smtpUrl: urlOf('anna:wrong') })
  const sendSecond = await startSecond(sending, { smtpUrl: urlOf('bert:right') })
  await sending.sendEvents(20)
  await sending.sendDue()
  expect(await sending.findPause()).toMatchObject({ reason: 'smtp_535', isOwn: false })
  await sendSecond('cy@example.com')
  await sending.sendDue()
  expect(shared.received.map(({ to }) => to)).toEqual([['cy@example.com']])
  expect(await findSecondPause(sending)).toBe(null)
})

describe('a refused setting of one app does not delay another with the same login', () => {
  const WRONG = 'wrong@first.example'

  async function startRefused() {
    const sending = await startAlone({}, { sender: (from) => (from === WRONG ? 553 : 'accept') })
    await sending.setSettings({ fromEmail: WRONG })
    const sendSecond = await startSecond(sending, {})
    await sending.sendEvents(20)
    await sending.sendDue()
    return { sending, sendSecond }
  }

  test('its sender address', async () => {
    const { sending, sendSecond } = await startRefused()
    const counts = await sending.states()
    expect(counts).toEqual({ 'deferred: from_553': expect.any(Number), 'deferred: sender_paused': expect.any(Number) })
    await sendSecond('cy@example.com')
    await sending.sendDue()
    expect(sending.server.received.map(({ from }) => from)).toEqual(['hello@second.example'])
    expect(await sending.findPause()).toMatchObject({ reason: 'from_553', isOwn: true })
  })

  test('many sender addresses, each tried', async () => {
    let asked = 0
    const sending = await start({}, { sender: (from) => (from.startsWith('m') ? (asked++, 553) : 'accept') })
    const by = {
      accountId: sending.first.accountId,
      appId: sending.app.id,
      actor: 'test',
      at: sending.clock.now(),
    }
    const drafts = Array.from({ length: 30 }, (_, n) => ({
      id: null,
      name: `M${n}`,
      status: 'live' as const,
      content: { ...CONTENT, mail: { ...CONTENT.mail, fromEmail: `m${n}@first.example` } },
    }))
    await sending.store().saveMessages({ ...by, drafts })
    const otherFromEmails = drafts.map(({ content }) => content.mail.fromEmail)
    await sending.setSettings({ fromEmail: 'm@first.example', otherFromEmails })
    await sending.sendEvents(5)
    await live(sending, 2 * MINUTE)
    expect(asked).toBeLessThan(30)
  })

  test('another address sends the waiting emails at once', async () => {
    const { sending } = await startRefused()
    await sending.setSettings({ fromEmail: 'right@first.example' })
    sending.clock.tick(1_000)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ sent: 20 })
  })

  test('recipients refused without a login', async () => {
    const sending = await start({}, { recipient: () => 530 })
    await sending.sendEvents(12)
    await sending.sendDue()
    expect(await sending.findPause()).toMatchObject({ reason: 'smtp_530', isOwn: true })
    const states = Object.keys(await sending.states())
    expect(states.filter((state) => !/^(waiting|deferred: (smtp_530|server_paused))/.test(state))).toEqual([])
  })

  test('TLS that the server does not support', async () => {
    const sending = await startAlone()
    const sendSecond = await startSecond(sending, {})
    await sending.setSettings({ smtpUrl: sending.server.url.replace('smtp://', 'smtps://anna:a@') })
    await sending.sendEvents(12)
    await sending.sendDue()
    expect(await sending.findPause()).toMatchObject({ reason: 'eplain', isOwn: false })
    await sendSecond('cy@example.com')
    await sending.sendDue()
    expect(sending.server.received.map(({ to }) => to)).toEqual([['cy@example.com']])
  })
})

test('stopping finishes the emails under way and claims no more', async () => {
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
  const taken = sending.server.received.length
  expect(taken).toBeWithin(1, SIDE_BY_SIDE + 1)
  expect((await sending.states()).sent).toBe(taken)
  // the next process takes over the claims of this one
  const next = createTestSender(sending.parts(), {
    claimedBy: LONG_RUNNING,
    defaults: { smtpUrl: sending.server.url, from: 'a@first.example' },
  })
  await next.start()
  while ((await sending.states()).sent !== 100) {
    await Bun.sleep(20)
    // on PostgreSQL, the rate is that of both processes
    sending.clock.tick(20)
  }
  await next.stop()
  expect(countEach(sending)).toEqual(Array(100).fill(1))
})

test('an unreadable delivery is deferred and delays no other', async () => {
  const faults: unknown[] = []
  const sending = await start({}, {}, { onFault: (error) => void faults.push(error) })
  await sending.sendEvents(20)
  // no form would save this
  await sending.setSettings({ sendWindow: { days: [5], from: '09:00' } as unknown as SendWindow })
  await sending.sendDue()
  expect(faults.length).toBe(20)
  expect(await sending.states()).toEqual({ 'deferred: error': 20 })
})

test('an outage of the store is no fault of a delivery', async () => {
  const { store, clock } = (await start()).parts()
  const cause = Object.assign(new Error('Connection closed'), { code: 'ERR_POSTGRES_CONNECTION_CLOSED' })
  const errors = [new Unavailable('Connection closed', { cause }), new Error('another fault')]
  const failing = { ...store, listDueApps: () => Promise.reject(errors.shift()) }
  const { promise: fault, resolve: onFault } = Promise.withResolvers<unknown>()
  const sender = createTestSender({ store: failing, clock }, { onFault })
  await sender.start()
  expect(await fault).toEqual(new Error('another fault'))
  await sender.stop()
})

describe('an email that takes too long to render', () => {
  const SOME_WORK = { subject: 'Ready', body: '{% for i in (1..900) %}{{ i }} {% endfor %}' }

  test('is tried again with more time, and its neighbours are sent', async () => {
    const sending = await start({ mail: SOME_WORK }, {}, { templates: createTemplateWorker({ renderMs: 0 }) })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'deferred: template_slow': 1 })
    const [delivery] = await sending.deliveries()
    expect(delivery).toMatchObject({ dueAt: sending.clock.now() + MINUTE })
    await live(sending, MINUTE)
    expect(await sending.states()).toEqual({ sent: 1 })
  })

  test('then fails with that reason', async () => {
    const templates = createTemplateWorker({ renderMs: 0, aloneMs: 0 })
    const sending = await start({ mail: SOME_WORK }, {}, { templates })
    await sending.sendEvent('ada@example.com')
    await sending.sendDue()
    await live(sending, MINUTE)
    expect(await sending.states()).toEqual({ 'failed: template_too_slow': 1 })
    const [delivery] = await sending.deliveries()
    const record = JSON.parse(delivery?.record ?? '')
    expect(record.verdicts).toContainEqual({ rule: 'template', about: null, value: 'slow', verdict: 'fail' })
    expect(sending.server.received).toHaveLength(0)
    await live(sending, 10 * MINUTE)
    expect(await sending.states()).toEqual({ 'failed: template_too_slow': 1 })
  })
})

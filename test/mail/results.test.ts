import { DEFAULT_RETENTION } from '../../src/accounts/retention.ts'
import { describe, expect, test } from 'bun:test'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { mayHaveArrivedTwice } from '../../src/deliveries/deliveries.ts'
import type { Again, DeliveryRow, MessageContent } from '../../src/store/message-types.ts'
import { addPerson, leave, page, report, send } from '../api/reports.ts'
import { DAY, EVENTS, HOUR } from '../helper.ts'
import { headersOf, readMail } from './reading.ts'
import { live, MINUTE, type Sending, useSharedSending } from './sending.ts'

const start = useSharedSending()
const ADA = 'ada@example.com'
const HOME = 'https://first.example'
const urlOf = (name: string | number): string => `https://first.example/results/${name}`

/** Without the unsubscribe link. */
function mailsOf({ server }: Sending) {
  return server.received.map(({ raw }) => {
    const mail = readMail(raw)
    const [text = '', html = ''] = ['text/plain', 'text/html'].map(
      (type) => mail.parts.find((part) => part.type.startsWith(type))?.text,
    )
    const hrefs = Array.from(html.matchAll(/href="([^"]*)"/g), ([, href]) => href ?? '')
    return { subject: headersOf(mail, 'subject')[0], text, links: hrefs.filter((href) => !href.includes('/u/')) }
  })
}

const contentOf = (nth: number, changes: Partial<MessageContent> = {}): MessageContent => {
  const draft = FIRST_MESSAGES[nth]
  if (!draft) throw new Error('no such draft')
  return { ...draft.content, ...changes }
}

const see = (sending: Sending, path: string) =>
  send(sending, report(sending.first, { email: ADA, id: `tab.${crypto.randomUUID()}`, events: [page(path)] }))

describe('twelve results', () => {
  test.each([0, 1])('make one email with twelve links: draft %d', async (nth) => {
    const sending = await start(contentOf(nth, { onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] }))
    for (let index = 1; index <= 12; index += 1) {
      await sending.sendEvent(ADA, { url: urlOf(index), headline: `Result ${index} is <ready>` })
    }
    await live(sending, nth === 0 ? 2 * HOUR : DAY + HOUR)
    const [mail, ...others] = mailsOf(sending)
    expect(others).toEqual([])
    expect(mail?.subject).toContain('12 results')
    expect(mail?.links).toEqual(Array.from({ length: 12 }, (_, index) => urlOf(index + 1)))
    expect(mail?.text).toContain('Result 12 is <ready>')
    expect(await sending.states()).toEqual({ sent: 1, joined: 11 })
  })

  test('are listed oldest first, without opened ones', async () => {
    const sending = await start(contentOf(0, { onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] }))
    for (const name of ['a', 'b', 'c', 'd']) await sending.sendEvent(ADA, { url: urlOf(name), headline: name })
    sending.clock.tick(MINUTE)
    for (const name of ['a', 'c']) await see(sending, `/results/${name}`)
    await live(sending, 2 * HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('b'), urlOf('d')]])
    expect(await sending.states()).toEqual({ sent: 1, joined: 1, 'skipped: seen': 2 })
  })

  test('send no email if all were opened', async () => {
    const sending = await start(contentOf(0, { onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] }))
    for (const name of ['a', 'b']) await sending.sendEvent(ADA, { url: urlOf(name) })
    sending.clock.tick(MINUTE)
    for (const name of ['a', 'b']) await see(sending, `/results/${name}`)
    await live(sending, 2 * HOUR)
    expect(mailsOf(sending)).toEqual([])
    expect(await sending.states()).toEqual({ 'skipped: seen': 2 })
  })

  test('each follow the link rule: foreign links lead to the home page, and the email says so', async () => {
    const sending = await start(contentOf(0, { onlyIf: [] }))
    const urls = [urlOf(1), 'https://evil.example/', 'javascript:alert(1)', `${urlOf(2)}"onclick="x`]
    for (const url of urls) await sending.sendEvent(ADA, { url, headline: '](https://evil.example/) <a href="x">' })
    await live(sending, HOUR)
    const [mail] = mailsOf(sending)
    expect(mail?.links).toEqual([urlOf(1), HOME, HOME, `${urlOf(2)}%22onclick=%22x`])
    const [lead] = (await sending.deliveries()).filter(({ state }) => state === 'sent')
    expect(JSON.parse(lead?.record ?? '{}').verdicts).toContainEqual(
      expect.objectContaining({ rule: 'link', about: 'https://evil.example/' }),
    )
  })

  test('send another email if new, but not if the same', async () => {
    const sending = await start(contentOf(0, { onlyIf: [] }))
    await sending.sendEvent(ADA, { url: urlOf(1) })
    await live(sending, HOUR)
    for (const name of ['1?utm_source=x', '2']) await sending.sendEvent(ADA, { url: urlOf(name) })
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf(1)], [urlOf(2)]])
  })

  test('start another email beyond the limit of a list', async () => {
    const sending = await start(contentOf(0, { onlyIf: [] }))
    for (let index = 0; index < 60; index += 1) await sending.sendEvent(ADA, { url: urlOf(index) })
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links.length)).toEqual([50, 10])
    await sending.sendEvent(ADA, { url: urlOf(59) })
    expect(await sending.states()).toEqual({ sent: 2, joined: 58 })
  })

  test('that arrive while an email waits for a daily limit join that email', async () => {
    const sending = await start(contentOf(0, { onlyIf: [] }))
    await sending.setSettings({ perPersonDay: 1 })
    for (let index = 0; index < 8; index += 1) {
      await sending.sendEvent(ADA, { url: urlOf(index) })
      await live(sending, HOUR)
    }
    for (let day = 0; day < 4; day += 1) await live(sending, 24 * HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([
      [urlOf(0)],
      [1, 2, 3, 4, 5, 6, 7].map((nth) => urlOf(nth)),
    ])
    expect(await sending.states()).toEqual({ sent: 2, joined: 6 })
  })

  test('end with a refused email, and are sent when a member resends it', async () => {
    let answer: 'accept' | number = 550
    const sending = await start(contentOf(0, { onlyIf: [] }), { dot: () => answer })
    for (const name of ['a', 'b']) await sending.sendEvent(ADA, { url: urlOf(name) })
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ 'failed: smtp_550': 2 })
    answer = 'accept'
    const [lead] = (await sending.deliveries()).filter(({ joinedTo }) => joinedTo === null)
    const resent = { appId: sending.app.id, id: lead?.id ?? 0, at: sending.clock.now() }
    expect(await sending.store().resendDelivery(resent)).toEqual({ done: true })
    await sending.sendDue()
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('a'), urlOf('b')]])
    expect(await sending.states()).toEqual({ sent: 1, joined: 1 })
  })
})

describe('a result is not lost with another result', () => {
  const NOT_SEEN: Partial<MessageContent> = { onlyIf: [{ rule: 'notSeen', ifUnknown: 'send' }] }
  const sendTwo = async (sending: Sending): Promise<void> => {
    for (const name of ['a', 'b']) await sending.sendEvent(ADA, { url: urlOf(name) })
    await live(sending, 11 * MINUTE)
  }

  test('that was opened after the server deferred the email', async () => {
    let answer: 'accept' | number = 451
    const sending = await start(contentOf(0, NOT_SEEN), { dot: () => answer })
    await sendTwo(sending)
    expect(await sending.states()).toEqual({ 'deferred: smtp_451': 1, joined: 1 })
    await sending.sendEvent(ADA, { url: urlOf('c') })
    expect(await sending.states()).toEqual({ 'deferred: smtp_451': 1, joined: 2 })
    await see(sending, '/results/a')
    expect(await sending.states()).toEqual({ 'skipped: seen': 1, waiting: 1, joined: 1 })
    answer = 'accept'
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('b'), urlOf('c')]])
    expect((await sending.deliveries()).map((delivery) => mayHaveArrivedTwice(delivery))).not.toContain(true)
    // an opened result that is reported again starts a new email
    await sending.sendEvent(ADA, { url: urlOf('a') })
    expect(await sending.states()).toEqual({ 'skipped: seen': 1, sent: 1, joined: 1, waiting: 1 })
  })

  test('that was opened while the outcome of the email was unknown', async () => {
    const answers: ('drop' | number)[] = ['drop', 451, 451, 451]
    const sending = await start(contentOf(0, NOT_SEEN), { dot: () => answers.shift() ?? 'accept' })
    await sendTwo(sending)
    expect(await sending.states()).toEqual({ 'deferred: smtp_451': 1, joined: 1 })
    await see(sending, '/results/a')
    expect(await sending.states()).toEqual({ 'skipped: seen': 1, waiting: 1 })
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('b')]])
    const [sent] = (await sending.deliveries()).filter(({ state }) => state === 'sent')
    expect(sent && mayHaveArrivedTwice(sent)).toBe(true)
  })

  test.each<['dot' | 'recipient', number]>([
    ['dot', 451],
    ['recipient', 451],
    ['dot', 554],
  ])('that the server refused for good, at the %s by %d: it starts again', async (where, code) => {
    let answer: 'accept' | number = code
    const sending = await start(contentOf(0, NOT_SEEN), { [where]: () => answer })
    await sendTwo(sending)
    for (let hours = 0; hours < 80; hours += 1) await live(sending, HOUR)
    expect(await sending.states()).toEqual({ [`failed: smtp_${code}`]: 2 })
    answer = 'accept'
    for (const name of ['a', 'b', 'c']) await sending.sendEvent(ADA, { url: urlOf(name) })
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([['a', 'b', 'c'].map(urlOf)])
  })

  describe('with once per person and an unknown outcome', () => {
    const again: Again = { once: 'person', collect: { minutes: 30 } }
    /** The first dot gets no reply; then the server asks for later. */
    const unsure = () => {
      const answers: ('drop' | number)[] = ['drop', 451, 451, 451]
      return { dot: () => answers.shift() ?? 'accept' }
    }
    const expectSentOnce = async (sending: Sending): Promise<void> => {
      await live(sending, 3 * HOUR)
      expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('b')]])
      await sending.sendEvent(ADA, { url: urlOf('c') })
      await live(sending, HOUR)
      expect(mailsOf(sending)).toHaveLength(1)
    }

    test('an opened result passes the email to the other', async () => {
      const sending = await start(contentOf(0, { ...NOT_SEEN, again }), unsure())
      await sendTwo(sending)
      expect((await see(sending, '/results/a')).status).toBe(202)
      expect(await sending.states()).toEqual({ 'skipped: seen': 1, waiting: 1 })
      await expectSentOnce(sending)
    })

    test('a result cancelled by a stored event does too', async () => {
      const onlyIf: MessageContent['onlyIf'] = [{ rule: 'notDone', event: 'paid', since: 'trigger' }]
      const sending = await start(contentOf(0, { onlyIf, again }), unsure())
      await sending.sendEvent(ADA, { url: urlOf('a') })
      sending.clock.tick(2 * MINUTE)
      const occurredAt = new Date(sending.clock.now() - MINUTE).toISOString()
      await sending.sendEvent(ADA, { url: urlOf('b') })
      await live(sending, 11 * MINUTE)
      const body = { app: sending.app.publicId, email: ADA, event: 'paid', occurredAt }
      expect((await sending.call('POST', EVENTS, { body })).status).toBe(202)
      await expectSentOnce(sending)
    })

    test('a result that fails a rule on retry does too', async () => {
      const onlyIf: MessageContent['onlyIf'] = [{ rule: 'away', at: 'trigger', ifUnknown: 'send' }]
      const sending = await start(contentOf(0, { onlyIf, again }), unsure())
      await addPerson(sending)
      await sending.sendEvent(ADA, { url: urlOf('a') })
      sending.clock.tick(3 * MINUTE)
      await sending.sendEvent(ADA, { url: urlOf('b') })
      await live(sending, 8 * MINUTE)
      const load = crypto.randomUUID()
      const reports = [[page('/wait', 12 * MINUTE)], [page('/wait', 10 * MINUTE), leave('/wait', 10 * MINUTE)]]
      for (const [nth, events] of reports.entries()) {
        const id = `${load}.${nth + 1}`
        expect((await send(sending, report(sending.first, { email: ADA, id, events }))).status).toBe(202)
      }
      await expectSentOnce(sending)
      expect(await sending.states()).toEqual({ 'skipped: not_away': 1, sent: 1 })
    })
  })

  test('after an unknown outcome, a result sent again says so', async () => {
    const answers: ('drop' | number)[] = ['drop', 451, 451, 451]
    const sending = await start(contentOf(0, NOT_SEEN), { dot: () => answers.shift() ?? 'accept' })
    await sendTwo(sending)
    await see(sending, '/results/b')
    await live(sending, HOUR)
    for (const name of ['a', 'b']) await sending.sendEvent(ADA, { url: urlOf(name) })
    await live(sending, 26 * HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('a')]])
  })

  test('also after a member resent the email and the server refused it', async () => {
    const answers: ('drop' | number)[] = ['drop', 554]
    const content = contentOf(0, { ...NOT_SEEN, ifUnconfirmed: 'leave' })
    const sending = await start(content, { dot: () => answers.shift() ?? 'accept' })
    await sendTwo(sending)
    const sendOn = async (isMeant: (delivery: DeliveryRow) => boolean): Promise<void> => {
      const id = (await sending.deliveries()).find(isMeant)?.id ?? 0
      const resent = { appId: sending.app.id, id, at: sending.clock.now() }
      expect(await sending.store().resendDelivery(resent)).toEqual({ done: true })
      await live(sending, MINUTE)
    }
    await sendOn(({ state }) => state === 'unknown')
    expect(await sending.states()).toEqual({ 'failed: smtp_554': 2 })
    await sendOn(({ joinedTo }) => joinedTo !== null)
    const [sent] = (await sending.deliveries()).filter(({ state }) => state === 'sent')
    expect(sent && mayHaveArrivedTwice(sent)).toBe(true)
  })

  test('an invalid value of one result removes only that result', async () => {
    const body =
      '{% for event in events %}[Open]({{ event.url }}) {{ event.amount | money: event.currency }}\n{% endfor %}'
    const sending = await start(contentOf(0, { onlyIf: [], mail: { subject: 'Ready', body } }))
    for (const [name, currency] of [
      ['a', 'EUR'],
      ['b', 'EURO'],
      ['c', 'EUR'],
    ] as const) {
      await sending.sendEvent(ADA, { url: urlOf(name), amount: 1, currency })
    }
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('a'), urlOf('c')]])
    expect(await sending.states()).toEqual({ sent: 1, joined: 1, 'skipped: broken_template': 1 })
  })

  test.each<[string, string]>([
    ['a value of the person is missing', '{{ contact.firstName }}'],
    ['the template itself has a mistake', '{{ 1 | money: "EURO" }}'],
  ])('if %s, the whole email ends', async (_, subject) => {
    const body = '{% for event in events %}[Open]({{ event.url }}){% endfor %}'
    const sending = await start(contentOf(0, { onlyIf: [], mail: { subject, body } }))
    await sendTwo(sending)
    const rows = await sending.deliveries()
    expect(rows.map(({ state }) => state)).toEqual(['skipped', 'skipped'])
    expect(rows.filter(({ joinedTo }) => joinedTo === null)).toHaveLength(1)
    expect(rows.filter(({ record }) => record !== null)).toHaveLength(1)
  })

  test('a result resent from such an email says that it may arrive twice', async () => {
    const answers: ('drop' | number)[] = ['drop', 554]
    const sending = await start(contentOf(0, NOT_SEEN), { dot: () => answers.shift() ?? 'accept' })
    await sendTwo(sending)
    const joined = (await sending.deliveries()).find(({ joinedTo }) => joinedTo !== null)
    const resent = { appId: sending.app.id, id: joined?.id ?? 0, at: sending.clock.now() }
    expect(await sending.store().resendDelivery(resent)).toEqual({ done: true })
    await live(sending, MINUTE)
    const [sent] = (await sending.deliveries()).filter(({ state }) => state === 'sent')
    expect(sent && mayHaveArrivedTwice(sent)).toBe(true)
  })

  test('the draft checks presence for each result at its time', async () => {
    const sending = await start(contentOf(0))
    const load = crypto.randomUUID()
    let reports = 0
    const browse = (event: object) => {
      reports += 1
      return send(sending, report(sending.first, { email: ADA, id: `${load}.${reports}`, events: [event] }))
    }
    await addPerson(sending)
    await browse(page('/wait'))
    await live(sending, MINUTE)
    await sending.sendEvent(ADA, { url: urlOf('a') })
    sending.clock.tick(MINUTE)
    await browse(page('/wait'))
    await browse(leave('/wait'))
    await live(sending, MINUTE)
    await sending.sendEvent(ADA, { url: urlOf('b') })
    expect(await sending.states()).toEqual({ waiting: 1, joined: 1 })
    await live(sending, HOUR)
    expect(await sending.states()).toEqual({ 'skipped: not_away': 1, sent: 1 })
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[urlOf('b')]])
  })
})

describe('a result without a page', () => {
  test.each<[string, object]>([
    ['empty properties', {}],
    ['only a headline', { headline: 'Ready' }],
    ['a blank url', { url: ' ', headline: 'Ready' }],
  ])('sends one email that links to the home page: %s', async (_, properties) => {
    const sending = await start(contentOf(0))
    for (const same of [properties, properties]) await sending.sendEvent(ADA, same)
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[HOME]])
    const test = await sending.parts().mailer.sendTest(await sampleOf(sending), { name: '', address: 'me@example.com' })
    expect(test).toEqual({ is: 'sent' })
  })

  test('is sent also by an app without home page and domain', async () => {
    const sending = await start(contentOf(0))
    const { accountId, id: appId, name, timezone, locale } = sending.app
    const snippet = { hosts: [], addsPeople: false }
    const settings = { name, timezone, locale, homeUrl: null, hosts: [], snippet, retention: DEFAULT_RETENTION }
    await sending.store().updateApp({ accountId, appId, actor: 'test', at: 1, settings })
    for (const url of [undefined, urlOf(1)]) await sending.sendEvent(`${url ? 'a' : 'b'}@example.com`, { url })
    await live(sending, HOUR)
    expect(mailsOf(sending).map(({ links }) => links)).toEqual([[], []])
  })

  const sampleOf = async (sending: Sending) => {
    const [delivery] = await sending.deliveries()
    const work = await sending.store().findWork(delivery?.id ?? 0)
    if (!work) throw new Error('there is no delivery')
    return work
  }
})

test('a new app sends a person one lifecycle email a day', async () => {
  const sending = await start(contentOf(0, { onlyIf: [], wait: { minutes: 0 } }))
  const { store, first } = sending
  const change = { accountId: first.accountId, actor: 'test', at: sending.clock.now() }
  const app = { publicId: 'app_new', siteId: 'site_new', name: 'New', homeUrl: null, hosts: ['new.example'] }
  await store().createApp({ ...change, app })
  const made = (await store().listApps(first.accountId)).find(({ publicId }) => publicId === 'app_new')
  expect(await store().mailSettings(made?.id ?? 0)).toMatchObject({ perPersonDay: 1, perPersonWeek: null })
})

describe('an email that waits to know whether its person left', () => {
  const onlyIf: MessageContent['onlyIf'] = [{ rule: 'away', minutes: 5, ifUnknown: 'send' }]
  const visit = async (sending: Sending, id: string, ...events: object[]) =>
    expect((await send(sending, report(sending.first, { email: ADA, id, events }))).status).toBe(202)
  const begin = async () => {
    const sending = await start(contentOf(0, { onlyIf }))
    await addPerson(sending)
    await visit(sending, 'one.1', page('/wait'))
    sending.clock.tick(MINUTE)
    await sending.sendEvent(ADA, { url: urlOf('a') })
    await live(sending, 11 * MINUTE)
    expect(await sending.states()).toEqual({ 'deferred: unsure': 1 })
    return sending
  }

  test('is sent once they have been away for long enough after they leave', async () => {
    const sending = await begin()
    await visit(sending, 'one.2', leave('/wait'))
    await live(sending, 4 * MINUTE)
    expect(await sending.states()).toEqual({ 'deferred: unsure': 1 })
    await live(sending, MINUTE)
    expect(await sending.states()).toEqual({ sent: 1 })
  })

  test('is sent after half an hour without a sign, also if they leave a page while another is open', async () => {
    const sending = await begin()
    await visit(sending, 'two.1', page('/other', 20 * MINUTE), leave('/other'))
    await live(sending, 18 * MINUTE)
    expect(await sending.states()).toEqual({ 'deferred: unsure': 1 })
    await live(sending, MINUTE)
    expect(await sending.states()).toEqual({ sent: 1 })
  })
})

/** What is looked at once more just before the final dot, in the transaction that hands the email over. */
import { DEFAULT_RETENTION } from '../../src/accounts/retention.ts'
import { describe, expect, spyOn, test } from 'bun:test'
import type { Provider } from '../../src/mail/provider.ts'
import type { MailSettings, MessageContent, MessageStatus, Rule } from '../../src/store/message-types.ts'
import type { AppSettings } from '../../src/store/types.ts'
import { leave, page, report, send } from '../api/reports.ts'
import { CONTACTS, EVENTS, HOUR } from '../helper.ts'
import { recordOf } from '../messaging.ts'
import type { Doing } from '../mail/mail-server.ts'
import { CONTENT, RESULTS, type Sending, useSharedSending } from '../mail/sending.ts'

const openSending = useSharedSending()
const ADA = 'ada@example.com'

const byOf = ({ app, clock }: Sending) => ({
  accountId: app.accountId,
  appId: app.id,
  actor: 'test',
  at: clock.now(),
})
const findMessage = async ({ store, app }: Sending) => store().findMessageByName(app.id, 'Results ready')

async function change(sending: Sending, content: Partial<MessageContent>): Promise<void> {
  const message = await findMessage(sending)
  const draft = { id: message?.id ?? 0, name: 'Results ready', status: 'live' as const }
  const changed = { ...CONTENT, ...content }
  const saved = await sending.store().saveMessages({ ...byOf(sending), drafts: [{ ...draft, content: changed }] })
  if ('refusal' in saved) throw new Error(saved.refusal)
}

type Happens = (sending: Sending) => unknown
type Given = { content?: Partial<MessageContent>; settings?: Partial<MailSettings>; recipient?: Happens }

/** A person who was there and left; while an email to them waits for its hand-over to be saved, something happens. */
async function startWith(happens: Happens, { content, settings = {}, recipient }: Given = {}): Promise<Sending> {
  const behaviour = recipient && { recipient: (): Doing => (recipient(sending), 'accept') }
  const sending: Sending = await openSending(content, behaviour)
  const store = sending.store()
  const { markHanded } = store
  let hasHappened = false
  store.markHanded = async (input) => {
    if (!hasHappened) await happens(sending)
    hasHappened = true
    return markHanded(input)
  }
  await sending.setSettings(settings)
  const person = { newsletter: sending.first.appId, email: ADA, tags: ['beta'], fields: { plan: 'free' } }
  await sending.call('POST', CONTACTS, { body: person })
  await browse(sending, page('/home', 120_000), leave('/home', 60_000))
  return sending
}

const browse = (sending: Sending, ...events: object[]) => send(sending, report(sending.first, { events }))
const setStatus = async (sending: Sending, status: MessageStatus): Promise<unknown> =>
  sending.store().setMessageStatus({ ...byOf(sending), id: (await findMessage(sending))?.id ?? 0, status })
const update = (sending: Sending, body: object) =>
  sending.call('PATCH', CONTACTS, { body: { newsletter: sending.first.appId, email: ADA, ...body } })
const suppress =
  (reason: 'unsubscribed' | 'bounced' | 'complained'): Happens =>
  ({ store, app, clock }) =>
    store().suppress({ appId: app.id, email: ADA, reason, at: clock.now() })
const TRANSACTIONAL = { mail: { ...CONTENT.mail, category: 'transactional' as const } }
const rule = (...onlyIf: Rule[]): Given => ({ content: { onlyIf } })

describe('nothing is handed over if this happens while the email is on its way', () => {
  test.each<[string, string, Happens, Given]>([
    [
      'they come back',
      'skipped: came_back',
      (s) => browse(s, page('/other')),
      { ...rule({ rule: 'away' }), recipient: ({ clock }) => clock.tick(1_000) },
    ],
    ['they open the result', 'skipped: seen', (s) => browse(s, page('/results/1')), rule({ rule: 'notSeen' })],
    [
      'they reach the goal',
      'skipped: done',
      (s) => s.call('POST', EVENTS, { body: { app: s.app.publicId, email: ADA, event: 'paid' } }),
      rule({ rule: 'notDone', event: 'paid' }),
    ],
    ['they lose a tag', 'skipped: tag', (s) => update(s, { removeTags: ['beta'] }), rule({ rule: 'tag', has: 'beta' })],
    [
      'a field changes',
      'skipped: field',
      (s) => update(s, { fields: { plan: 'pro' } }),
      rule({ rule: 'field', field: 'plan', is: 'equal', to: 'free' }),
    ],
    [
      'their status changes',
      'skipped: status',
      suppress('unsubscribed'),
      { content: { ...TRANSACTIONAL, onlyIf: [{ rule: 'status', is: 'subscribed' }] } },
    ],
    ['they unsubscribe', 'skipped: unsubscribed', suppress('unsubscribed'), {}],
    ['they complain', 'skipped: complained', suppress('complained'), { content: TRANSACTIONAL }],
    ['an email bounces', 'skipped: bounced', suppress('bounced'), { content: TRANSACTIONAL }],
    ['the message is paused', 'skipped: message_paused', (s) => setStatus(s, 'paused'), {}],
    ['the message becomes a draft again', 'skipped: message_paused', (s) => setStatus(s, 'draft'), {}],
    [
      'the send window closes',
      'deferred: window',
      () => {},
      {
        settings: { sendWindow: { days: [0, 1, 2, 3, 4, 5, 6], from: '11:00', until: '13:00' } },
        recipient: ({ clock }) => clock.tick(HOUR),
      },
    ],
    [
      'it is too late',
      'skipped: gave_up',
      () => {},
      { settings: { giveUpHours: 1 }, recipient: ({ clock }) => clock.tick(2 * HOUR) },
    ],
  ])('%s: %s', async (_, state, happens, given) => {
    const sending = await startWith(happens, given)
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect([sending.server.received, await sending.states()]).toEqual([[], { [state]: 1 }])
    const [delivery] = await sending.deliveries()
    expect(delivery && recordOf(delivery).verdicts.some(({ verdict }) => verdict === 'fail')).toBe(true)
  })

  test('the account loses the sender domain', async () => {
    const domain = 'news.example'
    const sending = await openSending()
    await sending.setSettings({ fromEmail: `hello@${domain}` })
    const store = sending.store()
    await store.bindSenderDomain({ ...byOf(sending), domain, proof: 'operator' })
    const { senderFacts } = store
    let asked = 0
    store.senderFacts = async (accountId) => {
      asked += 1
      // the first time is before the email is written
      if (asked === 2) await store.unbindSenderDomain({ ...byOf(sending), domain })
      return senderFacts(accountId)
    }
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect([sending.server.received, asked]).toEqual([[], 2])
    expect(await sending.states()).toEqual({ 'deferred: sender_unverified': 1 })
  })

  test('the person is erased', async () => {
    const sending = await startWith(({ store, app, clock }) =>
      store().eraseContact({ appId: app.id, accountId: app.accountId, email: ADA, actor: 'test', at: clock.now() }),
    )
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect([sending.server.received, await sending.states()]).toEqual([[], {}])
  })

  test('the mail server is paused after another email failed', async () => {
    const both = Promise.withResolvers<void>()
    const handed: string[] = []
    let waiting = 0
    const createProvider = (): Provider => ({
      async send({ to }, handOver) {
        if (++waiting === 2) both.resolve()
        await both.promise
        while (to === ADA && (await sending.findPause()) === null) await Bun.sleep(5)
        if (!(await handOver())) return { is: 'withheld' }
        handed.push(to)
        return { is: 'refused', code: 421, enhanced: null, about: 'session' }
      },
      close: () => {},
    })
    const sending: Sending = await openSending({}, {}, { createProvider })
    for (const email of [ADA, 'bob@example.com']) await sending.sendEvent(email)
    await sending.sendDue()
    expect(await sending.states()).toEqual({ 'deferred: smtp_421': 1, 'deferred: server_paused': 1 })
    expect(handed).toEqual(['bob@example.com'])
  })
})

describe('an email is sent', () => {
  test.each<[string, Happens, Given]>([
    ['if nothing happens', () => {}, rule({ rule: 'away' }, { rule: 'notSeen' }, { rule: 'tag', has: 'beta' })],
    ['if other people are active', (s) => s.sendEvent('bob@example.com'), rule({ rule: 'away' }, { rule: 'notSeen' })],
    [
      'if their actions change no verdict',
      (s) => s.call('POST', EVENTS, { body: { app: s.app.publicId, email: ADA, event: 'other' } }),
      rule({ rule: 'away' }, { rule: 'notDone', event: 'paid' }),
    ],
    ['if another field changes', (s) => update(s, { fields: { size: 2 } }), rule({ rule: 'tag', has: 'beta' })],
    ['that is transactional, to an unsubscribed person', suppress('unsubscribed'), { content: TRANSACTIONAL }],
  ])('%s', async (_, happens, given) => {
    const sending = await startWith(happens, given)
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect(sending.server.received.filter(({ to }) => to[0] === ADA)).toHaveLength(1)
    const [delivery] = (await sending.deliveries()).filter(({ state }) => state === 'sent')
    const rules = (given.content?.onlyIf ?? []).map(({ rule: name }) => name)
    expect(delivery && recordOf(delivery).verdicts.map(({ rule: name }) => name)).toEqual([
      'suppression',
      'message',
      ...rules,
    ])
  })

  test('with the unlinked targets in its record, also after a new decision', async () => {
    const sending = await startWith((s) => browse(s, page('/other')), rule({ rule: 'notSeen' }))
    await sending.sendEvent(ADA, { ...RESULTS, url: 'https://elsewhere.example/1' })
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    expect(delivery?.state).toBe('sent')
    expect(delivery && recordOf(delivery).verdicts.map(({ rule: name }) => name)).toEqual([
      'suppression',
      'message',
      'notSeen',
      'link',
    ])
  })

  test('that a member resends, whatever its rules say', async () => {
    const sending = await startWith((s) => browse(s, page('/results/1')), rule({ rule: 'tag', has: 'none' }))
    await sending.sendEvent(ADA)
    await sending.sendDue()
    const [delivery] = await sending.deliveries()
    expect(delivery?.state).toBe('skipped')
    await sending.store().resendDelivery({ appId: sending.app.id, id: delivery?.id ?? 0, at: sending.clock.now() })
    await sending.sendDue()
    expect([sending.server.received.length, await sending.states()]).toEqual([1, { sent: 1 }])
  })

  test('rendered again if the sender changed while it was on its way', async () => {
    const sending = await startWith((s) => s.setSettings({ fromEmail: 'new@first.example' }))
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect(sending.server.received.map(({ from }) => from)).toEqual(['new@first.example'])
    expect(await sending.states()).toEqual({ sent: 1 })
  })

  test.each<[string, Partial<AppSettings>]>([
    ['its app is renamed', { name: 'Renamed' }],
    ['its app loses a domain', { hosts: ['other.example'] }],
  ])('rendered again if %s while it is on its way', async (_, changes) => {
    const sending = await startWith(({ store, app, clock }) => {
      const { id: appId, accountId, name, homeUrl, hosts, timezone, locale } = app
      const settings = {
        name,
        homeUrl,
        hosts,
        timezone,
        locale,
        snippet: { hosts: [], addsPeople: false },
        retention: DEFAULT_RETENTION,
        ...changes,
      }
      return store().updateApp({ appId, accountId, actor: 'test', at: clock.now(), settings })
    })
    await sending.sendEvent(ADA)
    const marked = spyOn(sending.store(), 'markHanded')
    await sending.sendDue()
    expect(await Promise.all(marked.mock.results.map(({ value }) => value))).toEqual([
      { isMarked: false, because: 'outdated' },
      { isMarked: true },
    ])
    expect(sending.server.received).toHaveLength(1)
  })

  test('only to its own server if the app changes its server meanwhile', async () => {
    const sending = await startWith((s) => s.setSettings({ smtpUrl: 'smtp://127.0.0.1:1' }))
    await sending.sendEvent(ADA)
    await sending.sendDue()
    expect([sending.server.received, await sending.states()]).toEqual([[], { 'deferred: erefused': 1 }])
  })
})

describe('of several emails to one person decided at the same time', () => {
  /** One of a version that came once per result, one of the version of now: their keys do not stand in each other's way. */
  async function startTwo(wait: MessageContent['wait']): Promise<Sending> {
    const sending = await openSending({ again: { once: 'property', property: 'n' }, wait })
    await sending.sendEvent(ADA, { ...RESULTS, n: 1 })
    await change(sending, { again: { everyHours: 24 }, wait })
    await sending.sendEvent(ADA, { ...RESULTS, n: 2 })
    expect(await sending.states()).toEqual({ waiting: 2 })
    return sending
  }

  /** Each is decided before the other is handed over. */
  async function handBoth(sending: Sending) {
    const { store, clock } = sending
    clock.tick(HOUR)
    const at = clock.now()
    const claimed = await store().claimDeliveries({ claimedBy: 'a', now: at, leaseMs: HOUR, most: 9, skipApps: [] })
    const works = 'works' in claimed ? claimed.works : []
    const decided = []
    for (const work of works.toSorted((one, other) => one.delivery.id - other.delivery.id)) {
      decided.push({ ...(await store().decideDelivery(work, at)), ...work.delivery })
    }
    const marked = []
    for (const { id, attempt, record, basis } of decided) {
      const json = JSON.stringify(record)
      marked.push(await store().markHanded({ id, attempt, claimedBy: 'a', at, record: json ?? '', basis }))
    }
    return marked
  }

  test('one is sent if the message is sent at most every N hours', async () => {
    const sending = await startTwo({ minutes: 60 })
    expect(await handBoth(sending)).toEqual([{ isMarked: true }, { isMarked: false, because: 'again' }])
    const [second] = await sending.deliveries()
    expect(second).toMatchObject({ state: 'skipped', reason: 'again' })
    const at = sending.clock.now()
    expect(second && recordOf(second)).toMatchObject({
      at,
      verdicts: [
        { rule: 'suppression', verdict: 'pass' },
        { rule: 'message', verdict: 'pass' },
        { rule: 'again', about: '24', value: at, verdict: 'fail' },
      ],
    })
  })

  test('one is sent if the app sends one a day', async () => {
    const sending = await openSending({ again: { once: 'property', property: 'n' }, wait: { minutes: 60 } })
    await sending.setSettings({ perPersonDay: 1 })
    for (const n of [1, 2]) await sending.sendEvent(ADA, { ...RESULTS, n })
    expect(await handBoth(sending)).toEqual([{ isMarked: true }, { isMarked: false, because: 'perDay' }])
    const [second] = await sending.deliveries()
    expect(second).toMatchObject({ state: 'deferred', reason: 'perDay', dueAt: sending.clock.now() + 24 * HOUR })
  })

  test('one is sent, also by the sender loop', async () => {
    const sending = await startTwo({ minutes: 60 })
    sending.clock.tick(HOUR)
    await sending.sendDue()
    expect(sending.server.received).toHaveLength(1)
  })
})

test('an email is decided from scratch without the basis of its decision', async () => {
  const sending = await openSending({ onlyIf: [{ rule: 'tag', has: 'none' }] })
  const { store, clock } = sending
  await sending.sendEvent(ADA)
  const at = clock.now()
  const claimed = await store().claimDeliveries({ claimedBy: 'a', now: at, leaseMs: HOUR, most: 9, skipApps: [] })
  const [work] = 'works' in claimed ? claimed.works : []
  const { id = 0, attempt = 0 } = work?.delivery ?? {}
  const record = '{"at":1,"verdicts":[{"rule":"tag","about":"none","value":true,"verdict":"pass"}]}'
  expect(await store().markHanded({ id, attempt, claimedBy: 'a', at, record })).toEqual({
    isMarked: false,
    because: 'tag',
  })
  expect(await sending.states()).toEqual({ 'skipped: tag': 1 })
})

test('deliveries claimed together are decided as if claimed alone', async () => {
  const onlyIf: Rule[] = [
    { rule: 'notSeen', ifUnknown: 'send' },
    { rule: 'away', at: 'trigger', ifUnknown: 'skip' },
  ]
  const sending = await openSending({ onlyIf })
  const { store, clock, first, call } = sending
  await call('POST', CONTACTS, { body: { newsletter: first.appId, email: ADA } })
  await browse(sending, page('/home', 120_000), leave('/home', 60_000))
  await sending.sendEvent(ADA)
  // the browser script never saw them
  await sending.sendEvent('cy@example.com')
  clock.tick(HOUR)
  const at = clock.now()
  const claimed = await store().claimDeliveries({ claimedBy: 'a', now: at, leaseMs: HOUR, most: 9, skipApps: [] })
  const { works, decisions } = 'works' in claimed ? claimed : { works: [], decisions: [] }
  const alone = await Promise.all(works.map((work) => store().decideDelivery(work, at)))
  expect(decisions).toEqual(alone)
  const outcomes = works.map(({ contact }, index) => [contact.email, decisions[index]?.outcome])
  expect(Object.fromEntries(outcomes)).toEqual({ [ADA]: 'send', 'cy@example.com': 'skip' })
})

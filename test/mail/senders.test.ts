import { expect, spyOn, test } from 'bun:test'
import { findLastCheck, saveLastCheck } from '../../src/accounts/dns-checks.ts'
import { dkimRecord, makeDkimKey, publishedOf, writeDkimKeys } from '../../src/accounts/dkim.ts'
import { senderRecord } from '../../src/accounts/senders.ts'
import type { AppRow } from '../../src/store/types.ts'
import { DAY, EVENTS, HOUR, LOOPBACK_HOSTS } from '../helper.ts'
import { startMailServer } from './mail-server.ts'
import { CONTENT, live, MINUTE, RESULTS, type Sending, useSending } from './sending.ts'

const start = useSending()
const MEMBER = { name: '', address: 'member@owner.example' }

/** @returns what waits until no check of DNS records is under way: each of its steps begins the next one */
function awaitChecks(sending: Sending): () => Promise<void> {
  const store = sending.store()
  const steps = [
    spyOn(store, 'listReceivedMails'),
    spyOn(store, 'findDomainCheck'),
    spyOn(store, 'mailSettings'),
    spyOn(store, 'setMailSettings'),
    spyOn(store, 'saveDomainCheck'),
  ]
  const listBegun = (): unknown[] => steps.flatMap(({ mock }) => mock.results.map(({ value }) => value))
  return async () => {
    let begun = -1
    while (listBegun().length > begun) {
      begun = listBegun().length
      await Promise.all(listBegun())
      await Bun.sleep(0)
    }
  }
}

/** The second account tries to send from the first one's domain. */
async function impersonate(sending: Sending, settings: object = { fromEmail: 'ceo@first.example' }) {
  const { store, second, call, clock } = sending
  const [app] = (await store().listApps(second.accountId)) as [AppRow]
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: clock.now() }
  await store().setMailSettings({ ...by, settings })
  await store().saveMessages({ ...by, drafts: [{ id: null, name: 'M', status: 'live', content: CONTENT }] })
  const query = { appId: app.id, messageId: null, contactId: null, states: null, before: null, limit: 10 }
  return {
    app,
    by,
    async send(email = 'victim@example.com'): Promise<void> {
      const body = { app: app.publicId, email, event: 'results_ready', createContact: true, properties: RESULTS }
      await call('POST', EVENTS, { key: second.apiKey, body })
      await sending.sendDue()
    },
    outcomes: async () => (await store().listDeliveries(query)).map(({ state, reason }) => `${state} ${reason}`),
  }
}

test('an account cannot send as another through the installation: emails and tests wait', async () => {
  const sending = await start()
  const other = await impersonate(sending)
  await other.send()
  expect([await other.outcomes(), sending.server.received]).toEqual([['deferred sender_unverified'], []])
  const [delivery] = await sending.store().listDeliveries({
    appId: other.app.id,
    messageId: null,
    contactId: null,
    states: null,
    before: null,
    limit: 1,
  })
  const work = delivery && (await sending.store().findWork(delivery.id))
  expect(work && (await sending.sender().sendTest(work, MEMBER))).toMatchObject({
    is: 'failed',
    reason: 'sender_unverified',
    detail: expect.stringContaining(`_eventpost.first.example with the value eventpost-account=${other.app.accountId}`),
  })
  expect(sending.server.received).toEqual([])
})

test('waiting emails are sent once the DNS record exists', async () => {
  const records = new Map<string, string[]>()
  const sending = await start({}, {}, { resolveTxt: async (name) => records.get(name) ?? [] })
  const other = await impersonate(sending, { fromEmail: 'hello@mail.mine.example' })
  await other.send()
  expect(sending.server.received).toEqual([])
  const record = senderRecord('mine.example', other.app.accountId)
  records.set(record.name, [record.value])
  await live(sending, MINUTE)
  expect(sending.server.received.map(({ from }) => from)).toEqual(['hello@mail.mine.example'])
})

test('a sent email has the DNS records of its sender looked up again, once a day', async () => {
  const asked: string[] = []
  const resolveTxt = async (name: string) => (asked.push(name), name === 'first.example' ? ['v=spf1 mx -all'] : [])
  const sending = await start({}, {}, { resolveTxt })
  const sender = {
    domain: 'first.example',
    server: '127.0.0.1',
    dkim: null,
    nextDkim: null,
    seen: null,
    hasOneClick: true,
  }
  const [store, appId] = [sending.store(), sending.app.id]
  const checked = awaitChecks(sending)
  const checkedAt = sending.clock.now()
  const send = async (name: string): Promise<number> => {
    await sending.sendEvent(`${name}@example.com`)
    await sending.sendDue()
    await checked()
    return asked.splice(0).length
  }
  // never checked: on request only
  expect(await send('ada')).toBe(0)
  await saveLastCheck(store, { appId, sender, checks: [], checkedAt })
  sending.clock.tick(DAY)
  expect(await send('bob')).toBeGreaterThan(0)
  const last = await findLastCheck(store, appId, sender)
  expect(last).toMatchObject({ checkedAt: checkedAt + DAY })
  expect(last?.checks.map(({ state }) => state)).toEqual(['good', 'caution', 'good', 'caution'])
  sending.clock.tick(2 * HOUR)
  expect(await send('carol')).toBe(0)
})

test('a new DKIM key signs once its record is found, looked for when emails are sent, once an hour', async () => {
  const records = new Map<string, string[]>()
  const sending = await start({}, {}, { resolveTxt: async (name) => records.get(name) ?? [] })
  const makeKey = async (selector: string) => ({ domain: 'first.example', selector, key: await makeDkimKey() })
  const [signing, waiting] = [await makeKey('old'), await makeKey('new')]
  await sending.setSettings(writeDkimKeys({ signing, waiting }))
  const checked = awaitChecks(sending)
  const sendSigned = async (name: string) => {
    await sending.sendEvent(`${name}@example.com`)
    await sending.sendDue()
    await checked()
    return /; s=(\w+);/.exec(sending.server.received.at(-1)?.raw ?? '')?.[1]
  }
  expect(await sendSigned('ada')).toBe('old')
  const published = publishedOf(waiting)
  const record = published && dkimRecord(published)
  records.set(record?.name ?? '', [record?.value ?? ''])
  expect(await sendSigned('bob')).toBe('old')
  sending.clock.tick(HOUR)
  expect(await sendSigned('carol')).toBe('old')
  expect(await sendSigned('dan')).toBe('new')
})

test.each([
  ['twelve emails an hour', 5 * MINUTE],
  ['an email an hour', HOUR],
])('a new DKIM key is looked for every hour with %s, although DNS takes a while', async (_, everyMs) => {
  const lookedUpAt: number[] = []
  const resolveTxt = async (name: string): Promise<string[]> => {
    if (name.startsWith('new.')) {
      lookedUpAt.push(sending.clock.now() - startedAt)
      sending.clock.tick(100)
    }
    return []
  }
  const sending: Sending = await start({}, {}, { resolveTxt })
  const startedAt = sending.clock.now()
  const waiting = { domain: 'first.example', selector: 'new', key: await makeDkimKey() }
  await sending.setSettings(writeDkimKeys({ signing: null, waiting }))
  const checked = awaitChecks(sending)
  for (let ms = 0; ms <= 4 * HOUR; ms += everyMs) {
    sending.clock.tick(Math.max(0, startedAt + ms - sending.clock.now()))
    await sending.sendEvent(`p${ms}@example.com`)
    await sending.sendDue()
    await checked()
  }
  const hours = [...new Set(lookedUpAt.map((ms) => Math.round(ms / MINUTE) / 60))]
  expect(hours).toEqual([0, 1, 2, 3, 4])
})

test('waiting emails are sent when the operator binds the domain', async () => {
  const sending = await start()
  const other = await impersonate(sending, { fromEmail: 'hello@mine.example' })
  await other.send()
  sending.clock.tick(1)
  await sending
    .store()
    .bindSenderDomain({ ...other.by, at: sending.clock.now(), domain: 'mine.example', proof: 'operator' })
  await sending.sendDue()
  expect(sending.server.received.map(({ from }) => from)).toEqual(['hello@mine.example'])
})

test('an app with its own server sends as its provider allows', async () => {
  const own = await startMailServer()
  const sending = await start({}, {}, { privateHosts: LOOPBACK_HOSTS })
  const other = await impersonate(sending, { fromEmail: 'hello@mine.example', smtpUrl: own.url })
  await other.send()
  expect(own.received.map(({ from }) => from)).toEqual(['hello@mine.example'])
  await sending.sender().stop()
  await own.stop()
})

test('an address removed by an owner sends nothing, whatever a message says', async () => {
  const sending = await start({ mail: { ...CONTENT.mail, fromEmail: 'old@first.example' } })
  await sending.setSettings({ otherFromEmails: ['old@first.example'] })
  await sending.sendEvent('ada@example.com')
  await sending.sendDue()
  await sending.setSettings({ otherFromEmails: [] })
  await sending.sendEvent('bob@example.com')
  await sending.sendDue()
  expect(await sending.states()).toEqual({ sent: 1, 'deferred: sender_not_listed': 1 })
  sending.clock.tick(1)
  await sending.setSettings({ otherFromEmails: ['old@first.example'] })
  sending.clock.tick(MINUTE)
  await sending.sendDue()
  expect(sending.server.received.map(({ from }) => from)).toEqual(['old@first.example', 'old@first.example'])
})

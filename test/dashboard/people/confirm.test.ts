/** The way of a person who is added with consent pending, up to their first email. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { de } from '../../../src/accounts/texts/de.ts'
import { versionOf } from '../../../src/accounts/opt-in.ts'
import type { OptIn } from '../../../src/store/message-types.ts'
import { CONTACTS, DAY, HOUR } from '../../helper.ts'
import { RESULTS, type Sending, useSharedSending } from '../../mail/sending.ts'
import { textOf } from '../pages.ts'

const ADA = 'ada@example.com'
const ON: OptIn = { isOn: true, days: null, storesIp: false, subject: null, body: null, button: null }

const open = useSharedSending()
let sending: Sending
beforeEach(async () => {
  sending = await open({ again: { everyHours: 1 } })
  await sending.setSettings({ optIn: ON, perPersonDay: null })
})

const add = (changes: object = {}) =>
  sending.call('POST', CONTACTS, {
    body: { newsletter: sending.first.appId, email: ADA, consent: 'pending', ...changes },
  })
const person = async () => {
  const found = await sending.store().findContact(sending.app.id, ADA)
  if (!found) throw new Error('there is no such person')
  return found
}
const consents = async () => sending.store().listConsents((await person()).id)

/** The links of the emails that asked, the newest last. */
const links = (): string[] =>
  sending.server.received.flatMap(({ raw }) => {
    const text = raw.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=')
    return /http:\/\/localhost:8080\/confirm\/[\w-]{38}/.exec(text)?.[0] ?? []
  })
const get = (url: string) => sending.send(new Request(url))
const post = (url: string) => sending.send(new Request(url, { method: 'POST' }), '203.0.113.7')
const titleOf = async (answer: Response) => [answer.status, (await textOf(await answer.text(), 'h1'))[0]]

const subjects = () =>
  sending.server.received.map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw.replaceAll(/\r\n[ \t]+/g, ' '))?.[1])

const decodeSubject = (text = ''): string =>
  text.replaceAll(/\?= =\?/g, '?==?').replaceAll(/=\?utf-8\?q\?(.*?)\?=/gi, (_, coded: string) =>
    Buffer.from(
      coded
        .replaceAll('_', ' ')
        .replaceAll(/=([0-9A-F]{2})/g, (__, hex: string) => String.fromCharCode(parseInt(hex, 16))),
      'latin1',
    ).toString(),
  )

/** Asks, and returns the link. */
async function ask(): Promise<string> {
  expect((await add()).body).toMatchObject({ created: true, contact: { status: 'pending' } })
  await sending.sendDue()
  return links().at(-1) ?? ''
}

test('a pending person gets only the email with the link, and the other emails once they have confirmed', async () => {
  const welcome = { trigger: { contact: 'created' as const }, mail: { subject: 'Welcome', body: 'Hello' } }
  const by = { accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() }
  await sending
    .store()
    .saveMessages({ ...by, drafts: [{ id: null, name: 'Welcome', status: 'live', content: welcome }] })
  const url = await ask()
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect(subjects()).toEqual(['Confirm your email address for first'])
  expect(await sending.states()).toEqual({ sent: 1, 'skipped: pending': 1 })

  for (let time = 0; time < 3; time++) {
    expect(await titleOf(await get(url))).toEqual([200, 'Confirm your email address'])
  }
  expect((await person()).status).toBe('pending')
  for (let time = 0; time < 3; time++) {
    expect(await titleOf(await post(url))).toEqual([200, 'Your email address is confirmed'])
  }
  expect(await titleOf(await get(url))).toEqual([200, 'Your email address is confirmed'])
  expect((await person()).status).toBe('subscribed')
  sending.clock.tick(2 * HOUR)
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect(subjects().slice(1).toSorted()).toEqual(['Welcome', RESULTS.headline])
})

test('sees the page in the language of the app, or their own', async () => {
  const texts = { lang: 'fr', own: { confirmTitle: 'Confirmez' }, others: { de: { confirmTitle: 'Bestätigen' } } }
  await sending.setSettings({ texts })
  const url = await ask()
  const opened = async () => {
    const html = await (await get(url)).text()
    return [/lang="\w+"/.exec(html)?.[0], (await textOf(html, 'h1'))[0]]
  }
  expect(await opened()).toEqual(['lang="fr"', 'Confirmez'])
  await add({ fields: { locale: 'de' } })
  expect(await opened()).toEqual(['lang="de"', 'Bestätigen'])
})

test('gets the email in their language too, and its wording is stored', async () => {
  const german = { subject: 'Bitte bestaetigen', body: 'Hallo', button: 'Ja' }
  await sending.setSettings({ optIn: { ...ON, others: { de: german } } })
  await add({ fields: { locale: 'de-AT' } })
  await sending.call('POST', CONTACTS, {
    body: { newsletter: sending.first.appId, email: 'bob@example.com', consent: 'pending', fields: { locale: 'fr' } },
  })
  await sending.sendDue()
  expect(subjects().toSorted()).toEqual(['Bitte bestaetigen', 'Confirm your email address for first'])
  const mail = sending.server.received.find(({ to }) => to[0] === ADA)?.raw.replaceAll('=3D', '=')
  expect(mail).toContain('<html lang="de"')
  expect((await consents()).map(({ wording }) => wording)).toEqual([versionOf(german)])
})

test('gets a built-in email and page if the messages of the app are in their language', async () => {
  const text = { subject: 'Welcome', body: 'Hello' }
  const content = { trigger: { contact: 'created' as const }, mail: { ...text, variants: { de: text } } }
  const by = { accountId: sending.app.accountId, appId: sending.app.id, actor: 'test', at: sending.clock.now() }
  await add({ email: 'early@example.com', fields: { locale: 'de' } })
  await sending.store().saveMessages({ ...by, drafts: [{ id: null, name: 'Welcome', status: 'live', content }] })
  await add({ fields: { locale: 'de-AT' } })
  await add({ email: 'bob@example.com', fields: { locale: 'fr' } })
  await sending.sendDue()
  const opened = await Promise.all(
    sending.server.received.map(async ({ to: [to = ''] }, index) => {
      const html = await (await get(links()[index] ?? '')).text()
      return [to, decodeSubject(subjects()[index]), (await textOf(html, 'h1'))[0]]
    }),
  )
  const english = ['Confirm your email address for first', 'Confirm your email address']
  expect(opened.toSorted()).toEqual([
    [ADA, 'Bestätigen Sie Ihre E-Mail-Adresse für first', 'Bestätigen Sie Ihre E-Mail-Adresse'],
    ['bob@example.com', ...english],
    ['early@example.com', english[0], 'Bestätigen Sie Ihre E-Mail-Adresse'],
  ])
  expect((await consents()).map(({ wording }) => wording)).toEqual([versionOf(de.request)])
})

test("has the app's language in the email too, as far as it is built in", async () => {
  await sending.setSettings({ texts: { lang: 'nl', own: {}, others: {} } })
  await add()
  await sending.sendDue()
  expect(subjects()).toEqual(['Bevestig uw e-mailadres voor first'])
  const html = await (await get(links()[0] ?? '')).text()
  expect(await textOf(html, 'h1')).toEqual(['Bevestig uw e-mailadres'])
})

test('is asked again by calls only after a day, and never by events', async () => {
  await ask()
  for (const _ of [1, 2]) expect((await add({ tags: ['x'] })).body).toMatchObject({ created: false })
  await sending.sendEvent(ADA)
  await sending.sendDue()
  expect(links()).toHaveLength(1)
  sending.clock.tick(DAY)
  await add()
  await sending.sendDue()
  expect(links()).toHaveLength(2)
  const [first = '', second = ''] = links()
  expect(await titleOf(await post(first))).toEqual([200, 'Your email address is confirmed'])
  await add()
  await sending.sendDue()
  expect(links()).toHaveLength(2)
  expect(await titleOf(await get(second))).toEqual([200, 'Your email address is confirmed'])
})

test('an expired link confirms nothing, and its page sends a new one, once an hour', async () => {
  await sending.setSettings({ optIn: { ...ON, days: 1 } })
  const url = await ask()
  sending.clock.tick(DAY - 1_000)
  expect(await titleOf(await get(url))).toEqual([200, 'Confirm your email address'])
  sending.clock.tick(1_000)
  expect(await titleOf(await get(url))).toEqual([410, 'This link has expired'])
  expect(await titleOf(await post(url))).toEqual([410, 'This link has expired'])
  expect((await person()).status).toBe('pending')
  expect(await titleOf(await post(`${url}/again`))).toEqual([200, 'Check your inbox'])
  expect(await titleOf(await post(`${url}/again`))).toEqual([429, 'No email was sent'])
  await sending.sendDue()
  expect(links()).toHaveLength(2)
  sending.clock.tick(HOUR)
  expect(await titleOf(await post(`${url}/again`))).toEqual([200, 'Check your inbox'])
  await sending.sendDue()
  expect(await titleOf(await post(links().at(-1) ?? ''))).toEqual([200, 'Your email address is confirmed'])
  expect((await consents()).map(({ source }) => source)).toEqual(['page', 'page', 'api'])
})

describe('the evidence', () => {
  test('has time, source and wording, and the IP address only if the app stores it', async () => {
    const url = await ask()
    sending.clock.tick(HOUR)
    await post(url)
    const [consent] = await consents()
    expect(consent).toMatchObject({ source: 'api', confirmedAt: sending.clock.now(), address: null })
    const text = await sending.store().findWording(sending.app.id, consent?.wording ?? '')
    expect(text?.button).toBe('Confirm email address')
  })

  test('keeps the wording that the person saw, and the IP address if asked for', async () => {
    await sending.setSettings({ optIn: { ...ON, subject: 'Ja?', storesIp: true } })
    const url = await ask()
    await sending.setSettings({ optIn: { ...ON, subject: 'Yes?', storesIp: true } })
    await post(url)
    const [consent] = await consents()
    expect(consent?.address).toBe('203.0.113.7')
    expect(await sending.store().findWording(sending.app.id, consent?.wording ?? '')).toMatchObject({ subject: 'Ja?' })
  })

  test('is erased with the person, whose link then leads nowhere', async () => {
    const url = await ask()
    const { id } = await person()
    await sending.call('DELETE', CONTACTS, { body: { newsletter: sending.first.appId, email: ADA } })
    expect(await sending.store().listConsents(id)).toEqual([])
    expect(await titleOf(await get(url))).toEqual([404, 'This link does not work'])
    expect(await (await get(url)).text()).toContain("If it still doesn't work, reply to the email")
    expect(await titleOf(await post(url))).toEqual([404, 'This link does not work'])
  })
})

test('a call that asks for what is off adds nobody', async () => {
  await sending.setSettings({ optIn: { ...ON, isOn: false } })
  expect(await add()).toMatchObject({ status: 400, body: { field: 'consent' } })
  expect(await sending.store().findContact(sending.app.id, ADA)).toBeNull()
})

test('who unsubscribed is neither asked nor subscribed by an old link', async () => {
  const url = await ask()
  const { id: appId } = sending.app
  await sending.store().suppress({ appId, email: ADA, reason: 'unsubscribed', at: sending.clock.now() })
  expect(await titleOf(await post(url))).toEqual([200, 'There is nothing to confirm'])
  sending.clock.tick(2 * DAY)
  await add()
  await sending.sendDue()
  expect([links().length, (await person()).status]).toEqual([1, 'unsubscribed'])
})

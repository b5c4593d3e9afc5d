import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { AppRow } from '../../../src/accounts/access.ts'
import { type AccountPages, appOf, type Browser, openAccount } from '../browser.ts'
import { textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
let app: AppRow
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  app = await appOf(pages)
})
afterEach(() => pages.close())

const path = () => pages.at('sender/opt-in')
const TEXT = { days: '7', subject: 'Confirm', body: 'Hello {{ contact.firstName | default: "there" }}', button: 'Yes' }
const save = (fields: Record<string, string>) => browser.submit(path(), path(), { ...TEXT, ...fields })
const optIn = async () => (await pages.store.mailSettings(app.id)).optIn

test('is off until an owner turns it on, and shows the email as it is saved', async () => {
  expect(await textOf((await browser.get(path())).html, '.page-head .lead')).toEqual([
    'Off: nobody is asked to confirm their address. How it works',
  ])
  expect(await save({ isOn: 'on', storesIp: 'on' })).toMatchObject({ status: 303, location: path() })
  expect(await optIn()).toMatchObject({ isOn: true, days: null, storesIp: true, subject: 'Confirm', button: 'Yes' })
  const { html } = await browser.get(`${path()}/sample`)
  expect(await textOf(html, '.sheet p, .sheet a')).toEqual(['Hello Ada', 'Yes'])
  expect(html).toContain('this address was entered at')
})

test('has texts in other languages, which are checked and can be removed', async () => {
  await save({ isOn: 'on' })
  const german = `${path()}?language=de`
  expect(await textOf((await browser.get(german)).html, '#subject, nav [aria-current=true]')).toContain('German (de)')
  const post = (fields: Record<string, string>) =>
    browser.submit(german, path(), { ...TEXT, subject: 'Bitte', button: 'Ja', ...fields })
  expect((await post({ body: '{{ contact.nick }}' })).status).toBe(400)
  expect(await post({ body: 'Hallo' })).toMatchObject({ status: 303, location: german })
  expect(await optIn()).toMatchObject({
    isOn: true,
    subject: 'Confirm',
    others: { de: { subject: 'Bitte', body: 'Hallo', button: 'Ja' } },
  })
  const { html } = await browser.get(`${path()}/sample?language=de`)
  expect(html).toContain('<html lang="de"')
  expect(await textOf(html, '.sheet p, .sheet a')).toEqual(['Hallo', 'Ja'])
  await save({ isOn: 'on', subject: 'Confirm?' })
  expect(Object.keys((await optIn())?.others ?? {})).toEqual(['de'])
  expect(await post({ do: 'remove' })).toMatchObject({ status: 303, location: path() })
  expect(await optIn()).toMatchObject({ subject: 'Confirm?', others: {} })
  expect((await browser.get(`${path()}?language=nonsense!`)).html).toContain('Enter a language')
})

test.each([
  [
    'a name without a fallback',
    { body: 'Hello {{ contact.firstName }}' },
    'contact.firstName has neither a value nor a fallback',
  ],
  ['an unknown variable', { body: '{{ contact.nick }}' }, 'There is no variable contact.nick'],
  ['a wrong number of days', { days: '0' }, 'Enter a whole number from 1 to 30.'],
])('refuses %s, and saves nothing', async (_, fields, message) => {
  const { status, html } = await save({ isOn: 'on', ...fields })
  expect([status, (await textOf(html, '.fault'))[0]]).toEqual([400, expect.stringContaining(message)])
  expect(await optIn()).toBeNull()
})

test('a member adds a person who has to confirm, and asks them again an hour later', async () => {
  const form = () => pages.at('people/new')
  expect((await browser.get(form())).html).not.toContain('asksConsent')
  await save({ isOn: 'on' })
  expect((await browser.get(form())).html).toContain('asksConsent')
  const { location } = await browser.post(form(), { email: 'eve@example.com', asksConsent: 'on' })
  const person = location ?? ''
  const facts = async () => textOf((await browser.get(person)).html, '#consent dd > :first-child, #consent .hint')
  expect(await facts()).toContain('Asked by a member.')
  const again = () => browser.post(`${person}/ask`, {})
  expect((await again()).status).toBe(429)
  pages.clock.ms += 3_600_000
  expect((await again()).status).toBe(303)
  expect(await facts()).toContain('Asked by a member; 2 times in all.')
  const log = await browser.get(pages.at('audit?kind=people'))
  expect(await textOf(log.html, 'td[data-label=What]')).toEqual([
    'asked eve@example.com again to confirm the address',
    'added the person eve@example.com',
  ])
})

test('a stored language with extensions is shown and can be removed', async () => {
  const text = { subject: 'Please confirm', body: 'Hello', button: 'Yes' }
  const stored = { isOn: true, days: null, storesIp: false, ...text, others: { 'en-x-foo': text } }
  const by = { accountId: app.accountId, appId: app.id, actor: 'test', at: pages.clock.now() }
  await pages.store.setMailSettings({ ...by, settings: { optIn: stored } })
  const opened = await browser.get(`${path()}?language=en-x-foo`)
  expect([opened.status, await textOf(opened.html, 'nav.choices a')]).toEqual([200, ['Default', 'en-x-foo']])
  expect((await browser.get(`${path()}/sample?language=en-x-foo`)).status).toBe(200)
  expect((await browser.submit(`${path()}?language=en-x-foo`, path(), { do: 'remove' })).status).toBe(303)
  expect((await optIn())?.others).toEqual({})
})

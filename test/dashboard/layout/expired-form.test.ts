import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type AccountPages, type Browser, createBrowser, hiddenFieldsOf, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
let browser: Browser
/** hidden fields of the settings, seen before the session ended */
let shown: Record<string, string>
beforeEach(async () => {
  pages = await openAccount()
  browser = await pages.signedIn()
  shown = await hiddenFieldsOf((await browser.get(pages.at('settings'))).html)
  pages.clock.ms += 12 * 3_600_000
})
afterEach(() => pages.close())

const SETTINGS = { app: 'Typed at night', home: 'https://app.example.com', domains: 'app.example.com', timezone: 'UTC' }
const ADA = { signInEmail: 'ada@example.com', signInPassword: PASSWORD }

const nameOfApp = async (): Promise<string | undefined> =>
  (await pages.store.listApps(pages.begun.accountId)).at(0)?.name

test('a form sent after its session ended is submitted with the sign-in', async () => {
  const typed = { ...SETTINGS, ...shown, app: HOSTILE }
  const { status, html } = await browser.post(pages.at('settings'), typed)
  expect([status, await textOf(html, 'h1'), await hiddenFieldsOf(html)]).toEqual([401, ['Sign in'], typed])
  expect(await attributesOf(html, 'main form', 'action')).toEqual([pages.at('settings')])
  await expectHarmless(html)
  expect(await nameOfApp()).toBe('Engine')

  const sent = await browser.post(pages.at('settings'), { ...(await hiddenFieldsOf(html)), ...ADA })
  expect([sent.status, sent.location]).toEqual([303, pages.at('settings')])
  expect(await nameOfApp()).toBe(HOSTILE)
  const after = await browser.get(sent.location ?? '')
  expect(await textOf(after.html, '[role=status]')).toEqual(['Done: The settings were saved.'])
})

test('a wrong password changes nothing and keeps the input', async () => {
  const { status, html } = await browser.post(pages.at('settings'), { ...SETTINGS, ...ADA, signInPassword: 'wrong' })
  expect([status, await textOf(html, '[role=alert]')]).toEqual([400, ['Error: The email or the password is wrong.']])
  expect([await hiddenFieldsOf(html), await attributesOf(html, '#signInEmail', 'value')]).toEqual([
    SETTINGS,
    [ADA.signInEmail],
  ])
  expect(await attributesOf(html, '#signInPassword', 'value')).toEqual([null])
  expect([await nameOfApp(), (await browser.get(pages.at('settings'))).status]).toEqual(['Engine', 303])
})

test('a form about keys runs at once, because the password was just entered', async () => {
  const late = await browser.post(pages.at('keys'), { form: 'x'.repeat(43), name: 'Late', scope: 'standard' })
  const { status, html } = await browser.post(pages.at('keys'), { ...(await hiddenFieldsOf(late.html)), ...ADA })
  expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your new key']])
})

test('the password page keeps the form without the password', async () => {
  const fields = { form: 'x'.repeat(43), name: 'Late', scope: 'standard' }
  const { html } = await browser.post(pages.at('keys'), { ...fields, confirmPassword: PASSWORD })
  expect(await hiddenFieldsOf(html)).toEqual(fields)
  expect(html).not.toContain(PASSWORD)
})

test('its errors are shown after the sign-in', async () => {
  const { status, html } = await browser.post(pages.at('settings'), { ...SETTINGS, app: '', ...ADA })
  expect([status, await attributesOf(html, '#domains', 'name'), html.includes(PASSWORD)]).toEqual([
    400,
    ['domains'],
    false,
  ])
  expect((await browser.get(pages.at('settings'))).status).toBe(200)
})

test.each([
  ['sender/server', { smtpHost: 'mail.example.com', smtpPassword: 'hidden' }],
  ['you/password', { password: PASSWORD, newPassword: 'four dull wooden spoons' }],
])('a form with a password is not kept, and says so: %s', async (path, fields) => {
  const { status, location, html } = await browser.post(pages.at(path), fields)
  const page = pages.at(path === 'you/password' ? 'you' : path)
  expect([status, location, html]).toEqual([303, `/sign-in?${new URLSearchParams({ next: page, unsent: '1' })}`, ''])
  const kept = await browser.post(pages.at('sender/server'), { smtpHost: 'mail.example.com', smtpPassword: '' })
  expect(await hiddenFieldsOf(kept.html)).toEqual({ smtpHost: 'mail.example.com', smtpPassword: '' })
})

test('a member of another account changes nothing', async () => {
  await pages.addAccount('eve@example.com', 'Other')
  const eve = { signInEmail: 'eve@example.com', signInPassword: PASSWORD }
  expect((await createBrowser(pages).post(pages.at('settings'), { ...SETTINGS, ...eve })).status).toBe(404)
  expect(await nameOfApp()).toBe('Engine')
})

test('a role that is too low is refused after the sign-in too', async () => {
  await pages.addMember('vic@example.com', 'viewer')
  const vic = { signInEmail: 'vic@example.com', signInPassword: PASSWORD }
  expect((await createBrowser(pages).post(pages.at('settings'), { ...SETTINGS, ...vic })).status).toBe(403)
  expect(await nameOfApp()).toBe('Engine')
})

test('without the form, it leads to its page', async () => {
  const { html } = await browser.post(pages.at('keys/revoke'), { key: 'key_1' })
  const next = new URLSearchParams({ next: pages.at('keys') })
  expect(await attributesOf(html, '.after-form a', 'href')).toEqual([`/sign-in?${next}`])
})

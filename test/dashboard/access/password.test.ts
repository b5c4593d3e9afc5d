import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createAccount } from '../../../src/accounts/accounts.ts'
import { inviteMember, resetPassword } from '../../../src/accounts/members.ts'
import { codeAt, STEP_MS, turnOn } from './authenticator.ts'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, openPages, type Pages, textOf } from '../pages.ts'

const NEW = 'four dull wooden spoons'

let pages: Pages
let token: string

beforeEach(async () => {
  pages = await openPages()
  const person = { email: 'ada@example.com', passwordHash: null, appName: 'Ada', domains: [], home: null }
  const maker = { store: pages.store, now: pages.clock.now(), actor: 'cli' }
  const begun = await createAccount(maker, person, { onlyFirst: true, setupToken: null })
  token = 'refusal' in begun ? '' : (begun.inviteToken ?? '')
})
afterEach(() => pages.close())

const send = (password: string, used = token) => pages.post('/password', { token: used, password })
const title = async (html: string) => (await textOf(html, 'h1'))[0]

test('the link shows the form every time', async () => {
  for (let i = 0; i < 2; i++) {
    const response = await pages.openLink(`/password?token=${token}&password=${PASSWORD}`)
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(await title(html)).toBe('Your account Ada')
    expect(await textOf(html, '.lead, main button')).toEqual([
      "You're its owner. Choose a password to sign in.",
      'Set the password',
    ])
    expect(await attributesOf(html, 'input', 'name')).toEqual(['token', 'password'])
  }
})

test.each([
  ['', 'Choose a password of at least 8 characters.'],
  ['p'.repeat(129), 'Choose a password of at most 128 characters.'],
  ['12345678', 'This password is too common. Choose another.'],
  ['ada@example', 'This password is too similar to your email or to the name of your account or app. Choose another.'],
])('400: %p is refused next to the field and never shown', async (password, message) => {
  const response = await send(password)
  const html = await response.text()
  expect(response.status).toBe(400)
  expect(await textOf(html, '#password-fault')).toEqual([`Error: ${message}`])
  expect(await attributesOf(html, '#password', 'value')).toEqual([null])
  expect((await send(PASSWORD)).status).toBe(303)
})

test('sets the password once and signs in', async () => {
  const set: string[] = []
  const { setPasswordByLink } = pages.store
  pages.store.setPasswordByLink = (input) => (set.push(input.passwordHash), setPasswordByLink(input))
  const response = await send(PASSWORD)
  expect(response.status).toBe(303)
  expect(await Bun.password.verify(PASSWORD, set[0] ?? '')).toBe(true)
  expect((await send('another password')).status).toBe(404)
  expect((await pages.openLink(`/password?token=${token}`)).status).toBe(404)
  expect(set).toHaveLength(1)
})

test('concurrent requests set one password', async () => {
  const responses = await Promise.all([send(PASSWORD), send('another password')])
  expect(responses.map(({ status }) => status).sort()).toEqual([303, 404])
})

describe('404: a link that does not work', () => {
  test.each(['', 'wrong', HOSTILE])('%p', async (wrong) => {
    for (const response of [
      await send(PASSWORD, wrong),
      await pages.openLink(`/password?token=${encodeURIComponent(wrong)}`),
    ]) {
      const html = await response.text()
      expect(response.status).toBe(404)
      expect(await title(html)).toBe('This link does not work')
      expect(html).not.toContain('alert(1)')
      expect(await attributesOf(html, 'main a', 'href')).toEqual(['/sign-in'])
    }
  })

  test('a link that is a day old', async () => {
    pages.clock.ms += DAY
    expect((await send(PASSWORD)).status).toBe(404)
    expect((await pages.openLink(`/password?token=${token}`)).status).toBe(404)
  })
})

test('503: a full disk keeps the link', async () => {
  const { setPasswordByLink } = pages.store
  pages.store.setPasswordByLink = async () => ({ refusal: 'unavailable' })
  const response = await send(PASSWORD)
  expect(response.status).toBe(503)
  expect((await textOf(await response.text(), '[role=alert]'))[0]).toStartWith("Error: Eventpost can't save right now")
  pages.store.setPasswordByLink = setPasswordByLink
  expect((await send(PASSWORD)).status).toBe(303)
})

describe('a member with a new password', () => {
  let account: AccountPages
  beforeEach(async () => {
    account = await openAccount({ appName: HOSTILE })
  })
  afterEach(() => account.close())

  const EVE = 'eve@example.com'
  const maker = () => ({ store: account.store, now: account.clock.now(), actor: 'cli' })
  const reset = async (more: { endsTwoStep?: true } = {}) => {
    const made = await resetPassword(maker(), { email: 'ada@example.com', accountId: null, ...more })
    return 'refusal' in made ? made.refusal : made.passwordToken
  }
  const invite = async (email = EVE) => {
    const made = await inviteMember(maker(), account.begun.accountId, { email, role: 'editor' })
    return 'refusal' in made ? made.refusal : made.inviteToken
  }
  const choose = (browser: ReturnType<typeof createBrowser>, token: string) =>
    browser.post('/password', { token, password: NEW })
  const said = (html: string) => textOf(html, '[role=status] > .notice')

  test('joins the account the first time, with a message', async () => {
    const token = await invite()
    const browser = createBrowser(account)
    const page = await browser.openLink(`/password?token=${token}`)
    expect(await textOf(page.html, 'h1, .lead, main p:not([class])')).toEqual([
      `Join ${HOSTILE} on Eventpost`,
      "You're invited as an editor. Choose a password to join.",
      `You sign in as ${EVE}.`,
    ])
    const { status, location } = await choose(browser, token)
    expect([status, location, [...browser.cookies.keys()]]).toEqual([
      303,
      account.at('activation'),
      ['eventpost_session_8080', 'eventpost_known', 'eventpost_flash'],
    ])
    const { html } = await browser.get(location ?? '')
    expect(await said(html)).toEqual([
      `Done: Your password is set, and you have joined the account ${HOSTILE} as an editor.`,
    ])
    await expectHarmless(html)
    expect((await createBrowser(account).signIn(EVE, NEW)).status).toBe(303)
  })

  test('is signed in here, and nowhere with the old one', async () => {
    const elsewhere = await account.signedIn()
    const browser = await account.signedIn()
    const token = await reset()
    const page = await browser.openLink(`/password?token=${token}`)
    expect([await textOf(page.html, '.notice'), await textOf(page.html, 'main p:not([class])')]).toEqual([
      [],
      ['You sign in as ada@example.com. Your other sessions will end.'],
    ])
    expect((await choose(browser, token)).location).toBe('/')
    expect(await said((await browser.get(account.at('you'))).html)).toEqual([
      'Done: Your new password is set. Your other sessions have ended.',
    ])
    expect((await elsewhere.get(account.at('you'))).status).toBe(303)
  })

  test('still needs a code with two-step sign-in', async () => {
    const { secret } = await turnOn(account, await account.signedIn())
    const token = await reset()
    const browser = createBrowser(account)
    expect(await textOf((await browser.openLink(`/password?token=${token}`)).html, '.notice')).toEqual([])
    const { location } = await choose(browser, token)
    expect([location, [...browser.cookies.keys()]]).toEqual([
      '/sign-in/code?next=%2F&set=1',
      ['eventpost_second_step_8080'],
    ])
    expect(await textOf((await browser.get(location ?? '')).html, '.notice')).toEqual([
      'Done: Your new password is set. Your other sessions have ended.',
    ])
    expect((await browser.post('/sign-in/code', { code: codeAt(secret, account.clock.ms) })).location).toBe('/')
    expect((await browser.get(account.at('you'))).status).toBe(200)
  })

  test('reads before and after that a link turns two-step sign-in off', async () => {
    await turnOn(account, await account.signedIn())
    account.clock.ms += STEP_MS
    const token = await reset({ endsTwoStep: true })
    const browser = createBrowser(account)
    expect(await textOf((await browser.openLink(`/password?token=${token}`)).html, '.notice')).toEqual([
      'Caution: This also turns off two-step sign-in. You can set it up again under Your profile.',
    ])
    expect((await choose(browser, token)).location).toBe('/')
    expect(await said((await browser.get(account.at('you'))).html)).toEqual([
      'Done: Your new password is set, and two-step sign-in is off. Your other sessions have ended.',
    ])
  })

  test('reads nothing about it if it is off already', async () => {
    const token = await reset({ endsTwoStep: true })
    const browser = createBrowser(account)
    expect(await textOf((await browser.openLink(`/password?token=${token}`)).html, '.notice')).toEqual([])
    await choose(browser, token)
    expect((await said((await browser.get(account.at('you'))).html)).join()).not.toContain('two-step')
  })

  test('does not replace the session of another member', async () => {
    const browser = await account.signedIn()
    const token = await invite()
    expect(await textOf((await browser.openLink(`/password?token=${token}`)).html, '.notice')).toEqual([
      `Caution: You are signed in as ada@example.com, but this link is for ${EVE}.`,
    ])
    const { status, html } = await choose(browser, token)
    expect([status, await title(html), (await textOf(html, 'main p')).at(1)]).toEqual([
      200,
      'Your password is set',
      `This browser is signed in as ada@example.com. Sign out, then sign in as ${EVE}.`,
    ])
    expect((await browser.get(account.at('you'))).html).toContain('You are ada@example.com')
  })

  test('signs in with the password if it was changed meanwhile', async () => {
    const { startSession } = account.store
    account.store.startSession = async (start) => startSession({ ...start, passwordHash: 'the one before' })
    const browser = createBrowser(account)
    const { status, html } = await choose(browser, await reset())
    expect([status, await title(html), browser.cookies.size]).toEqual([200, 'Your password is set', 0])
    expect(await attributesOf(html, 'main a', 'href')).toEqual(['/sign-in?next=%2F'])
  })
})

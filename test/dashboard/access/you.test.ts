import { readStored } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { MOST_SESSIONS } from '../../../src/accounts/account-rules.ts'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NEW = 'four dull wooden spoons'

describe('the session', () => {
  test('ends 12 hours after its last use', async () => {
    const browser = await pages.signedIn()
    for (let i = 0; i < 3; i++) {
      pages.clock.ms += 12 * HOUR - 1
      expect((await browser.get(pages.at('you'))).status).toBe(200)
    }
    pages.clock.ms += 12 * HOUR
    expect((await browser.get(pages.at('you'))).status).toBe(303)
  })

  test('ends 30 days after its start', async () => {
    const browser = await pages.signedIn()
    for (let hours = 0; hours < 30 * 24 - 10; hours += 10) {
      pages.clock.ms += 10 * HOUR
      expect((await browser.get(pages.at('you'))).status).toBe(200)
    }
    pages.clock.ms += 10 * HOUR
    expect((await browser.get(pages.at('you'))).status).toBe(303)
  })

  test.each(['', 'wrong', HOSTILE.replaceAll(/[;\s]/g, '')])('%p is not a token', async (token) => {
    const browser = createBrowser(pages)
    browser.cookies.set('eventpost_session_8080', token)
    expect((await browser.get(pages.at('you'))).status).toBe(303)
  })

  test('is stored as a hash', async () => {
    const browser = await pages.signedIn()
    const token = browser.cookies.get('eventpost_session_8080') ?? ''
    const stored = await readStored(pages.folder)
    expect([token.length, stored.includes(token)]).toEqual([43, false])
    expect(stored).toContain(Bun.SHA256.hash(token, 'base64url'))
  })
})

describe('the list of sessions', () => {
  const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1'
  const rowsOf = async (html: string) =>
    (await textOf(html, '[aria-label=Sessions] tbody td:first-child')).map((text) => text.trim())

  test('names the browsers, newest first, and this one', async () => {
    const first = await pages.signedIn()
    pages.clock.ms += 5 * MINUTE
    await pages.signedIn('ada@example.com', { agent: IPHONE })
    pages.clock.ms += 5 * MINUTE
    await pages.signedIn('ada@example.com', { agent: HOSTILE.replaceAll(/[^ -~]/g, '') })
    const { html } = await first.get(pages.at('you'))
    expect(await rowsOf(html)).toEqual(['Another program', 'Safari on iPhone', 'Firefox on Linux This browser'])
    const times = await textOf(html, '[aria-label=Sessions] time')
    expect(times).toEqual(['just now', 'just now', '5 minutes ago', '5 minutes ago', '10 minutes ago', 'just now'])
    await expectHarmless(html)
  })

  test('ends one or all others', async () => {
    const [first, second] = [await pages.signedIn(), await pages.signedIn()]
    pages.clock.ms += MINUTE
    const third = await pages.signedIn()
    const { html } = await first.get(pages.at('you'))
    const [id = ''] = await attributesOf(html, '[name=session]', 'value')
    const ended = await first.post(`${pages.at('you')}/sessions`, { session: id ?? '' })
    expect([ended.status, ended.location]).toEqual([303, pages.at('you')])
    const after = await first.get(pages.at('you'))
    expect(await textOf(after.html, '[role=status]')).toEqual(['Done: The session has ended.'])
    expect(await textOf((await first.get(pages.at('you'))).html, '[role=status]')).toEqual([])
    expect(await rowsOf(after.html)).toHaveLength(2)
    expect((await third.get(pages.at('you'))).status).toBe(303)
    await first.post(`${pages.at('you')}/sessions`)
    expect([(await second.get(pages.at('you'))).status, (await first.get(pages.at('you'))).status]).toEqual([303, 200])
  })

  test('asks for the password before ending any', async () => {
    const browser = await pages.signedIn()
    await pages.signedIn()
    pages.clock.ms += 10 * MINUTE
    const path = `${pages.at('you')}/sessions`
    const asked = await browser.post(path)
    expect([asked.status, await textOf(asked.html, 'h1')]).toEqual([200, ['Confirm your password']])
    const member = await pages.store.findMember('ada@example.com')
    const listed = async () => (await pages.store.listSessions(member?.id ?? '')).length
    expect(await listed()).toBe(2)
    expect((await browser.post(path, { confirmPassword: PASSWORD })).status).toBe(303)
    expect(await listed()).toBe(1)
  })

  test('has at most 20: another one ends the least recently used', async () => {
    const browsers: Awaited<ReturnType<AccountPages['signedIn']>>[] = []
    for (let i = 0; i < MOST_SESSIONS + 2; i++) {
      pages.clock.ms += MINUTE
      browsers.push(await pages.signedIn())
      // the first session stays in use
      await browsers[0]?.get(pages.at('you'))
    }
    const member = await pages.store.findMember('ada@example.com')
    expect(await pages.store.listSessions(member?.id ?? '')).toHaveLength(MOST_SESSIONS)
    const statuses = await Promise.all(browsers.map(async (browser) => (await browser.get(pages.at('you'))).status))
    expect(statuses).toEqual([200, 303, 303, ...Array(MOST_SESSIONS - 1).fill(200)])
  })

  test('does not end those of others', async () => {
    await pages.addMember('eve@example.com', 'owner')
    const [ada, eve] = [await pages.signedIn(), await pages.signedIn('eve@example.com')]
    const member = await pages.store.findMember('ada@example.com')
    const [session] = await pages.store.listSessions(member?.id ?? '')
    await eve.post(`${pages.at('you')}/sessions`, { session: session?.id ?? '' })
    await eve.post(`${pages.at('you')}/sessions`)
    expect((await ada.get(pages.at('you'))).status).toBe(200)
  })
})

describe('changing the password', () => {
  const change = (browser: Awaited<ReturnType<AccountPages['signedIn']>>, fields: Record<string, string>) =>
    browser.post(`${pages.at('you')}/password`, fields)

  test('ends all other sessions; this one gets a new token', async () => {
    const [here, there] = [await pages.signedIn(), await pages.signedIn()]
    const before = here.cookies.get('eventpost_session_8080')
    const { status, location } = await change(here, { password: PASSWORD, newPassword: NEW })
    expect([status, location]).toEqual([303, pages.at('you')])
    expect(here.cookies.get('eventpost_session_8080')).not.toBe(before)
    expect((await here.get(pages.at('you'))).status).toBe(200)
    expect((await there.get(pages.at('you'))).status).toBe(303)
    const old = createBrowser(pages)
    old.cookies.set('eventpost_session_8080', before ?? '')
    expect((await old.get(pages.at('you'))).status).toBe(303)
    expect((await old.signIn('ada@example.com')).status).toBe(400)
    expect((await old.signIn('ada@example.com', NEW)).status).toBe(303)
  })

  test.each([
    [{ password: 'wrong', newPassword: NEW }, '#password-fault', 'This password is wrong.'],
    [{ password: PASSWORD, newPassword: 'short' }, '#newPassword-fault', 'Choose a password of at least 8 characters.'],
    [
      { password: PASSWORD, newPassword: 'Engine2026' },
      '#newPassword-fault',
      'This password is too similar to your email or to the name of your account or app. Choose another.',
    ],
  ])('400: %p', async (fields, selector, message) => {
    const browser = await pages.signedIn()
    const { status, html } = await change(browser, fields)
    expect([status, await textOf(html, selector)]).toEqual([400, [`Error: ${message}`]])
    expect(html).not.toContain(NEW)
    expect((await createBrowser(pages).signIn('ada@example.com')).status).toBe(303)
  })

  test('a password link ends all sessions', async () => {
    const browser = await pages.signedIn()
    await pages.store.makePasswordLink({
      email: 'ada@example.com',
      accountId: null,
      actor: 'cli',
      at: pages.clock.now(),
      link: { tokenHash: Bun.SHA256.hash('token', 'base64url'), purpose: 'password', expiresAt: pages.clock.now() + 1 },
    })
    expect((await pages.post('/password', { token: 'token', password: NEW })).status).toBe(303)
    expect((await browser.get(pages.at('you'))).status).toBe(303)
  })
})

test.each(['you', 'keys', 'activation', 'nothing'])('an app of another account is unknown: %s', async (page) => {
  const other = await pages.addAccount('eve@example.com', 'Other')
  const browser = await pages.signedIn()
  for (const app of [other.appId, 'app_none', encodeURIComponent(HOSTILE)]) {
    const { status, html } = await browser.get(`/apps/${app}/${page}`)
    expect(status).toBe(404)
    expect(html).not.toContain(other.appId)
    expect(html).not.toContain('alert(1)')
  }
})

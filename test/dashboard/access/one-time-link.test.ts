import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createSetupToken } from '../../../src/accounts/accounts.ts'
import { inviteMember, resetPassword } from '../../../src/accounts/members.ts'
import { type AccountPages, createBrowser, openAccount } from '../browser.ts'
import { HOUR } from '../../durations.ts'
import { attributesOf, DAY, openPages, textOf } from '../pages.ts'

const NEW = 'four dull wooden spoons'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const maker = () => ({ store: pages.store, now: pages.clock.now(), actor: 'test' })
const reset = async () => {
  const made = await resetPassword(maker(), { email: 'ada@example.com', accountId: null })
  return 'refusal' in made ? made.refusal : made.passwordToken
}
const invite = async () => {
  const made = await inviteMember(maker(), pages.begun.accountId, { email: 'eve@example.com', role: 'viewer' })
  return 'refusal' in made ? made.refusal : made.inviteToken
}

describe('the token', () => {
  test.each([
    ['a new password', reset, 'Choose a password'],
    ['an invitation', invite, 'Join Engine on Eventpost'],
  ])('of %s is in no visible URL', async (_, make, title) => {
    const token = await make()
    const browser = createBrowser(pages)
    const opened = await browser.get(`/password?token=${token}&password=secret`)
    expect([opened.status, opened.location, opened.html]).toEqual([303, '/password', ''])
    expect(opened.headers.get('cache-control')).toBe('no-store')
    expect(opened.headers.getSetCookie()).toEqual([
      `eventpost_link_8080=${token}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax`,
    ])
    const { status, html } = await browser.get('/password')
    expect([status, await textOf(html, 'h1')]).toEqual([200, [title]])
    expect(await attributesOf(html, 'main form', 'action')).toEqual(['/password'])
    const sent = await browser.post('/password', { token, password: NEW })
    expect([sent.status, browser.cookies.has('eventpost_link_8080')]).toEqual([303, false])
    expect(sent.location).not.toContain('token')
  })

  test('of the set-up is in no visible URL', async () => {
    const fresh = await openPages()
    const token = await createSetupToken({ store: fresh.store, now: fresh.clock.now() })
    const browser = createBrowser(fresh)
    const { html } = await browser.openLink(`/setup?token=${token}`)
    expect(await textOf(html, 'h1')).toEqual(['Set up Eventpost'])
    const fields = { token, email: 'ada@example.com', password: NEW, app: 'Engine', domain: '' }
    expect((await browser.post('/setup', fields)).status).toBe(200)
    expect(browser.cookies.has('eventpost_link_8080')).toBe(false)
    await fresh.close()
  })
})

test('reload shows the form again, and a refused form keeps the link', async () => {
  const token = await reset()
  const browser = createBrowser(pages)
  await browser.openLink(`/password?token=${token}`)
  expect((await browser.post('/password', { token, password: 'short' })).status).toBe(400)
  for (let i = 0; i < 2; i++) expect((await browser.get('/password')).status).toBe(200)
})

test('the latest opened link counts, even if it is wrong', async () => {
  const browser = createBrowser(pages)
  await browser.openLink(`/password?token=${await reset()}`)
  const invited = await browser.openLink(`/password?token=${await invite()}`)
  expect(await textOf(invited.html, 'main strong')).toEqual(['eve@example.com'])
  for (const wrong of ['', 'x', 'a;b', 'x'.repeat(5_000), `${'x'.repeat(42)}%0d%0aSet-Cookie:%20a=b`]) {
    const { status, html, headers } = await browser.openLink(`/password?token=${wrong}`)
    expect([status, await textOf(html, 'h1'), headers.getSetCookie()]).toEqual([404, ['This link does not work'], []])
    expect([...browser.cookies]).toEqual([])
  }
})

test('an hour after it was opened, a link works again when it is opened again', async () => {
  const token = await reset()
  const browser = createBrowser(pages)
  await browser.openLink(`/password?token=${token}`)
  browser.cookies.delete('eventpost_link_8080')
  const { status, html } = await browser.get('/password')
  expect(status).toBe(404)
  expect((await textOf(html, 'main p'))[0]).toBe(
    'Links to join an account or set a password work once and expire after a day. After you open one, you have an hour to set a password.',
  )
  pages.clock.ms += 2 * HOUR
  expect((await browser.openLink(`/password?token=${token}`)).status).toBe(200)
})

test('without the cookie or a day later, the page asks to open the link again', async () => {
  const token = await reset()
  const browser = createBrowser(pages)
  for (const late of [false, true]) {
    if (late) await browser.openLink(`/password?token=${token}`)
    pages.clock.ms += late ? DAY : 0
    const { status, html } = await browser.get('/password')
    expect([status, (await textOf(html, 'main p'))[1]?.trim()]).toEqual([
      404,
      expect.stringContaining('Open the complete link again in a browser with cookies enabled.'),
    ])
  }
})

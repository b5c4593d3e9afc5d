import { withSql } from '../../data-folder.ts'
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { CreatedAccount } from '../../../src/accounts/accounts.ts'
import { inviteMember } from '../../../src/accounts/members.ts'
import { SIGN_IN_DELAYS } from '../../../src/accounts/sign-in-tries.ts'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, textOf } from '../pages.ts'

const [ADA, EVE] = ['ada@example.com', 'eve@example.com']
const NEW = 'four dull wooden spoons'
let pages: AccountPages
let other: CreatedAccount
let token: string

const invite = async (email: string, account: CreatedAccount = other) => {
  const maker = { store: pages.store, now: pages.clock.now(), actor: 'test' }
  const made = await inviteMember(maker, account.accountId, { email, role: 'editor' })
  return 'refusal' in made ? made.refusal : made.inviteToken
}

beforeEach(async () => {
  pages = await openAccount()
  other = await pages.addAccount('owner@example.com', HOSTILE)
  token = await invite(ADA)
})
afterEach(() => pages.close())

const link = () => `/password?token=${token}`
const activation = () => `/apps/${other.appId}/activation`
const titleOf = async (html: string) => (await textOf(html, 'h1'))[0]
const mayLook = async (email = ADA) => (await (await pages.signedIn(email)).get(activation())).status === 200

describe('a person with a password', () => {
  test('enters it, joins, and signs in as before', async () => {
    const browser = createBrowser(pages)
    const { status, html } = await browser.openLink(link())
    expect([status, await titleOf(html)]).toEqual([200, `Join ${HOSTILE} on Eventpost`])
    expect(await textOf(html, '.lead, main strong')).toEqual(["You're invited as an editor.", ADA])
    expect(await attributesOf(html, 'main input[name]', 'name')).toEqual(['token', 'password', 'token', 'newPassword'])
    await expectHarmless(html)
    expect(await mayLook()).toBe(false)
    const joined = await browser.post('/password', { token, password: PASSWORD })
    expect([joined.status, await titleOf(joined.html)]).toEqual([200, `You have joined the account ${HOSTILE}`])
    expect(await attributesOf(joined.html, 'main a', 'href')).toEqual([
      `/sign-in?next=${encodeURIComponent(activation())}`,
    ])
    expect(browser.cookies.has('eventpost_session_8080')).toBe(false)
    expect(await mayLook()).toBe(true)
    expect((await browser.openLink(link())).status).toBe(404)
  })

  test.each(['wrong', '', NEW])(
    'with the wrong password %p changes nothing, and the link still works',
    async (wrong) => {
      const browser = createBrowser(pages)
      const { status, html } = await browser.post('/password', { token, password: wrong })
      expect([status, await textOf(html, '#password-fault')]).toEqual([
        400,
        ["Error: This password is wrong. If you don't have a password yet, choose one below."],
      ])
      expect(await attributesOf(html, '#password', 'value')).toEqual([null])
      expect([await mayLook(), (await browser.openLink(link())).status]).toEqual([false, 200])
    },
  )

  test('has as many tries as when signing in', async () => {
    const browser = createBrowser(pages, { address: '10.0.0.1' })
    spyOn(Bun.password, 'verify').mockImplementation(async (password) => password === PASSWORD)
    for (let i = 0; i < SIGN_IN_DELAYS.pair.free; i++) await browser.post('/password', { token, password: 'wrong' })
    const { status, html, headers } = await browser.post('/password', { token, password: PASSWORD })
    spyOn(Bun.password, 'verify').mockRestore()
    expect([status, headers.get('retry-after')]).toEqual([429, '1'])
    expect((await textOf(html, '#password-fault'))[0]).toContain('Too many wrong passwords')
    expect((await browser.signIn(ADA)).status).toBe(429)
  })

  test('only accepts when signed in, and goes on to the app', async () => {
    const browser = await pages.signedIn()
    const { html } = await browser.openLink(link())
    expect(await attributesOf(html, 'main input', 'name')).toEqual(['token'])
    expect((await browser.get(activation())).status).toBe(404)
    const { status, location } = await browser.post('/password', { token })
    expect([status, location]).toEqual([303, activation()])
    const shown = await browser.get(activation())
    expect([shown.status, (await textOf(shown.html, '[role=status]'))[0]]).toEqual([
      200,
      expect.stringContaining('You have joined the account'),
    ])
  })

  test('is not confused with another signed-in member', async () => {
    await pages.addMember(EVE, 'viewer')
    const browser = await pages.signedIn(EVE)
    const { html } = await browser.openLink(link())
    expect(await textOf(html, '.notice.caution')).toEqual([
      `Caution: You are signed in as ${EVE}, but this invitation is for ${ADA}.`,
    ])
    expect((await browser.post('/password', { token })).status).toBe(400)
    expect([await mayLook(), await mayLook(EVE)]).toEqual([false, false])
    const joined = await browser.post('/password', { token, password: PASSWORD })
    expect(await textOf(joined.html, 'main p')).toContain(
      `This browser is signed in as ${EVE}. Sign out, then sign in as ${ADA}.`,
    )
    expect([await mayLook(), await mayLook(EVE)]).toEqual([true, false])
  })

  test('keeps it: the link sets no other password', async () => {
    await createBrowser(pages).post('/password', { token, password: NEW })
    expect((await createBrowser(pages).signIn(ADA, NEW)).status).toBe(400)
    expect((await createBrowser(pages).signIn(ADA)).status).toBe(303)
  })

  test('joins later if the disk is full', async () => {
    const browser = await pages.signedIn()
    const { acceptInvitation } = pages.store
    pages.store.acceptInvitation = async () => ({ refusal: 'unavailable' })
    const { status, html } = await browser.post('/password', { token })
    expect([status, (await textOf(html, '[role=alert]'))[0]]).toEqual([
      503,
      expect.stringContaining("Eventpost can't save right now"),
    ])
    pages.store.acceptInvitation = acceptInvitation
    expect((await browser.post('/password', { token })).status).toBe(303)
  })

  test('gets an error for a used or expired link', async () => {
    const browser = await pages.signedIn()
    const both = await Promise.all([browser.post('/password', { token }), browser.post('/password', { token })])
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 404])
    const [third] = [await pages.addAccount('third@example.com', 'Third')]
    token = await invite(ADA, third)
    pages.clock.ms += DAY
    expect((await browser.openLink(link())).status).toBe(404)
  })
})

test('a person without a password chooses one for all accounts', async () => {
  token = await invite(EVE)
  const second = await invite(EVE, pages.begun)
  const browser = createBrowser(pages)
  const { html } = await browser.openLink(link())
  expect(await titleOf(html)).toBe(`Join ${HOSTILE} on Eventpost`)
  expect((await textOf(html, 'main p'))[1]).toBe(`You sign in as ${EVE}.`)
  expect((await browser.post('/password', { token, newPassword: PASSWORD })).location).toBe(activation())
  expect(await mayLook(EVE)).toBe(true)
  const eve = await pages.signedIn(EVE)
  expect((await eve.get(pages.at('activation'))).status).toBe(404)
  expect(await titleOf((await eve.openLink(`/password?token=${second}`)).html)).toBe('Join Engine on Eventpost')
  expect((await eve.post('/password', { token: second })).location).toBe(pages.at('activation'))
})

test('with one account, an invited person has no password to enter', async () => {
  const alone = await openAccount()
  const maker = { store: alone.store, now: alone.clock.now(), actor: 'test' }
  const made = await inviteMember(maker, alone.begun.accountId, { email: EVE, role: 'editor' })
  const path = `/password?token=${'refusal' in made ? '' : made.inviteToken}`
  const fieldsOf = async (path: string) =>
    attributesOf((await createBrowser(alone).openLink(path)).html, 'main form input[name]', 'name')
  expect(await titleOf((await createBrowser(alone).openLink(path)).html)).toBe('Join Engine on Eventpost')
  expect(await fieldsOf(path)).toEqual(['token', 'password'])
  await alone.addAccount('owner@example.com', 'Other')
  expect(await titleOf((await createBrowser(alone).openLink(path)).html)).toBe('Join Engine on Eventpost')
  await alone.close()
})

describe('a person with the link of someone else', () => {
  const FAULT = '#newPassword-fault'
  /** Compares the answers for people with and without a password. */
  async function answersTo(fields: Record<string, string> | null): Promise<[known: string, unknown: string]> {
    const unknown = await invite(EVE)
    const answerOf = async (used: string, email: string) => {
      const browser = createBrowser(pages)
      const seen = fields
        ? await browser.post('/password', { token: used, ...fields })
        : await browser.openLink(`/password?token=${used}`)
      return `${seen.status} ${seen.html.replaceAll(used, 'TOKEN').replaceAll(email, 'EMAIL')}`
    }
    return [await answerOf(token, ADA), await answerOf(unknown, EVE)]
  }
  const entries = () =>
    withSql(pages.folder, async (sql) => {
      const text = `SELECT account_id, actor, subject FROM audit_entries WHERE action = 'member.refuse_password'`
      return (await sql.prepare<object>(text).all()).map((row) => Object.values(row))
    })

  const HARMLESS: (Record<string, string> | null)[] = [
    null,
    { password: 'wrong' },
    ...['', 'short', 'password'].map((newPassword) => ({ newPassword })),
  ]
  test.each(HARMLESS)('does not learn by %p whether they have a password', async (fields) => {
    const [known, unknown] = await answersTo(fields)
    expect(known).toBe(unknown)
    expect(known).toContain("If you don't have a password yet")
    expect(await entries()).toEqual([])
  })

  test('changes nothing by guessing, and the account is notified', async () => {
    const browser = createBrowser(pages)
    const { status, html } = await browser.post('/password', { token, newPassword: NEW })
    expect([status, await textOf(html, FAULT), await textOf(html, '#password-fault')]).toEqual([
      400,
      ['Error: You already have a password. Enter it.'],
      [],
    ])
    const ada = await pages.store.findMember(ADA)
    expect(await entries()).toEqual([[other.accountId, 'link', ada?.id ?? '']])
    expect([await mayLook(), (await createBrowser(pages).signIn(ADA, NEW)).status]).toEqual([false, 400])
  })

  test('has as many tries as when signing in', async () => {
    const browser = createBrowser(pages)
    spyOn(Bun.password, 'verify').mockImplementation(async (password) => password === PASSWORD)
    for (let i = 0; i < SIGN_IN_DELAYS.pair.free; i++) await browser.post('/password', { token, newPassword: NEW })
    const { status, html } = await browser.post('/password', { token, newPassword: PASSWORD })
    spyOn(Bun.password, 'verify').mockRestore()
    expect([status, (await textOf(html, FAULT))[0]]).toEqual([429, expect.stringContaining('Too many wrong passwords')])
    expect(await entries()).toHaveLength(SIGN_IN_DELAYS.pair.free)
  })
})

test('entering the current password as a new one joins too', async () => {
  const joined = await createBrowser(pages).post('/password', { token, newPassword: PASSWORD })
  expect([joined.status, await mayLook()]).toEqual([200, true])
})

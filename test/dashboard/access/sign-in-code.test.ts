import { describe, expect, test } from 'bun:test'
import { resetPassword, setPasswordByLink } from '../../../src/accounts/members.ts'
import { hashPassword } from '../../../src/accounts/passwords.ts'
import { codeAt, STEP_MS, turnOn, twoStepPath } from './authenticator.ts'
import { type Browser, createBrowser, PASSWORD, openAccount } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from '../pages.ts'
import { isOnPostgres } from '../../postgres/test-databases.ts'
import { useSecondStep } from './second-step.ts'

const step = useSecondStep()
const MINUTE = 60_000
const COOKIE = 'eventpost_second_step_8080'
const WRONG = 'Error: This code is wrong or was already used.'
const USED_UP = 'You used a recovery code. See how many are left under Your profile.'

describe('the second step', () => {
  test('is required after the password, without a session before', async () => {
    const browser = await step.asked()
    expect([...browser.cookies.keys()]).toEqual([COOKIE])
    const { status, html } = await browser.get('/sign-in/code?next=%2F')
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Enter your code']])
    expect(await textOf(html, '.lead')).toEqual(['Second step for ada@example.com. Enter the code within 5 minutes.'])
    const field = await Promise.all(
      ['inputmode', 'autocomplete', 'autofocus'].map((name) => attributesOf(html, '#code', name)),
    )
    expect(field).toEqual([['numeric'], ['one-time-code'], ['']])
    expect(await textOf(html, 'details code')).toEqual([
      'eventpost member reset-password --email ada@example.com --two-step-off',
    ])
    const member = await step.pages.store.findMember('ada@example.com')
    // the code that turned it on
    expect([await step.isIn(browser), (await step.pages.store.listSessions(member?.id ?? '')).length]).toEqual([
      false,
      1,
    ])
    const passed = await step.send(browser, step.now())
    expect([passed.status, passed.location, await step.isIn(browser)]).toEqual([303, '/', true])
    expect([...browser.cookies.keys()]).toEqual(['eventpost_session_8080', 'eventpost_known'])
  })

  test('leads only to the requested page', async () => {
    const wanted = `${step.pages.at('you')}?a=${encodeURIComponent(HOSTILE)}`
    const browser = createBrowser(step.pages)
    const { location } = await browser.signIn('ada@example.com', PASSWORD, wanted)
    const page = await browser.get(location ?? '')
    expect(await attributesOf(page.html, '[name=next]', 'value')).toEqual([wanted])
    await expectHarmless(page.html)
    const wrong = await step.send(browser, '000000', wanted)
    expect(await attributesOf(wrong.html, '[name=next]', 'value')).toEqual([wanted])
    expect((await step.send(browser, step.now(), wanted)).location).toBe(
      new URL(wanted, 'http://x').href.slice('http://x'.length),
    )
    expect((await step.send(await step.asked(), step.now(1), '//evil.example')).location).toBe('/')
  })

  test('has a host-only cookie, with a prefix over https', async () => {
    const { headers } = await createBrowser(step.pages).signIn('ada@example.com')
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^eventpost_second_step_8080=\w{43}; Path=\/; Max-Age=300; HttpOnly; SameSite=Lax$/),
    ])
    const secure = await openAccount({ baseUrl: 'https://post.example.com' })
    const ada = await secure.signedIn()
    const theirs = await turnOn(secure, ada)
    const browser = createBrowser(secure)
    const [cookie] = (await browser.signIn('ada@example.com')).headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-second_step=\w{43}; Path=\/; Max-Age=300; HttpOnly; SameSite=Lax; Secure$/)
    const code = codeAt(theirs.secret, secure.clock.ms)
    expect((await browser.post('/sign-in/code', { code })).location).toBe('/')
    await secure.close()
  })

  test('accepts the codes 30 seconds before and after, with any spaces', async () => {
    expect((await step.send(await step.asked(), step.now(-2))).status).toBe(400)
    expect((await step.send(await step.asked(), step.now(2))).status).toBe(400)
    step.pages.clock.ms += 2 * STEP_MS
    expect((await step.send(await step.asked(), step.now(-1))).status).toBe(303)
    expect((await step.send(await step.asked(), step.now().replace(/.../, '$& '))).status).toBe(303)
    expect((await step.send(await step.asked(), step.now(1))).status).toBe(303)
  })

  test.each(['', '00000', 'abcdef', HOSTILE, 'x'.repeat(20_000)])('400: %#', async (code) => {
    const browser = await step.asked()
    const { status, html } = await step.send(browser, code)
    expect([status, await textOf(html, '#code-fault'), await step.isIn(browser)]).toEqual([400, [WRONG], false])
    expect(await attributesOf(html, '#code', 'value')).toEqual([null])
    await expectHarmless(html)
    expect((await step.send(browser, step.now())).status).toBe(303)
  })

  test('refuses a form from another site or without the password', async () => {
    const browser = await step.asked()
    const foreign = await browser.post('/sign-in/code', { code: step.now() }, { 'Sec-Fetch-Site': 'cross-site' })
    expect([foreign.status, await step.isIn(browser)]).toEqual([403, false])
    for (const cookie of [null, '', 'wrong', 'x'.repeat(43)]) {
      const stranger = createBrowser(step.pages)
      if (cookie !== null) stranger.cookies.set(COOKIE, cookie)
      expect((await stranger.get('/sign-in/code?next=%2Fx')).location).toBe('/sign-in?next=%2Fx')
      const sent = await step.send(stranger, step.now(), '/x')
      expect([sent.location, await step.isIn(stranger)]).toEqual(['/sign-in?next=%2Fx&expired=1', false])
    }
    expect((await step.send(browser, step.now())).status).toBe(303)
  })

  test('a pending sign-in is no session and no proof of the password', async () => {
    const browser = await step.asked()
    const token = browser.cookies.get(COOKIE) ?? ''
    browser.cookies.set('eventpost_session_8080', token)
    expect(await step.isIn(browser)).toBe(false)
    expect((await browser.openLink(`/password?token=${token}`)).status).toBe(404)
    const { html } = await browser.get('/sign-in/code')
    expect(html).not.toContain(token)
  })
})

describe('a code', () => {
  test('works once, also across sign-ins', async () => {
    const code = step.now()
    expect((await step.send(await step.asked(), code)).status).toBe(303)
    const again = await step.send(await step.asked(), code)
    expect([again.status, await textOf(again.html, '#code-fault')]).toEqual([400, [WRONG]])
    step.pages.clock.ms += STEP_MS
    expect((await step.send(await step.asked(), code)).status).toBe(400)
    expect((await step.send(await step.asked(), step.now())).status).toBe(303)
  })

  test('that turned it on does not sign in', async () => {
    step.pages.clock.ms -= STEP_MS
    expect((await step.send(await step.asked(), step.now())).status).toBe(400)
  })

  test('works for one of two concurrent requests', async () => {
    const [one, two] = [await step.asked(), await step.asked()]
    const code = step.now()
    const both = await Promise.all([step.send(one, code), step.send(two, code)])
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
    expect([await step.isIn(one), await step.isIn(two)].filter(Boolean)).toHaveLength(1)
  })

  test('ends its sign-in: two codes at once make one session', async () => {
    const browser = await step.asked()
    const token = browser.cookies.get(COOKIE) ?? ''
    const copy = createBrowser(step.pages)
    copy.cookies.set(COOKIE, token)
    const both = await Promise.all([step.send(browser, step.now()), step.send(copy, step.now(1))])
    // on PostgreSQL the later code may be stored first; then the earlier one is too old
    const isTooOld = isOnPostgres && both.some(({ status }) => status === 400)
    const expected = isTooOld ? ['/'] : ['/', '/sign-in?next=%2F&expired=1']
    expect(both.flatMap(({ location }) => location ?? []).toSorted()).toEqual(expected)
    expect([await step.isIn(browser), await step.isIn(copy)].filter(Boolean)).toHaveLength(1)
  })
})

describe('a recovery code', () => {
  const recover = (browser: Browser, recoveryCode: string) => browser.post('/sign-in/code', { code: '', recoveryCode })
  const [first, second] = [0, 1]

  test('signs in once, and says that it is used', async () => {
    const browser = await step.asked()
    expect((await recover(browser, ` ${step.codes[first]?.toUpperCase().replaceAll('-', ' ')} `)).location).toBe('/')
    expect(await textOf((await browser.get(step.pages.at('you'))).html, '[role=status]')).toEqual([`Done: ${USED_UP}`])
    const again = await recover(await step.asked(), step.codes[first] ?? '')
    expect([again.status, await textOf(again.html, '#recoveryCode-fault')]).toEqual([400, [WRONG]])
    expect(await attributesOf(again.html, 'details', 'open')).toEqual([''])
    expect(await attributesOf(again.html, '#recoveryCode', 'value')).toEqual([null])
  })

  test('works in the code field too', async () => {
    expect((await step.send(await step.asked(), step.codes[second] ?? '')).location).toBe('/')
  })

  test('works for one of two concurrent requests', async () => {
    const browsers = [await step.asked(), await step.asked()]
    const both = await Promise.all(browsers.map((browser) => recover(browser, step.codes[first] ?? '')))
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
  })

  test('of another member is invalid', async () => {
    await step.pages.addMember('eve@example.com', 'owner')
    const theirs = await turnOn(step.pages, await step.pages.signedIn('eve@example.com'))
    expect((await recover(await step.asked(), theirs.codes[first] ?? '')).status).toBe(400)
    expect((await recover(await step.asked(), step.codes[first] ?? '')).status).toBe(303)
  })
})

describe('between the two steps', () => {
  test('five minutes may pass, by the monotonic clock', async () => {
    const browser = await step.asked()
    step.pages.clock.ms += 5 * MINUTE - 1
    expect((await browser.get('/sign-in/code')).status).toBe(200)
    step.pages.clock.ms += 1
    expect((await browser.get('/sign-in/code?next=%2Fx')).location).toBe('/sign-in?next=%2Fx')
    const late = await step.send(browser, step.now(), step.pages.at('keys'))
    expect([late.location, browser.cookies.has(COOKIE)]).toEqual([
      `/sign-in?next=${encodeURIComponent(step.pages.at('keys'))}&expired=1`,
      false,
    ])
    const { html } = await browser.get(late.location ?? '')
    expect(await textOf(html, '[role=alert]')).toEqual(['Error: This sign-in expired. Enter your password again.'])
    expect(await attributesOf(html, '[name=next]', 'value')).toEqual([step.pages.at('keys')])
  })

  test('a second tab may sign in: the first continues to its page', async () => {
    const browser = await step.asked()
    const token = browser.cookies.get(COOKIE) ?? ''
    expect((await step.send(browser, step.now())).status).toBe(303)
    const sent = await step.send(browser, step.now(), step.pages.at('keys'))
    expect([sent.status, sent.location]).toEqual([303, step.pages.at('keys')])
    browser.cookies.set(COOKIE, token)
    expect((await browser.get('/sign-in/code?next=%2Fx')).location).toBe('/x')
  })

  test('a signed-in member may sign in as another', async () => {
    await step.pages.addMember('vic@example.com', 'viewer')
    const browser = await step.pages.signedIn('vic@example.com')
    expect((await browser.signIn('ada@example.com')).location).toBe('/sign-in/code?next=%2F')
    expect((await browser.get('/sign-in/code')).status).toBe(200)
    expect((await browser.get(step.pages.at('you'))).html).toContain('You are vic@example.com')
    await step.send(browser, step.now())
    expect((await browser.get(step.pages.at('you'))).html).toContain('You are ada@example.com')
  })

  test('a changed password ends the sign-in', async () => {
    const browser = await step.asked()
    const maker = { store: step.pages.store, now: step.pages.clock.now(), actor: 'cli' }
    const made = await resetPassword(maker, { email: 'ada@example.com', accountId: null })
    const token = 'passwordToken' in made ? made.passwordToken : ''
    await setPasswordByLink(maker, token, await hashPassword('four dull wooden spoons'))
    expect((await step.send(browser, step.now())).location).toBe('/sign-in?next=%2F&expired=1')
    expect(await step.isIn(browser)).toBe(false)
    const again = await browser.signIn('ada@example.com', 'four dull wooden spoons')
    expect(again.location).toBe('/sign-in/code?next=%2F')
  })

  test('turning it off meanwhile asks for the password only', async () => {
    const ada = await step.asked()
    await step.send(ada, step.now())
    const browser = await step.asked()
    const [confirmCode = ''] = step.codes
    await ada.post(twoStepPath(step.pages, '/off'), { confirmPassword: PASSWORD, confirmCode })
    expect((await step.send(browser, step.now(1))).location).toBe('/sign-in?next=%2F&expired=1')
    expect((await browser.signIn('ada@example.com')).location).toBe('/')
  })

  test('turning it on during a sign-in requires the code', async () => {
    const { findTwoStep } = step.pages.store
    step.pages.store.findTwoStep = async () => null
    const browser = createBrowser(step.pages)
    const { status } = await browser.signIn('ada@example.com')
    step.pages.store.findTwoStep = findTwoStep
    expect([status, browser.cookies.size]).toEqual([400, 0])
  })
})

import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { resetPassword, setPasswordByLink } from '../../src/core/members.ts'
import { hashPassword } from '../../src/core/passwords.ts'
import { SIGN_IN_LIMITS } from '../../src/core/sign-in-tries.ts'
import { codeAt, STEP_MS, turnOn, twoStepPath } from './authenticator.ts'
import { type AccountPages, type Browser, createBrowser, openAccount, PASSWORD } from './browser.ts'
import { attributesOf, expectHarmless, HOSTILE, textOf } from './pages.ts'

let pages: AccountPages
let secret: string
let codes: string[]
beforeEach(async () => {
  pages = await openAccount()
  ;({ secret, codes } = await turnOn(pages, await pages.signedIn()))
})
afterEach(() => pages.close())

const MINUTE = 60_000
const COOKIE = 'eventpost_second_step'
const WRONG = 'Error: This code is wrong, or was used before.'
const USED_UP = 'You signed in with a recovery code, which is used up. Your own page says how many are left.'
const now = (steps = 0) => codeAt(secret, pages.clock.ms + steps * STEP_MS)
const send = (browser: Browser, code: string, next = '/') => browser.post('/sign-in/code', { code, next })
const isIn = async (browser: Browser) => (await browser.get(pages.at('you'))).status === 200

/** A browser whose password was right. */
async function asked(options: Parameters<typeof createBrowser>[1] = {}): Promise<Browser> {
  const browser = createBrowser(pages, options)
  const { status, location } = await browser.signIn('ada@example.com')
  expect([status, location]).toEqual([303, '/sign-in/code?next=%2F'])
  return browser
}

describe('the second step', () => {
  test('is asked for after the password, and until then there is no session', async () => {
    const browser = await asked()
    expect([...browser.cookies.keys()]).toEqual([COOKIE])
    const { status, html } = await browser.get('/sign-in/code?next=%2F')
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Your code']])
    expect(await textOf(html, '.lead')).toEqual(['The second step for ada@example.com, within 5 minutes.'])
    const field = await Promise.all(
      ['inputmode', 'autocomplete', 'autofocus'].map((name) => attributesOf(html, '#code', name)),
    )
    expect(field).toEqual([['numeric'], ['one-time-code'], ['']])
    expect(await textOf(html, 'details code')).toEqual([
      'eventpost member reset-password --email ada@example.com --two-step-off',
    ])
    const member = await pages.store.findMember('ada@example.com')
    // the one that turned it on
    expect([await isIn(browser), (await pages.store.listSessions(member?.id ?? '')).length]).toEqual([false, 1])
    const passed = await send(browser, now())
    expect([passed.status, passed.location, await isIn(browser)]).toEqual([303, '/', true])
    expect([...browser.cookies.keys()]).toEqual(['eventpost_session', 'eventpost_known'])
  })

  test('leads to the page that was wanted, and nowhere else', async () => {
    const wanted = `${pages.at('you')}?a=${encodeURIComponent(HOSTILE)}`
    const browser = createBrowser(pages)
    const { location } = await browser.signIn('ada@example.com', PASSWORD, wanted)
    const page = await browser.get(location ?? '')
    expect(await attributesOf(page.html, '[name=next]', 'value')).toEqual([wanted])
    await expectHarmless(page.html)
    const wrong = await send(browser, '000000', wanted)
    expect(await attributesOf(wrong.html, '[name=next]', 'value')).toEqual([wanted])
    expect((await send(browser, now(), wanted)).location).toBe(
      new URL(wanted, 'http://x').href.slice('http://x'.length),
    )
    expect((await send(await asked(), now(1), '//evil.example')).location).toBe('/')
  })

  test('holds its cookie for its host alone, and over https with its prefix', async () => {
    const { headers } = await createBrowser(pages).signIn('ada@example.com')
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^eventpost_second_step=\w{43}; Path=\/; Max-Age=300; HttpOnly; SameSite=Lax$/),
    ])
    const secure = await openAccount({ baseUrl: 'https://post.example.com' })
    const ada = await secure.signedIn()
    const theirs = await turnOn(secure, ada)
    const browser = createBrowser(secure)
    const [cookie] = (await browser.signIn('ada@example.com')).headers.getSetCookie()
    expect(cookie).toMatch(/^__Host-second-step=\w{43}; Path=\/; Max-Age=300; HttpOnly; SameSite=Lax; Secure$/)
    const code = codeAt(theirs.secret, secure.clock.ms)
    expect((await browser.post('/sign-in/code', { code })).location).toBe('/')
    await secure.close()
  })

  test('takes the code of 30 seconds before and after, however it is spaced', async () => {
    expect((await send(await asked(), now(-2))).status).toBe(400)
    expect((await send(await asked(), now(2))).status).toBe(400)
    pages.clock.ms += 2 * STEP_MS
    expect((await send(await asked(), now(-1))).status).toBe(303)
    expect((await send(await asked(), now().replace(/.../, '$& '))).status).toBe(303)
    expect((await send(await asked(), now(1))).status).toBe(303)
  })

  test.each(['', '00000', 'abcdef', HOSTILE, 'x'.repeat(20_000)])('400: %#', async (code) => {
    const browser = await asked()
    const { status, html } = await send(browser, code)
    expect([status, await textOf(html, '#code-fault'), await isIn(browser)]).toEqual([400, [WRONG], false])
    expect(await attributesOf(html, '#code', 'value')).toEqual([null])
    await expectHarmless(html)
    expect((await send(browser, now())).status).toBe(303)
  })

  test('a form from another site, or without the password, opens nothing', async () => {
    const browser = await asked()
    const foreign = await browser.post('/sign-in/code', { code: now() }, { 'Sec-Fetch-Site': 'cross-site' })
    expect([foreign.status, await isIn(browser)]).toEqual([403, false])
    for (const cookie of [null, '', 'wrong', 'x'.repeat(43)]) {
      const stranger = createBrowser(pages)
      if (cookie !== null) stranger.cookies.set(COOKIE, cookie)
      expect((await stranger.get('/sign-in/code?next=%2Fx')).location).toBe('/sign-in?next=%2Fx')
      const sent = await send(stranger, now(), '/x')
      expect([sent.location, await isIn(stranger)]).toEqual(['/sign-in?next=%2Fx&expired=1', false])
    }
    expect((await send(browser, now())).status).toBe(303)
  })

  test('what waits for it is no session, and no proof of the password', async () => {
    const browser = await asked()
    const token = browser.cookies.get(COOKIE) ?? ''
    browser.cookies.set('eventpost_session', token)
    expect(await isIn(browser)).toBe(false)
    expect((await browser.get(`/password?token=${token}`)).status).toBe(404)
    const { html } = await browser.get('/sign-in/code')
    expect(html).not.toContain(token)
  })
})

describe('a code', () => {
  test('is taken once, also for another sign-in', async () => {
    const code = now()
    expect((await send(await asked(), code)).status).toBe(303)
    const again = await send(await asked(), code)
    expect([again.status, await textOf(again.html, '#code-fault')]).toEqual([400, [WRONG]])
    pages.clock.ms += STEP_MS
    expect((await send(await asked(), code)).status).toBe(400)
    expect((await send(await asked(), now())).status).toBe(303)
  })

  test('that turned it on signs nobody in', async () => {
    pages.clock.ms -= STEP_MS
    expect((await send(await asked(), now())).status).toBe(400)
  })

  test('of two requests that come at once, one has it', async () => {
    const [one, two] = [await asked(), await asked()]
    const code = now()
    const both = await Promise.all([send(one, code), send(two, code)])
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
    expect([await isIn(one), await isIn(two)].filter(Boolean)).toHaveLength(1)
  })

  test('of a sign-in ends it: two codes at once are one session', async () => {
    const browser = await asked()
    const token = browser.cookies.get(COOKIE) ?? ''
    const copy = createBrowser(pages)
    copy.cookies.set(COOKIE, token)
    const both = await Promise.all([send(browser, now()), send(copy, now(1))])
    expect(both.map(({ location }) => location).toSorted()).toEqual(['/', '/sign-in?next=%2F&expired=1'])
    expect([await isIn(browser), await isIn(copy)].filter(Boolean)).toHaveLength(1)
  })
})

describe('a recovery code', () => {
  const recover = (browser: Browser, recoveryCode: string) => browser.post('/sign-in/code', { code: '', recoveryCode })
  const [first, second] = [0, 1]

  test('signs in once, and says that it is used up', async () => {
    const browser = await asked()
    expect((await recover(browser, ` ${codes[first]?.toUpperCase().replaceAll('-', ' ')} `)).location).toBe('/')
    expect(await textOf((await browser.get(pages.at('you'))).html, '[role=status]')).toEqual([`Done: ${USED_UP}`])
    const again = await recover(await asked(), codes[first] ?? '')
    expect([again.status, await textOf(again.html, '#recoveryCode-fault')]).toEqual([400, [WRONG]])
    expect(await attributesOf(again.html, 'details', 'open')).toEqual([''])
    expect(await attributesOf(again.html, '#recoveryCode', 'value')).toEqual([null])
  })

  test('is taken in the field of the code too', async () => {
    expect((await send(await asked(), codes[second] ?? '')).location).toBe('/')
  })

  test('of two requests that come at once, one has it', async () => {
    const browsers = [await asked(), await asked()]
    const both = await Promise.all(browsers.map((browser) => recover(browser, codes[first] ?? '')))
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
  })

  test('of another member is none', async () => {
    await pages.addMember('eve@example.com', 'owner')
    const theirs = await turnOn(pages, await pages.signedIn('eve@example.com'))
    expect((await recover(await asked(), theirs.codes[first] ?? '')).status).toBe(400)
    expect((await recover(await asked(), codes[first] ?? '')).status).toBe(303)
  })
})

describe('between the two steps', () => {
  test('five minutes may pass, by a clock that nobody sets', async () => {
    const browser = await asked()
    pages.clock.ms += 5 * MINUTE - 1
    expect((await browser.get('/sign-in/code')).status).toBe(200)
    pages.clock.ms += 1
    expect((await browser.get('/sign-in/code?next=%2Fx')).location).toBe('/sign-in?next=%2Fx')
    const late = await send(browser, now(), pages.at('keys'))
    expect([late.location, browser.cookies.has(COOKIE)]).toEqual([
      `/sign-in?next=${encodeURIComponent(pages.at('keys'))}&expired=1`,
      false,
    ])
    const { html } = await browser.get(late.location ?? '')
    expect(await textOf(html, '[role=alert]')).toEqual(['Error: The code came too late. Type your password again.'])
    expect(await attributesOf(html, '[name=next]', 'value')).toEqual([pages.at('keys')])
  })

  test('a second tab may sign in: the first goes on where it wanted', async () => {
    const browser = await asked()
    const token = browser.cookies.get(COOKIE) ?? ''
    expect((await send(browser, now())).status).toBe(303)
    const sent = await send(browser, now(), pages.at('keys'))
    expect([sent.status, sent.location]).toEqual([303, pages.at('keys')])
    browser.cookies.set(COOKIE, token)
    expect((await browser.get('/sign-in/code?next=%2Fx')).location).toBe('/x')
  })

  test('who is signed in may sign in as somebody else', async () => {
    await pages.addMember('vic@example.com', 'viewer')
    const browser = await pages.signedIn('vic@example.com')
    expect((await browser.signIn('ada@example.com')).location).toBe('/sign-in/code?next=%2F')
    expect((await browser.get('/sign-in/code')).status).toBe(200)
    expect((await browser.get(pages.at('you'))).html).toContain('You are vic@example.com')
    await send(browser, now())
    expect((await browser.get(pages.at('you'))).html).toContain('You are ada@example.com')
  })

  test('a password that is changed ends the sign-in', async () => {
    const browser = await asked()
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'cli' }
    const made = await resetPassword(maker, { email: 'ada@example.com', accountId: null })
    const token = 'passwordToken' in made ? made.passwordToken : ''
    await setPasswordByLink(maker, token, await hashPassword('four dull wooden spoons'))
    expect((await send(browser, now())).location).toBe('/sign-in?next=%2F&expired=1')
    expect(await isIn(browser)).toBe(false)
    const again = await browser.signIn('ada@example.com', 'four dull wooden spoons')
    expect(again.location).toBe('/sign-in/code?next=%2F')
  })

  test('one that was turned off meanwhile asks for the password again, and then for nothing', async () => {
    const ada = await asked()
    await send(ada, now())
    const browser = await asked()
    await ada.post(twoStepPath(pages, '/off'), { confirmPassword: PASSWORD })
    expect((await send(browser, now(1))).location).toBe('/sign-in?next=%2F&expired=1')
    expect((await browser.signIn('ada@example.com')).location).toBe('/')
  })

  test('one that is turned on while a password is compared is asked for', async () => {
    const { findTwoStep } = pages.store
    pages.store.findTwoStep = async () => null
    const browser = createBrowser(pages)
    const { status } = await browser.signIn('ada@example.com')
    pages.store.findTwoStep = findTwoStep
    expect([status, browser.cookies.size]).toEqual([400, 0])
  })
})

describe('too many wrong codes', () => {
  const STRANGER = { address: '10.0.0.1' }
  const { max, windowMs } = SIGN_IN_LIMITS.code
  const use = async (browser: Browser, code: string, times: number) => {
    for (let i = 0; i < times; i++) await send(browser, code)
  }

  test('wait, and say how long and what gets in all the same', async () => {
    const browser = await asked(STRANGER)
    await use(browser, '000000', max)
    const { status, html, headers } = await send(browser, now())
    expect([status, Number(headers.get('retry-after')) > 86_300]).toEqual([429, true])
    expect(await textOf(html, '#code-fault')).toEqual([
      'Error: Too many wrong codes were tried. Wait 24 hours, or use a recovery code, or use a browser that you have signed in with before.',
    ])
    await use(browser, '0000-0000-0000-0000', max)
    const both = await send(browser, '0000-0000-0000-0000')
    expect(await textOf(both.html, '#code-fault')).toEqual([
      'Error: Too many wrong recovery codes were tried. Wait 24 hours, or use a browser that you have signed in with before.',
    ])
  })

  test('in a browser that has signed in before say so, and lead to no other browser', async () => {
    const known = await asked()
    await send(known, now())
    await known.signIn('ada@example.com')
    await use(known, '000000', max)
    const { status, html } = await send(known, now(1))
    expect([status, await textOf(html, '#code-fault')]).toEqual([
      429,
      [
        'Error: Too many wrong codes were tried in browsers that you have signed in with. Wait 24 hours, or use a recovery code.',
      ],
    ])
    expect((await send(known, codes[0] ?? '')).status).toBe(303)
  })

  test('are forgotten with the password that they followed', async () => {
    await use(await asked(STRANGER), '000000', max)
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'cli' }
    const made = await resetPassword(maker, { email: 'ada@example.com', accountId: null })
    const spoons = 'four dull wooden spoons'
    await setPasswordByLink(maker, 'passwordToken' in made ? made.passwordToken : '', await hashPassword(spoons))
    const browser = createBrowser(pages)
    await browser.signIn('ada@example.com', spoons)
    expect((await send(browser, now())).status).toBe(303)
  })

  test('keep nobody from typing a password, or a code of their own, at the same address', async () => {
    await pages.addMember('eve@example.com', 'owner')
    const theirs = await turnOn(pages, await pages.signedIn('eve@example.com'))
    await use(await asked(STRANGER), '000000', max)
    expect((await createBrowser(pages, STRANGER).signIn('ada@example.com')).status).toBe(303)
    const eve = createBrowser(pages, STRANGER)
    await eve.signIn('eve@example.com')
    expect((await send(eve, codeAt(theirs.secret, pages.clock.ms))).status).toBe(303)
  })

  test('of one member from many addresses wait, but neither a known browser nor a recovery code', async () => {
    const known = await asked()
    await send(known, now())
    await known.post('/sign-out')
    for (let i = 0; i < max; i++) await send(await asked({ address: `10.1.${i}.1` }), '000000')
    pages.clock.ms += STEP_MS
    const elsewhere = await asked({ address: '10.2.0.1' })
    const { status, html } = await send(elsewhere, now())
    expect([status, (await textOf(html, '#code-fault'))[0]]).toEqual([429, expect.stringContaining('Wait 24 hours')])
    await known.signIn('ada@example.com')
    expect((await send(known, now())).status).toBe(303)
    expect((await send(elsewhere, codes[0] ?? '')).status).toBe(303)
    pages.clock.ms += windowMs
    expect((await send(await asked({ address: '10.2.0.1' }), now())).status).toBe(303)
  })

  test('sent all at once are counted too', async () => {
    const browser = await asked(STRANGER)
    const all = await Promise.all(Array.from({ length: 50 }, () => send(browser, '000000')))
    expect(all.filter(({ status }) => status === 400)).toHaveLength(max)
  })

  test('are those that were wrong: right ones are not counted', async () => {
    for (let i = 0; i <= max; i++) {
      pages.clock.ms += STEP_MS
      expect((await send(await asked({ address: '10.0.0.3' }), now())).status).toBe(303)
    }
  })
})

describe('a full disk', () => {
  test('keeps nobody from signing in, with each code once', async () => {
    const failing = [
      spyOn(pages.store, 'takeCode').mockResolvedValue({ refusal: 'unavailable' }),
      spyOn(pages.store, 'startSession').mockResolvedValue({ refusal: 'unavailable' }),
    ]
    const code = now()
    const browsers = [await asked(), await asked()]
    const both = await Promise.all(browsers.map((browser) => send(browser, code)))
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 400])
    expect((await send(await asked(), code)).status).toBe(400)
    for (const one of failing) one.mockRestore()
    expect((await send(await asked(), code)).status).toBe(400)
    expect((await send(await asked(), now(1))).status).toBe(303)
  })

  test('takes no recovery code, and says that it was not used', async () => {
    const failing = spyOn(pages.store, 'takeRecoveryCode').mockResolvedValue({ refusal: 'unavailable' })
    const browser = await asked()
    const { status, html } = await browser.post('/sign-in/code', { recoveryCode: codes[0] ?? '' })
    failing.mockRestore()
    expect([status, (await textOf(html, '#recoveryCode-fault'))[0]]).toEqual([
      503,
      expect.stringContaining('nothing was saved'),
    ])
    expect((await browser.post('/sign-in/code', { recoveryCode: codes[0] ?? '' })).status).toBe(303)
  })
})

describe('a form that came after its session had ended', () => {
  const SETTINGS = { app: HOSTILE, home: 'https://app.example.com', domains: 'app.example.com', timezone: 'UTC' }
  const ADA = { signInEmail: 'ada@example.com', signInPassword: PASSWORD }
  const nameOfApp = async () => (await pages.store.listApps(pages.begun.accountId)).at(0)?.name

  async function hiddenOf(html: string): Promise<Record<string, string>> {
    const names = await attributesOf(html, 'main input[type=hidden]', 'name')
    const values = await attributesOf(html, 'main input[type=hidden]', 'value')
    return Object.fromEntries(names.map((name, index) => [name ?? '', values[index] ?? '']))
  }

  /** The page that asks for the code, and the browser that sees it. */
  async function lateAsked() {
    const browser = createBrowser(pages)
    const { status, html } = await browser.post(pages.at('settings'), { ...SETTINGS, ...ADA })
    return { browser, status, html }
  }

  test('is kept over the second step, and sent with it', async () => {
    const { browser, status, html } = await lateAsked()
    expect([status, await hiddenOf(html), await nameOfApp()]).toEqual([401, SETTINGS, 'Engine'])
    expect(await attributesOf(html, '#signInCode', 'autocomplete')).toEqual(['one-time-code'])
    expect(html).not.toContain(PASSWORD)
    await expectHarmless(html)
    const fields = await hiddenOf(html)
    const sent = await browser.post(pages.at('settings'), { ...fields, signInCode: now(), signInRecoveryCode: '' })
    expect([sent.status, sent.location, await nameOfApp()]).toEqual([303, pages.at('settings'), HOSTILE])
    expect([await isIn(browser), browser.cookies.has(COOKIE)]).toEqual([true, false])
  })

  test('a wrong code changes nothing and keeps it; a recovery code sends it', async () => {
    const { browser } = await lateAsked()
    const wrong = await browser.post(pages.at('settings'), { ...SETTINGS, signInCode: '000000' })
    expect([wrong.status, await textOf(wrong.html, '#signInCode-fault')]).toEqual([400, [WRONG]])
    expect([await hiddenOf(wrong.html), await nameOfApp()]).toEqual([SETTINGS, 'Engine'])
    const typed = { signInCode: '', signInRecoveryCode: codes[0] ?? '' }
    expect((await browser.post(pages.at('settings'), { ...SETTINGS, ...typed })).status).toBe(303)
    expect(await nameOfApp()).toBe(HOSTILE)
    expect(await textOf((await browser.get(pages.at('settings'))).html, '[role=status]')).toEqual([
      `Done: The settings were saved. They hold from now on. ${USED_UP}`,
    ])
    expect(await textOf((await browser.get(pages.at('settings'))).html, '[role=status]')).toEqual([])
  })

  test('that shows a page at once says on the next one that a recovery code was used up', async () => {
    const { browser } = await lateAsked()
    const typed = { signInCode: '', signInRecoveryCode: codes[0] ?? '' }
    const key = { form: 'x'.repeat(43), name: 'Late', scope: 'standard' }
    const made = await browser.post(pages.at('keys'), { ...key, ...typed })
    expect([made.status, await textOf(made.html, 'h1')]).toEqual([200, ['Your new key']])
    expect(await textOf((await browser.get(pages.at('keys'))).html, '[role=status]')).toEqual([`Done: ${USED_UP}`])
  })

  test('too late, or without the password, it is kept for another sign-in', async () => {
    const { browser } = await lateAsked()
    pages.clock.ms += 5 * MINUTE
    for (const one of [browser, createBrowser(pages)]) {
      const late = await one.post(pages.at('settings'), { ...SETTINGS, signInCode: now() })
      expect([late.status, await textOf(late.html, '[role=alert]')]).toEqual([
        400,
        ['Error: The code came too late. Type your password again.'],
      ])
      expect([await hiddenOf(late.html), await nameOfApp()]).toEqual([SETTINGS, 'Engine'])
      expect(await attributesOf(late.html, '#signInEmail', 'name')).toEqual(['signInEmail'])
    }
  })
})

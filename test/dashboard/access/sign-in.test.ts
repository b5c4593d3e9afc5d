import { afterEach, beforeEach, describe, expect, onTestFinished, spyOn, test } from 'bun:test'
import { SIGN_IN_DELAYS } from '../../../src/accounts/sign-in-tries.ts'
import { type AccountPages, createBrowser, openAccount, PASSWORD } from '../browser.ts'
import { attributesOf, expectHarmless, HOSTILE, SAME_ORIGIN, textOf } from '../pages.ts'
import { until } from '../../waiting.ts'

let pages: AccountPages
beforeEach(async () => {
  pages = await openAccount()
})
afterEach(() => pages.close())

const WRONG = 'The email or the password is wrong.'
const faultOf = async (html: string) => (await textOf(html, '[role=alert]'))[0]?.replace('Error: ', '')

describe('signing in', () => {
  test('/ leads to the form, then to Activation', async () => {
    const browser = createBrowser(pages)
    expect((await browser.get('/')).location).toBe('/sign-in')
    const { status, html } = await browser.get('/sign-in')
    expect([status, await textOf(html, 'h1')]).toEqual([200, ['Sign in']])
    const signedIn = await browser.signIn(' Ada@Example.com ')
    expect([signedIn.status, signedIn.location]).toEqual([303, '/'])
    expect((await browser.get('/')).location).toBe(pages.at('activation'))
    expect((await browser.get('/sign-in')).location).toBe('/')
  })

  test('continues to the requested page', async () => {
    const browser = createBrowser(pages)
    const { location } = await browser.get(`${pages.at('you')}?a=b`)
    expect(location).toBe(`/sign-in?next=${encodeURIComponent(`${pages.at('you')}?a=b`)}`)
    const { html } = await browser.get(location ?? '')
    expect(await attributesOf(html, '[name=next]', 'value')).toEqual([`${pages.at('you')}?a=b`])
    const { location: next } = await browser.signIn('ada@example.com', PASSWORD, `${pages.at('you')}?a=b`)
    expect(next).toBe(`${pages.at('you')}?a=b`)
  })

  test('an expired password form changes nothing and leads back to its page', async () => {
    const browser = createBrowser(pages)
    const fields = { password: PASSWORD, newPassword: 'four dull wooden spoons' }
    const { status, location } = await browser.post(pages.at('you/password'), fields)
    expect([status, location]).toEqual([303, `/sign-in?next=${encodeURIComponent(pages.at('you'))}&unsent=1`])
    const { html } = await browser.get(location ?? '')
    expect(await textOf(html, '.notice')).toEqual([
      'Caution: Your session ended before the form was sent, so nothing was changed. Sign in and try again.',
    ])
    expect(await attributesOf(html, '[name=next]', 'value')).toEqual([pages.at('you')])
  })

  test.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example/',
    '/x/..//evil.example',
    '/%2e//evil.example',
    'javascript:alert(1)',
    '/a\r\nSet-Cookie: x=y',
    '',
  ])('does not continue to %p', async (next) => {
    const { status, location, headers } = await createBrowser(pages).signIn('ada@example.com', PASSWORD, next)
    expect(status).toBe(303)
    expect(location).toMatch(/^\/($|aSet-Cookie)/)
    expect(headers.getSetCookie().join()).not.toContain('x=y')
  })

  test.each([
    ['a wrong password', 'ada@example.com', 'wrong'],
    ['an unknown email', 'eve@example.com', PASSWORD],
    ['no email at all', HOSTILE, PASSWORD],
    ['nothing', '', ''],
    ['a password without end', 'ada@example.com', 'x'.repeat(20_000)],
  ])('400: %s gets the same answer, and keeps only the email', async (_, email, password) => {
    const browser = createBrowser(pages)
    const { status, html } = await browser.signIn(email, password)
    expect([status, await faultOf(html), browser.cookies.size]).toEqual([400, WRONG, 0])
    expect(await attributesOf(html, '#email', 'value')).toEqual([email])
    expect(await attributesOf(html, '#password', 'value')).toEqual([null])
    await expectHarmless(html)
  })

  test('an unknown email costs a comparison too', async () => {
    await createBrowser(pages).signIn('eve@example.com')
    const verify = spyOn(Bun.password, 'verify')
    await createBrowser(pages).signIn('eve@example.com')
    expect(verify).toHaveBeenCalledTimes(1)
    verify.mockRestore()
  })

  test('a member without a password cannot sign in', async () => {
    await pages.store.inviteMember({
      accountId: pages.begun.accountId,
      actor: 'test',
      at: 0,
      member: { id: 'mem_x', membershipId: 'mem_in', email: 'new@example.com', role: 'viewer' },
      link: { tokenHash: 'x', purpose: 'password', expiresAt: 1 },
    })
    for (const password of ['', PASSWORD]) {
      expect((await createBrowser(pages).signIn('new@example.com', password)).status).toBe(400)
    }
  })

  test('a password changed during the comparison does not sign in', async () => {
    const { startSession } = pages.store
    pages.store.startSession = async (input) => startSession({ ...input, passwordHash: 'the one before' })
    expect((await createBrowser(pages).signIn('ada@example.com')).status).toBe(400)
  })

  test('the cookie is host-only, lasts 30 days, and has a prefix over https', async () => {
    const plain = (await createBrowser(pages).signIn('ada@example.com')).headers.getSetCookie()
    expect(plain[0]).toMatch(/^eventpost_session_8080=\w{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)
    expect(plain).toHaveLength(2)
    const secure = await openAccount({ baseUrl: 'https://post.example.com' })
    const [session] = (await createBrowser(secure).signIn('ada@example.com')).headers.getSetCookie()
    expect(session).toMatch(/^__Host-session=\w{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$/)
    const other = await openAccount({ baseUrl: 'https://post.example.com:8443' })
    const [beside] = (await createBrowser(other).signIn('ada@example.com')).headers.getSetCookie()
    // cookies ignore ports; installations must not sign each other out
    expect(beside).toStartWith('__Host-session_8443=')
    await secure.close()
    await other.close()
  })

  test('the first of a repeated field or parameter counts', async () => {
    const [headers, login] = [SAME_ORIGIN, `email=ada@example.com&email=eve@example.com&password=${PASSWORD}`]
    const body = new URLSearchParams(`${login}&password=wrong&next=/docs/start&next=/docs/mcp`)
    const { status, headers: sent } = await pages.handle('/sign-in?next=/docs/limits', {
      method: 'POST',
      headers,
      body,
    })
    expect([status, sent.get('location')]).toEqual([303, '/docs/start'])
    const { html } = await createBrowser(pages).get('/sign-in?next=/a&next=/b')
    expect(await attributesOf(html, '[name=next]', 'value')).toEqual(['/a'])
  })

  test('a form from another site is refused', async () => {
    const fields = { email: 'ada@example.com', password: PASSWORD }
    const foreign = await createBrowser(pages).post('/sign-in', fields, { 'Sec-Fetch-Site': 'cross-site' })
    expect([foreign.status, foreign.headers.getSetCookie()]).toEqual([403, []])
  })
})

describe('too many wrong passwords', () => {
  const guess = async (count: number, { address = '10.0.0.1', email = 'ada@example.com' } = {}) => {
    const browser = createBrowser(pages, { address })
    const statuses: number[] = []
    for (let i = 0; i < count; i++) statuses.push((await browser.signIn(email, 'wrong')).status)
    return statuses
  }

  beforeEach(() => {
    // tests the counting, not the duration
    spyOn(Bun.password, 'verify').mockImplementation(async (password) => password === PASSWORD)
  })
  afterEach(() => {
    spyOn(Bun.password, 'verify').mockRestore()
  })

  const { pair, known: knownDelays } = SIGN_IN_DELAYS

  test('from one address wait up to 30 seconds, and show how long', async () => {
    const browser = createBrowser(pages, { address: '10.0.0.1' })
    expect(await guess(pair.free + 1)).toEqual([...Array(pair.free).fill(400), 429])
    const waits: number[] = []
    for (let i = 0; i < 8; i++) {
      const { status, headers } = await browser.signIn('ada@example.com')
      expect(status).toBe(429)
      waits.push(Number(headers.get('retry-after')))
      pages.clock.ms += Number(headers.get('retry-after')) * 1_000
      expect((await browser.signIn('ada@example.com', 'wrong')).status).toBe(400)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30])
    const { html } = await browser.signIn('ada@example.com')
    expect(await faultOf(html)).toBe(
      'Too many wrong passwords. Try again in 30 seconds or use a browser that you have signed in with before.',
    )
    expect((await createBrowser(pages, { address: '10.0.0.2' }).signIn('ada@example.com')).status).toBe(303)
    pages.clock.ms += 30_000
    expect((await browser.signIn('ada@example.com')).status).toBe(303)
    // the correct password resets the count
    expect(await guess(pair.free)).toEqual(Array(pair.free).fill(400))
  })

  test('of many emails from one address wait too', async () => {
    const { free } = SIGN_IN_DELAYS.address
    for (let i = 0; i < free; i++) await guess(1, { email: `person${i}@example.com` })
    const { status, headers } = await createBrowser(pages, { address: '10.0.0.1' }).signIn('ada@example.com')
    expect([status, headers.get('retry-after')]).toEqual([429, '1'])
    pages.clock.ms += 1_000
    expect((await createBrowser(pages, { address: '10.0.0.1' }).signIn('ada@example.com')).status).toBe(303)
  })

  test('sent concurrently are counted too', async () => {
    const browser = createBrowser(pages)
    const all = await Promise.all(Array.from({ length: 50 }, () => browser.signIn('ada@example.com', 'wrong')))
    expect(all.filter(({ status }) => status === 400)).toHaveLength(pair.free)
  })

  test('right passwords are not counted', async () => {
    for (let i = 0; i < 30; i++) expect((await createBrowser(pages).signIn('ada@example.com')).status).toBe(303)
  })

  test('from many addresses block no one: the right password works in a new browser within a minute', async () => {
    const known = await pages.signedIn()
    await known.post('/sign-out')
    const attack = async () => {
      for (let i = 0; i < 40; i++) await guess(3, { address: `10.0.1.${i}` })
    }
    await attack()
    const browser = createBrowser(pages, { address: '10.0.2.1' })
    const startedAt = pages.clock.ms
    // a typo, then the correct password, while others attack
    const attempts = ['wrong', PASSWORD]
    while (attempts[0] !== undefined) {
      const { status, headers } = await browser.signIn('ada@example.com', attempts[0])
      if (status !== 429) attempts.shift()
      await attack()
      pages.clock.ms += Number(headers.get('retry-after') ?? 0) * 1_000
      expect([303, 400, 429]).toContain(status)
    }
    expect(pages.clock.ms - startedAt).toBeLessThanOrEqual(60_000)
    expect((await browser.get(pages.at('you'))).status).toBe(200)
    expect((await known.signIn('ada@example.com')).status).toBe(303)
    const forged = createBrowser(pages, { address: '10.0.2.2' })
    forged.cookies.set('eventpost_known', '0'.repeat(64))
    expect((await forged.signIn('ada@example.com')).status).toBe(429)
    expect(await guess(1, { address: '10.0.2.3', email: 'eve@example.com' })).toEqual([400])
  })

  test('from many addresses get fewer and fewer tries', async () => {
    let compared = 0
    for (let second = 0; second < 600; second += 3) {
      pages.clock.ms += 3_000
      for (let i = 0; i < 5; i++) {
        const [status] = await guess(1, { address: `10.0.3.${i}` })
        if (status === 400) compared += 1
      }
    }
    // of 1,000: a burst, then one per address every 30 seconds
    expect(compared).toBeGreaterThan(5 * 18)
    expect(compared).toBeLessThan(5 * 30)
  })

  test('in known browsers wait separately', async () => {
    const known = await pages.signedIn('ada@example.com', { address: '10.0.0.9' })
    await known.post('/sign-out')
    await guess(pair.free + 1, { address: '10.0.0.9' })
    for (let i = 0; i < knownDelays.free; i++) expect((await known.signIn('ada@example.com', 'wrong')).status).toBe(400)
    const { status, html } = await known.signIn('ada@example.com')
    expect([status, await faultOf(html)]).toEqual([429, 'Too many wrong passwords. Try again in a second.'])
    pages.clock.ms += 1_000
    expect((await known.signIn('ada@example.com')).status).toBe(303)
  })
})

test('guesses at one account do not block the queue for others', async () => {
  const released = Promise.withResolvers<boolean>()
  const verify = spyOn(Bun.password, 'verify').mockReturnValue(released.promise)
  const guess = (i: number) => createBrowser(pages, { address: `10.0.${i}.1` }).signIn('ada@example.com', 'wrong')
  const finding = spyOn(pages.store, 'findMember')
  const first = Array.from({ length: 20 }, (_, i) => guess(i))
  await until(() => finding.mock.calls.length === first.length)
  await Promise.all(finding.mock.results.map(({ value }) => value))
  const waiting = Array.from({ length: 40 }, (_, i) => i + 20)
  onTestFinished(() => {
    released.resolve(false)
    verify.mockRestore()
  })
  expect((await Promise.all(waiting.map(guess))).map(({ status }) => status)).toEqual(Array(40).fill(429))
  pages.clock.ms += 30_000
  expect((await Promise.all(waiting.map(guess))).map(({ status }) => status)).toEqual(Array(40).fill(503))
  released.resolve(false)
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual(Array(20).fill(400))
  verify.mockRestore()
  // attempts that were not compared are not counted
  expect((await createBrowser(pages, { address: '10.0.30.1' }).signIn('ada@example.com')).status).toBe(303)
})

test('a new password makes all other browsers unknown', async () => {
  const [own, thiefs] = [await pages.signedIn(), await pages.signedIn()]
  const changed = { password: PASSWORD, newPassword: 'four dull wooden spoons' }
  expect((await own.post(`${pages.at('you')}/password`, changed)).status).toBe(303)
  await own.post('/sign-out')
  const { free } = SIGN_IN_DELAYS.pair
  for (let i = 0; i < free; i++) await createBrowser(pages).signIn('ada@example.com', 'wrong')
  expect((await thiefs.signIn('ada@example.com', 'a guess')).status).toBe(429)
  expect((await own.signIn('ada@example.com', changed.newPassword)).status).toBe(303)
})

describe('signing out', () => {
  test('ends the session, not only its cookie', async () => {
    const browser = await pages.signedIn()
    const cookies = new Map(browser.cookies)
    const { status, location } = await browser.post('/sign-out')
    expect([status, location, browser.cookies.has('eventpost_session_8080')]).toEqual([303, '/sign-in', false])
    for (const [name, value] of cookies) browser.cookies.set(name, value)
    expect((await browser.get(pages.at('you'))).location).toStartWith('/sign-in')
  })

  test('clears browser data, and pages can check their session', async () => {
    const browser = await pages.signedIn()
    expect((await browser.get('/session')).status).toBe(204)
    const { headers } = await browser.post('/sign-out')
    expect(headers.get('clear-site-data')).toBe('"cache", "storage"')
    const asked = await browser.get('/session')
    expect([asked.status, asked.html, asked.headers.get('cache-control')]).toEqual([401, '', 'no-store'])
  })

  test('checking is not a use of the session', async () => {
    const browser = await pages.signedIn()
    pages.clock.ms += 11 * 3_600_000
    expect((await browser.get('/session')).status).toBe(204)
    pages.clock.ms += 3_600_000
    expect((await browser.get('/session')).status).toBe(401)
  })

  test('is a form, refused from another site', async () => {
    const browser = await pages.signedIn()
    expect((await browser.get('/sign-out')).status).toBe(404)
    expect((await browser.post('/sign-out', {}, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    expect((await browser.get(pages.at('you'))).status).toBe(200)
  })

  test('signing in again ends the previous session of the browser', async () => {
    const browser = await pages.signedIn()
    await browser.signIn('ada@example.com')
    const member = await pages.store.findMember('ada@example.com')
    expect(await pages.store.listSessions(member?.id ?? '')).toHaveLength(1)
  })
})

test('a full disk does not block sign-ins', async () => {
  const { startSession, touchSession } = pages.store
  pages.store.startSession = async () => ({ refusal: 'unavailable' })
  pages.store.touchSession = async () => ({ refusal: 'unavailable' })
  const browser = createBrowser(pages)
  await browser.signIn('ada@example.com')
  expect((await browser.get(pages.at('you'))).status).toBe(200)
  pages.store.startSession = startSession
  pages.store.touchSession = touchSession
  pages.clock.ms += 60_000
  expect((await browser.get(pages.at('you'))).status).toBe(200)
  const member = await pages.store.findMember('ada@example.com')
  expect(await pages.store.listSessions(member?.id ?? '')).toHaveLength(1)
})

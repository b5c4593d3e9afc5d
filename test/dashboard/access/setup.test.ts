import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { createSetupToken, createAccount } from '../../../src/accounts/accounts.ts'
import { attributesOf, DAY, expectHarmless, HOSTILE, openPages, type Pages, textOf } from '../pages.ts'

const PASSWORD = 'correct horse battery'
const FIELDS = { email: 'ada@example.com', password: PASSWORD, app: 'Ada', domain: 'app.example.com' }
const SECRETS = /mc_[0-9A-Za-z]{36}|SERVICE_API_KEY|SERVICE_IDENTITY_SECRET/

let pages: Pages
let token: string

beforeEach(async () => {
  pages = await openPages()
  token = await createSetupToken({ store: pages.store, now: pages.clock.now() })
})
afterEach(() => pages.close())

const setUp = (fields: Partial<typeof FIELDS & { token: string }> = {}) =>
  pages.post('/setup', { token, ...FIELDS, ...fields })

const title = async (html: string) => (await textOf(html, 'h1'))[0]

describe('the form', () => {
  test('the printed link shows it every time without changes', async () => {
    for (let i = 0; i < 3; i++) {
      const response = await pages.openLink(`/setup?token=${token}`)
      expect(response.status).toBe(200)
      const html = await response.text()
      expect(await title(html)).toBe('Set up Eventpost')
      expect(await attributesOf(html, 'input', 'name')).toEqual(['token', 'email', 'password', 'app', 'domain'])
      expect(await attributesOf(html, 'input[name=token]', 'value')).toEqual([token])
      expect(await attributesOf(html, '[autofocus]', 'name')).toEqual(['email'])
    }
    expect(await pages.store.isSetUp()).toBe(false)
    expect((await setUp()).status).toBe(200)
  })

  test('GET sets nothing up', async () => {
    await pages.get(`/setup?${new URLSearchParams({ token, ...FIELDS })}`)
    expect(await pages.store.isSetUp()).toBe(false)
  })
})

const EMAIL_ERROR = 'Enter one email address, such as ada@example.com.'
const ASCII_ERROR = 'Use only ASCII characters before the @, such as letters without accents.'
const NAME_ERROR = 'Enter a name of 1 to 100 characters for the app.'
const SHORT_ERROR = 'Choose a password of at least 8 characters.'
const COMMON_ERROR = 'This password is too common. Choose another.'
const CLOSE_ERROR = 'This password is too similar to your email or to the name of your account or app. Choose another.'
const AGAIN_HINT = "Enter it again. Passwords aren't kept in forms."
const IP_ERROR = "An IP address doesn't work here. Use a domain, or localhost for tests."
const DOMAIN_ERROR = 'Enter your own domain, such as app.example.com.'

test('reads the domain of a pasted URL', async () => {
  expect((await setUp({ domain: ' https://App.example.com/start?a=b ' })).status).toBe(200)
  const account = await pages.store.findAccount(null)
  const [app] = await pages.store.listApps(account?.id ?? '')
  expect([app?.hosts, app?.homeUrl]).toEqual([['app.example.com'], 'https://app.example.com'])
})

test.each([
  ['localhost', 'http://localhost'],
  ['localhost:8562', 'http://localhost:8562'],
  ['https://LocalHost:8562/start', 'https://localhost:8562'],
  ['//localhost:8562', 'http://localhost:8562'],
  ['app.example.com:8443', 'https://app.example.com'],
])('the home page of an app on %s is %s, and its samples are there', async (domain, home) => {
  const html = await (await setUp({ domain })).text()
  const account = await pages.store.findAccount(null)
  const [app] = await pages.store.listApps(account?.id ?? '')
  expect([app?.hosts, app?.homeUrl]).toEqual([[new URL(home).hostname], home])
  expect((await textOf(html, 'pre')).join('\n')).toContain(`"${home}/results/1"`)
})

describe('400: errors next to the field', () => {
  const CASES: [string, Partial<typeof FIELDS>, Record<string, string>][] = [
    ['no email', { email: '' }, { email: EMAIL_ERROR }],
    ['two emails', { email: 'a@example.com, b@example.com' }, { email: EMAIL_ERROR }],
    ['an email with an accent', { email: 'zoë@example.com' }, { email: ASCII_ERROR }],
    ['a short password', { password: '1234567' }, { password: SHORT_ERROR }],
    ['a long password', { password: 'é'.repeat(129) }, { password: 'Choose a password of at most 128 characters.' }],
    ['a common password', { password: 'Password123' }, { password: COMMON_ERROR }],
    ['the email as password', { password: 'Ada@Example.com1' }, { password: CLOSE_ERROR }],
    ['the app as password', { app: 'Analytical', password: '4nalyt1cal!' }, { password: CLOSE_ERROR }],
    ['no app name', { app: '  ' }, { app: NAME_ERROR }],
    ['a long app name', { app: 'n'.repeat(101) }, { app: NAME_ERROR }],
    ['a newline in the app name', { app: 'a\nb' }, { app: NAME_ERROR }],
    ['an address without a domain', { domain: 'https://127.0.0.1/' }, { domain: IP_ERROR }],
    ['a public suffix as domain', { domain: 'github.io' }, { domain: DOMAIN_ERROR }],
    [
      'everything wrong',
      { email: 'x', password: 'x', app: '', domain: 'x' },
      { email: EMAIL_ERROR, password: SHORT_ERROR, app: NAME_ERROR, domain: DOMAIN_ERROR },
    ],
  ]

  test.each(CASES)('%s', async (_, fields, errors) => {
    const response = await setUp(fields)
    const html = await response.text()
    expect(response.status).toBe(400)
    const shown: Record<string, string> = {}
    for (const name of ['email', 'password', 'app', 'domain']) {
      const [fault] = await textOf(html, `#${name}-fault`)
      if (fault !== undefined) shown[name] = fault.replace('Error: ', '')
      const [invalid] = await attributesOf(html, `#${name}`, 'aria-invalid')
      expect(invalid).toBe(fault === undefined ? null : 'true')
    }
    expect(shown).toEqual(errors)
    const hints = await textOf(html, '#password-hint')
    expect(hints.includes(AGAIN_HINT)).toBe(!('password' in errors))
    const [first] = Object.keys(errors)
    expect(await attributesOf(html, '[autofocus]', 'name')).toEqual(first === undefined ? [] : [first])
    expect(await pages.store.isSetUp()).toBe(false)
  })

  test('input stays except the password, and the link still works', async () => {
    const typed = { email: 'ada@', app: 'Ada & "Co"', domain: '<x>' }
    const html = await (await setUp(typed)).text()
    for (const [name, value] of Object.entries(typed)) {
      expect(await attributesOf(html, `#${name}`, 'value')).toEqual([value])
    }
    expect(await attributesOf(html, '#password', 'value')).toEqual([null])
    expect(html).not.toContain(PASSWORD)
    expect((await setUp()).status).toBe(200)
  })

  test('the domain is optional', async () => {
    expect((await setUp({ domain: ' ' })).status).toBe(200)
  })
})

describe('hostile text', () => {
  test('is shown as text in every field', async () => {
    const html = await (await setUp({ email: HOSTILE, app: HOSTILE.repeat(2), domain: HOSTILE })).text()
    await expectHarmless(html)
    expect(await attributesOf(html, '#email, #app, #domain', 'value')).toEqual([HOSTILE, HOSTILE.repeat(2), HOSTILE])
  })

  test('is harmless as a token', async () => {
    const html = await (await pages.openLink(`/setup?token=${encodeURIComponent(HOSTILE)}`)).text()
    expect(html).not.toContain('alert(1)')
  })
})

describe('links that do not work', () => {
  const expectUnknown = async (response: Response) => {
    expect(response.status).toBe(404)
    expect(await title(await response.text())).toBe('This link does not work')
    expect(await pages.store.isSetUp()).toBe(false)
  }

  test.each(['', 'wrong', 'x'.repeat(5000)])('a wrong token %#', async (wrong) => {
    await expectUnknown(await pages.openLink(`/setup?token=${wrong}`))
    await expectUnknown(await setUp({ token: wrong }))
  })

  test('a link that is a day old', async () => {
    pages.clock.ms += DAY
    await expectUnknown(await pages.openLink(`/setup?token=${token}`))
    await expectUnknown(await setUp())
  })

  test('a replaced link', async () => {
    const newer = await createSetupToken({ store: pages.store, now: pages.clock.now() })
    await expectUnknown(await setUp())
    expect((await setUp({ token: newer })).status).toBe(200)
  })

  test('a password link', async () => {
    const person = { email: 'x@example.com', passwordHash: null, appName: 'X', domains: [], home: null }
    const maker = { store: pages.store, now: pages.clock.now(), actor: 'cli' }
    const begun = await createAccount(maker, person, { onlyFirst: false, setupToken: null })
    const other = 'refusal' in begun ? '' : (begun.inviteToken ?? '')
    expect((await setUp({ token: other })).status).toBe(409)
  })

  test('a wrong link costs no password hash', async () => {
    const hash = spyOn(Bun.password, 'hash')
    await setUp({ token: 'wrong' })
    expect(hash).toHaveBeenCalledTimes(0)
    await setUp()
    expect(hash).toHaveBeenCalledTimes(1)
    hash.mockRestore()
  })

  test('a used link says so, without the secrets', async () => {
    expect(await (await setUp()).text()).toMatch(SECRETS)
    for (const again of [setUp(), setUp({ email: 'other@example.com' }), pages.openLink(`/setup?token=${token}`)]) {
      const response = await again
      const html = await response.text()
      expect(response.status).toBe(409)
      expect(await title(html)).toBe('This link has been used')
      expect(html).not.toMatch(SECRETS)
      expect(await attributesOf(html, 'main a', 'href')).toEqual(['/'])
    }
  })
})

test('503: a full disk keeps the input and the link', async () => {
  const failing = spyOn(pages.store, 'createAccount').mockResolvedValue({ refusal: 'unavailable' })
  const response = await setUp()
  const html = await response.text()
  expect(response.status).toBe(503)
  expect((await textOf(html, '[role=alert]'))[0]).toStartWith("Error: Eventpost can't save right now")
  expect(await attributesOf(html, '#email, #app, #domain', 'value')).toEqual([FIELDS.email, FIELDS.app, FIELDS.domain])
  expect(html).not.toContain(PASSWORD)
  failing.mockRestore()
  expect((await setUp()).status).toBe(200)
})

describe('a finished set-up', () => {
  test('clears cached keys once', async () => {
    const forget = spyOn(pages.access, 'forget')
    await setUp({ email: '' })
    expect(forget).toHaveBeenCalledTimes(0)
    await setUp()
    expect(forget).toHaveBeenCalledTimes(1)
  })

  test('concurrent requests make one account', async () => {
    const responses = await Promise.all([setUp(), setUp({ email: 'eve@example.com' }), setUp()])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const texts = await Promise.all(responses.map((response) => response.text()))
    expect(texts.filter((html) => SECRETS.test(html))).toHaveLength(1)
  })
})

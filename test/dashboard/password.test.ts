import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createAccount } from '../../src/core/accounts.ts'
import { attributesOf, DAY, HOSTILE, openPages, type Pages, textOf } from './pages.ts'

const PASSWORD = 'correct horse battery'

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

test('the link shows the form as often as it is opened', async () => {
  for (let i = 0; i < 2; i++) {
    const response = await pages.get(`/password?token=${token}&password=${PASSWORD}`)
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(await title(html)).toBe('Choose a password')
    expect(await attributesOf(html, 'input', 'name')).toEqual(['token', 'password'])
  }
})

test.each([
  ['', 'Choose a password of at least 8 characters.'],
  ['p'.repeat(129), 'Choose a password of at most 128 characters.'],
  ['12345678', 'This password is one of the first that others would try. Choose another.'],
])('400: %p is refused beside the field and never shown', async (password, message) => {
  const response = await send(password)
  const html = await response.text()
  expect(response.status).toBe(400)
  expect(await textOf(html, '#password-fault')).toEqual([`Error: ${message}`])
  expect(await attributesOf(html, '#password', 'value')).toEqual([null])
  expect((await send(PASSWORD)).status).toBe(200)
})

test('the password is set once, and the page says so', async () => {
  const set: string[] = []
  const { setPasswordByLink } = pages.store
  pages.store.setPasswordByLink = (input) => (set.push(input.passwordHash), setPasswordByLink(input))
  const response = await send(PASSWORD)
  expect(response.status).toBe(200)
  expect(await title(await response.text())).toBe('Your password is set')
  expect(await Bun.password.verify(PASSWORD, set[0] ?? '')).toBe(true)
  expect((await send('another password')).status).toBe(404)
  expect((await pages.get(`/password?token=${token}`)).status).toBe(404)
  expect(set).toHaveLength(1)
})

test('two at once set one password', async () => {
  const responses = await Promise.all([send(PASSWORD), send('another password')])
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 404])
})

describe('404: a link that does not work', () => {
  test.each(['', 'wrong', HOSTILE])('%p', async (wrong) => {
    for (const response of [
      await send(PASSWORD, wrong),
      await pages.get(`/password?token=${encodeURIComponent(wrong)}`),
    ]) {
      const html = await response.text()
      expect(response.status).toBe(404)
      expect(await title(html)).toBe('This link does not work any more')
      expect(html).not.toContain('alert(1)')
    }
  })

  test('one that is a day old', async () => {
    pages.clock.ms += DAY
    expect((await send(PASSWORD)).status).toBe(404)
    expect((await pages.get(`/password?token=${token}`)).status).toBe(404)
  })
})

test('503: a full disk keeps the link', async () => {
  const { setPasswordByLink } = pages.store
  pages.store.setPasswordByLink = async () => ({ refusal: 'unavailable' })
  const response = await send(PASSWORD)
  expect(response.status).toBe(503)
  expect((await textOf(await response.text(), '[role=alert]'))[0]).toStartWith(
    'Error: The service cannot save right now',
  )
  pages.store.setPasswordByLink = setPasswordByLink
  expect((await send(PASSWORD)).status).toBe(200)
})

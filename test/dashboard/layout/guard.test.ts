import { linkCookie } from '../../../src/dashboard/access/session-cookie.ts'
import { describe, expect, test } from 'bun:test'
import { createSetupToken } from '../../../src/accounts/accounts.ts'
import { openPages, SAME_ORIGIN, textOf } from '../pages.ts'

const FIELDS = { email: 'ada@example.com', password: 'correct horse battery', app: 'Ada', domain: '' }

async function openWithToken(options: Parameters<typeof openPages>[0] = {}) {
  const pages = await openPages(options)
  return { ...pages, token: await createSetupToken({ store: pages.store, now: pages.clock.now() }) }
}

const LOOPBACK = { baseUrl: 'http://127.0.0.1:8080' }
const PUBLIC = { baseUrl: 'https://post.example.com' }
const BEHIND_PROXY = { ...PUBLIC, host: '127.0.0.1' }

describe('Host', () => {
  test.each([
    [LOOPBACK, '127.0.0.1:8080', 200],
    [LOOPBACK, 'localhost:9000', 200],
    [LOOPBACK, 'LOCALHOST', 200],
    [LOOPBACK, '[::1]:8080', 200],
    [LOOPBACK, 'evil.example', 403],
    [LOOPBACK, 'localhost.evil.example', 403],
    [LOOPBACK, '127.0.0.1.evil.example:8080', 403],
    [LOOPBACK, 'localhost@evil.example', 403],
    [LOOPBACK, '', 403],
    [PUBLIC, 'post.example.com', 200],
    [PUBLIC, 'POST.example.com:443', 200],
    [PUBLIC, 'localhost', 403],
    [PUBLIC, 'example.com', 403],
    [BEHIND_PROXY, 'localhost:8080', 200],
    [BEHIND_PROXY, 'post.example.com', 200],
    [BEHIND_PROXY, 'evil.example', 403],
  ])('%p answers Host %p with %d', async (options, host, status) => {
    const pages = await openWithToken(options)
    for (const path of ['/', '/setup']) {
      const [Cookie = ''] = linkCookie(pages.baseUrl, pages.token).split(';')
      const response = await pages.get(path, { Host: host, Cookie })
      const html = await response.text()
      expect(response.status).toBe(status)
      if (status === 403) {
        expect(await textOf(html, 'h1')).toEqual(['Unknown address'])
        expect(html).not.toContain('evil')
        expect(html).not.toContain(pages.token)
      }
    }
    const headers = { Host: host, ...SAME_ORIGIN }
    const sent = await pages.post('/setup', { token: pages.token, ...FIELDS }, headers)
    expect([sent.status, await pages.store.isSetUp()]).toEqual([status, status === 200])
    await pages.close()
  })
})

describe('the origin of a form', () => {
  const NOTHING_SAID = 'The origin of this form is unknown'
  const BASE = 'http://127.0.0.1:8080'
  test.each<[Record<string, string>, number]>([
    [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
    [{ 'Sec-Fetch-Site': 'none' }, 200],
    [{ 'Sec-Fetch-Site': 'same-origin', Origin: BASE }, 200],
    [{ Origin: BASE }, 200],
    [{ Origin: 'http://localhost:8080', Host: 'localhost:8080' }, 200],
    [{}, 403],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
    [{ 'Sec-Fetch-Site': 'same-site' }, 403],
    [{ 'Sec-Fetch-Site': '' }, 403],
    [{ 'Sec-Fetch-Site': 'cross-site', Origin: BASE }, 403],
    [{ Origin: 'http://127.0.0.1:9999' }, 403],
    [{ Origin: 'https://evil.example' }, 403],
    [{ Origin: 'null' }, 403],
    [{ Origin: '' }, 403],
    [{ Referer: `${BASE}/setup` }, 403],
  ])('%p gives %d', async (headers, status) => {
    const pages = await openWithToken(LOOPBACK)
    const response = await pages.post('/setup', { token: pages.token, ...FIELDS }, headers)
    expect([response.status, await pages.store.isSetUp()]).toEqual([status, status === 200])
    const html = await response.text()
    if (status === 403) {
      const saysNothing = !('Origin' in headers) && !('Sec-Fetch-Site' in headers)
      expect(await textOf(html, 'h1')).toEqual([saysNothing ? NOTHING_SAID : 'This form came from another site'])
      expect(html.includes('without an Origin or Sec-Fetch-Site header')).toBe(saysNothing)
    }
    const password = await pages.post('/password', { token: 'wrong', password: 'x' }, headers)
    expect(password.status).toBe(status === 200 ? 404 : 403)
    await pages.close()
  })
})

test.each([
  [PUBLIC, 'post.example.com', 'https://post.example.com', 200],
  [PUBLIC, 'post.example.com', 'http://post.example.com', 403],
  [BEHIND_PROXY, 'localhost:8080', 'http://localhost:8080', 200],
  [BEHIND_PROXY, 'localhost:8080', 'https://localhost:8080', 403],
  [LOOPBACK, '127.0.0.1:8080', 'https://127.0.0.1:8080', 403],
])('the scheme of an Origin counts: %p called as %s from %s gives %d', async (options, Host, Origin, status) => {
  const pages = await openWithToken(options)
  const response = await pages.post('/setup', { token: pages.token, ...FIELDS }, { Host, Origin })
  expect([response.status, await pages.store.isSetUp()]).toEqual([status, status === 200])
  await pages.close()
})

test('HEAD is answered like GET', async () => {
  const pages = await openWithToken(LOOPBACK)
  for (const [path, status] of [
    ['/', 200],
    ['/setup', 404],
    [`/setup?token=${pages.token}`, 303],
  ] as const) {
    const response = await pages.handle(path, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([status, ''])
  }
  await pages.close()
})

describe('the body of a form', () => {
  const send = async (init: RequestInit) => {
    const pages = await openWithToken()
    const response = await pages.handle('/setup', { method: 'POST', ...init })
    const isSetUp = await pages.store.isSetUp()
    await pages.close()
    return { status: response.status, type: response.headers.get('content-type'), isSetUp }
  }
  const HTML = 'text/html; charset=utf-8'
  const FORM = { ...SAME_ORIGIN, 'Content-Type': 'application/x-www-form-urlencoded' }

  test('415: only form encodings', async () => {
    const refused = { status: 415, type: HTML, isSetUp: false }
    const file = new FormData()
    file.set('token', 'x')
    expect(await send({ body: file, headers: SAME_ORIGIN })).toEqual(refused)
    expect(await send({ body: '{}', headers: { ...SAME_ORIGIN, 'Content-Type': 'application/json' } })).toEqual(refused)
    expect(await send({ body: 'token=x', headers: { ...SAME_ORIGIN, 'Content-Type': 'text/plain' } })).toEqual(refused)
    expect(await send({ headers: SAME_ORIGIN })).toEqual(refused)
  })

  test('413: over 32 KB, announced or not', async () => {
    const fits = `token=${'x'.repeat(32 * 1024 - 6)}`
    const refused = { status: 413, type: HTML, isSetUp: false }
    expect((await send({ body: fits, headers: FORM })).status).toBe(404)
    expect(await send({ body: `${fits}x`, headers: FORM })).toEqual(refused)
    let pulled = 0
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1024).fill(++pulled && 97)),
    })
    expect(await send({ body: endless, headers: FORM })).toEqual(refused)
    expect(pulled).toBeLessThan(50)
  })

  test.each(['', '%', '%ff%fe=%00', 'token', '=&=&=', 'token[]=x', '__proto__=x&token=x'])(
    '%p is not a token',
    async (body) => {
      expect((await send({ body, headers: FORM })).status).toBe(404)
    },
  )
})

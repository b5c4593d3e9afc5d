import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createSetupToken } from '../../../src/accounts/accounts.ts'
import { setFacts } from '../../../src/http/request-facts.ts'
import { VERSION } from '../../../src/core/version.ts'
import { refusalPage } from '../../../src/dashboard/layout/refusal-page.tsx'
import { attributesOf, BASE, expectHarmless, HOSTILE, openPages, type Pages, textOf } from '../pages.ts'

const FIELDS = { email: 'ada@example.com', password: 'correct horse battery', app: 'Ada', domain: '' }

let pages: Pages
beforeEach(async () => {
  pages = await openPages()
})
afterEach(() => pages.close())

describe('the first page', () => {
  test('says where to find the set-up link, without showing it', async () => {
    const token = await createSetupToken({ store: pages.store, now: pages.clock.now() })
    const response = await pages.get('/')
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(await textOf(html, '.lead')).toEqual(["It isn't set up yet."])
    expect((await textOf(html, 'main p'))[1]).toContain('printed in the terminal where the server was started')
    expect((await textOf(html, 'footer'))[0]).toContain(`Version ${VERSION}`)
    expect(html).not.toContain(token)
  })

  test('leads to sign-in after set-up', async () => {
    const token = await createSetupToken({ store: pages.store, now: pages.clock.now() })
    await pages.post('/setup', { token, ...FIELDS })
    const response = await pages.get('/')
    expect([response.status, response.headers.get('location')]).toEqual([303, '/sign-in'])
  })
})

test('every page has the headers, and no inline script or style', async () => {
  const token = await createSetupToken({ store: pages.store, now: pages.clock.now() })
  const responses = [
    await pages.get('/'),
    await pages.openLink(`/setup?token=${token}`),
    await pages.openLink('/setup?token=wrong'),
    await pages.post('/setup', { token }),
    await pages.post('/setup', { token }, {}),
    await pages.get('/', { Host: 'evil.example' }),
    await pages.post('/setup', { token, ...FIELDS }),
    await pages.post('/setup', { token, ...FIELDS }),
    await pages.openLink('/password?token=wrong'),
  ]
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 404, 400, 403, 403, 200, 409, 404])
  for (const response of responses) {
    const { 'set-cookie': _, ...headers } = response.headers.toJSON()
    expect(headers).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; object-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    })
    const html = await response.text()
    expect(html).toMatch(/^<!doctype html><html lang="en"(?: data-form="sent")?><head>/)
    await expectHarmless(html)
    const [title] = await textOf(html, 'title')
    expect(title).toStartWith(`${(await textOf(html, 'h1'))[0]} - `)
    expect(title).toEndWith(' - Eventpost')
    expect((await attributesOf(html, 'link[rel=stylesheet]', 'href'))[0]).toMatch(/^\/assets\/style-[0-9a-z]{8}\.css$/)
  }
})

test.each([
  ['/docs/start', 'cross-site', 'gzip'],
  ['/docs/start', undefined, 'gzip'],
  ['/docs/start?search=key', 'same-origin', 'gzip'],
  ['/docs/start?search=key', 'none', 'gzip'],
  ['/docs/start?search=key', 'same-site', null],
  ['/docs/start?search=key', 'cross-site', null],
  ['/docs/start?search=key', undefined, null],
  ['/docs/unknown', 'cross-site', null],
])('%s, asked for by %p, is compressed with %p', async (path, site, coding) => {
  const from: Record<string, string> = site === undefined ? {} : { 'Sec-Fetch-Site': site }
  const response = await pages.get(path, { ...from, 'Accept-Encoding': 'gzip, br' })
  expect(response.headers.get('content-encoding')).toBe(coding)
  const bytes = await response.bytes()
  expect(Buffer.from(coding ? Bun.gunzipSync(bytes) : bytes).toString()).toEndWith('</html>')
})

describe('a refusal outside the pages', () => {
  const refused = (path: string, accept: string) => {
    const request = new Request(`${BASE}${path}`, { headers: { Accept: accept } })
    setFacts(request, { requestId: HOSTILE, address: () => '127.0.0.1' })
    return request
  }
  const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8'

  test('is a page for a person', async () => {
    const response = refusalPage(refused('/nowhere', BROWSER), 'not_found')
    expect(response.status).toBe(404)
    expect(await textOf(await response.text(), 'h1')).toEqual(['Page not found'])
  })

  test('shows the requestId of an error', async () => {
    const response = refusalPage(refused('/', BROWSER), 'internal_error')
    const html = await response.text()
    expect(response.status).toBe(500)
    expect(await textOf(html, 'main code')).toEqual([HOSTILE])
    await expectHarmless(html)
  })
})

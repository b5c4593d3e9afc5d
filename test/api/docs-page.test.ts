import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { docsPage } from '../../src/api/docs-page.ts'
import type { OpenApi } from '../../src/api/openapi.ts'
import { ERROR_CODES } from '../../src/http/answer-schemas.ts'
import { setFacts } from '../../src/http/request-facts.ts'
import * as schemas from '../inputs.ts'
import { API, type Answer, createTestServer, type TestServer } from '../helper.ts'

let server: TestServer
let page: Answer
let document: OpenApi
beforeAll(async () => {
  server = await createTestServer()
  page = await server.call('GET', `${API}/docs`, { key: null })
  document = (await server.call('GET', `${API}/openapi.json`, { key: null })).body as unknown as OpenApi
})
afterAll(() => server.close())

/** The page's words, without its tags. */
const words = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')

describe('the page', () => {
  test('needs no key, and has a CSP', () => {
    expect(page.status).toBe(200)
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^req_/),
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'self' 'sha256-[\w+/]{43}='; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
      ),
    })
    expect(page.text).not.toMatch(/<script|javascript:| on\w+=| style=/i)
  })

  test('its only style is allowed by the policy', () => {
    const [style, ...others] = Array.from(page.text.matchAll(/<style>([^]*?)<\/style>/g), ([, text]) => text ?? '')
    const hash = new Bun.CryptoHasher('sha256').update(style ?? '').digest('base64')
    expect(page.headers.get('content-security-policy')).toContain(`'sha256-${hash}'`)
    expect(others).toEqual([])
  })

  test('its icon is allowed by the policy', () => {
    const [, icon = ''] = /<link rel="icon" href="([^"]+)">/.exec(page.text) ?? []
    expect(icon).toStartWith('data:image/svg+xml,<svg ')
  })

  test('links to the start page', () => {
    expect(page.text).toContain('<a href="/">Eventpost</a>')
  })

  test('every cell has the name of its column, for small screens', () => {
    const [fields = ''] = /<table>[^]*?<\/table>/.exec(page.text.slice(page.text.indexOf('POST /api/v1/events<'))) ?? []
    const names = Array.from(fields.matchAll(/<td data-label="([^"]*)">/g), ([, name]) => name)
    expect(names.slice(0, 6)).toEqual(['Field', 'Type', 'Meaning', 'Field', 'Type', 'Meaning'])
    expect(page.text).not.toContain('<td>')
    expect(page.text).not.toContain('data-label=""')
  })

  test('its stylesheet is served', async () => {
    const [, href = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(page.text) ?? []
    expect((await server.call('GET', href, { key: null })).headers.get('content-type')).toStartWith('text/css')
  })

  test('renders every call with fields and answers, and links to each', () => {
    const said = words(page.text)
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const [, id] = new RegExp(`<h2 id="([^"]+)">${method.toUpperCase()} ${path}</h2>`).exec(page.text) ?? []
        expect(id).toBeString()
        expect(page.text).toContain(`<a href="#${id}">`)
        expect(said).toContain(`${operation.summary}.`)
      }
    }
    for (const schema of Object.values(schemas)) {
      for (const [name, { description }] of Object.entries<{ description?: string }>(schema.properties)) {
        expect(page.text).toContain(`<code>${name}</code>`)
        expect(said.replaceAll(/\s+/g, ' ')).toContain(
          (description ?? '?')
            .replaceAll('`', '')
            .split(/[.:;(]/)[0]
            ?.trimEnd() ?? '?',
        )
      }
    }
  })

  test('explains every event type', () => {
    const [, section = ''] = /<h2 [^>]*>GET \/api\/v1\/events<([^]*?)<h2/.exec(page.text) ?? []
    for (const type of ['event', 'page', 'action', 'track']) expect(section).toContain(`<code>${type}</code>`)
  })

  test('lists every error and every limit', () => {
    for (const code of ERROR_CODES) expect(page.text).toContain(`<code>${code}</code>`)
    const said = words(page.text).replaceAll(/\s+/g, ' ')
    const limits = [
      'per key 6,000 hour',
      'per key 600 hour',
      'visitor 5 10 minutes',
      'under 2 KB',
      '1 to 64',
      '64 KB',
      '256 KB',
    ]
    for (const limit of limits) expect(said).toContain(limit)
    expect(said).toContain('Use a timeout of 10 seconds and log failures')
    expect(said).not.toMatch(/undefined|NaN|\[object|!/)
  })

  test('every linked heading has a unique ID', () => {
    const ids = Array.from(page.text.matchAll(/<h2 id="([^"]*)"/g), ([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(10)
  })
})

test('hostile text in a setting stays text', async () => {
  const hostile = '</code></pre><script>alert(1)</script>"\n```\n<img src=x onerror=alert(1)>'
  const request = new Request('http://localhost/api/v1/docs')
  setFacts(request, { requestId: 'req_x', address: () => '127.0.0.1' })
  const info = { ...document.info, summary: hostile }
  const html = await docsPage(request, { ...document, info, servers: [{ url: hostile }] }, {}).text()
  expect(html).not.toMatch(/<script|<img/)
  expect(html).toContain('&lt;script&gt;')
})

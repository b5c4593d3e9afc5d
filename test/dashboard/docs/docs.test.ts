import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { DOC_PAGES } from '../../../src/docs/index.ts'
import { createTestServer, type TestServer } from '../../helper.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

const get = (path: string) => server.call('GET', path, { key: null })

test('/docs redirects to the first page', async () => {
  const { status, headers } = await get('/docs')
  expect([status, headers.get('location')]).toEqual([303, '/docs/start'])
})

describe.each(DOC_PAGES.map(({ slug, title, summary }) => ({ slug, title, summary })))('/docs/$slug', (page) => {
  test('each page has a title, a summary and navigation', async () => {
    const { status, text, headers } = await get(`/docs/${page.slug}`)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toContain("script-src 'self'; style-src 'self'")
    expect(text.match(/<h1/g)).toHaveLength(1)
    expect(text).toContain(`<h1>${page.title}</h1><p class="lead">${page.summary}</p>`)
    for (const { slug } of DOC_PAGES) expect(text).toContain(`<a href="/docs/${slug}"`)
    expect(text).toContain(`<a href="/docs/${page.slug}" aria-current="page">`)
    expect(text).not.toMatch(/\{base_url\}|style="|onclick|undefined/)
  })
  test('links are valid', async () => {
    const { text } = await get(`/docs/${page.slug}`)
    const links = Array.from(text.matchAll(/href="([^"#:]+)"/g), ([, href = '']) => href)
    for (const href of new Set(links)) {
      const { pathname, search } = new URL(href.replaceAll('&amp;', '&'), 'http://localhost/docs/start')
      expect([href, [200, 303].includes((await get(pathname + search)).status)]).toEqual([href, true])
    }
  })
})

test('Markdown that looks like HTML stays text', async () => {
  const { text } = await get('/docs/snippet')
  expect(text).toContain('&lt;script async src=&quot;http://localhost:8080/s.js&quot;')
  expect(text.match(/<script/g)).toHaveLength(1)
})

test('unknown pages are 404', async () => {
  expect((await get('/docs/none')).status).toBe(404)
})

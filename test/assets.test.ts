/** src/assets.ts; the tests run after `bun run assets`. */
import { describe, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { assetRoutes, assetUrl } from '../src/assets.ts'

const ORIGIN = 'http://localhost:8080'

test('the stylesheet is served at the URL that pages name, to be kept for good', async () => {
  const app = new Elysia().use(assetRoutes())
  const url = assetUrl('style.css')
  for (let i = 0; i < 2; i++) {
    const response = await app.handle(new Request(ORIGIN + url))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/css;charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const css = await response.text()
    expect(css).toContain('prefers-color-scheme:dark')
    expect(url).toBe(`/assets/style.css?v=${Bun.SHA256.hash(css, 'base64url').slice(0, 12)}`)
  }
})

describe('what is packed', () => {
  const app = new Elysia().use(assetRoutes())
  const get = (accepted: string) =>
    app.handle(new Request(ORIGIN + assetUrl('islands/chart.js'), { headers: { 'Accept-Encoding': accepted } }))

  test.each([
    ['gzip, deflate, br, zstd', 'gzip'],
    ['br;q=1.0, gzip;q=0.8', 'gzip'],
    ['br', null],
    ['gzip;q=0', null],
    ['gzip;q=0.0, br', null],
    ['', null],
  ])('for who accepts %p: %p', async (accepted, encoding) => {
    const response = await get(accepted)
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
      encoding,
      'Accept-Encoding',
    ])
    const bytes = new Uint8Array(await response.arrayBuffer())
    const plain = new Uint8Array(await (await get('')).arrayBuffer())
    expect(encoding === null ? bytes : Bun.gunzipSync(bytes)).toEqual(plain)
  })
})

test('nothing else is served', async () => {
  const app = new Elysia().use(assetRoutes())
  for (const path of [
    '/assets/',
    '/assets',
    '/assets/s.js',
    '/assets/stub.js',
    '/assets/../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
  ]) {
    expect((await app.handle(new Request(ORIGIN + path))).status).toBe(404)
  }
})

test('an asset that does not exist has no URL', () => {
  expect(() => assetUrl('nothing.css')).toThrow()
})

/** src/assets.ts; the tests run after `bun run assets`. */
import { describe, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Elysia } from 'elysia'
import { assetRoutes, assetUrl } from '../src/assets.ts'

const ORIGIN = 'http://localhost:8080'

test('the stylesheet has an immutable URL', async () => {
  const app = new Elysia().use(assetRoutes())
  const url = assetUrl('style.css')
  for (let i = 0; i < 2; i++) {
    const response = await app.handle(new Request(ORIGIN + url))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/css;charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const css = await response.text()
    expect(css).toContain('prefers-color-scheme:dark')
    expect(url).toMatch(/^\/assets\/style-[0-9a-z]{8}\.css$/)
  }
})

describe('compressed assets', () => {
  const app = new Elysia().use(assetRoutes())
  const get = (accepted: string) =>
    app.handle(new Request(ORIGIN + assetUrl('islands/chart.js'), { headers: { 'Accept-Encoding': accepted } }))

  test.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=1.0, gzip;q=0.8', 'br'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['gzip;q=0.5, br;q=0.5', 'br'],
    ['*', 'br'],
    ['*;q=0.2, br;q=0.1', 'gzip'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0.0, br', 'br'],
    ['gzip;q=0', null],
    ['deflate', null],
    ['', null],
  ])('for who accepts %p: %p', async (accepted, encoding) => {
    const response = await get(accepted)
    const [type, coding, vary] = ['content-type', 'content-encoding', 'vary'].map((name) => response.headers.get(name))
    expect([type, coding, vary]).toEqual(['text/javascript;charset=utf-8', encoding, 'Accept-Encoding'])
    const bytes = new Uint8Array(await response.arrayBuffer())
    const plain = Buffer.from(await (await get('')).arrayBuffer())
    const unpacked = encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes
    expect(Buffer.from(unpacked)).toEqual(plain)
  })

  test('have an ETag for each encoding, and answer 304', async () => {
    const etags = await Promise.all(['br', 'gzip', ''].map(async (form) => (await get(form)).headers.get('etag') ?? ''))
    expect(new Set(etags).size).toBe(3)
    for (const etag of etags) expect(etag).toMatch(/^"[0-9a-z]{8}(-br|-gz)?"$/)
    const ask = async (known: string) => {
      const headers = { 'Accept-Encoding': 'br', 'If-None-Match': known }
      const response = await app.handle(new Request(ORIGIN + assetUrl('islands/chart.js'), { headers }))
      const { length } = await response.text()
      return [response.status, length > 0, response.headers.get('vary'), response.headers.get('etag')]
    }
    const [br = '', gzip = ''] = etags
    for (const known of [br, `W/${br}`, `"other", ${br}`, '*']) {
      expect(await ask(known)).toEqual([304, false, 'Accept-Encoding', br])
    }
    expect(await ask(gzip)).toEqual([200, true, 'Accept-Encoding', br])
  })
})

test('nothing else is served', async () => {
  const app = new Elysia().use(assetRoutes())
  for (const path of [
    '/assets/',
    '/assets',
    '/assets/s.js',
    '/assets/stub.js',
    '/assets/style.css',
    `${assetUrl('style.css')}.br`,
    '/assets/../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
  ]) {
    expect((await app.handle(new Request(ORIGIN + path))).status).toBe(404)
  }
})

test('an unknown asset has no URL', () => {
  expect(() => assetUrl('nothing.css')).toThrow()
})

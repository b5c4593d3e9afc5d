/** src/assets.ts; the tests run after `bun run assets`. */
import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { assetRoutes, assetUrl } from '../src/assets.ts'

const ORIGIN = 'http://localhost:8080'

test('the stylesheet is served at the URL that pages name, to be kept for good', async () => {
  const app = new Elysia().use(await assetRoutes())
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

test('nothing else is served', async () => {
  const app = new Elysia().use(await assetRoutes())
  for (const path of ['/assets/', '/assets', '/assets/../package.json', '/assets/%2e%2e/%2e%2e/package.json']) {
    expect((await app.handle(new Request(ORIGIN + path))).status).toBe(404)
  }
})

test('an asset that does not exist has no URL', () => {
  expect(() => assetUrl('nothing.css')).toThrow()
})

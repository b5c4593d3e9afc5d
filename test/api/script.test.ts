/** /s.js and its fixed copy. The script here is the tests' own; that it is built is assets' concern. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { Elysia } from 'elysia'
import { scriptRoutes } from '../../src/api/script.ts'
import { pinnedScriptPath } from '../../src/visits/snippet-tag.ts'
import { readScript } from '../../src/assets.ts'
import { createTestServer, type TestServer } from '../helper.ts'

const TEXT = '(()=>{/* snippet */})()'.repeat(20)
const bytes = (content: Uint8Array | string) => new Uint8Array(Buffer.from(content))
const SCRIPT = { identity: bytes(TEXT), br: bytes(brotliCompressSync(TEXT)), gzip: bytes(gzipSync(TEXT)) }
const HASH = new Bun.CryptoHasher('sha256').update(TEXT).digest('hex').slice(0, 16)

let server: TestServer
const faults: string[] = []
let app: { handle(request: Request): Promise<Response> }
beforeAll(async () => {
  server = await createTestServer()
  app = new Elysia().use(scriptRoutes(server.parts(), SCRIPT, (reason) => void faults.push(reason)))
})
afterAll(() => server.close())

const get = (path = '/s.js', headers: Record<string, string> = {}) =>
  app.handle(new Request(`http://localhost:8080${path}`, { headers }))

const common = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  vary: 'Accept-Encoding',
  'x-content-type-options': 'nosniff',
}
const SHORTLY = 'public, max-age=3600, stale-while-revalidate=86400'
const unpack = { br: brotliDecompressSync, gzip: gunzipSync, identity: (content: Uint8Array) => Buffer.from(content) }

describe('200', () => {
  test.each<[string | null, keyof typeof unpack]>([
    ['gzip, deflate, br, zstd', 'br'],
    ['br', 'br'],
    ['BR;Q=1', 'br'],
    ['gzip;q=1.0, br;q=0.1', 'gzip'],
    ['gzip, deflate', 'gzip'],
    ['gzip , br;q=0', 'gzip'],
    ['br; q=0.000, gzip; q=0', 'identity'],
    ['deflate', 'identity'],
    ['identity', 'identity'],
    ['broken;;=', 'identity'],
    ['', 'identity'],
    [null, 'identity'],
  ])('Accept-Encoding %j takes %s', async (accepted, encoding) => {
    const response = await get('/s.js', accepted === null ? {} : { 'Accept-Encoding': accepted })
    const suffix = { br: '-br', gzip: '-gz', identity: '' }[encoding]
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      200,
      {
        ...common,
        'cache-control': SHORTLY,
        'content-type': 'text/javascript; charset=utf-8',
        etag: `"${HASH}${suffix}"`,
        ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
      },
    ])
    expect(unpack[encoding](await response.bytes()).toString()).toBe(TEXT)
  })

  test('the fixed copy never changes', async () => {
    expect(pinnedScriptPath(SCRIPT.identity)).toBe(`/s.${HASH}.js`)
    const response = await get(`/s.${HASH}.js`, { 'Accept-Encoding': 'br' })
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(Object.fromEntries(response.headers)).toMatchObject({ ...common, etag: `"${HASH}-br"` })
    expect(brotliDecompressSync(await response.bytes()).toString()).toBe(TEXT)
  })
})

describe('304', () => {
  test.each<[string, string, number]>([
    ['ETAG', 'br', 304],
    ['W/ETAG', 'br', 304],
    ['"other", ETAG', 'br', 304],
    ['*', 'br', 304],
    ['ETAG', 'gzip', 200],
    ['"other"', 'br', 200],
    [HASH, 'br', 200],
    ['', 'br', 200],
  ])('If-None-Match %s with %s: %i', async (sent, accepted, status) => {
    const known = sent.replace('ETAG', `"${HASH}-br"`)
    const response = await get('/s.js', { 'If-None-Match': known, 'Accept-Encoding': accepted })
    expect(response.status).toBe(status)
    if (status === 200) return
    expect(await response.text()).toBe('')
    expect(Object.fromEntries(response.headers)).toEqual({ ...common, 'cache-control': SHORTLY, etag: `"${HASH}-br"` })
  })
})

describe('from the whole server', () => {
  test('the built script, with an id and no cookie; HEAD without its body', async () => {
    const { identity } = readScript()
    for (const path of ['/s.js', pinnedScriptPath(readScript().identity)]) {
      const answer = await server.call('GET', path, { key: null })
      expect([answer.status, answer.text]).toEqual([200, Buffer.from(identity).toString()])
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
      expect(answer.headers.get('set-cookie')).toBeNull()
      const head = await server.call('HEAD', path, { key: null })
      expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', answer.headers.get('etag')])
    }
  })

  test('is served even if the load cannot be recorded', async () => {
    const broken = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        findAppsByHost: async ([host]) => {
          if (host === 'slow.example') return new Promise(() => {})
          throw new Error('the disk is gone')
        },
      }),
    })
    for (const path of ['/s.js', pinnedScriptPath(readScript().identity)]) {
      for (const host of ['slow.example', 'broken.example']) {
        const answer = await broken.call('GET', path, { key: null, headers: { Referer: `https://${host}/` } })
        expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
      }
    }
    await Bun.sleep(1)
    const said = broken.logged().match(/"message":"a script load was not recorded".*the disk is gone/g)
    expect(said).toHaveLength(2)
    expect(faults).toEqual([])
    await broken.close()
  })

  test.each(['/s.0000000000000000.js', '/s', '/s.js/', '/assets/s.js', '/assets/s.js.br', '/assets/s.js.gz'])(
    '%s is not found',
    async (path) => expect((await server.call('GET', path, { key: null })).status).toBe(404),
  )

  test('a pinned copy of another build is a readable 404 with a remedy', async () => {
    const { status, body, headers } = await server.call('GET', '/s.0000000000000000.js', { key: null })
    expect([status, body.message]).toEqual([404, expect.stringContaining('Copy the tag again')])
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })

  test('POST is 405', async () => {
    expect((await server.call('POST', '/s.js', { key: null })).status).toBe(405)
  })
})

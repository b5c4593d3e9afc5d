import { beforeEach, describe, expect, test } from 'bun:test'
import { MESSAGE_BYTES } from '../../src/mcp/guard.ts'
import { usedUp } from '../api/expected.ts'
import { useClosing } from '../closing.ts'
import { createTestServer, type Given, inTurns, TEST_ORIGINS, type TestServer, useSharedServer } from '../helper.ts'
import { RETURNED_LATE_MS } from '../postgres/test-databases.ts'
import { callTool, MCP, message } from './client.ts'

const openServer = useSharedServer()
const keep = useClosing()
let server: TestServer
beforeEach(async () => {
  server = await openServer()
})

const ping = (given: Given = {}) => server.call('POST', MCP, { body: message('ping'), ...given })
const PONG = { jsonrpc: '2.0', id: 1, result: {} }

const refusal = (code: number, error: string, more: object = {}) => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code,
    message: expect.any(String),
    data: { ok: false, error, message: expect.any(String), requestId: expect.stringMatching(/^req_/), ...more },
  },
})

test('200: JSON, not cached', async () => {
  const { status, body, headers } = await ping()
  expect([status, body]).toEqual([200, PONG])
  expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['application/json', 'no-store'])
  expect([...headers.keys()].filter((name) => /^access-control|session/.test(name))).toEqual([])
})

describe('403', () => {
  const HOSTS = ['evil.example', 'evil.example:8080', 'localhost.evil.example', '169.254.169.254', '']
  test.each(HOSTS)('a Host that is not ours, as after DNS rebinding: %p', async (host) => {
    const { status, body } = await ping({ headers: { Host: host } })
    expect([status, body as unknown]).toEqual([403, refusal(-32_000, 'origin_not_allowed')])
  })
  const ORIGINS = [
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'https://tools.example.evil.example',
    'http://tools.example',
    'https://localhost:8080',
  ]
  test.each(ORIGINS)('an Origin of others: %s', async (origin) => {
    const { status, body } = await ping({ headers: { Origin: origin } })
    expect([status, body as unknown]).toEqual([403, refusal(-32_000, 'origin_not_allowed')])
  })
  test.each(['http://localhost:8080', ...TEST_ORIGINS])('not for %s', async (origin) => {
    expect((await ping({ headers: { Origin: origin } })).status).toBe(200)
  })
  test.each(['127.0.0.1:8080', '[::1]:9', 'LOCALHOST'])('not for the Host %s', async (host) => {
    expect((await ping({ headers: { Host: host } })).status).toBe(200)
  })
  test('a write-only key', async () => {
    const { apiKey } = await server.makeKey('ingest')
    const { status, body } = await ping({ key: apiKey })
    expect([status, body as unknown]).toEqual([403, refusal(-32_000, 'insufficient_scope')])
    expect((await ping({ key: (await server.makeKey('manage')).apiKey })).status).toBe(200)
  })
})

describe('CORS', () => {
  const [ORIGIN = ''] = TEST_ORIGINS
  const preflight = (headers: Record<string, string>) =>
    server.call('OPTIONS', MCP, { key: null, headers: { 'Access-Control-Request-Method': 'POST', ...headers } })
  const corsOf = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'))

  test('the preflight of a listed origin is answered', async () => {
    const { status, text, headers } = await preflight({
      Origin: ORIGIN,
      'Access-Control-Request-Headers': 'authorization,content-type,mcp-protocol-version',
    })
    expect([status, text]).toEqual([204, ''])
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(headers.get('access-control-allow-methods')?.split(', ')).toContain('POST')
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'mcp-protocol-version']))
    expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0)
    expect([headers.get('vary'), headers.get('access-control-allow-credentials')]).toEqual(['Origin', null])
  })

  test.each(['https://evil.example', 'null', 'http://tools.example'])('not that of %s', async (Origin) => {
    const { status, headers } = await preflight({ Origin })
    expect([status, corsOf(headers), headers.get('vary')]).toEqual([403, [], 'Origin'])
  })

  test('not that of a listed origin under a foreign Host', async () => {
    expect((await preflight({ Origin: ORIGIN, Host: 'evil.example' })).status).toBe(403)
  })

  test.each<[number, Given]>([
    [200, {}],
    [202, { body: { jsonrpc: '2.0', method: 'notifications/initialized' } }],
    [400, { body: '{' }],
    [401, { key: null }],
    [406, { headers: { Accept: 'text/html' } }],
    [415, { headers: { 'Content-Type': 'text/plain' } }],
  ])('its page can read a %d', async (status, given) => {
    const { headers, ...answer } = await ping({ ...given, headers: { ...given.headers, Origin: ORIGIN } })
    expect([answer.status, headers.get('access-control-allow-origin')]).toEqual([status, ORIGIN])
    const exposed = headers.get('access-control-expose-headers')?.split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['Retry-After', 'X-Request-Id', 'WWW-Authenticate']))
    expect(headers.get('vary')).toBe('Origin')
  })

  test('also a 405, a 429 and a 500', async () => {
    server = keep(await createTestServer())
    const headers = { Origin: ORIGIN }
    const origins: unknown[] = []
    const note = (answer: { status: number; headers: Headers }) =>
      origins.push([answer.status, answer.headers.get('access-control-allow-origin')])
    note(await server.call('GET', MCP, { headers }))
    await server.setPlan({ mcpCallsPerMinute: 1 })
    await ping()
    note(await ping({ headers }))
    server.parts().limits.takeAlone = () => {
      throw new Error('broken')
    }
    note(await ping({ headers }))
    expect(origins).toEqual([405, 429, 500].map((status) => [status, ORIGIN]))
  })

  test('no answer elsewhere has it', async () => {
    const { headers } = await server.call('GET', '/api/v1/openapi.json', { headers: { Origin: ORIGIN } })
    expect(corsOf(headers)).toEqual([])
  })
})

describe('405', () => {
  test.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])('%s, at once and without a key', async (method) => {
    const { status, headers, body } = await server.call(method, MCP, { key: null })
    expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    expect(body as unknown).toEqual(refusal(-32_000, 'method_not_allowed'))
  })
})

describe('401', () => {
  test.each([
    ['no key', null],
    ['nonsense', 'mc_nonsense'],
    ['a right shape that nobody made', 'mc_0000000000000000000000000000000AAAAAA'],
  ])('%s', async (_, key) => {
    const { status, headers, body } = await ping({ key })
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(body as unknown).toMatchObject({ error: { message: 'Invalid API key', data: { error: 'invalid_api_key' } } })
  })
  test('a key that was revoked between two calls', async () => {
    const { keyId, apiKey } = await server.makeKey()
    expect((await ping({ key: apiKey })).status).toBe(200)
    await server.revokeKey(keyId, server.first)
    expect((await ping({ key: apiKey })).status).toBe(401)
  })
})

describe('429', () => {
  test('limits calls per minute by the plan', async () => {
    await server.setPlan({ mcpCallsPerMinute: 3 })
    for (const body of [message('ping'), '[]', message('tools/list')]) await ping({ body })
    const { status, headers, body } = await ping()
    expect([status, headers.get('retry-after')]).toEqual([429, '60'])
    const { keyId } = server.first
    const data = usedUp(server, { limitName: 'mcp_calls_per_minute', limit: 3, retryAfter: 60, keyId })
    expect(body as unknown).toEqual(refusal(-32_000, 'rate_limited', data))
    expect(body as unknown).toMatchObject({ error: { message: data.message } })
    server.clock.tick(60_000 + RETURNED_LATE_MS)
    expect((await ping()).status).toBe(200)
  })
  test('1,200 a minute by default', async () => {
    await inTurns(1_200, () => ping())
    expect((await ping()).status).toBe(429)
  })
  test('refused calls of tools count with those of the API', async () => {
    await inTurns(600, () => callTool(server, 'get_contact', { app: 'none', email: 'a@b.example' }))
    expect((await ping()).status).toBe(429)
    expect((await server.call('GET', `/api/v1/events?app=${server.first.appId}`)).status).toBe(429)
  })
})

describe('415 and 406', () => {
  test.each(['text/plain', 'application/x-www-form-urlencoded', 'text/plain; a=application/json', ''])(
    'the type %p',
    async (type) => {
      const { status, body } = await ping({ headers: { 'Content-Type': type } })
      expect([status, body as unknown]).toEqual([415, refusal(-32_000, 'unsupported_media_type')])
    },
  )
  test('a compressed body', async () => {
    const { status, body } = await ping({ headers: { 'Content-Encoding': 'gzip' } })
    const message = 'The body is compressed. Send it uncompressed, without the header Content-Encoding.'
    expect([status, body as unknown]).toMatchObject([415, { error: { message } }])
  })
  test.each(['text/event-stream', 'text/html', 'application/jsonp'])('Accept: %s only', async (accept) => {
    const { status, body } = await ping({ headers: { Accept: accept } })
    expect([status, body as unknown]).toEqual([406, refusal(-32_000, 'not_acceptable')])
  })
  const ACCEPTED = [
    'application/json, text/event-stream',
    'text/event-stream,application/json;q=0.9',
    'application/json',
    '*/*',
    'application/*',
  ]
  test.each(ACCEPTED)('not for %s', async (accept) => {
    const { status, headers } = await ping({ headers: { Accept: accept } })
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
  })
})

describe('413', () => {
  const sized = (bytes: number): string => {
    const empty = JSON.stringify(message('ping', { _meta: { x: '' } }))
    return empty.replace('"x":""', `"x":"${'x'.repeat(bytes - empty.length)}"`)
  }
  test('beyond 64 KB, and not below', async () => {
    expect((await ping({ body: sized(MESSAGE_BYTES) })).status).toBe(200)
    const { status, body } = await ping({ body: sized(MESSAGE_BYTES + 1) })
    expect([status, body as unknown]).toEqual([413, refusal(-32_000, 'too_large')])
  })
  test('without an announced length', async () => {
    const body = new Blob([sized(MESSAGE_BYTES + 1)]).stream()
    expect((await ping({ body, headers: { 'Content-Type': 'application/json' } })).status).toBe(413)
  })
})

test('checks run in order', async () => {
  const worst = { Host: 'evil.example', 'Content-Type': 'text/plain', Accept: 'text/html' }
  const big = 'x'.repeat(MESSAGE_BYTES + 1)
  expect((await server.call('PUT', MCP, { body: big, key: null, headers: worst })).status).toBe(403)
  const { Host: _, ...bad } = worst
  expect((await server.call('PUT', MCP, { body: big, key: null, headers: bad })).status).toBe(405)
  expect((await ping({ body: big, key: null, headers: bad })).status).toBe(401)
  await server.setPlan({ mcpCallsPerMinute: 5 })
  expect((await ping({ body: big, headers: bad })).status).toBe(415)
  expect((await ping({ body: big, headers: { Accept: 'text/html' } })).status).toBe(406)
  expect((await ping({ body: big })).status).toBe(413)
  expect((await ping({ body: '{' })).status).toBe(400)
  expect((await ping({ body: '[]' })).status).toBe(400)
  expect((await ping({ body: big, headers: bad })).status).toBe(429)
})

test('a key sent by a browser is recorded as exposed', async () => {
  await ping({ headers: { Origin: 'http://localhost:8080' } })
  await server.parts().access.saveUses()
  const [key] = await server.parts().store.listKeys(server.first.accountId)
  expect(key?.seenInBrowserAt).toBe(server.clock.now())
})

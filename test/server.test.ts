/** What every answer has in common, of every kind of request: the shape of refusals, headers, ids, and who asks. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { codeOf, expectRefusal, no } from './api/expected.ts'
import { assetUrl } from '../src/assets.ts'
import { setPasswordByLink } from '../src/accounts/members.ts'
import { hashPassword } from '../src/accounts/passwords.ts'
import { useClosing } from './closing.ts'
import {
  API,
  BASE_URL,
  BATCH,
  CONTACTS,
  createTestServer,
  EVENTS,
  type Given,
  inTurns,
  type Options,
  type TestServer,
} from './helper.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

const keep = useClosing()
const open = async (options: Options): Promise<TestServer> => keep(await createTestServer(options))

describe('404', () => {
  test.each([
    `${API}`,
    `${API}/`,
    `${API}/nothing`,
    `${API}/events/x`,
    `${API}/event%73`,
    `/api//v1/events`,
    `${API}/EVENTS`,
    '/api/v2/events',
    '/nothing',
    '/nothing.php?a=<script>',
    '/assets/none.js',
    '/%00',
    '/%',
    '/..%2f..%2fetc/passwd',
  ])('%s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE'])
      expectRefusal(await server.call(method, path), [404, no('not_found')])
  })
})

describe('a page with a slash at its end', () => {
  test.each([
    ['/docs/', '/docs'],
    ['/docs/api/', '/docs/api'],
    ['/docs/events//?a=b', '/docs/events?a=b'],
    ['/sign-in/', '/sign-in'],
    ['/apps/app_1/events/', '/apps/app_1/events'],
  ])('%s leads to %s', async (path, page) => {
    const { status, headers } = await server.call('GET', path, { key: null })
    expect([status, headers.get('location')]).toEqual([308, page])
    expectRefusal(await server.call('DELETE', path, { key: null }), [404, no('not_found')])
  })

  test.each(['//evil.example/', '//docs/', '/nothing/', '/healthz/', `${API}/events/`, '/mcp/'])(
    '%s leads nowhere',
    async (path) => expectRefusal(await server.call('GET', path), [404, no('not_found')]),
  )
})

describe('405', () => {
  test.each<[string, string, string[]]>([
    [EVENTS, 'PUT', ['GET', 'POST']],
    [EVENTS, 'OPTIONS', ['GET', 'POST']],
    [BATCH, 'GET', ['POST']],
    [BATCH, 'HEAD', ['POST']],
    [CONTACTS, 'PUT', ['DELETE', 'GET', 'PATCH', 'POST']],
    [`${API}/docs`, 'POST', ['GET']],
    ['/docs/api', 'POST', ['GET']],
    [`${API}/openapi.json`, 'DELETE', ['GET']],
    ['/healthz', 'POST', ['GET']],
  ])('%s %s', async (path, method, allowed) => {
    const response = await server.call(method, path, { key: null, headers: { Origin: 'https://a.example' } })
    if (method !== 'HEAD') expectRefusal(response, [405, no('method_not_allowed')])
    expect(response.status).toBe(405)
    const allow = response.headers
      .get('allow')
      ?.split(', ')
      .filter((one) => one !== 'HEAD')
    expect(allow?.sort()).toEqual(allowed)
  })
})

test('opening the address of a form shows the way to its page', async () => {
  for (const path of ['keys/revoke', 'activation/key', 'people/con_1/erase', 'deliveries/dlv_1/resend']) {
    const headers = { Accept: 'text/html' }
    const { status, text, headers: sent } = await server.call('GET', `/apps/app_1/${path}`, { key: null, headers })
    expect([status, sent.get('allow')]).toEqual([405, 'POST'])
    expect(text).toContain('This address only accepts form submissions.')
    expect(text).toContain(`href="/apps/app_1/${path.split('/')[0]}"`)
  }
  const { status, text } = await server.call('GET', '/nothing', { key: null, headers: { Accept: 'text/html' } })
  expect([status, text.includes('There is no page at this address.'), text.includes('href="/"')]).toEqual([
    404,
    true,
    true,
  ])
})

test.each([
  ['/nothing', '*/*'],
  ['/nothing', 'application/json'],
  [`${API}/nothing`, 'text/html,application/xhtml+xml,*/*;q=0.8'],
])('%s is refused in JSON for Accept %s', async (path, accept) => {
  expectRefusal(await server.call('GET', path, { key: null, headers: { Accept: accept } }), [404, no('not_found')])
})

describe('Strict-Transport-Security', () => {
  const event = { app: 'app_1', email: 'ada@example.com', event: 'e' }
  const everywhere: [method: string, path: string, given?: Given][] = [
    ['GET', '/', { key: null }],
    ['GET', '/sign-in', { key: null }],
    ['POST', '/sign-in', { key: null, body: 'email=x', headers: { 'Sec-Fetch-Site': 'cross-site' } }],
    ['GET', '/setup?token=x', { key: null }],
    ['GET', '/docs/start', { key: null }],
    ['GET', assetUrl('style.css'), { key: null }],
    ['GET', '/s.js', { key: null }],
    ['GET', '/s.0000.js', { key: null }],
    ['POST', '/c', { key: null, body: '{' }],
    ['OPTIONS', '/c', { key: null }],
    ['DELETE', '/c', { key: null }],
    ['POST', '/u/nothing', { key: null }],
    ['POST', EVENTS, { body: event }],
    ['POST', EVENTS, { key: null, body: event }],
    ['POST', EVENTS, { body: '{' }],
    ['PUT', EVENTS],
    ['OPTIONS', EVENTS],
    ['HEAD', `${API}/openapi.json`],
    ['GET', `${API}/docs`],
    ['GET', `${API}/nothing`],
    ['POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } }],
    ['POST', '/mcp', { key: null, body: '{' }],
    ['OPTIONS', '/mcp', { key: null, headers: { Origin: 'https://tools.example' } }],
    ['GET', '/mcp'],
    ['GET', '/healthz', { key: null }],
    ['GET', '/metrics', { key: null }],
    ['GET', '/nothing', { key: null }],
    ['GET', '/nothing', { key: null, headers: { Accept: 'text/html' } }],
    ['GET', '/sign-in', { key: null, headers: { Host: 'evil.example' } }],
  ]

  test.each([
    ['https://post.example.com', 'max-age=31536000; includeSubDomains'],
    // other hosts below a registrable domain may not be ours
    ['https://example.com', 'max-age=31536000'],
    ['http://post.example.com', null],
  ])('of the service at %s is %p on every answer', async (baseUrl, value) => {
    const one = await open({ baseUrl })
    for (const [method, path, given] of everywhere) {
      const { headers, status } = await one.call(method, path, given)
      expect([method, path, status, headers.get('strict-transport-security')]).toEqual([method, path, status, value])
    }
  })

  test('is on answers while the store is broken, and when a handler fails', async () => {
    const one = await open({
      baseUrl: 'https://post.example.com',
      wrapStore: (store) => ({ ...store, isSetUp: () => Promise.reject(new Error('broken')) }),
    })
    const { status, headers } = await one.call('GET', '/', { key: null })
    expect([status, headers.get('strict-transport-security')]).toEqual([500, 'max-age=31536000; includeSubDomains'])
  })
})

test('every answer has a policy, a content type and a charset', async () => {
  const event = { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true }
  const asked: [method: string, path: string, given: Given][] = [
    ['GET', '/', { key: null }],
    ['GET', '/sign-in', { key: null }],
    ['GET', '/setup?token=x', { key: null }],
    ['GET', '/docs/start', { key: null }],
    ['GET', '/docs/start.md', { key: null }],
    ['GET', '/llms.txt', { key: null }],
    ['GET', assetUrl('style.css'), { key: null }],
    ['GET', '/s.js', { key: null }],
    ['POST', '/c', { key: null, body: '{' }],
    ['POST', EVENTS, { body: event }],
    ['POST', EVENTS, { key: null, body: event }],
    ['GET', `${API}/docs`, {}],
    ['GET', `${API}/openapi.json`, {}],
    ['POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } }],
    ['GET', '/healthz', { key: null }],
    ['GET', '/readyz', { key: null }],
    ['GET', '/metrics', { key: null }],
    ['GET', '/session', { key: null }],
    ['GET', '/nothing', { key: null }],
  ]
  for (const [method, path, given] of asked) {
    const { headers, text } = await server.call(method, path, given)
    const policy = headers.get('content-security-policy') ?? ''
    for (const rule of ["object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"])
      expect([path, policy]).toEqual([path, expect.stringContaining(rule)])
    if (text !== '')
      expect([path, headers.get('content-type')]).toEqual([path, expect.stringMatching(/charset=utf-8|json$/i)])
  }
})

async function signIn(one: TestServer): Promise<string> {
  const maker = { store: one.parts().store, now: one.clock.now() }
  await setPasswordByLink(maker, one.first.inviteToken ?? '', await hashPassword('correct horse battery'))
  const form = new URLSearchParams({ email: 'first@owner.example', password: 'correct horse battery', next: '/' })
  const headers = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/x-www-form-urlencoded' }
  const { headers: given } = await one.call('POST', '/sign-in', { key: null, body: form.toString(), headers })
  return given.getSetCookie()[0]?.split(';')[0] ?? ''
}

test('the log names the member who requested a page', async () => {
  const Cookie = await signIn(server)
  await server.call('GET', `/apps/${server.first.appId}/events`, { key: null, headers: { Cookie } })
  const lines = server
    .logged()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const line = lines.findLast(({ route }) => route === '/apps/:app/events')
  expect(line).toMatchObject({ message: 'request', status: 200, memberId: expect.stringMatching(/^mem_/) })
  expect(lines.find(({ route }) => route === '/healthz')).not.toHaveProperty('memberId')
})

describe('a connection may be silent for longer', () => {
  const HEADERS = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' }
  const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const mcp = (one: TestServer, key?: string) => one.call('POST', '/mcp', { body: CALL, headers: HEADERS, key })

  test('while a simulation, an MCP call or a page of a member is made', async () => {
    const one = await open({})
    const { apiKey: key } = await one.makeKey('manage')
    const app = `?app=${one.first.appId}`
    const { body } = await one.call('GET', `${API}/messages${app}`, { key })
    const simulation = `${API}/messages/${body.data?.[0]?.id}/simulation`
    const page = `/apps/${one.first.appId}/events`
    const Cookie = await signIn(one)
    expect(one.timeouts).toEqual([])
    expect((await one.call('GET', simulation + app, { key })).status).toBe(200)
    expect((await mcp(one)).status).toBe(200)
    expect((await one.call('GET', page, { key: null, headers: { Cookie } })).status).toBe(200)
    const and = (path: string) =>
      [
        [path, 240],
        [path, 10],
      ] as [string, number][]
    expect(one.timeouts).toEqual([simulation, '/mcp', page].flatMap(and))
  })

  test('not while a request is sent, or is refused for its key', async () => {
    const one = await open({})
    expect((await mcp(one, 'mc_no')).status).toBe(401)
    const { readable, writable } = new TransformStream<Uint8Array>()
    const writer = writable.getWriter()
    const headers = { ...HEADERS, Authorization: `Bearer ${one.first.apiKey}` }
    const sending = one.send(new Request(`${BASE_URL}/mcp`, { method: 'POST', headers, body: readable }))
    const text = new TextEncoder().encode(JSON.stringify(CALL))
    await writer.write(text.slice(0, 10))
    expect(one.timeouts).toEqual([])
    await writer.write(text.slice(10))
    await writer.close()
    expect((await sending).status).toBe(200)
    expect(one.timeouts).toEqual([
      ['/mcp', 240],
      ['/mcp', 10],
    ])
  })
})

describe('HEAD', () => {
  test.each([`${EVENTS}?app=APP`, `${CONTACTS}?app=APP`, `${API}/openapi.json`, '/docs/api', '/healthz', '/readyz'])(
    '%s is GET without its body',
    async (path) => {
      const own = path.replace('APP', server.first.appId)
      const [head, get] = [await server.call('HEAD', own), await server.call('GET', own)]
      expect([head.status, head.text]).toEqual([200, ''])
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
    },
  )
  test('without a key it is 401', async () => {
    expect((await server.call('HEAD', EVENTS, { key: null })).status).toBe(401)
  })
})

describe('every answer', () => {
  test('has an ID and nosniff, and no cookie or CORS header', async () => {
    const body = { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true }
    const asked: [string, string, Given][] = [
      ['POST', EVENTS, { body }],
      ['POST', BATCH, { body: { events: [body] } }],
      ['POST', CONTACTS, { body }],
      ['PATCH', CONTACTS, { body }],
      ['GET', `${CONTACTS}?app=${server.first.appId}`, {}],
      ['DELETE', CONTACTS, { body }],
      ['POST', EVENTS, { body: '{' }],
      ['POST', EVENTS, { body, key: null }],
      ['POST', EVENTS, { body, headers: { 'Content-Type': 'text/plain' } }],
      ['POST', EVENTS, { body: 'x'.repeat(70_000) }],
      ['PUT', EVENTS, {}],
      ['OPTIONS', EVENTS, {}],
      ['GET', '/nothing', {}],
      ['GET', '/', {}],
      ['GET', `${API}/docs`, {}],
      ['GET', `${API}/openapi.json`, {}],
      ['GET', '/healthz', {}],
      ['GET', '/readyz', {}],
      ['GET', '/metrics', {}],
      ['GET', assetUrl('style.css'), {}],
    ]
    const ids = new Set<string | null>()
    for (const [method, path, given] of asked) {
      const { headers } = await server.call(method, path, given)
      expect([path, headers.get('x-content-type-options')]).toEqual([path, 'nosniff'])
      expect([...headers.keys()].filter((name) => /^access-control|cookie|powered|^server$/.test(name))).toEqual([])
      ids.add(headers.get('x-request-id'))
    }
    expect(ids.size).toBe(asked.length)
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-z]{18}$/)
  })
})

test.each([
  ['/docs', '/docs/start'],
  [`${API}/docs`, '/docs/api'],
])('%s redirects to %s', async (path, page) => {
  const { status, headers } = await server.call('GET', path, { key: null })
  expect([status, headers.get('location')]).toEqual([303, page])
})

describe('the client address', () => {
  const ask = (one: TestServer, forwarded: string) =>
    one.call('GET', `${EVENTS}?app=${one.first.appId}`, {
      key: null,
      headers: { 'X-Forwarded-For': forwarded },
      address: '10.0.0.1',
    })
  /** As many requests without a key as an address has a minute. */
  const useUp = (one: TestServer, forwarded: string) => inTurns(1_200, () => ask(one, forwarded))
  const warnings = (one: TestServer) => one.logged().match(/"level":"warn","message":"X-Forwarded-For[^"]*"/g) ?? []

  test('comes from a trusted proxy', async () => {
    const one = await open({ trustedProxies: ['10.0.0.0/8'] })
    await useUp(one, '198.51.100.1, 203.0.113.1')
    expect(codeOf(await ask(one, '203.0.113.1'))).toBe('429 rate_limited')
    expect(codeOf(await ask(one, '198.51.100.1'))).toBe('401 invalid_api_key')
    expect(warnings(one)).toEqual([])
  })
  test('ignores X-Forwarded-For without a trusted proxy, and logs it once', async () => {
    const one = await open({})
    await useUp(one, '203.0.113.1')
    expect(codeOf(await ask(one, '203.0.113.2'))).toBe('429 rate_limited')
    expect(warnings(one).length).toBe(1)
    expect(one.logged()).not.toContain('203.0.113')
  })
})

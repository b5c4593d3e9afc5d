/** What every answer has in common, whatever the door: the shape of refusals, headers, ids, faults. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { MOST_REPORTS, MOST_REQUESTS } from '../src/server.ts'
import { codeOf, expectRefusal, no } from './api/expected.ts'
import {
  API,
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

const opened: TestServer[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})
async function open(options: Options): Promise<TestServer> {
  const one = await createTestServer(options)
  opened.push(one)
  return one
}

const event = ({ first }: TestServer) => ({
  app: first.appId,
  email: 'ada@example.com',
  event: 'e',
  createContact: true,
})

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

describe('405', () => {
  test.each<[string, string, string[]]>([
    [EVENTS, 'PUT', ['GET', 'POST']],
    [EVENTS, 'OPTIONS', ['GET', 'POST']],
    [BATCH, 'GET', ['POST']],
    [BATCH, 'HEAD', ['POST']],
    [CONTACTS, 'PUT', ['DELETE', 'GET', 'PATCH', 'POST']],
    [`${API}/docs`, 'POST', ['GET']],
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

test('a person who opens the address of a form is shown the way to its page', async () => {
  for (const path of ['keys/revoke', 'activation/key', 'people/con_1/erase', 'deliveries/dlv_1/resend']) {
    const headers = { Accept: 'text/html' }
    const { status, text, headers: sent } = await server.call('GET', `/apps/app_1/${path}`, { key: null, headers })
    expect([status, sent.get('allow')]).toEqual([405, 'POST'])
    expect(text).toContain('This address only takes what a form sends.')
    expect(text).toContain(`href="/apps/app_1/${path.split('/')[0]}"`)
  }
  const { status, text } = await server.call('GET', '/nothing', { key: null, headers: { Accept: 'text/html' } })
  expect([status, text.includes('No page has this address.'), text.includes('href="/"')]).toEqual([404, true, true])
})

test.each([
  ['https://post.example.com', 'max-age=31536000'],
  ['http://post.example.com', null],
])('pages at %s say whether browsers may come by plain http: %p', async (baseUrl, said) => {
  const one = await open({ baseUrl })
  for (const path of ['/', '/sign-in', '/docs/start', '/assets/style.css', '/nothing'])
    expect((await one.call('GET', path, { key: null })).headers.get('strict-transport-security')).toBe(said)
})

describe('HEAD', () => {
  test.each([`${EVENTS}?app=APP`, `${CONTACTS}?app=APP`, `${API}/openapi.json`, `${API}/docs`, '/healthz', '/readyz'])(
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
  test('has an id of its own, is not sniffed, sets no cookie and no CORS header', async () => {
    const body = event(server)
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
      ['GET', '/assets/style.css', {}],
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

test('/docs leads to the first page of the documentation', async () => {
  const { status, headers } = await server.call('GET', '/docs', { key: null })
  expect([status, headers.get('location')]).toEqual([303, '/docs/start'])
})

describe('500', () => {
  const FAULT = 'SELECT secret FROM x WHERE canary = 7'
  const fail = (): never => {
    throw new Error(FAULT)
  }
  const broken: Options = {
    wrapStore: (store) => ({ ...store, recordEvent: fail, addContact: async () => fail(), listEvents: fail }),
  }
  test('a handler that throws says so in JSON, with the id under which the log has the reason', async () => {
    const one = await open(broken)
    const calls: [string, string, Given][] = [
      ['POST', EVENTS, { body: event(one) }],
      ['POST', BATCH, { body: { events: [event(one)] } }],
      ['POST', CONTACTS, { body: event(one) }],
      ['GET', `${EVENTS}?app=${one.first.appId}`, {}],
    ]
    for (const [method, path, given] of calls) {
      const answer = await one.call(method, path, given)
      expectRefusal(answer, [500, no('internal_error')])
      expect(answer.text).not.toMatch(/canary|SELECT|Error/)
      const line = one
        .logged()
        .split('\n')
        .find((text) => text.includes('a request failed') && text.includes(String(answer.body.requestId)))
      expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 'error', reason: expect.stringContaining(FAULT) })
    }
  })
  test('the next request is served', async () => {
    const one = await open(broken)
    await one.call('POST', EVENTS, { body: event(one), headers: { 'Idempotency-Key': 'k' } })
    expect((await one.call('GET', `${CONTACTS}?app=${one.first.appId}`)).status).toBe(200)
    const again = await one.call('POST', EVENTS, { body: event(one), headers: { 'Idempotency-Key': 'k' } })
    expect(codeOf(again)).toBe('500 internal_error')
  })
  test('a write that broke alone in the store', async () => {
    const one = await open({
      wrapStore: (store) => ({ ...store, recordEvent: async () => ({ refusal: 'internal_error' }) }),
    })
    expectRefusal(await one.call('POST', EVENTS, { body: event(one) }), [500, no('internal_error')])
  })
})

describe('499', () => {
  test.each([
    ['a body of a known length', 'Content-Length: 100\r\n\r\n{"app":'],
    ['one in chunks', 'Transfer-Encoding: chunked\r\n\r\n7\r\n{"app":\r\n'],
  ])('a client that hangs up in the middle of %s is no fault of ours', async (_name, rest) => {
    const one = await open({})
    const answered = Promise.withResolvers<Response>()
    const http = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const response = await one.send(request)
        answered.resolve(response)
        return response
      },
    })
    const head = `POST ${EVENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${one.first.apiKey}\r\nContent-Type: application/json\r\n`
    const socket = await Bun.connect({ hostname: '127.0.0.1', port: http.port ?? 0, socket: { data: () => {} } })
    socket.write(head + rest)
    await Bun.sleep(20)
    socket.end()
    expect((await answered.promise).status).toBe(499)
    await http.stop(true)
    const lines = one.logged().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'info', message: 'request', method: 'POST', route: EVENTS, status: 499 },
    ])
    const metrics = (await one.call('GET', '/metrics')).text
    expect(metrics).toContain(`method="POST",route="${EVENTS}",status="499"} 1`)
    expect(metrics).not.toContain('status="5')
  })
})

describe('503', () => {
  test.each([
    ['unavailable', 'The service cannot save right now, and nothing was saved. Send this again after Retry-After.'],
    [
      'commit_unconfirmed',
      'The service could not confirm in time that this was saved. Send it again, with the same Idempotency-Key if it had one.',
    ],
  ] as const)('%s: the code outside is unavailable, with Retry-After', async (refusal, message) => {
    const refuse = async () => ({ refusal })
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        recordEvent: refuse,
        addContact: refuse,
        updateContact: refuse,
        eraseContact: refuse,
      }),
    })
    const calls: [string, string, object][] = [
      ['POST', EVENTS, event(one)],
      ['POST', BATCH, { events: [event(one), {}] }],
      ['POST', CONTACTS, event(one)],
      ['PATCH', CONTACTS, event(one)],
      ['DELETE', CONTACTS, event(one)],
    ]
    for (const [method, path, body] of calls) {
      const answer = await one.call(method, path, { body })
      const expected = { ok: false, error: 'unavailable', message, requestId: answer.body.requestId }
      expectRefusal(answer, [503, expected])
      expect(answer.headers.get('retry-after')).toBe('2')
    }
    expect((await one.call('GET', `${CONTACTS}?app=${one.first.appId}`)).status).toBe(200)
  })

  test('more requests at once than are taken are refused, until others are answered', async () => {
    const held = Promise.withResolvers<[]>()
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        listContacts: () => held.promise,
      }),
    })
    const read = () => one.call('GET', `${CONTACTS}?app=${one.first.appId}`)
    const waiting = Array.from({ length: MOST_REQUESTS }, read)
    await Bun.sleep(1)
    const message = 'Too many requests are in progress, and nothing was saved. Send this again after Retry-After.'
    const refused = await read()
    expectRefusal(refused, [503, no('unavailable', { message })])
    expect(refused.headers.get('retry-after')).toBe('2')
    expect((await one.call('GET', '/healthz')).status).toBe(200)
    held.resolve([])
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200)
    expect((await read()).status).toBe(200)
  }, 30_000)

  test('what browsers report is counted apart: neither crowd shuts out the other', async () => {
    const held = Promise.withResolvers<[]>()
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        listContacts: () => held.promise,
        findSite: async () => (await held.promise, null),
      }),
    })
    const read = () => one.call('GET', `${CONTACTS}?app=${one.first.appId}`)
    const tell = (index: number) =>
      one.call('POST', '/c', { body: `{"site":"site_${index}"}`, address: `10.0.${index % 200}.${index % 50}` })
    const telling = Array.from({ length: MOST_REPORTS }, (_, index) => tell(index))
    await Bun.sleep(1)
    const refused = await tell(0)
    expect([refused.status, refused.body.error]).toEqual([503, 'unavailable'])
    expect(['retry-after', 'access-control-allow-origin'].map((name) => refused.headers.get(name))).toEqual(['2', '*'])
    const reading = Array.from({ length: MOST_REQUESTS }, read)
    await Bun.sleep(1)
    expect((await read()).status).toBe(503)
    held.resolve([])
    for (const answer of await Promise.all(telling)) expect(answer.status).toBe(400)
    for (const answer of await Promise.all(reading)) expect(answer.status).toBe(200)
    expect([(await tell(0)).status, (await read()).status]).toEqual([400, 200])
  }, 30_000)

  test('what was not saved uses up no limit', async () => {
    let isFull = true
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        recordEvent: async (write) => (isFull ? { refusal: 'unavailable' } : store.recordEvent(write)),
      }),
    })
    await one.setPlan({ eventsPerHour: 1 })
    for (let i = 0; i < 3; i++) expect((await one.call('POST', EVENTS, { body: event(one) })).status).toBe(503)
    isFull = false
    expect((await one.call('POST', EVENTS, { body: event(one) })).headers.get('ratelimit-remaining')).toBe('0')
  })
})

describe('who asks', () => {
  /** As many refusals as an address has a minute, by keys that stay below their own limit. */
  const refuseMany = async (one: TestServer, forwarded: string): Promise<void> => {
    const keys = [(await one.makeKey()).apiKey, (await one.makeKey()).apiKey, (await one.makeKey()).apiKey]
    const headers = { 'X-Forwarded-For': forwarded }
    await inTurns(1_200, (i) => one.call('POST', EVENTS, { body: '{', key: keys[i % 3], headers, address: '10.0.0.1' }))
  }
  const read = (one: TestServer, forwarded: string) =>
    one.call('GET', `${EVENTS}?app=${one.first.appId}`, {
      headers: { 'X-Forwarded-For': forwarded },
      address: '10.0.0.1',
    })
  const warnings = (one: TestServer) => one.logged().match(/"level":"warn","message":"X-Forwarded-For[^"]*"/g) ?? []

  test('behind a trusted proxy it is who the proxy says', async () => {
    const one = await open({ trustedProxies: ['10.0.0.0/8'] })
    await refuseMany(one, '198.51.100.1, 203.0.113.1')
    expect(codeOf(await read(one, '203.0.113.1'))).toBe('429 rate_limited')
    expect(codeOf(await read(one, '198.51.100.1'))).toBe('200 true')
    expect(warnings(one)).toEqual([])
  })
  test('without one, nobody believes X-Forwarded-For, and the log says so once', async () => {
    const one = await open({})
    await refuseMany(one, '203.0.113.1')
    expect(codeOf(await read(one, '203.0.113.2'))).toBe('429 rate_limited')
    expect(warnings(one).length).toBe(1)
    expect(one.logged()).not.toContain('203.0.113')
  })
})

/** What is answered where the service fails, the client goes away, or too many come at once, for every kind of request. */
import { describe, expect, test } from 'bun:test'
import { DrizzleQueryError } from 'drizzle-orm'
import { createLog } from '../src/ops/log.ts'
import { createMetrics } from '../src/ops/metrics.ts'
import { Unavailable } from '../src/store/engine/errors.ts'
import { NoAnswer } from '../src/store/postgres/faults.ts'
import { createServer, MAX_REPORTS, MAX_REQUESTS } from '../src/server.ts'
import { codeOf, expectRefusal, no } from './api/expected.ts'
import { useClosing } from './closing.ts'
import { keepOutput } from './ops/keep-output.ts'
import {
  BASE_URL,
  BATCH,
  CONTACTS,
  createTestServer,
  EVENTS,
  type Given,
  type Options,
  type TestServer,
} from './helper.ts'

const keep = useClosing()
const open = async (options: Options): Promise<TestServer> => keep(await createTestServer(options))

const event = ({ first }: TestServer) => ({
  app: first.appId,
  email: 'ada@example.com',
  event: 'e',
  createContact: true,
})

/** Where nobody has an address. */
const NOBODY = { requestIP: () => null, timeout: () => {} }

test('a database server that does not answer is answered with 503', async () => {
  const fail = async (): Promise<never> => {
    throw new Error('wrapped', { cause: new NoAnswer('late') })
  }
  const one = await open({ wrapStore: (store) => ({ ...store, findAccess: fail }) })
  const answer = await one.call('POST', EVENTS, { body: event(one) })
  expectRefusal(answer, [503, no('unavailable')])
  expect(answer.headers.get('retry-after')).not.toBeNull()
})

test('the log of a failed statement has its cause, without the statement and its values', async () => {
  for (const [cause, status, reason] of [
    [new Unavailable('The connection was refused', { cause: new NoAnswer('refused') }), 503, 'refused'],
    [new Unavailable('No connection is left'), 503, 'No connection is left'],
    [new Error('no such column'), 500, expect.stringMatching(/^Error: no such column\n/)],
  ] as const) {
    const fail = async (): Promise<never> => {
      throw new DrizzleQueryError('select canary from api_keys', ['canary'], cause)
    }
    const one = await open({ wrapStore: (store) => ({ ...store, findAccess: fail }) })
    expect((await one.call('POST', EVENTS, { body: event(one) })).status).toBe(status)
    const line = one
      .logged()
      .split('\n')
      .find((text) => text.includes('a request failed'))
    expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 'error', reason })
    expect(one.logged()).not.toMatch(/canary|Failed query/)
  }
})

describe('500', () => {
  const FAULT = 'SELECT secret FROM x WHERE canary = 7'
  const fail = (): never => {
    throw new Error(FAULT)
  }
  const broken: Options = {
    wrapStore: (store) => ({
      ...store,
      recordEvent: fail,
      recordEventText: fail,
      addContact: async () => fail(),
      listEvents: fail,
    }),
  }
  test('a failing handler answers JSON with the ID of the log entry', async () => {
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
  test('pages that fail to load: each request gets an error, and later ones work', async () => {
    const one = await open({})
    let isGone = false
    const lines: string[] = []
    const log = createLog(Date.now, keepOutput(lines))
    const { handle } = await createServer({
      ...one.parts(),
      get mailer() {
        if (isGone) throw new Error('no such file')
        return one.parts().mailer
      },
      log,
      metrics: createMetrics(),
      health: one.health,
      metricsToken: null,
      trustedProxies: [],
      mcpOrigins: [],
      host: '127.0.0.1',
    })
    const look = async (path: string): Promise<string> => {
      const { status, headers } = await handle(
        new Request(BASE_URL + path, { headers: { Accept: 'text/html' } }),
        NOBODY,
      )
      return `${path} ${status} ${headers.get('content-type')?.split(';')[0]}`
    }
    isGone = true
    const paths = ['/sign-in', '/nothing', '/hooks/bounces/x', `${EVENTS}/x`, '/s.older.js']
    const json = 'application/json'
    const said = [
      `/sign-in 500 ${json}`,
      `/nothing 500 ${json}`,
      `/hooks/bounces/x 500 ${json}`,
      `${EVENTS}/x 404 ${json}`,
      `/s.older.js 404 ${json}`,
    ]
    expect(await Promise.all(paths.map(look))).toEqual(said)
    log.flush()
    const ends = lines.join('').matchAll(/"route":"[^"]+","status":(\d+)/g)
    expect(Array.from(ends, ([, status]) => status).sort()).toEqual(['404', '404', '500', '500', '500'])
    for (let count = 0; count < MAX_REQUESTS; count += 1) await look('/hooks/bounces/x')
    expect(await look(`${EVENTS}/x`)).toBe(`${EVENTS}/x 404 ${json}`)
    isGone = false
    expect(await look('/sign-in')).toBe('/sign-in 200 text/html')
  })
  test('the next request is served', async () => {
    const one = await open(broken)
    await one.call('POST', EVENTS, { body: event(one), headers: { 'Idempotency-Key': 'k' } })
    expect((await one.call('GET', `${CONTACTS}?app=${one.first.appId}`)).status).toBe(200)
    const again = await one.call('POST', EVENTS, { body: event(one), headers: { 'Idempotency-Key': 'k' } })
    expect(codeOf(again)).toBe('500 internal_error')
  })
  test('a single failing write in the store', async () => {
    const refuse = async () => ({ refusal: 'internal_error' }) as const
    const one = await open({ wrapStore: (store) => ({ ...store, recordEventText: refuse }) })
    expectRefusal(await one.call('POST', EVENTS, { body: event(one) }), [500, no('internal_error')])
  })
})

describe('499', () => {
  test.each([
    ['a body of a known length', 'Content-Length: 100\r\n\r\n{"app":'],
    ['one in chunks', 'Transfer-Encoding: chunked\r\n\r\n7\r\n{"app":\r\n'],
  ])('a client that disconnects during %s is not an error', async (_name, rest) => {
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
    [
      'unavailable',
      "Eventpost can't save right now. Nothing was saved. Wait for the time in Retry-After, then send this again.",
    ],
    [
      'commit_unconfirmed',
      "Eventpost couldn't confirm in time that this was saved. Send it again, with the same Idempotency-Key if it had one.",
    ],
  ] as const)('%s: the code outside is unavailable, with Retry-After', async (refusal, message) => {
    const refuse = async () => ({ refusal })
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        recordEvent: refuse,
        recordEventText: refuse,
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

  test('too many requests at once are refused until others finish; those of browsers are counted separately', async () => {
    const pending = Promise.withResolvers<[]>()
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        listContacts: () => pending.promise,
        findSite: async () => (await pending.promise, null),
      }),
    })
    const read = () => one.call('GET', `${CONTACTS}?app=${one.first.appId}`)
    const tell = (index: number) =>
      one.call('POST', '/c', { body: `{"site":"site_${index}"}`, address: `10.0.${index % 200}.${index % 50}` })
    const telling = Array.from({ length: MAX_REPORTS }, (_, index) => tell(index))
    await Bun.sleep(1)
    const refusedReport = await tell(0)
    expect([refusedReport.status, refusedReport.body.error]).toEqual([503, 'unavailable'])
    const shown = ['retry-after', 'access-control-allow-origin'].map((name) => refusedReport.headers.get(name))
    expect(shown).toEqual(['2', '*'])
    const reading = Array.from({ length: MAX_REQUESTS }, read)
    await Bun.sleep(1)
    const message =
      'Too many requests are in progress, and nothing was saved. Wait for the time in Retry-After, then send this again.'
    const refused = await read()
    expectRefusal(refused, [503, no('unavailable', { message })])
    expect(refused.headers.get('retry-after')).toBe('2')
    expect((await one.call('GET', '/healthz')).status).toBe(200)
    pending.resolve([])
    for (const answer of await Promise.all(telling)) expect(answer.status).toBe(400)
    for (const answer of await Promise.all(reading)) expect(answer.status).toBe(200)
    expect([(await tell(0)).status, (await read()).status]).toEqual([400, 200])
  })

  test.each([
    ['the last one', 1],
    ['one of many', 5_000],
  ])('unsaved writes use no limit: %s', async (_name, eventsPerHour) => {
    let isFull = true
    const one = await open({
      wrapStore: (store) => ({
        ...store,
        recordEvent: async (write) => (isFull ? { refusal: 'unavailable' } : store.recordEvent(write)),
        recordEventText: async (text) => (isFull ? { refusal: 'unavailable' } : store.recordEventText(text)),
      }),
    })
    await one.setPlan({ eventsPerHour })
    for (let i = 0; i < 3; i++) expect((await one.call('POST', EVENTS, { body: event(one) })).status).toBe(503)
    isFull = false
    const left = (await one.call('POST', EVENTS, { body: event(one) })).headers.get('ratelimit-remaining')
    expect(left).toBe(String(eventsPerHour - 1))
  })
})

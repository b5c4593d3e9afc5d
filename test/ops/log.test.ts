import { afterAll, beforeAll, describe, expect, jest, test } from 'bun:test'
import { createLog } from '../../src/ops/log.ts'
import { keepOutput } from './keep-output.ts'
import { API, BATCH, CONTACTS, createTestServer, EVENTS, NOW, type TestServer } from '../helper.ts'

const CANARY = 'canary7f3a'
let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

describe('the log of requests', () => {
  test('is one JSON line each, with the route and not the path', async () => {
    const { headers } = await server.call('GET', `${EVENTS}?app=${server.first.appId}&email=x@example.com`)
    await server.call('GET', `/made/up/${CANARY}?q=${CANARY}`, { key: null })
    const [known, other] = server
      .logged()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const line = {
      time: new Date(NOW).toISOString(),
      level: 'info',
      message: 'request',
      method: 'GET',
      ms: expect.any(Number),
    }
    const requestId = headers.get('x-request-id')
    expect(known).toEqual({ ...line, requestId, route: EVENTS, status: 404, keyId: server.first.keyId })
    expect(other).toEqual({ ...line, requestId: expect.any(String), route: 'other', status: 404, keyId: null })
  })

  test('contains the duration of each', async () => {
    const [before, startedAt] = [server.logged().length, performance.now()]
    await server.call('GET', EVENTS)
    const took = performance.now() - startedAt
    const { ms } = JSON.parse(server.logged().slice(before)) as { ms: number }
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThanOrEqual(Math.ceil(took))
  })

  test('contains the route of every page without parts of its address', async () => {
    const before = server.logged().length
    const pages: [path: string, route: string][] = [
      ['/apps/app_1/deliveries/dlv_1', '/apps/:app/deliveries/:delivery'],
      ['/apps/app_1/messages/new', '/apps/:app/messages/:message'],
      ['/apps/app_1/messages/msg_1/versions', '/apps/:app/messages/:message/versions'],
      ['/apps/app_1/keys/new', '/apps/:app/keys/new'],
      ['/apps/app_1/events/evt_1', '/apps/:app/events/:event'],
      [`/u/${CANARY}`, '/u/:token'],
      [`/apps/app_1/${CANARY}`, 'other'],
    ]
    for (const [path] of pages) await server.call('GET', path, { key: null })
    const lines = server.logged().slice(before).trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { route: string }).route)).toEqual(pages.map(([, route]) => route))
  })

  test('never contains a key, secret, email, value or header', async () => {
    const app = server.first.appId
    const person = { app, email: `${CANARY}@${CANARY}.example`, firstName: CANARY, lastName: CANARY }
    const event = { ...person, event: CANARY, properties: { [CANARY]: CANARY, url: `https://${CANARY}.example/` } }
    const contact = { ...person, tags: [CANARY], removeTags: [CANARY], fields: { [CANARY]: CANARY }, source: CANARY }
    const headers = {
      'Idempotency-Key': CANARY,
      Cookie: CANARY,
      Origin: `https://${CANARY}.example`,
      'User-Agent': CANARY,
      Referer: `https://${CANARY}.example`,
      'X-Forwarded-For': CANARY,
      'X-Request-Id': CANARY,
    }
    const made = { ...event, createContact: true, [CANARY]: CANARY }
    await server.call('POST', EVENTS, { body: made, headers })
    await server.call('POST', EVENTS, { body: { ...made, event: 'other' }, headers })
    await server.call('POST', EVENTS, { body: { ...event, occurredAt: CANARY } })
    await server.call('POST', BATCH, { body: { events: [made, CANARY] }, headers })
    for (const method of ['POST', 'PATCH'])
      await server.call(method, CONTACTS, { body: { ...contact, ip: '203.0.113.77' } })
    await server.call('PATCH', CONTACTS, { body: { ...contact, tags: [], ip: CANARY } })
    const query = `?app=${app}&email=${CANARY}@${CANARY}.example&tag=${CANARY}&event=${CANARY}&cursor=${CANARY}`
    for (const path of [EVENTS, CONTACTS, `${API}/${CANARY}`, `/${CANARY}`, '/metrics'])
      await server.call('GET', path + query)
    await server.call('POST', EVENTS, { body: `{"${CANARY}":` })
    await server.call('POST', EVENTS, { body: CANARY, headers: { 'Content-Type': CANARY } })
    await server.call('GET', EVENTS, { key: `mc_${CANARY}` })
    await server.call('DELETE', CONTACTS, { body: { ...person, reason: CANARY } })
    const log = server.logged()
    expect(log.trim().split('\n').length).toBeGreaterThan(15)
    for (const line of log.trim().split('\n')) expect(JSON.parse(line)).toBeObject()
    const secrets = [CANARY, server.first.apiKey, server.first.identitySecret, '203.0.113.77', '@', app]
    expect(secrets.filter((secret) => log.includes(secret))).toEqual([])
  })

  test('contains reason and place of a fault, without input', async () => {
    const broken = await createTestServer({
      wrapStore: (store) => ({
        ...store,
        recordEventText: () => {
          throw new TypeError('x is undefined')
        },
      }),
    })
    const body = { app: broken.first.appId, email: `${CANARY}@example.com`, event: 'e', properties: { a: CANARY } }
    await broken.call('POST', EVENTS, { body })
    const log = broken.logged()
    expect(log).toContain('"level":"error","message":"a request failed"')
    expect(log).toContain('TypeError: x is undefined')
    expect(log).not.toContain(CANARY)
    await broken.close()
  })
})

describe('createLog', () => {
  function collect() {
    const texts: string[] = []
    return {
      texts,
      log: createLog(() => NOW, keepOutput(texts)),
    }
  }
  test('collects lines and writes them in order within 100 ms', () => {
    jest.useFakeTimers()
    const { texts, log } = collect()
    log.write('info', 'one')
    log.write('warn', 'two', { a: 1 })
    expect(texts).toEqual([])
    log.flush()
    log.flush()
    const time = `{"time":"${new Date(NOW).toISOString()}"`
    expect(texts).toEqual([`${time},"level":"info","message":"one"}\n${time},"level":"warn","message":"two","a":1}\n`])
    log.write('error', 'three')
    jest.advanceTimersByTime(99)
    expect(texts).toHaveLength(1)
    jest.advanceTimersByTime(1)
    expect(texts).toHaveLength(2)
    jest.useRealTimers()
  })
  test('every line of a request is independent of the previous one', () => {
    const texts: string[] = []
    let now = NOW
    const log = createLog(() => now, keepOutput(texts))
    const first = { requestId: 'req_1', method: 'GET', route: '/a', status: 200, ms: 1.5, keyId: null }
    const others = [
      { requestId: 'req_2', ms: 0 },
      { method: 'POST' },
      { route: '/b' },
      { status: 404 },
      { keyId: 'key_1' },
      { keyId: 'key_2' },
    ]
    // each differs from the one before in a single field
    const lines = [...others.flatMap((changes) => [first, { ...first, ...changes }]), { ...first, keyId: 'key_1' }]
    for (const line of lines) log.request(line)
    now += 1
    log.request({ ...first, keyId: 'key_1' })
    log.flush()
    const common = { level: 'info', message: 'request' }
    const written = texts.join('').trim().split('\n')
    expect(written.map((text): unknown => JSON.parse(text))).toEqual([
      ...lines.map((line) => ({ time: new Date(NOW).toISOString(), ...common, ...line })),
      { time: new Date(NOW + 1).toISOString(), ...common, ...first, keyId: 'key_1' },
    ])
  })
  test('collects a limited amount', () => {
    const { texts, log } = collect()
    for (let i = 0; i < 100; i++) log.write('info', 'x'.repeat(1_000))
    expect(texts.length).toBe(1)
    log.flush()
  })
  test('hostile text stays inside its line', () => {
    const { texts, log } = collect()
    log.write('info', 'a"\n{"level":"error"}', { b: '\u2028\n"' })
    log.flush()
    expect(texts[0]?.split('\n')).toHaveLength(2)
    expect(JSON.parse(texts[0] ?? '')).toMatchObject({
      level: 'info',
      message: 'a"\n{"level":"error"}',
      b: '\u2028\n"',
    })
  })
})

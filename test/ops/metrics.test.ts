import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { assetUrl } from '../../src/assets.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import { createMetrics } from '../../src/ops/metrics.ts'
import type { Store } from '../../src/store/store.ts'
import { API, createTestServer, EVENTS, NOW, type TestServer } from '../helper.ts'

const LINE = /^([a-z_]+)(?:\{([^{}]*)\})? (-?[\d.e+-]+|\+Inf|NaN)$/
const LABELS = /^[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*$/

/** Strict: every sample belongs to an announced family. */
function parseMetrics(text: string): Map<string, number> {
  expect(text).toEndWith('\n')
  const samples = new Map<string, number>()
  const types = new Map<string, string>()
  for (const line of text.trimEnd().split('\n')) {
    const [, announced, type] = /^# (?:HELP|TYPE) ([a-z_]+) (.+)$/.exec(line) ?? []
    if (announced) {
      types.set(announced, type ?? '')
      continue
    }
    const [, name = '', labels, value] = LINE.exec(line) ?? []
    if (labels !== undefined) expect(labels).toMatch(LABELS)
    expect([line, types.has(name) || types.get(name.replace(/_(bucket|sum|count)$/, '')) === 'histogram']).toEqual([
      line,
      true,
    ])
    const series = labels === undefined ? name : `${name}{${labels}}`
    expect([line, samples.has(series)]).toEqual([line, false])
    samples.set(series, Number(value))
  }
  return samples
}

describe('/metrics', () => {
  let server: TestServer
  beforeEach(async () => {
    server = await createTestServer()
  })
  afterEach(() => server.close())
  const read = async () => parseMetrics((await server.call('GET', '/metrics', { key: null })).text)

  test('counts by method, route and status; unknown ones are "other"', async () => {
    const body = { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true }
    for (let i = 0; i < 3; i++) await server.call('POST', EVENTS, { body })
    await server.call('POST', EVENTS, { body: '{' })
    for (const path of ['/x"} 1\nmade_up 7', '/wp-login.php', `${API}/events/made-up`, '/%7B%22']) {
      await server.call('GET', encodeURI(path), { key: null })
    }
    await server.call('GET', assetUrl('style.css'), { key: null })
    const samples = await read()
    const series = [...samples].filter(([name]) => name.startsWith('eventpost_requests_total'))
    expect(Object.fromEntries(series)).toEqual({
      [`eventpost_requests_total{method="POST",route="${EVENTS}",status="202"}`]: 3,
      [`eventpost_requests_total{method="POST",route="${EVENTS}",status="400"}`]: 1,
      'eventpost_requests_total{method="GET",route="other",status="404"}': 4,
      'eventpost_requests_total{method="GET",route="/assets/*",status="200"}': 1,
    })
    expect(samples.get('eventpost_request_seconds_count')).toBe(9)
    expect(samples.get('eventpost_request_seconds_bucket{le="+Inf"}')).toBe(9)
  })

  test('commits and sizes', async () => {
    const body = { app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true }
    const before = (await read()).get('eventpost_commit_rows_sum') ?? 0
    await Promise.all(Array.from({ length: 5 }, () => server.call('POST', EVENTS, { body })))
    const samples = await read()
    expect(samples.get('eventpost_commit_rows_sum')).toBe(before + 5)
    expect(samples.get('eventpost_writes_waiting')).toBe(0)
    for (const size of ['eventpost_database_bytes', 'process_resident_memory_bytes']) {
      expect(samples.get(size)).toBeGreaterThan(10_000)
    }
  })
})

describe('emails', () => {
  const EMAILS = ['waiting', 'due', 'oldest_due_seconds'].map((name) => `eventpost_emails_${name}`)
  const readWith = async (summarizeQueue: Store['summarizeQueue']) => {
    const server = await createTestServer({ wrapStore: (store) => ({ ...store, summarizeQueue }) })
    const samples = parseMetrics((await server.call('GET', '/metrics', { key: null })).text)
    await server.close()
    return samples
  }

  test('that wait and are due', async () => {
    const asked: number[] = []
    const samples = await readWith(async (now) => {
      asked.push(now)
      return { waiting: 7, due: 2, oldestDueAt: now - 90_500 }
    })
    expect([asked, EMAILS.map((name) => samples.get(name))]).toEqual([[NOW], [7, 2, 90.5]])
    const idle = await readWith(async () => ({ waiting: 1, due: 0, oldestDueAt: null }))
    expect(EMAILS.map((name) => idle.get(name))).toEqual([1, 0, 0])
  })

  test('are left out while the database fails, unlike the other metrics', async () => {
    const failed = await readWith(() => Promise.reject(new Error('unavailable')))
    const silent = await readWith(() => new Promise(() => {}))
    for (const samples of [failed, silent]) {
      expect(EMAILS.map((name) => samples.get(name))).toEqual(EMAILS.map(() => undefined))
      expect(samples.get('eventpost_writes_waiting')).toBe(0)
    }
  })
})

test('every metric is in the documentation', async () => {
  const server = await createTestServer()
  const { text } = await server.call('GET', '/metrics', { key: null })
  await server.close()
  const names = Array.from(text.matchAll(/^# TYPE (\w+)/gm), ([, name]) => name)
  const page = DOC_PAGES.find(({ slug }) => slug === 'monitoring')?.markdown ?? ''
  expect(Array.from(page.matchAll(/^\| `((?:eventpost|process)_\w+)` /gm), ([, name]) => name).toSorted()).toEqual(
    names.toSorted(),
  )
})

describe('the metrics token', () => {
  test('is required when others can reach the service, not on this machine', async () => {
    for (const [baseUrl, status] of [
      ['https://post.example.com', 401],
      ['http://10.0.0.5:8080', 401],
      ['http://127.0.0.1:8080', 200],
    ] as const) {
      const server = await createTestServer({ baseUrl })
      const answer = await server.call('GET', '/metrics', { key: null })
      expect([baseUrl, answer.status, answer.text.includes('eventpost_')]).toEqual([baseUrl, status, status === 200])
      await server.close()
    }
  })

  test('is required when set', async () => {
    const server = await createTestServer({ metricsToken: 'letmein' })
    for (const key of [null, '', 'letmei', 'letmeinn', server.first.apiKey]) {
      const { status, body, text } = await server.call('GET', '/metrics', { key })
      expect([status, body]).toEqual([401, { ok: false, reason: 'Send the metrics token as a bearer token.' }])
      expect(text).not.toContain('eventpost_')
    }
    const { status, headers } = await server.call('GET', '/metrics', { key: 'letmein' })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect((await server.call('GET', '/healthz', { key: null })).status).toBe(200)
    await server.close()
  })
})

test('interleaved requests are counted by method, route and status', () => {
  const metrics = createMetrics()
  const calls = [
    ['GET', '/a', 200],
    ['POST', '/a', 200],
    ['GET', '/b', 200],
    ['GET', '/a', 404],
  ] as const
  for (const [method, route, status] of [...calls, ...calls, calls[0]])
    metrics.countRequest(method, route, status, 0.001)
  const samples = parseMetrics(metrics.print({ waiting: 0, databaseBytes: 0, logBytes: 0 }, null, NOW))
  const counts = calls.map(([method, route, status]) =>
    samples.get(`eventpost_requests_total{method="${method}",route="${route}",status="${status}"}`),
  )
  expect(counts).toEqual([3, 2, 2, 2])
})

test('attempts to send are counted by the state of the email', () => {
  const metrics = createMetrics()
  for (const state of ['sent', 'unknown', 'sent', 'failed']) metrics.countEmail(state)
  const samples = parseMetrics(metrics.print({ waiting: 0, databaseBytes: 0, logBytes: 0 }, null, NOW))
  const counts = ['sent', 'unknown', 'failed'].map((state) =>
    samples.get(`eventpost_email_attempts_total{state="${state}"}`),
  )
  expect(counts).toEqual([2, 1, 1])
})

test('a histogram is cumulative', () => {
  const metrics = createMetrics()
  for (const seconds of [0.0005, 0.001, 0.0011, 4, 60]) metrics.countRequest('GET', '/', 200, seconds)
  const samples = parseMetrics(metrics.print({ waiting: 1, databaseBytes: 2, logBytes: 3 }, null, NOW))
  const bucket = (le: string) => samples.get(`eventpost_request_seconds_bucket{le="${le}"}`)
  expect(['0.001', '0.002', '2', '5', '+Inf'].map(bucket)).toEqual([2, 3, 3, 4, 5])
  expect(samples.get('eventpost_request_seconds_sum')).toBeCloseTo(64.0026)
  expect([samples.get('eventpost_writes_waiting'), samples.get('eventpost_wal_bytes')]).toEqual([1, 3])
})

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createTestServer, type TestServer } from '../helper.ts'

let server: TestServer
let canCommit = true
let asked = 0
let clockAheadMs = 0
let isClockOff = false
beforeEach(async () => {
  canCommit = true
  asked = 0
  clockAheadMs = 0
  isClockOff = false
  server = await createTestServer({
    wrapStore: (store) => ({
      ...store,
      clockAheadMs: () => clockAheadMs,
      isClockOff: () => isClockOff,
      canCommit: async () => {
        asked += 1
        return canCommit && (await store.canCommit())
      },
    }),
  })
})
afterEach(() => server.close())

const get = async (path: string) => {
  const { status, body, headers } = await server.call('GET', path, { key: null })
  expect([headers.get('cache-control'), headers.get('content-type')]).toEqual([
    'no-store',
    expect.stringMatching(/^application\/json/),
  ])
  return [status, body]
}
const NOT_SAVED = [503, { ok: false, reason: 'Nothing can be saved right now. The log states the cause.' }]
const STOPPING = [503, { ok: false, reason: 'Eventpost is stopping.' }]
const FINE = [200, { ok: true }]

describe('/healthz', () => {
  test('is 200 as long as the process answers', async () => {
    canCommit = false
    server.health.isDraining = true
    expect(await get('/healthz')).toEqual(FINE)
  })
})

describe('the log', () => {
  test('reports when and why commits fail, and when they work again', async () => {
    let tell: (reason: string | null) => void = () => {}
    const one = await createTestServer({
      wrapStore: (store) => ({ ...store, onFault: (listener) => (tell = listener) }),
    })
    tell('database or disk is full')
    tell(null)
    const lines = one.logged().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'error', message: 'nothing can be saved', reason: 'database or disk is full' },
      { level: 'info', message: 'writes are saved again' },
    ])
    await one.close()
  })
})

describe('/readyz', () => {
  test('is 200 when a commit reaches the disk, else 503, and recovers', async () => {
    expect(await get('/readyz')).toEqual(FINE)
    canCommit = false
    server.clock.tick(1_000)
    expect(await get('/readyz')).toEqual(NOT_SAVED)
    canCommit = true
    server.clock.tick(1_000)
    expect(await get('/readyz')).toEqual(FINE)
  })
  test('checks the disk at most once a second, by the monotonic clock', async () => {
    for (let i = 0; i < 50; i++) await get('/readyz')
    server.clock.wallMs += 86_400_000
    await get('/readyz')
    expect(asked).toBe(1)
    server.clock.tick(1_000)
    await get('/readyz')
    expect(asked).toBe(2)
  })
  test('is 503 while the clock is off, which is logged once', async () => {
    clockAheadMs = -12_000
    expect(await get('/readyz')).toEqual(FINE)
    isClockOff = true
    const reason = "This server's clock is 12 seconds behind the database server's. Synchronize both clocks."
    expect([await get('/readyz'), await get('/readyz')]).toEqual([
      [503, { ok: false, reason }],
      [503, { ok: false, reason }],
    ])
    expect(server.logged().split(reason)).toHaveLength(2)
    isClockOff = false
    expect(await get('/readyz')).toEqual(FINE)
  })
  test('is 503 during shutdown', async () => {
    server.health.isDraining = true
    expect(await get('/readyz')).toEqual(STOPPING)
    expect(asked).toBe(0)
  })
})

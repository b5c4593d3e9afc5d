import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { checkWebhook, createWebhook, signWebhook } from '../../src/monitoring/webhook.ts'
import { readPrivateHosts, type PrivateHosts } from '../../src/core/public-addresses.ts'
import { findPort } from '../ports.ts'

type Seen = { method: string; headers: Headers; body: string }

const seen: Seen[] = []
let answer: () => Response
let server: ReturnType<typeof Bun.serve>
const hostsOf = (...entries: string[]) => readPrivateHosts(entries) as PrivateHosts
const NONE = hostsOf()
const LOCAL = hostsOf('127.0.0.1', 'localhost')
const CALL = { id: 'alt_1-opened', at: 1_700_000_000_500, body: '{"type":"alert.opened"}' }
const urlOf = (path = '/hook', host = '127.0.0.1') => `http://${host}:${server.port}${path}`

beforeAll(() => {
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      seen.push({ method: request.method, headers: request.headers, body: await request.text() })
      return answer()
    },
  })
})
afterAll(() => server.stop(true))

const call = async (options: Partial<Parameters<typeof createWebhook>[0]> = {}) => {
  seen.length = 0
  return createWebhook({ url: urlOf(), secret: null, allowed: LOCAL, ...options })(CALL)
}

describe('a call', () => {
  test('is signed over its id, time and body', async () => {
    answer = () => new Response('', { status: 204 })
    const key = Buffer.from('0123456789abcdef0123456789abcdef')
    expect(await call({ secret: `whsec_${key.toString('base64')}` })).toEqual({ isSent: true })
    const [{ headers, body, method } = seen[0] as Seen] = seen
    expect([method, body, headers.get('webhook-id'), headers.get('webhook-timestamp')]).toEqual([
      'POST',
      CALL.body,
      CALL.id,
      '1700000000',
    ])
    const expected = createHmac('sha256', key).update(`${CALL.id}.1700000000.${CALL.body}`).digest('base64')
    expect(headers.get('webhook-signature')).toBe(`v1,${expected}`)
  })

  // the test vector of https://github.com/standard-webhooks/standard-webhooks/tree/main/libraries
  test('has the signature that libraries expect', () => {
    const call = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1_614_265_330_000, body: '{"test": 2432232314}' }
    expect(signWebhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', call)).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  test('without a secret is not signed', async () => {
    answer = () => new Response('')
    expect(await call()).toEqual({ isSent: true })
    expect(seen[0]?.headers.has('webhook-signature')).toBe(false)
  })

  test('follows no redirect', async () => {
    answer = () => new Response('', { status: 302, headers: { Location: urlOf('/elsewhere') } })
    expect(await call()).toMatchObject({ isSent: false, reason: `127.0.0.1:${server.port} responded with status 302.` })
    expect(seen).toHaveLength(1)
  })

  test.each([['127.0.0.1'], ['localhost']])('goes to no private address: %s', async (host) => {
    answer = () => new Response('')
    const refused = await call({ url: urlOf('/hook', host), allowed: NONE })
    expect(refused).toEqual({
      isSent: false,
      reason: `${host} is not a public address. To allow it, add it to EVENTPOST_ALERT_PRIVATE_HOSTS.`,
    })
    expect(seen).toEqual([])
  })

  test('tells when nobody is there', async () => {
    const url = `http://127.0.0.1:${await findPort()}/`
    expect(await call({ url })).toMatchObject({ isSent: false, reason: expect.stringContaining("can't be reached") })
  })
})

test('a check sends no alert, and takes any answer', async () => {
  answer = () => new Response('', { status: 405 })
  seen.length = 0
  expect(await checkWebhook({ url: urlOf(), secret: null, allowed: LOCAL })).toEqual({ isSent: true })
  expect(seen.map(({ method, body }) => [method, body])).toEqual([['HEAD', '']])
})

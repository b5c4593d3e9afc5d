import { expect, test } from 'bun:test'
import { answer, createAnswer, refusalAnswer } from '../../src/http/answers.ts'
import { setFacts } from '../../src/http/request-facts.ts'

function makeRequest(requestId: string): Request {
  const request = new Request('http://127.0.0.1/')
  setFacts(request, { requestId, address: () => '127.0.0.1' })
  return request
}

const COMMON = {
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}

test('answers share no headers, and can be changed later', async () => {
  const first = answer(makeRequest('req_1'), 200, { ok: true })
  const limited = answer(makeRequest('req_2'), 202, { ok: true }, { 'RateLimit-Limit': '5', 'Cache-Control': 'public' })
  const shared = createAnswer({ Vary: 'Origin' })(makeRequest('req_6'), 202, { ok: true })
  const refused = refusalAnswer(makeRequest('req_3'), { refusal: 'invalid_api_key' })
  const last = answer(makeRequest('req_4'), 200, { ok: true })
  last.headers.set('Connection', 'close')
  const after = answer(makeRequest('req_5'), 200, { ok: true })
  expect([first, limited, shared, refused, last, after].map(({ headers }) => Object.fromEntries(headers))).toEqual([
    { ...COMMON, 'x-request-id': 'req_1' },
    { ...COMMON, 'x-request-id': 'req_2', 'ratelimit-limit': '5', 'cache-control': 'public' },
    { ...COMMON, 'x-request-id': 'req_6', vary: 'Origin' },
    { ...COMMON, 'x-request-id': 'req_3', 'www-authenticate': 'Bearer' },
    { ...COMMON, 'x-request-id': 'req_4', connection: 'close' },
    { ...COMMON, 'x-request-id': 'req_5' },
  ])
  expect([refused.status, await refused.json()]).toEqual([401, expect.objectContaining({ requestId: 'req_3' })])
})

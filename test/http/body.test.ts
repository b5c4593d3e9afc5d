import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BATCH, CONTACTS, createTestServer, EVENTS, type Given, type TestServer } from '../helper.ts'
import { codeOf, expectRefusal, no } from '../api/expected.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
})
afterAll(() => server.close())

const KB = 1024
const event = () => ({ app: server.first.appId, email: 'ada@example.com', event: 'e', createContact: true })
/** Exactly this many bytes. */
function bodyOf(bytes: number, path: string): string {
  const text = JSON.stringify(path === BATCH ? { events: [event()] } : event())
  return text + ' '.repeat(bytes - text.length)
}
const streamed = (text: string, onCancel = (): void => {}) => {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, (at += 10_000)))
    },
    cancel: onCancel,
  })
}
const JSON_ONLY = { 'Content-Type': 'application/json' }
const post = (given: Given, path = EVENTS) => server.call('POST', path, given)

describe('415', () => {
  test.each([
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json5',
    'application/+json',
    'application/json, text/plain',
    'application/json charset=utf-8',
    'xapplication/json',
  ])('%j', async (type) => {
    const answer = await post({ body: bodyOf(200, EVENTS), headers: { 'Content-Type': type } })
    expectRefusal(answer, [415, no('unsupported_media_type')])
  })
  test('forms as clients make them', async () => {
    const form = new FormData()
    form.set('app', server.first.appId)
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    expect(codeOf(await post({ body: new URLSearchParams({ a: 'b' }), headers }))).toBe('415 unsupported_media_type')
    const type = new Request('http://x', { method: 'POST', body: form }).headers.get('content-type') ?? ''
    const multipart = await post({ body: form, headers: { 'Content-Type': type } })
    expect(codeOf(multipart)).toBe('415 unsupported_media_type')
  })
  test.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'])('Content-Encoding: %s', async (encoding) => {
    const message = 'The body is compressed. Send it uncompressed, without the header Content-Encoding.'
    const expected: Parameters<typeof expectRefusal>[1] = [415, no('unsupported_media_type', { message })]
    const headers = { 'Content-Encoding': encoding }
    expectRefusal(await post({ body: event(), headers }), expected)
    const compressed = await post({ body: Bun.gzipSync(bodyOf(70_000, EVENTS)), headers: { ...headers, ...JSON_ONLY } })
    expectRefusal(compressed, expected)
  })
  test.each(['iso-8859-1', 'utf-16', '"latin1"', 'utf-8x', ''])('charset=%s', async (charset) => {
    const message = 'Encode the body as UTF-8, with the header Content-Type: application/json.'
    for (const type of [`application/json; charset=${charset}`, `application/vnd.api+json;a=b; Charset=${charset}`]) {
      const answer = await post({ body: event(), headers: { 'Content-Type': type } })
      expectRefusal(answer, [415, no('unsupported_media_type', { message })])
    }
  })
  test('without Content-Type', async () => {
    const headers = { Authorization: `Bearer ${server.first.apiKey}` }
    const body = new TextEncoder().encode(bodyOf(200, EVENTS))
    const response = await server.send(new Request(`http://localhost:8080${EVENTS}`, { method: 'POST', headers, body }))
    expect(response.status).toBe(415)
  })
})

describe('accepted as JSON', () => {
  test.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json; version=1',
    'application/json; version=1; charset=utf8; a=b',
    'application/vnd.api+json',
    'application/cloudevents+json; charset=utf-8',
  ])('%s', async (type) => {
    expect((await post({ body: event(), headers: { 'Content-Type': type } })).status).toBe(202)
  })
})

test('Content-Encoding: identity is allowed', async () => {
  for (const encoding of ['identity', 'Identity'])
    expect((await post({ body: event(), headers: { 'Content-Encoding': encoding } })).status).toBe(202)
})

describe('413', () => {
  test.each([
    [EVENTS, 64 * KB, 202],
    [CONTACTS, 64 * KB, 200],
    [BATCH, 256 * KB, 207],
  ])('%s accepts exactly %i bytes', async (path, most, status) => {
    expect((await post({ body: event() })).status).toBe(202)
    for (const make of [(text: string) => text, (text: string) => streamed(text)]) {
      expect((await post({ body: make(bodyOf(most, path)) }, path)).status).toBe(status)
      expectRefusal(await post({ body: make(bodyOf(most + 1, path)) }, path), [413, no('too_large')])
    }
  })
  test('an announced size is refused before reading', async () => {
    let isRead = false
    const body = new ReadableStream(
      {
        pull(controller) {
          isRead = true
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const answer = await post({ body, headers: { 'Content-Length': String(64 * KB + 1) } })
    expect([answer.status, isRead]).toEqual([413, false])
  })
  test('without one, reading stops at the limit', async () => {
    let pulled = 0
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(16 * KB).fill(32))
      },
    })
    expect((await post({ body })).status).toBe(413)
    expect(pulled).toBeLessThan(10)
  })
})

describe('400', () => {
  const bytes = (...values: number[]) => new Uint8Array(values)
  test.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['half an object', '{"app":'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"x"'],
    ['a number', '1'],
    ['two objects', '{}{}'],
    ['a comment', '{/**/}'],
    ['single quotes', "{'a':1}"],
    ['a byte order mark', '\ufeff{}'],
    ['no UTF-8', bytes(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)],
    ['an overlong byte', bytes(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d)],
    ['UTF-16', bytes(0x7b, 0x00, 0x7d, 0x00)],
    ['a deep pile of brackets', '['.repeat(60_000)],
  ])('%s', async (_name, body) => {
    const message = expect.stringMatching(/^The body (is not one JSON object|must be encoded|is not valid JSON)/)
    for (const path of [EVENTS, BATCH])
      expectRefusal(await post({ body }, path), [400, no('invalid_json', { message })])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { join } from 'node:path'
import { makeFolder, type Running, setUp, startServer } from '../cli/process.ts'
import { DOC_PAGES } from '../../src/docs/index.ts'
import { BEST_OF_FIVE } from '../waiting.ts'

const { folder, remove } = makeFolder()
const data = join(folder, 'data')
let server: Running
let port = 0
let apiKey = ''
beforeAll(async () => {
  apiKey = (await setUp(data)).apiKey
  server = await startServer({ data })
  port = Number(new URL(server.url).port)
})
afterAll(async () => {
  await server.stop()
  remove()
})

const ANSWER_MS = 30_000
/** Closed after 10 seconds of silence, checked every 4. */
const SILENT_MS = { least: 8_000, most: 18_000 }

type Raw = { text: string; isClosed: boolean; ms: number }

/** Until the socket closes or nothing more arrives after an answer. */
function exchange(bytes: string, withinMs = ANSWER_MS): Promise<Raw> {
  const { promise, resolve } = Promise.withResolvers<Raw>()
  const startedAt = performance.now()
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'latin1')))
  const end = (isClosed: boolean) => {
    resolve({ text, isClosed, ms: performance.now() - startedAt })
    socket.destroy()
  }
  // on a kept connection the answer is complete with its headers and body
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (!/^connection: close\r$/im.test(text) && text.includes('\r\n\r\n')) end(false)
  })
  socket.on('close', () => end(true))
  socket.on('error', () => {})
  setTimeout(() => end(false), withinMs).unref()
  return promise
}

const HOST = 'Host: 127.0.0.1\r\n'
const get = (more = '', target = '/healthz', version = 'HTTP/1.1') => `GET ${target} ${version}\r\n${HOST}${more}\r\n`
const post = (more: string, version = 'HTTP/1.1', body = '{}') =>
  `POST /api/v1/events ${version}\r\n${HOST}Authorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n${more}\r\n${body}`
/** First line and headers have exactly this many bytes. */
const ofBytes = (bytes: number) => get(`A: ${'x'.repeat(bytes - get('A: \r\n').length)}\r\n`)
/** `Host` is one of them. */
const ofHeaders = (count: number) => get(Array.from({ length: count - 1 }, (_, index) => `A${index}: x\r\n`).join(''))

/** By the first cell of a row. */
const SENT: [row: string, requests: () => string[]][] = [
  [
    "The first line isn't HTTP, such as a TLS handshake, an HTTP/2 preface or an empty line",
    () => [
      'garbage\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 abc\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      `\r\n${get()}`,
      `G(T /healthz HTTP/1.1\r\n${HOST}\r\n`,
    ],
  ],
  ['The target is neither a path nor a URL, such as `healthz` or `*`', () => [get('', 'healthz'), get('', '*')]],
  ['HTTP/1.1 without a `Host` header', () => ['GET /healthz HTTP/1.1\r\n\r\n']],
  [
    'A header without a colon or a name, with a space in its name, on two lines, or with a control character',
    () =>
      ['Broken', ': x', 'Bro ken: x', 'Broken : x', 'A: x\r\n y', 'A: x\0y', 'A: x\ry', 'A: x\x01y'].map((header) =>
        get(`${header}\r\n`),
      ),
  ],
  [
    "`Content-Length` isn't a whole number, or is sent twice with different values",
    () =>
      ['abc', '-1', '+2', '0x2', '', '2, 2', '2.0', '9'.repeat(20), '2\r\nContent-Length: 3'].map((length) =>
        post(`Content-Length: ${length}\r\n`),
      ),
  ],
  [
    '`Content-Length` together with `Transfer-Encoding`',
    () => [post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', 'HTTP/1.1', '2\r\n{}\r\n0\r\n\r\n')],
  ],
  [
    'A `Transfer-Encoding` other than `chunked`, or any with HTTP/1.0',
    () => [
      ...['gzip', 'gzip, chunked', 'chunked, chunked', 'xchunked', 'identity'].map((coding) =>
        post(`Transfer-Encoding: ${coding}\r\n`, 'HTTP/1.1', '0\r\n\r\n'),
      ),
      post('Transfer-Encoding: chunked\r\n', 'HTTP/1.0', '2\r\n{}\r\n0\r\n\r\n'),
    ],
  ],
  [
    "A chunk of the body that can't be read",
    () =>
      ['zz\r\n{}\r\n0\r\n\r\n', '-2\r\n{}\r\n0\r\n\r\n'].map((body) =>
        post('Transfer-Encoding: chunked\r\n', 'HTTP/1.1', body),
      ),
  ],
  [
    '`Content-Length` over 1 GB (1,073,741,824 bytes)',
    () => [1_073_741_825, 10_737_418_240].map((length) => post(`Content-Length: ${length}\r\n`)),
  ],
  [
    'A first line and headers of more than 16 KB (16,384 bytes) in total',
    () => [ofBytes(16_385), ofBytes(40_960), get('', `/${'x'.repeat(17_000)}`)],
  ],
  ['More than 198 headers', () => [ofHeaders(199), ofHeaders(1_000)]],
  [
    'A version other than HTTP/1.0 and HTTP/1.1, or none; a space, a tab or a control character in the target',
    () => [
      ...['HTTP/1.2', 'HTTP/2.0', 'HTTP/3', 'http/1.1', 'FTP/1.1'].map((version) => get('', '/healthz', version)),
      'GET /healthz\r\n\r\n',
      ...['/heal thz', '/heal\tthz', '/heal\0thz'].map((target) => get('', target)),
    ],
  ],
  [
    'An unknown method, such as `FOO` or `get`',
    () => ['FOO', 'get', 'A'.repeat(100)].map((method) => `${method} /healthz HTTP/1.1\r\n${HOST}\r\n`),
  ],
]
const SILENT = 'An incomplete request without new bytes for 10 seconds, or a connection without a request'

const page = DOC_PAGES.find(({ slug }) => slug === 'http')
const ROWS = new Map(
  Array.from(page?.markdown.matchAll(/^\| (.+?) +\| (\d{3}|none) +\|$/gm) ?? [], ([, row = '', answer = '']) => [
    row,
    answer,
  ]),
)

/** Empty, without our headers, and the last on its connection. */
const answered = (status: string): RegExp =>
  new RegExp(`^HTTP/1\\.1 ${status} [A-Z][A-Za-z ]+\r\nConnection: close\r\n\r\n$`)

describe("requests that can't be read", () => {
  test('covers all requests named on the page', () => {
    expect([...ROWS.keys()].sort()).toEqual([...SENT.map(([row]) => row), SILENT].sort())
  })

  test.each(SENT)('%s', async (row, requests) => {
    const answer = ROWS.get(row) ?? ''
    for (const request of requests()) {
      const { text, isClosed } = await exchange(request)
      expect([request.slice(0, 200), isClosed]).toEqual([request.slice(0, 200), true])
      if (answer === 'none') expect(text).toBe('')
      else expect(text).toMatch(answered(answer))
    }
  })

  test(
    SILENT,
    async () => {
      const silent = ['', 'GET /healthz HT', `GET /healthz HTTP/1.1\r\n${HOST}`, post('Content-Length: 99\r\n')]
      const found = await Promise.all(silent.map((request) => exchange(request, 2 * SILENT_MS.most)))
      expect(ROWS.get(SILENT)).toBe('none')
      for (const { text, isClosed, ms } of found) {
        expect([text, isClosed]).toEqual(['', true])
        expect(ms).toBeGreaterThan(SILENT_MS.least)
        expect(ms).toBeLessThan(SILENT_MS.most)
      }
    },
    { timeout: 120_000, ...BEST_OF_FIVE },
  )

  test('within the bounds are answered by Eventpost', async () => {
    for (const request of [
      ofBytes(16_384),
      ofHeaders(198),
      get('', '/healthz', 'HTTP/1.0'),
      get('', 'http://a/healthz'),
    ]) {
      const { text } = await exchange(request)
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      expect(text).toContain('X-Request-Id: req_')
    }
    for (const request of [post('Content-Length: 1073741824\r\n'), post('Content-Length: 65537\r\n')]) {
      const { text } = await exchange(request)
      expect(text).toMatch(/^HTTP\/1\.1 413 /)
      expect(text).toContain('"error":"too_large"')
    }
    const wrongMethod = await exchange(`TRACE /healthz HTTP/1.1\r\n${HOST}\r\n`)
    expect(wrongMethod.text).toContain('"error":"method_not_allowed"')
  })

  test('are refused by their headers before their body is read', async () => {
    const body = 'Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'
    const { text } = await exchange(`POST /api/v1/events HTTP/1.1\r\n${HOST}${body}`)
    expect(text).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('are neither logged nor counted', async () => {
    const count = async (): Promise<number> => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text()
      return Array.from(metrics.matchAll(/^\w*requests_total\{.*\} (\d+)$/gm), ([, n]) => Number(n)).reduce(
        (a, b) => a + b,
        0,
      )
    }
    const before = await count()
    for (const request of ['garbage\r\n\r\n', ofBytes(20_000), get('', '/', 'HTTP/3')]) await exchange(request)
    // the first reading itself
    expect((await count()) - before).toBe(1)
    await server.stop()
    const statuses = server.said.out.split('\n').flatMap((line) => /"status":(\d+)/.exec(line)?.[1] ?? [])
    expect(statuses.length).toBeGreaterThan(0)
    expect(statuses.filter((status) => status === '431' || status === '505')).toEqual([])
    // an interrupted body and two with invalid chunks
    expect(statuses.filter((status) => status === '499')).toHaveLength(3)
  })
})

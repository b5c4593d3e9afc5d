import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js'
import { createTestServer, type TestServer } from '../helper.ts'
import { callTool, MCP, message } from './client.ts'

let server: TestServer
beforeAll(async () => {
  server = await createTestServer()
  await server.setPlan({ mcpCallsPerMinute: 1_000_000 })
})
afterAll(() => server.close())

const post = (body: object | string, headers = {}) => server.call('POST', MCP, { body, headers })
const countEvents = async () =>
  (await server.call('GET', `/api/v1/events?app=${server.first.appId}`)).body.data?.length ?? -1

const sending = (id: number) => {
  const args = { app: server.first.appId, email: 'ada@example.com', event: 'sent', createContact: true }
  return { ...message('tools/call', { name: 'send_event', arguments: args }), id }
}

describe('400', () => {
  test.each([['[]'], ['one'], ['many']])('a list, without running any of it: %s', async (which) => {
    const messages = { '[]': [], one: [sending(1)], many: [sending(1), sending(2)] }[which] ?? []
    const { status, body } = await post(JSON.stringify(messages))
    const said = expect.stringContaining('one message at a time')
    expect([status, body as unknown]).toMatchObject([400, { id: null, error: { code: -32_600, message: said } }])
    expect(await countEvents()).toBe(0)
  })

  const bytes = (...parts: (string | number)[]) =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))
  test.each([
    ['no JSON', '{'],
    ['nothing', ''],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['no UTF-8', bytes('{"jsonrpc":"2.0","id":1,"method":"ping","x":"', 0xff, '"}')],
    ['deep', `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(40)}1${'}'.repeat(41)}`],
    ['deeper', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
  ])('%s', async (_, body) => {
    const { status, body: answer } = await post(body)
    expect([status, answer as unknown]).toEqual([
      400,
      { jsonrpc: '2.0', id: null, error: { code: -32_700, message: expect.any(String) } },
    ])
  })

  test.each([
    ['a word', '"ping"'],
    ['null', 'null'],
    ['a number', '7'],
    ['nothing in it', '{}'],
    ['no version', '{"id":1,"method":"ping"}'],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['no method', '{"jsonrpc":"2.0","id":1}'],
    ['a method that is none', '{"jsonrpc":"2.0","id":1,"method":7}'],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
    ['parameters that are a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}'],
    ['more than there is', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}'],
  ])('an envelope with %s', async (_, body) => {
    const { status, body: answer } = await post(body)
    expect([status, answer as unknown]).toMatchObject([400, { id: null, error: { code: -32_600 } }])
  })
})

describe('an unsupported revision', () => {
  const refused = (requested: string, id: number | null) => ({
    jsonrpc: '2.0',
    id,
    error: {
      code: -32_022,
      message: expect.stringContaining('supported versions: 2025-11-25'),
      data: { supported: SUPPORTED_PROTOCOL_VERSIONS, requested },
    },
  })
  const META = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }

  test.each(['server/discover', 'tools/list', 'tools/call', 'initialize'])('in the message: %s', async (method) => {
    const { status, body } = await post(message(method, META))
    expect([status, body as unknown]).toEqual([400, refused('2026-07-28', 1)])
  })
  test.each([
    ['2026-07-28', '2026-07-28'],
    ['2024-01-01', '2024-01-01'],
    ['<script>', ''],
    ['', ''],
  ])('in the header: %p', async (version, requested) => {
    const { status, body } = await post(message('ping'), { 'MCP-Protocol-Version': version })
    expect([status, body as unknown]).toEqual([400, refused(requested, 1)])
  })
  test('writes nothing', async () => {
    const { params, ...rest } = sending(1)
    expect((await post({ ...rest, params: { ...params, ...META } })).status).toBe(400)
    expect(await countEvents()).toBe(0)
  })
  test.each(SUPPORTED_PROTOCOL_VERSIONS)('%s is served', async (version) => {
    expect((await post(message('ping'), { 'MCP-Protocol-Version': version })).status).toBe(200)
  })
  test('the first request negotiates the newest revision', async () => {
    const params = { protocolVersion: '2026-07-28', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const { status, body } = await post(message('initialize', params))
    expect([status, body as unknown]).toMatchObject([200, { result: { protocolVersion: '2025-11-25' } }])
  })
})

describe('messages without an answer', () => {
  test.each([
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['one that nobody knows', { jsonrpc: '2.0', method: 'notifications/none', params: { x: 1 } }],
    ['a result', { jsonrpc: '2.0', id: 1, result: {} }],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }],
  ])('%s: 202', async (_, body) => {
    const { status, text } = await post(body)
    expect([status, text]).toEqual([202, ''])
  })

  test('a client cannot cancel the call of another', async () => {
    const cancel = (requestId: number) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    const calls = Array.from({ length: 20 }, () => callTool(server, 'get_key_info'))
    const cancels = Array.from({ length: 2_000 }, (_, id) =>
      server.call('POST', MCP, { body: cancel(id), key: server.second.apiKey }),
    )
    const answers = await Promise.all(calls)
    await Promise.all(cancels)
    expect(answers.map(({ status, isError }) => [status, isError])).toEqual(answers.map(() => [200, false]))
  })
})

test('arguments that cannot be stored get the errors of the API', async () => {
  const raw = (value: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_event","arguments":{"app":"${server.first.appId}","email":"ada@example.com","event":"x","createContact":true,"properties":${value}}}}`
  for (const value of [
    '{"x":1e999}',
    '{"x":9007199254740993}',
    '{"x":"\\ud800"}',
    `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
  ]) {
    const { status, body } = await post(raw(value))
    const [content] = (body as { result?: { content: { text: string }[] } }).result?.content ?? []
    const said = content ? (JSON.parse(content.text) as object) : body.error
    const inHttp = await server.call('POST', '/api/v1/events', {
      body: `{"app":"${server.first.appId}","email":"ada@example.com","event":"x","createContact":true,"properties":${value}}`,
    })
    if (status === 200) expect(said).toEqual({ ...inHttp.body, requestId: expect.any(String) })
    expect(inHttp.status).toBe(400)
  }
  expect(await countEvents()).toBe(0)
})

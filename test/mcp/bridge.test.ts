import { expect, test } from 'bun:test'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { connectServer } from '../../src/mcp/protocol.ts'
import { callerOf } from '../../src/mcp/caller.ts'

type Caller = Parameters<Awaited<ReturnType<typeof connectServer>>>[1]

const callerNamed = (client: string): Caller => ({
  access: { key: { id: client }, apps: [] } as unknown as Caller['access'],
  facts: {} as Caller['facts'],
  narrowing: { readOnly: false, app: null, tools: null },
  client,
  fault: null,
  warnings: [],
  onProgress: () => {},
  signal: new AbortController().signal,
})
const call = (id: string | number) => ({ jsonrpc: '2.0' as const, id, method: 'tools/call', params: { name: 'x' } })

async function connect(answer: (client: string) => Promise<string>, fails = false) {
  const server = new Server({ name: 'x', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(CallToolRequestSchema, async (_, extra) => {
    const caller = callerOf(extra)
    if (fails) caller.fail(new Error('the disk is gone'))
    return { content: [{ type: 'text', text: await answer(caller.client ?? '') }] }
  })
  return connectServer(server)
}

test('answers a thousand concurrent calls with the same id', async () => {
  const ask = await connect(async (client) => {
    await Bun.sleep(Number(client) % 7)
    return client
  })
  const clients = Array.from({ length: 1_000 }, (_, index) => String(index))
  const answers = await Promise.all(clients.map((client) => ask(call(1), callerNamed(client))))
  expect(answers as unknown[]).toEqual(
    clients.map((text) => ({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } })),
  )
})

test('answers have the sent id and its type', async () => {
  const ask = await connect(async () => 'x')
  for (const id of ['a', '7', 7, 0, '']) expect(await ask(call(id), callerNamed('x'))).toMatchObject({ id })
})

test('our own faults reject without leaking their message', async () => {
  const ask = await connect(async () => 'x', true)
  await expect(ask(call(1), callerNamed('x'))).rejects.toThrow('the disk is gone')
})

test('unreadable parameters are the fault of the client', async () => {
  const ask = await connect(async () => 'x')
  const { params: _, ...message } = call(1)
  expect((await ask(message, callerNamed('x'))) as unknown).toMatchObject({ id: 1, error: { code: -32_602 } })
  const unknown = { ...message, method: 'nothing/here' }
  expect((await ask(unknown, callerNamed('x'))) as unknown).toMatchObject({ id: 1, error: { code: -32_601 } })
})

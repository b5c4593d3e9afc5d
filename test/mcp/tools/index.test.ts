import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as schemas from '../../../src/core/schemas.ts'
import { TOOL_LIST_BYTES } from '../../../src/mcp/budget.ts'
import { createTestServer, type TestServer } from '../../helper.ts'
import { callTool, listTools, rpc, type ToolRow } from '../client.ts'

let server: TestServer
let tools: ToolRow[]
beforeAll(async () => {
  server = await createTestServer()
  tools = await listTools(server)
})
afterAll(() => server.close())

describe('tools/list', () => {
  test('is small, sorted, and the same byte for byte, also after a restart and for another account', async () => {
    const texts = [
      (await rpc(server, 'tools/list')).text,
      (await rpc(server, 'tools/list', {}, { key: server.second.apiKey })).text,
    ]
    await server.restart()
    texts.push((await rpc(server, 'tools/list')).text)
    expect(new Set(texts).size).toBe(1)
    expect(Buffer.byteLength(texts[0] ?? '')).toBeLessThanOrEqual(TOOL_LIST_BYTES)
    const names = tools.map(({ name }) => name)
    expect(names).toEqual([...names].sort())
  })

  test('every tool says all there is to say', () => {
    for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
      expect(description).toMatch(/\.$/)
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(outputSchema).toMatchObject({ type: 'object' })
      expect(Object.keys(annotations).sort()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
    }
    const { annotations } = tools.find(({ name }) => name === 'send_event') ?? {}
    expect(annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    })
  })

  test.each([
    ['send_event', schemas.EventInput, ['dryRun']],
    ['add_contact', schemas.ContactInput, []],
    ['update_contact', schemas.ContactUpdateInput, []],
    ['search_contacts', schemas.ContactQuery, []],
    ['list_events', schemas.EventQuery, []],
  ])('%s takes what the API takes, under its names', (name, schema, more: string[]) => {
    const own = Object.keys(tools.find((tool) => tool.name === name)?.inputSchema.properties ?? {})
    const known = Object.keys(schema.properties).filter((one) => one !== 'newsletter')
    expect(own.filter((one) => !known.includes(one))).toEqual(more)
    if (name !== 'search_contacts' && name !== 'update_contact')
      expect(known.filter((one) => !own.includes(one))).toEqual([])
  })

  test('no tool shows keys, erases or exports', () => {
    expect(
      tools.map(({ name }) => name).filter((name) => /secret|erase|delete|export|sql|make_key/.test(name)),
    ).toEqual([])
  })
})

test('what tools show in their schemas is what they answer', async () => {
  const app = server.first.appId
  const args: Record<string, object> = {
    add_contact: { app, email: 'ada@example.com' },
    get_contact: { app, email: 'ada@example.com' },
    update_contact: { app, email: 'ada@example.com', tags: ['x'] },
    send_event: { app, email: 'ada@example.com', event: 'x' },
    get_integration_code: { app, language: 'node' },
    get_key_info: {},
  }
  for (const { name, outputSchema } of tools) {
    const { answer, data } = await callTool(server, name, args[name] ?? { app })
    const { structuredContent } = (answer.body as { result: { structuredContent: object } }).result
    expect(structuredContent).toEqual(data)
    const { required = [] } = outputSchema as { required?: string[] }
    expect(required.filter((field) => !(field in data))).toEqual([])
    expect(data.ok).toBe(true)
  }
})

test('a tool that does not exist', async () => {
  const { status, answer } = await callTool(server, 'drop_table')
  expect([status, answer.body as unknown]).toMatchObject([200, { error: { code: -32_602 } }])
})

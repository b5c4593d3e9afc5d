import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Ajv } from 'ajv'
import { FIRST_MESSAGES } from '../../../src/accounts/first-messages.ts'
import * as schemas from '../../inputs.ts'
import { DELIVERY_STATES } from '../../../src/deliveries/deliveries.ts'
import { MessageSchema } from '../../../src/messages/message-schema.ts'
import { createTestServer, type TestServer } from '../../helper.ts'
import { callTool, listTools, openManaged, rpc, type ToolRow } from '../client.ts'
import { argumentsFor, type Known } from '../outside.ts'

let server: TestServer
let tools: ToolRow[]
let managed: Known & { how: { key: string } }
beforeAll(async () => {
  server = await createTestServer()
  await server.setPlan({ mcpCallsPerMinute: 1_000_000 })
  managed = await openManaged(server)
  tools = await listTools(server, managed.how)
})
afterAll(() => server.close())

const TOOL_LIST_BYTES = 16 * 1024

describe('tools/list', () => {
  test('is small, sorted, and the same byte for byte, also after a restart and for another account', async () => {
    const second = (await server.makeKey('manage', server.second)).apiKey
    const list = async (key: string) => (await rpc(server, 'tools/list', {}, { key })).text
    const texts = [await list(managed.how.key), await list(second)]
    await server.restart()
    texts.push(await list(second))
    expect(new Set(texts).size).toBe(1)
    const bytes = Buffer.byteLength(texts[0] ?? '')
    const sizes = tools.map((tool) => ({ name: tool.name, bytes: JSON.stringify(tool).length }))
    const [largest] = sizes.sort((one, other) => other.bytes - one.bytes)
    if (bytes > TOOL_LIST_BYTES) throw new Error(`${bytes} bytes; the largest tool is ${JSON.stringify(largest)}`)
    expect(bytes).toBeLessThanOrEqual(TOOL_LIST_BYTES)
    const names = tools.map(({ name }) => name)
    expect(names).toEqual([...names].sort())
  })

  test('every tool says all there is to say', () => {
    for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
      expect(description).toMatch(/\.$/)
      expect(inputSchema).toMatchObject({ type: 'object' })
      expect(outputSchema).toMatchObject({ type: 'object' })
      expect(Object.keys(annotations).sort()).toEqual([
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
      ])
    }
    const reaching = tools.filter((tool) => tool.annotations.openWorldHint).map(({ name }) => name)
    const manage = ['save_message_draft', 'send_test_message', 'set_message_status']
    expect(reaching.sort()).toEqual(['add_contact', 'send_event', ...manage, 'update_contact'].sort())
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
    ['add_contact', schemas.ContactInput, ['dryRun']],
    ['update_contact', schemas.ContactUpdateInput, ['dryRun']],
    ['search_contacts', schemas.ContactQuery, ['search', 'status', 'field']],
    ['list_events', schemas.EventQuery, []],
  ])('%s takes what the API takes, under its names', (name, schema, more: string[]) => {
    const own = Object.keys(tools.find((tool) => tool.name === name)?.inputSchema.properties ?? {})
    const known = Object.keys(schema.properties).filter((one) => one !== 'newsletter')
    expect(own.filter((one) => !known.includes(one))).toEqual(more)
    if (name !== 'search_contacts' && name !== 'update_contact')
      expect(known.filter((one) => !own.includes(one))).toEqual([])
  })

  test.each(['get_contact', 'list_events', 'search_contacts', 'list_deliveries', 'send_event', 'add_contact'])(
    '%s knows the app by the name in its schema only',
    async (name) => {
      const { app, ...others } = tools.find((tool) => tool.name === name)?.inputSchema.properties ?? {}
      const message = `Unknown parameter. Known parameters: ${['app', ...Object.keys(others)].map((one) => `\`${one}\``).join(', ')}.`
      const args = { email: 'ada@example.com', event: 'x' }
      for (const newsletter of [server.first.appId, 7]) {
        const { isError, data } = await callTool(server, name, { ...args, newsletter })
        expect([app !== undefined, isError, data]).toMatchObject([true, true, { field: 'newsletter', message }])
      }
    },
  )

  test('writing tools ignore unknown arguments with a warning, and others refuse them, as their schemas say', async () => {
    const args = argumentsFor(server.first.appId, managed)
    const writing = ['add_contact', 'send_event', 'update_contact']
    for (const { name, inputSchema } of tools) {
      const isRefused = !writing.includes(name)
      expect([name, 'additionalProperties' in inputSchema]).toEqual([name, isRefused])
      if (isRefused) expect(inputSchema.additionalProperties).toBe(false)
      const { isError, data } = await callTool(server, name, { ...args[name], colour: 'red' }, managed.how)
      const names = Object.keys(inputSchema.properties).map((one) => `\`${one}\``)
      const message = `Unknown field, ignored. Known fields: ${names.join(', ')}.`
      const warned = { warnings: [{ field: 'colour', code: 'unknown_field', message }] }
      if (!isRefused) expect([name, isError, data]).toMatchObject([name, false, warned])
      else expect([name, isError, JSON.stringify(data)]).toEqual([name, true, expect.stringContaining('colour')])
    }
  })

  test('list_deliveries has all states in its schema', () => {
    const { state } = tools.find(({ name }) => name === 'list_deliveries')?.inputSchema.properties ?? {}
    expect(state).toEqual({ enum: [...DELIVERY_STATES] })
  })

  test('no type is a list of types, and nothing refers elsewhere', () => {
    const text = JSON.stringify(tools)
    expect(text).not.toContain('"type":[')
    expect(text).not.toContain('$ref')
  })

  test('a message is described by the schema that reads it', () => {
    const { message } = tools.find(({ name }) => name === 'save_message_draft')?.inputSchema.properties ?? {}
    const shown = new Ajv({ strict: true, allowUnionTypes: true }).compile(message as object)
    const { status: _, ...properties } = MessageSchema.properties
    expect(Object.keys((message as { properties: object }).properties)).toEqual(Object.keys(properties))
    for (const { name, content } of FIRST_MESSAGES) expect(shown({ name, ...content })).toBe(true)
    const least = { name: 'A', trigger: { event: 'e' }, mail: { subject: 'S', body: 'B' } }
    const rules = [
      { rule: 'away', minutes: 5 },
      { rule: 'tag', lacks: 'x' },
      { rule: 'done', event: 'e', since: { days: 1 } },
    ]
    expect(shown({ ...least, onlyIf: rules, again: { once: 'property', property: ['a', 'b'] } })).toBe(true)
    const deeper = { mail: { subject: 'S', body: 'B', text: 'T' } }
    for (const wrong of [
      { onlyIf: [{ rule: 'gone' }] },
      { trigger: {} },
      { mail: { body: 'B' } },
      { wait: {} },
      deeper,
    ])
      expect(shown({ ...least, ...wrong })).toBe(false)
  })

  // with null, models leave an argument out
  const VALUES = ['5', '05', 'x', '', 5, 1.5, true, [], {}, ['x'], { x: 1 }]
  test('what a schema refuses, its tool refuses', async () => {
    const args = argumentsFor(server.first.appId, managed)
    const ajv = new Ajv({ strict: false })
    let refused = 0
    for (const { name, inputSchema } of tools) {
      const fits = ajv.compile(inputSchema)
      for (const [field, value] of Object.keys(inputSchema.properties).flatMap((one) => VALUES.map((v) => [one, v]))) {
        const wrong = { ...args[name], [String(field)]: value }
        if (fits(wrong)) continue
        refused += 1
        // below the limit of refused requests
        server.clock.tick(60_000)
        const { isError, data } = await callTool(server, name, wrong, managed.how)
        expect([name, field, value, isError, data.error]).toEqual([name, field, value, true, 'invalid_field'])
      }
    }
    expect(refused).toBeGreaterThan(200)
  })

  test('no tool shows keys, erases or exports', () => {
    expect(
      tools.map(({ name }) => name).filter((name) => /secret|erase|delete|export|sql|make_key/.test(name)),
    ).toEqual([])
  })
})

test('what tools show in their schemas is what they answer', async () => {
  const args = argumentsFor(server.first.appId, managed)
  for (const { name, outputSchema } of tools) {
    const { answer, data } = await callTool(server, name, args[name], managed.how)
    const { structuredContent } = (answer.body as { result: { structuredContent: object } }).result
    expect(structuredContent).toEqual(data)
    const { required = [] } = outputSchema as { required?: string[] }
    expect(required.filter((field) => !(field in data))).toEqual([])
    expect(data.ok).toBe(true)
  }
})

describe('a key of the standard scope', () => {
  test('is not shown what changes messages or sends mail, and cannot call it', async () => {
    const left = (await listTools(server)).map(({ name }) => name)
    const kept = tools.map(({ name }) => name).filter((name) => !left.includes(name))
    expect(kept).toEqual(['save_message_draft', 'send_test_message', 'set_message_status'])
    for (const name of kept) {
      const { answer } = await callTool(server, name, argumentsFor(server.first.appId, managed)[name])
      expect(answer.body as unknown).toMatchObject({ error: { code: -32_602 } })
    }
  })
})

test('a tool that does not exist', async () => {
  const { status, answer } = await callTool(server, 'drop_table')
  expect([status, answer.body as unknown]).toMatchObject([200, { error: { code: -32_602 } }])
})

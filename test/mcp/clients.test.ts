import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Begun, eventpostJson, makeFolder, type Running, startServer } from '../cli/process.ts'
import { BUILD_MS, ensureExecutable, EXECUTABLE } from '../executable.ts'
import { conform, inspect, INSTALL_MS, installClients, type Target } from './clients/run.ts'
import { argumentsFor, connect, findKnown } from './outside.ts'

/** Messages can't go live without a sender. */
const MAIL_FROM = ['--mail-from', 'Demo <hello@app.example.com>']
/** These processes take a second to start. */
const CLIENTS_MS = 120_000

/**
 * Nothing, then texts, a flag and an object: the Inspector starts for each call, and the SDK's client, which it is made of,
 * calls every tool. `bun run mcp-clients` calls every tool with it.
 */
const INSPECTED = ['get_key_info', 'send_event']

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

describe('the MCP server of the executable', () => {
  const { folder, remove } = makeFolder()
  const how = { program: [EXECUTABLE], cwd: folder }
  const [data, file] = [join(folder, 'data'), join(folder, 'password')]
  let server: Running
  let target: Target
  let app: string
  beforeAll(ensureExecutable, BUILD_MS)
  beforeAll(async () => {
    writeFileSync(file, 'correct horse battery')
    const words = ['--email', 'owner@example.com', '--app', 'Demo', '--domain', 'app.example.com', '--data', data]
    const { appId } = await eventpostJson<Begun>(['init', ...words, '--password-file', file], how)
    const manage = ['--name', 'Assistant', '--scope', 'manage', '--data', data]
    const { apiKey } = await eventpostJson<{ apiKey: string }>(['key', 'create', ...manage], how)
    server = await startServer({ ...how, data, words: MAIL_FROM })
    target = { url: server.url, key: apiKey }
    app = appId
    await installClients()
  }, INSTALL_MS)
  afterAll(async () => {
    await server.stop()
    remove()
  })

  const findArguments = async (client: Awaited<ReturnType<typeof connect>>) => {
    const call = async (name: string, args: object) =>
      (await client.callTool({ name, arguments: { ...args } })).structuredContent as Record<string, unknown>
    return argumentsFor(app, await findKnown(call, app, 'owner@example.com'))
  }

  test("the SDK's own client lists and calls every tool, reads every resource, gets every prompt", async () => {
    const client = await connect(target)
    const { tools } = await client.listTools()
    const args = await findArguments(client)
    for (const { name } of tools) {
      const result = await client.callTool({ name, arguments: args[name] ?? {} })
      expect([name, result.isError ?? false, result.structuredContent]).toEqual([name, false, expect.any(Object)])
    }
    const { resources } = await client.listResources()
    for (const { uri } of resources) expect((await client.readResource({ uri })).contents).toHaveLength(1)
    const { prompts } = await client.listPrompts()
    for (const { name } of prompts) {
      const { messages } = await client.getPrompt({ name, arguments: { app, email: 'ada@example.com' } })
      expect(messages).toHaveLength(1)
    }
    expect([tools.length, resources.length, prompts.length]).toEqual([21, 78, 2])
    await client.close()
  })

  test('a connected client survives a restart', async () => {
    const client = await connect(target)
    await server.stop()
    server = await startServer({ ...how, data, words: MAIL_FROM, port: Number(new URL(target.url).port) })
    const { structuredContent } = await client.callTool({ name: 'list_events', arguments: { app } })
    expect(structuredContent).toMatchObject({ data: [{ event: 'results_ready', via: 'mcp' }] })
    await client.close()
  })

  test(
    'the Inspector lists every tool and calls each kind',
    async () => {
      const { tools } = (await inspect(target, ['--method', 'tools/list'])) as { tools: { name: string }[] }
      const client = await connect(target)
      const argumentsOf = await findArguments(client)
      await client.close()
      expect(tools.map(({ name }) => name)).toEqual(Object.keys(argumentsOf))
      const called = process.env.MCP_CALLS === 'all' ? Object.keys(argumentsOf) : INSPECTED
      const calls = called.map(async (name) => {
        const args = argumentsOf[name] ?? {}
        const pairs = Object.entries(args).map(([field, value]) => `${field}=${toText(value)}`)
        const words = pairs.length === 0 ? [] : ['--tool-arg', ...pairs]
        const { isError, structuredContent } = await inspect(target, [
          '--method',
          'tools/call',
          '--tool-name',
          name,
          ...words,
        ])
        return [name, isError ?? false, structuredContent]
      })
      expect(await Promise.all(calls)).toEqual(
        called.map((name) => [name, false, expect.objectContaining({ ok: true })]),
      )
    },
    CLIENTS_MS,
  )

  test(
    'the conformance suite passes, except for expected failures',
    async () => {
      const { code, summary } = await conform(target)
      expect([code, summary]).toEqual([0, expect.stringContaining('✓ dns-rebinding-protection')])
      for (const scenario of [
        'server-initialize',
        'ping',
        'tools-list',
        'resources-list',
        'prompts-list',
        'completion-complete',
      ])
        expect(summary).toContain(`✓ ${scenario}: 1 passed, 0 failed`)
    },
    CLIENTS_MS,
  )

  test('every expected failure has its reason', async () => {
    const text = await Bun.file(join(import.meta.dir, 'clients/expected-failures.yml')).text()
    const lines = text.split('\n').map((line) => line.trim())
    const scenarios = lines.flatMap((line, index) => (line.startsWith('- ') ? [lines[index - 1] ?? ''] : []))
    expect(scenarios.length).toBeGreaterThan(10)
    expect(scenarios.filter((reason) => !/^# \w.{30,}\.$/.test(reason))).toEqual([])
  })
})

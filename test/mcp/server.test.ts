import { beforeEach, describe, expect, test } from 'bun:test'
import { appOf } from '../api/reports.ts'
import { useClosing } from '../closing.ts'
import { createTestServer, type TestServer, useSharedServer } from '../helper.ts'
import { ask, callTool, listTools, openManaged, rpc } from './client.ts'
import { argumentsFor } from './outside.ts'

const openServer = useSharedServer()
const keep = useClosing()
let server: TestServer
beforeEach(async () => {
  server = await openServer()
})

test('there are arguments for all tools', async () => {
  const { how } = await openManaged(server)
  const names = (await listTools(server, how)).map(({ name }) => name)
  expect(Object.keys(argumentsFor('x'))).toEqual(names)
})

test('initialize names the server and how to start', async () => {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  expect(await ask<object>(server, 'initialize', params)).toEqual({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    serverInfo: { name: 'eventpost', title: 'Eventpost', version: expect.any(String) },
    instructions: expect.stringContaining('get_key_info'),
  })
})

describe('unknown names', () => {
  const missing: [string, object, string, string][] = [
    ['get_stats', { app: 'none' }, 'get_key_info', 'lists the app IDs'],
    ['get_contact', { email: 'nobody@example.com' }, 'search_contacts', 'finds people'],
    ['get_message', { messageId: 'msg_00000000001' }, 'list_messages', 'lists the message IDs'],
    ['explain_delivery', { deliveryId: 'dlv_00000000001' }, 'list_deliveries', 'lists the delivery IDs'],
  ]
  test.each(missing)('%s %j says which tool lists it, if it is open', async (name, args, lists, does) => {
    const ask = async (query: string) =>
      (await callTool(server, name, { app: server.first.appId, ...args }, { query })).data.message
    expect(await ask('')).toEndWith(` ${lists} ${does}.`)
    expect(await ask(`?tools=${name}`)).not.toContain(lists)
  })
})

test('every tool without an app, or with one that is no text, says which tool has the IDs', async () => {
  const { how } = await openManaged(server)
  const message = 'Send an app ID from get_key_info as `app`.'
  for (const name of Object.keys(argumentsFor('x')).filter((one) => one !== 'get_key_info' && one !== 'get_docs')) {
    const { app: _, ...others } = argumentsFor('x')[name] ?? {}
    const ask = async (args: object) => (await callTool(server, name, args, how)).data
    expect([name, await ask(others)]).toMatchObject([name, { error: 'invalid_field', field: 'app', message }])
    expect([name, await ask({ ...others, app: 5 })]).toMatchObject([name, { field: 'app', message }])
  }
  const { data } = await callTool(server, 'add_contact')
  expect(data).toMatchObject({ message, errors: [{ field: 'app', message }, { field: 'email' }] })
})

test.each(['add_contact', 'send_event', 'list_events'])('%s with an unknown app or a site ID', async (name) => {
  const ask = async (app: string) => (await callTool(server, name, { ...argumentsFor('x')[name], app })).data
  const list = 'get_key_info lists the app IDs.'
  const error = 'app_not_found'
  expect(await ask('app_unknown')).toMatchObject({
    error,
    message: `This key's account has no app with this ID. ${list}`,
  })
  expect(await ask(server.first.siteId)).toMatchObject({
    error,
    message: `This is a site ID. Send an app ID, which starts with \`app_\`. ${list}`,
  })
})

test('a parameter of a tool without parameters', async () => {
  const { data } = await callTool(server, 'get_key_info', { app: server.first.appId })
  expect(data).toMatchObject({ field: 'app', message: 'Unknown parameter. This call has no parameters.' })
})

describe('isolation', () => {
  const others = (account: 'second' | 'nobody'): string =>
    account === 'second' ? server.second.appId : server.second.appId.replace(/.{6}$/, 'zzzzzz')

  test('every tool gives the same answer for a foreign and an unknown app', async () => {
    await callTool(server, 'add_contact', argumentsFor(server.second.appId).add_contact ?? {}, {
      key: server.second.apiKey,
    })
    const { how } = await openManaged(server)
    for (const name of Object.keys(argumentsFor('x')).filter((one) => one !== 'get_key_info' && one !== 'get_docs')) {
      const [theirs, none] = [
        await callTool(server, name, argumentsFor(others('second'))[name], how),
        await callTool(server, name, argumentsFor(others('nobody'))[name], how),
      ]
      expect(theirs.text).toBe(none.text)
      expect(theirs.data).toMatchObject({ ok: false, error: 'app_not_found' })
    }
    const { data } = await callTool(
      server,
      'search_contacts',
      { app: server.second.appId },
      { key: server.second.apiKey },
    )
    expect(data.data).toMatchObject([{ firstName: 'Ada', lastName: null }])
  })
  test('every tool does the same for a foreign message or delivery', async () => {
    const { how, ...known } = await openManaged(server)
    const key = (await server.makeKey('manage', server.second)).apiKey
    const { data } = await callTool(server, 'list_messages', { app: server.second.appId }, { key })
    const [messageId = ''] = (data.data ?? []).map(({ id }) => String(id))
    const app = server.first.appId
    const named = Object.entries(argumentsFor(app, known)).filter(([, args]) => 'messageId' in args)
    expect(named.length).toBeGreaterThan(4)
    for (const [name, args] of named) {
      const ask = async (id: string) => (await callTool(server, name, { ...args, messageId: id }, how)).text
      expect(await ask(messageId)).toBe(await ask('msg_00000000001'))
      expect(await ask(messageId)).toContain('message_not_found')
    }
    expect((await callTool(server, 'list_messages', { app: server.second.appId }, { key })).data).toEqual(data)
  })
  test('every resource does', async () => {
    const read = async (app: string) =>
      (await rpc(server, 'resources/read', { uri: `eventpost://apps/${app}/setup` })).text
    expect(await read(others('second'))).toBe(await read(others('nobody')))
    expect(await read(others('second'))).toContain('-32002')
    expect(await read(server.first.appId)).toContain('Waiting for the first event...')
  })
  test('every completion does', async () => {
    const complete = async (value: string) =>
      (
        await rpc(server, 'completion/complete', {
          ref: { type: 'ref/prompt', name: 'set_up_app' },
          argument: { name: 'app', value },
        })
      ).text
    expect(await complete(others('second'))).toBe(await complete(others('nobody')))
    expect(await complete(server.first.appId.slice(0, 8))).toContain(server.first.appId)
  })
  test('every cursor does', async () => {
    // its lists are newer than those of the other account
    server = keep(await createTestServer())
    const key = server.second.apiKey
    const { id: appId, accountId } = await appOf(server, server.second)
    const content = { trigger: { event: 'x' }, mail: { subject: 'S', body: 'B' } }
    const drafts = [{ id: null, name: 'Live', status: 'live' as const, content }]
    await server.parts().store.saveMessages({ accountId, appId, actor: 'test', at: server.clock.now(), drafts })
    for (const email of ['a@example.com', 'b@example.com'])
      await callTool(
        server,
        'send_event',
        { app: server.second.appId, email, event: 'x', createContact: true },
        { key },
      )
    for (const tool of ['list_events', 'search_contacts', 'list_deliveries', 'list_messages']) {
      const { data } = await callTool(server, tool, { app: server.second.appId, limit: 1 }, { key })
      const cursor = String(data.nextCursor)
      expect(cursor).toMatch(/^[0-9a-z]{11}$/)
      const made = (await callTool(server, tool, { app: server.first.appId, cursor })).text
      // ids are 16 apart, so the next number doesn't exist
      const digits = cursor.replace(/.$/, (last) => (last === 'z' ? 'y' : (parseInt(last, 36) + 1).toString(36)))
      expect(made).toBe((await callTool(server, tool, { app: server.first.appId, cursor: digits })).text)
      expect(made).toContain('\\"data\\":[],\\"nextCursor\\":null')
    }
  })
})

describe('the audit list', () => {
  test('has a row for every call: key, tool, outcome, time and client', async () => {
    const app = server.first.appId
    const headers = { 'User-Agent': 'claude-code/2.1.3 (cli)' }
    await callTool(server, 'send_event', { app, email: 'ada@example.com', event: 'x' }, { headers })
    server.clock.tick(5)
    await callTool(server, 'get_key_info', {}, { headers: { 'User-Agent': '<script>alert(1)</script>' } })
    await callTool(server, 'get_stats', { app: 'none' })
    await callTool(server, 'get_key_info', {}, { key: server.second.apiKey })
    await server.parts().calls.save()
    const own = { accountId: server.first.accountId, keyId: server.first.keyId, ms: 0 }
    expect(await server.parts().store.listCalls(server.first.accountId, 9)).toEqual([
      { ...own, tool: 'get_stats', outcome: 'app_not_found', client: null, calledAt: server.clock.now() },
      { ...own, tool: 'get_key_info', outcome: 'ok', client: null, calledAt: server.clock.now() },
      {
        ...own,
        tool: 'send_event',
        outcome: 'contact_not_found',
        client: 'claude-code/2.1.3',
        calledAt: server.clock.now() - 5,
      },
    ])
  })
  test('also for who tries a tool that is not theirs, and none for a name that is no tool', async () => {
    for (const name of ['set_message_status', 'drop_table'])
      expect((await callTool(server, name, {})).answer.body as unknown).toMatchObject({ error: { code: -32_602 } })
    const { answer } = await callTool(server, 'save_message_draft')
    expect(answer.text).toContain('requires a key with scope `manage`')
    await server.parts().calls.save()
    expect(await server.parts().store.listCalls(server.first.accountId, 9)).toMatchObject([
      { tool: 'save_message_draft', outcome: 'tool_not_open', keyId: server.first.keyId },
      { tool: 'set_message_status', outcome: 'tool_not_open' },
    ])
  })
  test('keeps it for 90 days', async () => {
    await callTool(server, 'get_key_info')
    await server.parts().calls.save()
    const { store, clock } = server.parts()
    const at = clock.now() + 90 * 24 * 3_600_000
    await store.cleanUp({ at: at - 1 })
    expect(await store.listCalls(server.first.accountId, 9)).toHaveLength(1)
    await store.cleanUp({ at })
    expect(await store.listCalls(server.first.accountId, 9)).toEqual([])
  })
})

test('what breaks on our side is a 500 with an ID, and its words are in the log alone', async () => {
  const broken = await createTestServer({
    wrapStore: (store) => ({ ...store, findContact: () => Promise.reject(new Error('SELECT canary FROM x')) }),
  })
  const { status, answer } = await callTool(broken, 'get_contact', argumentsFor(broken.first.appId).get_contact)
  expect([status, answer.body as unknown]).toMatchObject([500, { ok: false, error: 'internal_error' }])
  expect(answer.text).not.toContain('canary')
  expect(broken.logged()).toContain('canary')
  await broken.parts().calls.save()
  expect(await broken.parts().store.listCalls(broken.first.accountId, 9)).toMatchObject([{ outcome: 'internal_error' }])
  expect((await callTool(broken, 'get_key_info')).isError).toBe(false)
  await broken.close()
})

test('a store that cannot save is said as over HTTP, and takes nothing from the limit', async () => {
  const full = await createTestServer({
    wrapStore: (store) => ({ ...store, recordEventText: async () => ({ refusal: 'unavailable' }) }),
  })
  const { data } = await callTool(full, 'send_event', argumentsFor(full.first.appId).send_event)
  expect(data).toMatchObject({ ok: false, error: 'unavailable' })
  const { limits } = (await callTool(full, 'get_key_info')).data
  expect(limits).toContainEqual({ what: 'events', limit: 6_000, remaining: 6_000 })
  await full.close()
})

import { expect, test } from 'bun:test'
import { createApp } from '../../src/accounts/accounts.ts'
import { useClosing } from '../closing.ts'
import { ask, callTool, rpc } from '../mcp/client.ts'
import { API, BATCH, CONTACTS, createTestServer, EVENTS, type TestServer } from '../helper.ts'

const keep = useClosing()
const EMAIL = 'ada@example.com'

/** `create` is what `eventpost app create` does: it tells this server nothing. */
async function open() {
  let reads = 0
  const server = keep(
    await createTestServer({
      wrapStore: (store) => ({
        ...store,
        async findAccess(...asked) {
          reads += 1
          return await store.findAccess(...asked)
        },
      }),
    }),
  )
  const { store } = server.parts()
  // its key is cached from now on
  expect((await server.call('GET', `${EVENTS}?app=${server.first.appId}`)).status).toBe(200)
  // accepted requests are logged once a second
  server.clock.tick(1_000)
  return {
    server,
    countReads: () => reads,
    async create(): Promise<string> {
      const beginning = { name: 'Second', domains: [], home: null, snippet: { hosts: [], addsPeople: false } }
      const maker = { store, now: server.clock.now(), actor: 'cli' }
      const made = await createApp(maker, server.first.accountId, beginning)
      if ('refusal' in made) throw new Error(made.refusal)
      return made.appId
    },
  }
}

/** App, tool, status and code of the last request. */
async function lastLogged(server: TestServer): Promise<unknown[]> {
  const { requests, store } = server.parts()
  await requests.save()
  const { accountId } = server.first
  const [row] = await store.listRequests({ ...EVERYTHING, accountIds: [accountId] })
  const app = (await store.listApps(accountId)).find(({ id }) => id === row?.appId)
  return [app?.publicId, row?.tool, row?.status, row?.code]
}

const EVERYTHING = {
  kind: 'all',
  status: null,
  code: null,
  caller: null,
  field: null,
  appIds: null,
  since: null,
  until: null,
  before: null,
  after: 0,
  limit: 1,
} as const

const PERSON = { email: EMAIL }
const eventOf = (app: string) => ({ app, email: EMAIL, event: 'signed_up', createContact: true })

test.each<[string, (app: string) => ['GET' | 'POST', string, object?], number]>([
  ['an event', (app) => ['POST', EVENTS, eventOf(app)], 202],
  ['a batch', (app) => ['POST', BATCH, { events: [eventOf(app), eventOf(app)] }], 207],
  ['a person', (app) => ['POST', CONTACTS, { app, email: EMAIL }], 201],
  ['a list', (app) => ['GET', `${API}/contacts?app=${app}`], 200],
])('%s of an app that another process has just created is accepted', async (_, requestOf, status) => {
  const { server, create, countReads } = await open()
  const [method, path, body] = requestOf(await create())
  const before = countReads()
  const answer = await server.call(method, path, { body })
  expect([answer.status, answer.body.ok]).toEqual([status, true])
  expect(countReads()).toBe(before + 1)
  // cached from now on
  await server.call(method, path, { body })
  expect(countReads()).toBe(before + 1)
})

test('an unknown app is refused after one read, of which the limit of refused requests leaves few', async () => {
  const { server, countReads } = await open()
  const before = countReads()
  for (const app of ['app_unknown', 'site_unknown']) {
    const { status, body } = await server.call('POST', EVENTS, { body: eventOf(app) })
    expect([status, body.error]).toEqual([404, 'app_not_found'])
  }
  expect(countReads()).toBe(before + 2)
  const events = Array.from({ length: 100 }, () => eventOf('app_unknown'))
  const { body } = await server.call('POST', BATCH, { body: { events } })
  expect(new Set(body.results?.map(({ error }) => error))).toEqual(new Set(['app_not_found']))
  expect(countReads()).toBe(before + 3)
  for (let times = 0; times < 700; times += 1) await server.call('POST', EVENTS, { body: eventOf('app_unknown') })
  expect((await server.call('POST', EVENTS, { body: eventOf('app_unknown') })).status).toBe(429)
  expect(countReads()).toBeLessThanOrEqual(before + 600)
})

test('strangers cause no read', async () => {
  const { server, countReads } = await open()
  const before = countReads()
  expect((await server.call('POST', EVENTS, { body: eventOf('app_unknown'), key: null })).status).toBe(401)
  expect((await server.call('POST', EVENTS, { body: eventOf('app_unknown'), key: 'mc_wrong' })).status).toBe(401)
  expect(countReads()).toBe(before)
})

test('a key that was revoked meanwhile finds no app', async () => {
  const { server, create } = await open()
  const app = await create()
  const { store } = server.parts()
  const { accountId, keyId } = server.first
  await store.revokeKey({ accountId, keyId, actor: 'cli', at: server.clock.now() })
  expect((await server.call('POST', EVENTS, { body: eventOf(app) })).status).toBe(404)
  expect((await server.call('POST', EVENTS, { body: eventOf(server.first.appId) })).status).toBe(401)
})

test.each<[string, object]>([
  ['send_event', { ...PERSON, event: 'signed_up', createContact: true, dryRun: true }],
  ['add_contact', PERSON],
  ['add_contact', { ...PERSON, dryRun: true }],
  ['list_events', {}],
  ['get_stats', {}],
  ['list_messages', {}],
  ['get_integration_code', { language: 'curl' }],
  ['get_setup_status', {}],
])('over MCP, %s %o of an app that another process has just created is accepted and logged', async (tool, args) => {
  const { server, create, countReads } = await open()
  const app = await create()
  const before = countReads()
  expect((await callTool(server, tool, { app, ...args })).data).toMatchObject({ ok: true })
  expect(countReads()).toBe(before + 1)
  expect(await lastLogged(server)).toEqual([app, tool, 200, null])
})

test.each<[string, object]>([
  ['get_contact', PERSON],
  ['update_contact', PERSON],
  ['get_message', { messageId: 'msg_1' }],
  ['send_event', { ...PERSON, event: 'signed_up' }],
])('over MCP, a refusal of %s is logged with the new app', async (tool, args) => {
  const { server, create } = await open()
  const app = await create()
  const { error } = (await callTool(server, tool, { app, ...args })).data
  expect(error).toEndWith('_not_found')
  expect(await lastLogged(server)).toEqual([app, tool, 404, error])
})

test('over MCP, the set-up of a new app can be read and is logged', async () => {
  const { server, create, countReads } = await open()
  const uri = `eventpost://apps/${await create()}/setup`
  const before = countReads()
  const { contents } = await ask<{ contents: { text: string }[] }>(server, 'resources/read', { uri })
  expect(JSON.parse(contents[0]?.text ?? '')).toMatchObject({ ok: true })
  expect(await lastLogged(server)).toEqual([uri.split('/')[3], null, 200, null])
  await ask(server, 'resources/read', { uri: 'eventpost://unknown' })
  expect(countReads()).toBe(before + 1)
})

test('over MCP, a key whose URL narrows it to another app finds no new one', async () => {
  const { server, create } = await open()
  const app = await create()
  const query = `?app=${server.first.appId}`
  for (const [tool, args] of [
    ['send_event', { ...PERSON, event: 'signed_up', createContact: true, dryRun: true }],
    ['add_contact', PERSON],
    ['list_events', {}],
  ] as const)
    expect((await callTool(server, tool, { app, ...args }, { query })).data.error).toBe('app_not_found')
})

test('over MCP, an event of a new app is accepted too, unless the URL narrows the key to another one', async () => {
  const { server, create } = await open()
  const app = await create()
  const send = (query: string) => callTool(server, 'send_event', eventOf(app), { query })
  expect((await send(`?app=${server.first.appId}`)).data.error).toBe('app_not_found')
  expect((await send('')).data).toMatchObject({ ok: true, created: true })
  // known by now
  expect((await send(`?app=${server.first.appId}`)).data.error).toBe('app_not_found')
})

test('over MCP, a URL that narrows the key to a new app is accepted, for that app only', async () => {
  const { server, create, countReads } = await open()
  const app = await create()
  const query = `?app=${app}`
  const before = countReads()
  expect((await callTool(server, 'get_key_info', {}, { query })).data.apps).toMatchObject([{ id: app }])
  expect((await callTool(server, 'send_event', eventOf(app), { query })).data).toMatchObject({
    ok: true,
    created: true,
  })
  expect(countReads()).toBe(before + 1)
  const { data } = await callTool(server, 'list_events', { app: server.first.appId }, { query })
  expect(data.error).toBe('app_not_found')
})

test('over MCP, a URL with an unknown app is refused after one read, of which the limit leaves few', async () => {
  const { server, countReads } = await open()
  const before = countReads()
  const query = '?app=app_unknown'
  const ping = () => rpc(server, 'ping', {}, { query })
  expect((await rpc(server, 'ping', {}, { query, key: null })).status).toBe(401)
  expect(countReads()).toBe(before)
  expect((await ping()).status).toBe(404)
  expect(countReads()).toBe(before + 1)
  for (let times = 0; times < 700; times += 1) await ping()
  expect((await ping()).status).toBe(429)
  expect(countReads()).toBeLessThanOrEqual(before + 600)
})

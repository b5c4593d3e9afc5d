/** What is logged of requests, through the server. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { createRequestLog, LOGGED_FIELDS } from '../../src/http/request-log.ts'
import { type NewRequest, NO_ACCOUNT, type RequestRow } from '../../src/store/requests.ts'
import { addPerson, appOf, report, send } from '../api/reports.ts'
import { API, BATCH, CONTACTS, createTestServer, EVENTS, type TestServer } from '../helper.ts'
import { callTool, rpc } from '../mcp/client.ts'

let server: TestServer
beforeEach(async () => {
  server = await createTestServer()
})
afterEach(() => server.close())

const SECRET_EMAIL = 'lovelace@private.example'

const everything = {
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
  limit: 1_000,
} as const

async function logged(accountIds = [server.first.accountId, server.second.accountId, NO_ACCOUNT]) {
  await server.parts().requests.save()
  return (await server.parts().store.listRequests({ ...everything, accountIds })).toReversed()
}

const brief = ({ accountId, caller, method, path, tool, status, code, field, appId }: RequestRow) =>
  [accountId, caller, `${method} ${path}${tool === null ? '' : ` ${tool}`}`, status, code, field, appId] as unknown[]

const event = (more: object = {}) => ({
  app: server.first.appId,
  email: SECRET_EMAIL,
  event: 'signed_in',
  createContact: true,
  ...more,
})

describe('a refused request', () => {
  test('of a key has its account, key, app, status, code, field and request ID', async () => {
    const app = await appOf(server)
    const { body } = await server.call('POST', EVENTS, { body: event({ email: `${SECRET_EMAIL}!` }) })
    await server.call('GET', `${EVENTS}?app=${app.publicId}&limit=0`)
    await server.call('POST', EVENTS, { body: event({ app: 'app_unknown' }) })
    await server.call('POST', EVENTS, { body: `{"email": "${SECRET_EMAIL}"` })
    const { accountId, keyId } = server.first
    const rows = await logged()
    expect(rows.map(brief)).toEqual([
      [accountId, keyId, 'POST /api/v1/events', 400, 'invalid_field', 'email', app.id],
      [accountId, keyId, 'GET /api/v1/events', 400, 'invalid_field', 'limit', null],
      [accountId, keyId, 'POST /api/v1/events', 404, 'app_not_found', null, null],
      [accountId, keyId, 'POST /api/v1/events', 400, 'invalid_json', null, null],
    ])
    expect(rows[0]).toMatchObject({ requestId: body.requestId, at: server.clock.now(), count: 1 })
  })

  test('without a valid key belongs to no account, whatever app it names, unless the key was revoked', async () => {
    await server.call('POST', EVENTS, { body: event(), key: null })
    await server.call('POST', EVENTS, { body: event(), key: 'mc_wrong' })
    const { keyId, apiKey } = await server.makeKey()
    await server.revokeKey(keyId)
    await server.call('POST', EVENTS, { body: event(), key: apiKey })
    await rpc(server, 'tools/list', {}, { key: null })
    await server.call('GET', `${API}/nothing`, { key: null })
    expect((await logged()).map(brief)).toEqual([
      [NO_ACCOUNT, 'no_key', 'POST /api/v1/events', 401, 'invalid_api_key', null, null],
      [NO_ACCOUNT, 'unknown_key', 'POST /api/v1/events', 401, 'invalid_api_key', null, null],
      [server.first.accountId, keyId, 'POST /api/v1/events', 401, 'invalid_api_key', null, null],
      [NO_ACCOUNT, 'no_key', 'POST /mcp', 401, 'invalid_api_key', null, null],
      [NO_ACCOUNT, 'no_key', 'GET /api/v1/...', 404, 'not_found', null, null],
    ])
    expect(await logged([server.first.accountId])).toHaveLength(1)
    const revoked = await server.parts().store.listRevokedUses(server.first.accountId, 0)
    expect(revoked).toEqual([{ keyId, name: expect.any(String), count: 1 }])
  })

  test('of a wrong address or method belongs to the key that it was sent with', async () => {
    server.parts().access.forget()
    await server.call('POST', `${API}/event/${SECRET_EMAIL}`, { body: event() })
    await server.call('PUT', EVENTS, { body: event() })
    const { accountId, keyId } = server.first
    expect((await logged()).map(brief)).toEqual([
      [accountId, keyId, 'POST /api/v1/...', 404, 'not_found', null, null],
      [accountId, keyId, 'PUT /api/v1/events', 405, 'method_not_allowed', null, null],
    ])
  })

  test('is no GET or DELETE to the MCP server, which its clients send when they connect and leave', async () => {
    const { apiKey } = server.first
    for (const method of ['GET', 'DELETE'])
      for (const key of [apiKey, null]) expect((await server.call(method, '/mcp', { key })).status).toBe(405)
    await server.call('PUT', '/mcp', { body: {} })
    const { accountId, keyId } = server.first
    expect((await logged()).map(brief)).toEqual([[accountId, keyId, 'PUT /mcp', 405, 'method_not_allowed', null, null]])
  })

  test('with several wrong fields has all their names', async () => {
    await server.call('POST', EVENTS, { body: event({ email: 'x', event: 'no spaces', occurredAt: 'today' }) })
    await server.call('POST', EVENTS, { body: event({ email: 'x', properties: { a: 'b' }, tags: [''] }) })
    expect((await logged()).map(({ field }) => field)).toEqual(['email, event, occurredAt', 'email'])
    await server.call('POST', CONTACTS, {
      body: { app: 1, email: 'x', firstName: 1, lastName: 1, tags: 1, fields: 1, source: 1 },
    })
    expect((await logged()).at(-1)?.field).toBe('app, email, firstName, lastName, tags and 2 more')
  })

  test('of a batch has a row for each kind of refusal', async () => {
    const wrong = event({ event: 'no spaces' })
    const app = await appOf(server)
    const events = [event(), wrong, wrong, event({ email: 'x' }), event({ app: 'app_unknown' })]
    const { body } = await server.call('POST', BATCH, { body: { events } })
    expect(body.accepted).toBe(1)
    const rows = await logged()
    expect(rows.map(brief)).toMatchObject([
      [server.first.accountId, server.first.keyId, 'POST /api/v1/events/batch', 400, 'invalid_field', 'event', app.id],
      [server.first.accountId, server.first.keyId, 'POST /api/v1/events/batch', 400, 'invalid_field', 'email', app.id],
      [server.first.accountId, server.first.keyId, 'POST /api/v1/events/batch', 404, 'app_not_found', null, null],
    ])
    expect(new Set(rows.map(({ requestId }) => requestId)).size).toBe(1)
  })

  test('over MCP has its tool and the status of its code', async () => {
    const [app, { accountId, keyId }] = [await appOf(server), server.first]
    await callTool(server, 'get_contact', { app: app.publicId, email: SECRET_EMAIL })
    await callTool(server, 'get_contact', { app: 'app_unknown', email: SECRET_EMAIL })
    await callTool(server, 'set_message_status', { app: app.publicId })
    await callTool(server, SECRET_EMAIL)
    await server.call('POST', '/mcp', { body: [] })
    expect((await logged()).map(brief)).toEqual([
      [accountId, keyId, 'POST /mcp get_contact', 404, 'contact_not_found', null, app.id],
      [accountId, keyId, 'POST /mcp get_contact', 404, 'app_not_found', null, null],
      [accountId, keyId, 'POST /mcp set_message_status', 403, 'tool_not_open', null, null],
      [accountId, keyId, 'POST /mcp', 403, 'tool_not_open', null, null],
      [accountId, keyId, 'POST /mcp', 400, 'invalid_message', null, null],
    ])
  })

  test('of the browser script belongs to the app of its site', async () => {
    const [{ accountId }, { id }] = [server.first, await appOf(server)]
    await send(server, report(server.first, { signature: 'f'.repeat(64) }))
    await send(server, report(server.first, { email: undefined }))
    await send(server, { ...report(server.first), site: 'site_unknown' })
    await send(server, '{')
    expect((await logged()).map(brief)).toEqual([
      [accountId, 'browser', 'POST /c', 401, 'invalid_signature', null, id],
      [accountId, 'browser', 'POST /c', 400, 'invalid_field', 'email', id],
      [NO_ACCOUNT, 'browser', 'POST /c', 404, 'site_not_found', null, null],
      [NO_ACCOUNT, 'browser', 'POST /c', 400, 'invalid_json', null, null],
    ])
  })

  test('of bounce reports belongs to the app of its address', async () => {
    const app = await appOf(server)
    const path = `/hooks/bounces/${app.publicId}`
    const body = JSON.stringify({ kind: 'bounced', email: SECRET_EMAIL })
    await server.call('POST', path, { key: null, body, headers: { 'Eventpost-Signature': 't=1,v1=0' } })
    await server.call('POST', '/hooks/bounces/app_unknown', { key: null, body })
    expect((await logged()).map(brief)).toEqual([
      [server.first.accountId, 'bounces', 'POST /hooks/bounces/:app', 401, 'invalid_signature', null, app.id],
      [NO_ACCOUNT, 'bounces', 'POST /hooks/bounces/:app', 401, 'invalid_signature', null, null],
    ])
  })

  test('keeps no value, no email, no body and no key', async () => {
    const name = SECRET_EMAIL.replace('@', '')
    await server.call('GET', `${CONTACTS}?app=${server.first.appId}&${name}=1`)
    await server.call('GET', `${CONTACTS}?app=${server.first.appId}&email=${SECRET_EMAIL}`)
    await server.call('POST', CONTACTS, { body: event({ properties: { [name]: 1 } }), key: `mc_${name}` })
    await callTool(server, 'get_stats', { app: server.first.appId, [name]: 1 })
    await callTool(server, name, { [name]: name })
    await server.call('POST', `${API}/${SECRET_EMAIL}?x=${name}`)
    const text = JSON.stringify(await logged())
    expect(JSON.parse(text)).toHaveLength(6)
    expect(text).not.toContain('lovelace')
    expect(text).not.toContain(server.first.apiKey)
  })

  test('is logged when the store fails', async () => {
    const { requests } = server.parts()
    const broken = await createTestServer({
      wrapStore: (store) => ({ ...store, recordEventText: () => Promise.resolve({ refusal: 'unavailable' as const }) }),
    })
    const app = await appOf(broken)
    await broken.call('POST', EVENTS, { body: event({ app: app.publicId }) })
    await broken.parts().requests.save()
    const accountIds = [broken.first.accountId]
    expect(await broken.parts().store.listRequests({ ...everything, accountIds })).toMatchObject([
      { status: 503, code: 'unavailable' },
    ])
    await broken.close()
    await requests.save()
  })
})

describe('an accepted request', () => {
  test('is logged once a second and key, with its app', async () => {
    const app = await appOf(server)
    const { accountId, keyId } = server.first
    for (let i = 0; i < 5; i++) await server.call('POST', EVENTS, { body: event() })
    await server.call('GET', `${EVENTS}?app=${app.publicId}`)
    const other = await server.makeKey()
    await server.call('POST', EVENTS, { body: event(), key: other.apiKey })
    server.clock.tick(1_000)
    await server.call('GET', `${EVENTS}?app=${app.publicId}`)
    expect((await logged()).map(brief)).toEqual([
      [accountId, keyId, 'POST /api/v1/events', 202, null, null, app.id],
      [accountId, other.keyId, 'POST /api/v1/events', 202, null, null, app.id],
      [accountId, keyId, 'GET /api/v1/events', 200, null, null, app.id],
    ])
  })

  test('is that of tools, pages and bounce reports too', async () => {
    await addPerson(server)
    server.clock.tick(1_000)
    const app = await appOf(server)
    const bounceSecret = 'b'.repeat(43)
    const by = { accountId: server.first.accountId, appId: app.id, actor: 'test', at: server.clock.now() }
    await server.parts().store.setMailSettings({ ...by, settings: { bounceSecret } })
    await callTool(server, 'get_stats', { app: app.publicId })
    await send(server, report(server.first))
    server.clock.tick(1_000)
    const body = JSON.stringify({ kind: 'bounced', email: 'ada@example.com' })
    const seconds = Math.floor(server.clock.now() / 1000)
    const hex = createHmac('sha256', bounceSecret).update(`${seconds}.${body}`).digest('hex')
    const headers = { 'Eventpost-Signature': `t=${seconds},v1=${hex}` }
    await server.call('POST', `/hooks/bounces/${app.publicId}`, { key: null, body, headers })
    const { accountId, keyId } = server.first
    expect((await logged()).slice(1).map(brief)).toEqual([
      [accountId, keyId, 'POST /mcp get_stats', 200, null, null, app.id],
      [accountId, 'browser', 'POST /c', 202, null, null, app.id],
      [accountId, 'bounces', 'POST /hooks/bounces/:app', 202, null, null, app.id],
    ])
  })

  test('without an app or a key, such as the documentation, is none', async () => {
    await server.call('GET', `${API}/openapi.json`, { key: null })
    await server.call('OPTIONS', '/c', { key: null })
    expect(await logged()).toEqual([])
  })
})

describe('many refusals', () => {
  test('ten identical refusals of a second have a row each, and the last counts more', async () => {
    for (let i = 0; i < 25; i++) await server.call('POST', EVENTS, { body: event(), key: null })
    const { body } = await server.call('POST', EVENTS, { body: event(), key: null })
    await server.call('POST', EVENTS, { body: event(), key: 'mc_other' })
    const rows = await logged()
    expect(rows.map(({ count }) => count)).toEqual([...Array.from({ length: 9 }, () => 1), 17, 1])
    expect(rows[9]?.requestId).toBe(String(body.requestId))
    for (let i = 0; i < 3; i++) await server.call('POST', EVENTS, { body: event(), key: null })
    expect((await logged()).slice(11).map(({ count }) => count)).toEqual([3])
    server.clock.tick(1_000)
    for (let i = 0; i < 3; i++) await server.call('POST', EVENTS, { body: event(), key: null })
    expect((await logged()).slice(12)).toHaveLength(3)
  })

  test('rows wait for a store that refuses, 10,000 at most', async () => {
    const written: NewRequest[][] = []
    let isFull = true
    const store = {
      addRequests: async (rows: NewRequest[]) => {
        written.push(rows)
        await Promise.resolve()
        return isFull ? { refusal: 'unavailable' as const } : { done: true as const }
      },
    }
    const clock = { ms: 0, now: () => clock.ms }
    const log = createRequestLog({ store, clock, access: server.parts().access })
    const request = new Request('http://localhost/api/v1/events')
    const add = (requestId: string) =>
      log.add({
        request,
        route: '/api/v1/events',
        status: 401,
        facts: {
          requestId,
          startedAt: 0,
          address: () => '',
          keepOpen: () => {},
          access: null,
          isWrite: false,
          refusal: { refusal: 'invalid_api_key' },
        },
      })
    for (let i = 0; i < 12_345; i++) {
      clock.ms += 200
      add(`r${i}`)
      if (i % 100 === 0) await log.save()
    }
    await log.save()
    isFull = false
    await log.save()
    const last = written.at(-1) ?? []
    expect([last.length, last[0]?.requestId, last.at(-1)?.requestId]).toEqual([10_000, 'r2345', 'r12344'])
    await log.save()
    expect(written.at(-1)).toBe(last)
  })
})

test('the names of all fields of the API and of tools can be logged', async () => {
  const { body } = await server.call('GET', `${API}/openapi.json`, { key: null })
  const { paths, components } = body as unknown as {
    paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>
    components: { schemas: Record<string, { properties?: object }> }
  }
  const inputs = [
    'EventInput',
    'SendInput',
    'MessageSave',
    'MessageStatusInput',
    'MessageTestInput',
    'FailedEmails',
    'BatchInput',
    'ContactInput',
    'ContactUpdateInput',
    'ContactErase',
    'BounceReport',
    'VisitReport',
  ]
  const names = inputs.flatMap((name) => Object.keys(components.schemas[name]?.properties ?? {}))
  const parameters = Object.values(paths)
    .flatMap((calls) => Object.values(calls))
    .flatMap(({ parameters = [] }) => parameters.map(({ name }) => name))
  const key = (await server.makeKey('manage')).apiKey
  const { body: listed } = await rpc(server, 'tools/list', {}, { key })
  const { tools } = listed.result as { tools: { inputSchema: { properties: object } }[] }
  const all = [...names, ...parameters, ...tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties))]
  expect(all.length).toBeGreaterThan(60)
  expect([...new Set(all)].filter((name) => !LOGGED_FIELDS.has(name))).toEqual([])
  expect([...LOGGED_FIELDS].filter((name) => !all.includes(name))).toEqual([])
})

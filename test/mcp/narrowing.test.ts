import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createApp } from '../../src/accounts/accounts.ts'
import { createTestServer, type TestServer } from '../helper.ts'
import { callTool, listTools, rpc } from './client.ts'

let server: TestServer
let ada: { app: string; email: string }
beforeAll(async () => {
  server = await createTestServer()
  ada = { app: server.first.appId, email: 'ada@example.com' }
  await callTool(server, 'add_contact', ada)
})
afterAll(() => server.close())

const names = async (query: string) => (await listTools(server, { query })).map(({ name }) => name)

describe('read_only', () => {
  test('leaves read tools', async () => {
    const all = await listTools(server)
    const reading = all.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name)
    expect(await names('?read_only=true')).toEqual(reading)
    expect(await names('?read_only=false')).toEqual(all.map(({ name }) => name))
    expect(reading.length).toBeLessThan(all.length)
  })
  test('also for a key with the manage scope', async () => {
    const how = { key: (await server.makeKey('manage')).apiKey }
    const all = (await listTools(server, how)).map(({ name }) => name)
    const left = (await listTools(server, { ...how, query: '?read_only=true' })).map(({ name }) => name)
    expect(left).toEqual(await names('?read_only=true'))
    expect(all).toContain('set_message_status')
    const { answer } = await callTool(server, 'set_message_status', {}, { ...how, query: '?read_only=true' })
    expect(answer.body as unknown).toMatchObject({ error: { code: -32_602 } })
  })
  test('and refuses other calls', async () => {
    const { answer } = await callTool(
      server,
      'update_contact',
      { ...ada, firstName: 'Eve' },
      { query: '?read_only=true' },
    )
    expect(answer.body as unknown).toMatchObject({ error: { code: -32_602 } })
    const { data } = await callTool(server, 'get_contact', ada, { query: '?read_only=true' })
    expect(data.contact).toMatchObject({ firstName: null })
  })
})

describe('app', () => {
  test('leaves one app on every endpoint', async () => {
    const query = `?app=${server.first.appId}`
    expect((await callTool(server, 'get_contact', ada, { query })).isError).toBe(false)
    const { apps } = (await callTool(server, 'get_key_info', {}, { query })).data
    expect(apps).toMatchObject([{ id: server.first.appId }])
  })
  test.each(['initialize', 'tools/list', 'tools/call'])(
    'a foreign and an unknown app are refused: %s',
    async (method) => {
      const answers = await Promise.all(
        [server.second.appId, 'app_none'].map(async (app) => {
          const { status, body } = await rpc(
            server,
            method,
            { name: 'get_contact', arguments: ada },
            { query: `?app=${app}` },
          )
          const { error } = body as { error?: { data?: { error?: string; field?: string } } }
          return [status, error?.data?.error, error?.data?.field]
        }),
      )
      expect(answers).toEqual([
        [404, 'app_not_found', 'app'],
        [404, 'app_not_found', 'app'],
      ])
    },
  )
})

test('no event is recorded for another app of the key', async () => {
  const { store } = server.parts()
  const beginning = { name: 'Other', domains: [], home: null, snippet: { hosts: [], addsPeople: false } }
  const made = await createApp({ store, now: server.clock.now(), actor: 'x' }, server.first.accountId, beginning)
  if ('refusal' in made) throw new Error(made.refusal)
  server.parts().access.forget()
  const event = { app: made.appId, email: ada.email, event: 'signed_up', createContact: true }
  const query = `?app=${server.first.appId}`
  for (const dryRun of [true, false])
    expect((await callTool(server, 'send_event', { ...event, dryRun }, { query })).data.error).toBe('app_not_found')
  const { data } = await callTool(server, 'list_events', { app: made.appId })
  expect(data.data).toEqual([])
})

test('a closed tool names what closes it', async () => {
  const manage = { key: (await server.makeKey('manage')).apiKey }
  const say = async (name: string, how: object) => {
    const { answer } = await callTool(server, name, {}, how)
    return (answer.body as { error?: { message: string } }).error?.message ?? ''
  }
  expect(await say('set_message_status', {})).toContain('scope `manage`')
  const readOnly = await say('set_message_status', { ...manage, query: '?read_only=true' })
  expect(readOnly).toContain('`read_only=true`')
  expect(readOnly).not.toContain('manage')
  expect(await say('get_stats', { query: '?tools=get_contact' })).toContain('`tools`')
})

describe('tools', () => {
  test('leaves only the named ones', async () => {
    expect(await names('?tools=list_events,get_contact')).toEqual(['get_contact', 'list_events'])
    const { answer } = await callTool(server, 'get_key_info', {}, { query: '?tools=get_contact' })
    expect(answer.body as unknown).toMatchObject({ error: { code: -32_602 } })
  })
  test('combines with the others', async () => {
    expect(await names('?tools=send_event,get_contact&read_only=true')).toEqual(['get_contact'])
  })
})

test.each([
  ['?readonly=true', 'readonly'],
  ['?read_only=yes', 'read_only'],
  ['?read_only', 'read_only'],
  ['?tools=get_contacts', 'tools'],
  ['?tools=', 'tools'],
  ['?key=mc_x', 'key'],
])('refuses typos, which would narrow nothing: %s', async (query, field) => {
  const { status, body } = await rpc(server, 'tools/list', {}, { query })
  expect([status, body as unknown]).toMatchObject([400, { error: { data: { error: 'invalid_field', field } } }])
})

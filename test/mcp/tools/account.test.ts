import { beforeEach, describe, expect, test } from 'bun:test'
import { createApp } from '../../../src/accounts/accounts.ts'
import { readScript, readStub } from '../../../src/assets.ts'
import { RESULT_BYTES } from '../../../src/mcp/budget.ts'
import { browserSamples, serverSamples } from '../../../src/docs/samples.ts'
import { makeSnippetPolicy, makeSnippetTags } from '../../../src/visits/snippet-tag.ts'
import { CONTACTS, createTestServer, EVENTS, type TestServer, useSharedServer } from '../../helper.ts'
import { appOf } from '../../api/reports.ts'
import { useClosing } from '../../closing.ts'
import { callTool, MCP } from '../client.ts'

const openServer = useSharedServer()
const keep = useClosing()
let server: TestServer
let app: string
beforeEach(async () => {
  server = await openServer()
  app = server.first.appId
})

test('get_key_info: the key, its apps, and what is left', async () => {
  await callTool(server, 'add_contact', { app, email: 'ada@example.com' })
  const { data } = await callTool(server, 'get_key_info')
  expect(data as unknown).toEqual({
    ok: true,
    key: { id: server.first.keyId, name: 'First key', scope: 'standard' },
    apps: [
      {
        id: app,
        name: 'first',
        siteId: server.first.siteId,
        homeUrl: 'https://first.example',
        hosts: ['first.example'],
      },
    ],
    limits: [
      { what: 'events', limit: 6_000, remaining: 6_000 },
      { what: 'contactAdds', limit: 600, remaining: 599 },
      { what: 'contactUpdates', limit: 6_000, remaining: 6_000 },
    ],
    newPeople: { month: new Date(server.clock.now()).toISOString().slice(0, 7), count: 1, limit: null },
  })
  const { data: refused } = await callTool(server, 'get_key_info', { app })
  expect(refused).toMatchObject({ error: 'invalid_field', field: 'app' })
})

test('get_key_info: a hostile name of an app is cleaned', async () => {
  const { store, clock } = server.parts()
  const maker = { store, now: clock.now(), actor: 'test' }
  await createApp(maker, server.first.accountId, { name: 'Shop\u202e\n\u200bnow', domains: [], home: null })
  server.parts().access.forget()
  const { data } = await callTool(server, 'get_key_info')
  expect(data.apps).toMatchObject([{ name: 'first' }, { name: 'Shop now' }])
})

test('get_key_info: more apps than fit are counted', async () => {
  const { store, clock } = server.parts()
  const maker = { store, now: clock.now(), actor: 'test' }
  for (let index = 0; index < 80; index += 1)
    await createApp(maker, server.first.accountId, { name: `${index} ${'ž'.repeat(90)}`, domains: [], home: null })
  server.parts().access.forget()
  const { answer, data } = await callTool(server, 'get_key_info')
  const shown = (data.apps as object[]).length
  expect(shown).toBeGreaterThan(10)
  expect(data.omitted).toEqual({ apps: 81 - shown })
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
})

describe('get_setup_status', () => {
  test('says whom messages come from, and which record verifies a domain', async () => {
    const defaults = { smtpUrl: 'smtp://127.0.0.1:9', from: 'post@ours.example' }
    server = keep(await createTestServer({ mail: { defaults } }))
    const { store } = server.parts()
    const of = { accountId: server.second.accountId, actor: 'test', at: 1 }
    const [other] = await store.listApps(of.accountId)
    const set = (settings: object) => store.setMailSettings({ ...of, appId: other?.id ?? 0, settings })
    const ask = async () => {
      const { data, text } = await callTool(
        server,
        'get_setup_status',
        { app: server.second.appId },
        { key: server.second.apiKey },
      )
      return { sender: data.sender as object, problems: data.problems, bytes: Buffer.byteLength(text) }
    }
    expect((await ask()).sender).toEqual({
      from: 'post@ours.example',
      addresses: ['post@ours.example'],
      unverified: [],
    })
    const lost =
      "Recipients can't unsubscribe: links in emails lead to http://localhost:8080, which only this machine can open. Set the public address in EVENTPOST_BASE_URL or with --base-url."
    expect((await ask()).problems).toEqual([lost])
    await set({ fromEmail: 'a@mine.example', otherFromEmails: ['b@mine.example'] })
    const record = { name: '_eventpost.mine.example', type: 'TXT', value: `eventpost-account=${of.accountId}` }
    expect((await ask()).sender).toEqual({
      from: 'a@mine.example',
      addresses: ['a@mine.example', 'b@mine.example', 'post@ours.example'],
      unverified: [{ domain: 'mine.example', record }],
    })
    expect((await ask()).problems).toEqual([
      expect.stringContaining('mine.example is not verified for this account. Add the TXT record'),
      lost,
    ])
    const long = Array.from(
      { length: 100 },
      (_, index) => `${'a'.repeat(60)}@${'b'.repeat(60)}.${index}.${'c'.repeat(60)}.example`,
    )
    await set({ otherFromEmails: long })
    expect((await ask()).bytes).toBeLessThan(RESULT_BYTES)
  })

  const status = async () => (await callTool(server, 'get_setup_status', { app })).data
  test("says the specification's sentences", async () => {
    expect(await status()).toMatchObject({
      app,
      state: 'waiting',
      message: 'Waiting for the first event...',
      lastEventAt: null,
      problems: ['No mail server yet. Emails are captured, not sent.'],
    })
    const now = server.clock.now()
    server.parts().notes.add((await appOf(server)).id, 'without_email')
    expect(await status()).toMatchObject({
      state: 'without-email',
      message: "Call identify with the user's email after they sign in.",
      counts: { withoutEmail: { count: 1, lastAt: new Date(now).toISOString() }, failedSignature: null },
    })
    server.clock.tick(1)
    await callTool(server, 'send_event', { app, email: 'ada@example.com', event: 'x', createContact: true })
    expect(await status()).toMatchObject({ state: 'done', message: null, lastEventAt: new Date(now + 1).toISOString() })
  })

  const refusedCall = async () => ((await status()).counts as Record<string, unknown>).refusedCall
  const nobody = { email: 'nobody@example.com' }

  test.each<[string, object]>([
    ['get_contact', nobody],
    ['list_events', nobody],
    ['list_events', { cursor: 'nonsense' }],
    ['get_message', { messageId: 'msg_00000000000' }],
    ['save_message_draft', { message: {} }],
    ['send_event', { ...nobody, event: 'x', dryRun: true }],
    ['send_event', { ...nobody, event: 'not valid!', dryRun: true }],
    ['send_event', { event: 'x', dryRun: true }],
    ['send_event', { ...nobody, event: 'x', dryRun: 'yes' }],
    ['send_event', { ...nobody, event: 'x', createContact: true, dryRun: null }],
    ['add_contact', { email: 'not an email', dryRun: true }],
    ['update_contact', { ...nobody, dryRun: true }],
  ])('a refused %s %p is not a refused write', async (name, args) => {
    const how = { key: (await server.makeKey('manage')).apiKey }
    expect((await callTool(server, name, { app, ...args }, how)).isError).toBe(true)
    expect(await status()).toMatchObject({ state: 'waiting', counts: { refusedCall: null, withoutEmail: null } })
  })

  test.each<[string, object]>([
    ['send_event', { ...nobody, event: 'x' }],
    ['send_event', { ...nobody, event: 'not valid!', dryRun: false }],
    ['add_contact', { email: 'not an email' }],
    ['update_contact', nobody],
  ])('a refused %s %p is', async (name, args) => {
    const maker = { store: server.parts().store, now: server.clock.now(), actor: 'test' }
    const other = await createApp(maker, server.first.accountId, { name: 'Other', domains: [], home: null })
    server.parts().access.forget()
    await callTool(server, name, { app, ...args })
    expect(await refusedCall()).toMatchObject({ count: 1 })
    const { data } = await callTool(server, 'get_setup_status', { app: 'appId' in other ? other.appId : '' })
    expect(data).toMatchObject({ counts: { refusedCall: null } })
  })

  test('what is refused before a tool runs is not', async () => {
    for (const body of ['{', '[]']) await server.call('POST', MCP, { body })
    await server.call('POST', MCP, { body: '{}', headers: { 'Content-Type': 'text/plain' } })
    expect(await refusedCall()).toBeNull()
  })

  test('a refused HTTP read is not, whatever its method', async () => {
    const path = `${EVENTS}?app=${app}&limit=0`
    expect([(await server.call('GET', path)).status, (await server.call('HEAD', path)).status]).toEqual([400, 400])
    expect(await refusedCall()).toBeNull()
    await server.call('DELETE', CONTACTS, { body: { newsletter: app, email: 'nobody@example.com' } })
    expect(await refusedCall()).toMatchObject({ count: 1 })
  })
})

describe('get_integration_code', () => {
  test('gives the texts of the Activation page, without a key', async () => {
    const shown = serverSamples({ baseUrl: 'http://localhost:8080', appId: app, homeUrl: 'https://first.example' })
    expect(shown.length).toBe(8)
    for (const { id, blocks } of shown) {
      const { data } = await callTool(server, 'get_integration_code', { app, language: id })
      const warning = expect.stringContaining('AI chat')
      expect(data as unknown).toEqual({ ok: true, language: id, blocks, policy: null, warning })
    }
  })
  test('gives the tag of the Activation page, with and without consent, and what a strict policy needs', async () => {
    const source = { baseUrl: 'http://localhost:8080', siteId: server.first.siteId, stub: readStub() }
    const [plain, consent, pinned] = browserSamples(makeSnippetTags({ ...source, script: readScript().identity }))
    const shown = async (language: string) => (await callTool(server, 'get_integration_code', { app, language })).data
    expect((await shown('tag')).blocks).toEqual(plain?.blocks)
    expect((await shown('tag-consent')).blocks).toEqual(consent?.blocks)
    expect((await shown('tag-pinned')).blocks).toEqual(pinned?.blocks)
    expect(JSON.stringify(await shown('tag'))).not.toContain('data-consent')
    expect(JSON.stringify(await shown('tag-consent'))).toContain('data-consent')
    expect((await shown('tag')).policy).toBe(makeSnippetPolicy(source))
  })
  test.each(['cobol', '', 7, undefined])('in no other language: %p', async (language) => {
    const { data } = await callTool(server, 'get_integration_code', { app, language })
    expect(data).toMatchObject({
      error: 'invalid_field',
      field: 'language',
      message: expect.stringContaining('nextjs'),
    })
  })
})

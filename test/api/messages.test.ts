/** Messages over HTTP: what MCP answers too, and what only HTTP has. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { publicId } from '../../src/core/ids.ts'
import { NAMES as HTTP_NAMES } from '../../src/api/message-inputs.ts'
import { NAMES as MCP_NAMES } from '../../src/mcp/tools/tool.ts'
import { type Answer, API, CONTACTS, type Given, type TestServer, useSharedServer } from '../helper.ts'
import { callTool, joinFirst } from '../mcp/client.ts'
import { ADA, createMessaging, messageOf, MINUTE, type Messaging } from '../messaging.ts'
import { codeOf } from './expected.ts'

const MESSAGES = `${API}/messages`
const DELIVERIES = `${API}/deliveries`
let member: string
const { status: _, ...CONTENT } = messageOf({ name: 'Results' })

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
let key: string
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
  key = (await server.makeKey('manage')).apiKey
  member = await joinFirst(server)
})

const get = (path: string, query: object = {}, given: Given = {}) => {
  const asked = new URLSearchParams({ app: server.first.appId, ...query })
  return server.call('GET', `${MESSAGES}${path}?${asked}`, { key, ...given })
}
const post = (path: string, body: object = {}, given: Given = {}) =>
  server.call('POST', `${MESSAGES}${path}`, { body: { app: server.first.appId, ...body }, key, ...given })
const save = async (changes: object = {}) =>
  String((await post('', { message: { ...CONTENT, ...changes } })).body.messageId)
const goLive = async (messageId: string) => {
  const { token } = (await get(`/${messageId}/preview`)).body
  return post('/status', { messageId, status: 'live', token })
}
const versions = async () => (await messaging.deliveries()).map(({ version }) => version)

test('from a draft to live, and to its results', async () => {
  const created = await post('', { message: CONTENT })
  const { messageId } = created.body
  const updatedAt = new Date(server.clock.now()).toISOString()
  expect([created.status, created.body]).toEqual([
    201,
    { ok: true, messageId: expect.any(String), status: 'draft', version: 1, updatedAt, change: 'created', waiting: 0 },
  ])
  await messaging.event()
  const { body } = await get(`/${messageId}/preview`, { email: ADA })
  expect(body).toMatchObject({ mail: { to: ADA, subject: 'Ready', isMadeUp: false, fault: null }, problems: [] })
  expect((body.mail as { html: string }).html).toContain('Hello')
  expect((await post('/test', { messageId, to: member })).body).toEqual({ ok: true, outcome: 'kept', reason: null })
  const simulated = await get(`/${messageId}/simulation`, { days: '1', limit: '1' })
  expect(simulated.body).toMatchObject({ simulation: { triggered: 1, counts: { send: 1 } }, nextCursor: null })
  expect(simulated.body.data).toMatchObject([{ email: ADA, outcome: 'send' }])
  const turned = await post('/status', { messageId, status: 'live', token: body.token })
  expect([turned.status, turned.body]).toEqual([200, { ok: true, messageId, status: 'live' }])
  await messaging.event({ email: 'bob@example.com' })
  await messaging.decide()
  expect((await get(`/${messageId}`)).body).toMatchObject({
    id: messageId,
    status: 'live',
    counts: { sent: 1 },
    results: { days: 30, started: 1, sent: 1 },
    message: CONTENT,
  })
  const explained = (await get(`/${messageId}/explanation`, { email: 'bob@example.com' })).body
  expect(explained).toMatchObject({ message: { id: messageId, name: 'Results' }, delivery: { state: 'sent' } })
  const listed = await server.call('GET', `${DELIVERIES}?app=${server.first.appId}&messageId=${messageId}`)
  expect(listed.body.data).toMatchObject([{ messageId, email: 'bob@example.com', state: 'sent' }])
})

test('a preview has the language of its person, or another one', async () => {
  const text = (subject: string) => ({ subject, body: 'Hello' })
  const messageId = await save({ mail: { ...text('Own'), variants: { DE: text('German'), fr: text('French') } } })
  const body = { newsletter: server.first.appId, email: ADA, fields: { locale: 'de-CH' } }
  await server.call('POST', CONTACTS, { body })
  await messaging.event()
  const shown = async (query: object) => (await get(`/${messageId}/preview`, query)).body.mail
  expect(await shown({})).toMatchObject({ subject: 'German', language: 'de' })
  expect(await shown({ language: 'FR' })).toMatchObject({ subject: 'French', language: 'fr' })
  expect(await shown({ language: 'fr' })).toMatchObject({ subject: 'French', language: 'fr' })
  expect(await shown({ language: 'own' })).toMatchObject({ subject: 'Own', language: null })
  const refused = await get(`/${messageId}/preview`, { language: 'it' })
  expect([refused.status, refused.body.field]).toEqual([400, 'language'])
})

test('the list is oldest first, in pages', async () => {
  await save()
  const all = (await get('')).body.data ?? []
  expect(all.at(-1)).toMatchObject({ name: 'Results', status: 'draft', trigger: CONTENT.trigger, counts: {} })
  const first = (await get('', { limit: '2' })).body
  const rest = (await get('', { limit: '2', cursor: String(first.nextCursor) })).body
  expect([...(first.data ?? []), ...(rest.data ?? [])]).toEqual(all)
  expect(rest.nextCursor).toBeNull()
})

describe('a live message', () => {
  const edit = async (messageId: string, changes: object, more: object = {}) => {
    const { updatedAt: basedOn } = (await get(`/${messageId}`)).body
    return post('', { messageId, basedOn, message: { ...CONTENT, ...changes }, ...more })
  }
  const later = { wait: { minutes: 10 }, mail: { subject: 'Ready', body: 'Old' } }
  const mail = { subject: 'Ready', body: 'New' }

  test('changes at once, and waiting emails keep their version or move to it', async () => {
    const messageId = await save(later)
    await goLive(messageId)
    await messaging.event()
    const kept = await edit(messageId, { ...later, mail })
    expect([kept.status, kept.body]).toMatchObject([200, { status: 'live', version: 2, change: 'changed', waiting: 1 }])
    expect(await versions()).toEqual([1])
    await messaging.event({ email: 'bob@example.com' })
    const headers = { 'Idempotency-Key': 'a' }
    const { updatedAt: basedOn } = (await get(`/${messageId}`)).body
    const body = {
      messageId,
      basedOn,
      moveWaiting: true,
      message: { ...CONTENT, ...later, mail: { ...mail, subject: 'Now' } },
    }
    const moved = await post('', body, { headers })
    expect(moved.body).toMatchObject({ version: 3, waiting: 2 })
    expect(await versions()).toEqual([3, 3])
    const again = await post('', body, { headers })
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([moved.body, 'true'])
  })

  test('is checked as before going live', async () => {
    const messageId = await save()
    await goLive(messageId)
    const answer = await edit(messageId, { mail: { subject: '{{ broken', body: 'B' } })
    expect([codeOf(answer), answer.body.field]).toEqual(['400 invalid_field', 'message.mail.subject'])
    const often = await edit(messageId, { again: { once: 'trigger' } })
    expect([codeOf(often), often.body.field, often.body.message]).toEqual([
      '400 invalid_field',
      'message.again.once',
      expect.stringMatching(/Choose another frequency: .*"person".*"property".*`everyHours`\.$/),
    ])
    const moved = await edit(messageId, { trigger: { event: 'another' } }, { moveWaiting: true })
    expect([codeOf(moved), moved.body.field]).toEqual(['400 invalid_field', 'moveWaiting'])
    expect((await get(`/${messageId}`)).body).toMatchObject({ status: 'live', version: 1 })
  })
})

test('a key without the scope manage is refused, and an unknown message is the same 404 everywhere', async () => {
  const id = await save()
  const paths = ['', `/${id}`, `/${id}/preview`, `/${id}/simulation`, `/${id}/explanation`]
  const calls = (given: Given) => [
    ...paths.map((path) => get(path, path.endsWith('explanation') ? { email: ADA } : {}, given)),
    ...['', '/status', '/test'].map((path) => post(path, {}, given)),
    server.call('POST', `${DELIVERIES}/resend-failed`, { body: { app: server.first.appId }, ...given }),
  ]
  for (const scope of ['standard', 'ingest'] as const) {
    for (const answer of await Promise.all(calls({ key: (await server.makeKey(scope)).apiKey }))) {
      expect([codeOf(answer), answer.body.message]).toEqual([
        '403 insufficient_scope',
        'This call requires a key with scope `manage`. Create one on the API keys page.',
      ])
    }
  }
  const { second } = server
  const other = (await server.makeKey('manage', second)).apiKey
  const unknown = [
    await get('/msg_00000000001'),
    await get('/none/preview'),
    await get(`/${id}`, { app: second.appId }, { key: other }),
    await post('/status', { messageId: id, status: 'draft', app: second.appId }, { key: other }),
    await post('/test', { messageId: id, to: member, app: second.appId }, { key: other }),
  ]
  for (const answer of unknown) {
    expect([codeOf(answer), answer.body.message]).toEqual([
      '404 message_not_found',
      'This app has no message with this ID. Send an `id` from GET /messages.',
    ])
  }
})

test('a status is set once per Idempotency-Key', async () => {
  const messageId = await save()
  const headers = { 'Idempotency-Key': 'b' }
  const first = await post('/status', { messageId, status: 'paused' }, { headers })
  await post('/status', { messageId, status: 'draft' })
  const again = await post('/status', { messageId, status: 'paused' }, { headers })
  expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
  expect((await get(`/${messageId}`)).body.status).toBe('draft')
  expect(codeOf(await post('/status', { messageId, status: 'draft' }, { headers }))).toBe('422 idempotency_mismatch')
})

describe('failed emails', () => {
  const fail = async (emails: string[]) => {
    for (const email of emails) await messaging.event({ email })
    const now = server.clock.now()
    const claiming = { claimedBy: 'test', now, leaseMs: MINUTE, most: 10, skipApps: [] }
    const claimed = await messaging.store().claimDeliveries(claiming)
    if ('refusal' in claimed) throw new Error(claimed.refusal)
    for (const { delivery } of claimed.works) {
      const { id, attempt } = delivery
      await messaging
        .store()
        .markFailed({ id, attempt, claimedBy: 'test', at: now, reason: 'smtp_550', record: '{"at":0,"verdicts":[]}' })
    }
  }
  const resend = (body: object = {}) =>
    server.call('POST', `${DELIVERIES}/resend-failed`, { body: { app: server.first.appId, ...body }, key })

  test('are sent again together, those that match', async () => {
    const { id } = await messaging.put(messageOf())
    await fail([ADA, 'bob@example.com'])
    expect((await resend({ reason: 'smtp_554' })).body).toEqual({ ok: true, sent: 0, refused: 0, gone: 0, next: null })
    expect((await resend({ email: ADA, messageId: publicId('msg', id) })).body).toMatchObject({ sent: 1 })
    expect((await resend()).body).toEqual({ ok: true, sent: 1, refused: 0, gone: 0, next: null })
    expect((await resend()).body).toMatchObject({ sent: 0 })
    expect((await messaging.deliveries()).map(({ state, byHand }) => [state, byHand])).toEqual([
      ['waiting', true],
      ['waiting', true],
    ])
    for (const [field, value] of [
      ['until', 'x'],
      ['email', 'x'],
      ['reason', ''],
    ]) {
      const answer = await resend({ [String(field)]: value })
      expect([codeOf(answer), answer.body.field]).toEqual(['400 invalid_field', field])
    }
  })
})

/** The same answer, in the words of either interface. */
describe('MCP and HTTP agree on', () => {
  const words = (text: string): string =>
    Object.entries(MCP_NAMES)
      .reduce((said, [name, word]) => said.replaceAll(word, HTTP_NAMES[name as keyof typeof HTTP_NAMES]), text)
      .replaceAll(
        / (?:GET \/messages lists the message IDs|search_contacts finds people)\.| Send an `id` from GET \/messages\./g,
        '',
      )
      .replaceAll(/req_\w+/g, 'req')
  const parse = (text: string): unknown => JSON.parse(words(text)) as unknown
  const compare = async (tool: string, args: object, asked: Promise<Answer>) => {
    const { data } = await callTool(server, tool, { app: server.first.appId, ...args }, { key })
    const answer = await asked
    if (data.ok === false || answer.body.ok === false)
      expect([tool, args, parse(JSON.stringify(data))]).toEqual([tool, args, parse(answer.text)])
    return [data, answer.body] as const
  }

  test('what is refused, and how', async () => {
    const messageId = await save()
    const other = { messageId, basedOn: '2026-01-01T00:00:00Z', message: CONTENT }
    const bodies: [tool: string, path: string, body: object][] = [
      ['save_message_draft', '', {}],
      ['save_message_draft', '', { message: 'x' }],
      ['save_message_draft', '', { message: { ...CONTENT, status: 'live', colour: 'red', trigger: {} } }],
      ['save_message_draft', '', { message: CONTENT }],
      ['save_message_draft', '', { message: CONTENT, basedOn: 'now', moveWaiting: true }],
      ['save_message_draft', '', { message: CONTENT, messageId }],
      ['save_message_draft', '', { ...other, moveWaiting: 'yes' }],
      ['save_message_draft', '', { ...other, messageId: 'msg_00000000001' }],
      ['save_message_draft', '', other],
      ['set_message_status', '/status', {}],
      ['set_message_status', '/status', { messageId, status: 'gone', token: 7 }],
      ['set_message_status', '/status', { messageId: 'x', status: 'draft' }],
      ['set_message_status', '/status', { messageId, status: 'live' }],
      ['send_test_message', '/test', { messageId }],
      ['send_test_message', '/test', { messageId, to: 'bob@example.com' }],
      ['send_test_message', '/test', { messageId, to: member, email: 'nobody@example.com' }],
    ]
    for (const [tool, path, body] of bodies) await compare(tool, body, post(path, body))
    const queries: [tool: string, path: string, args: Record<string, string>, query: Record<string, string>][] = [
      ['get_message', '/msg_00000000001', {}, {}],
      ['list_messages', '', { cursor: 'x' }, { cursor: 'x' }],
      ['preview_message', `/${messageId}/preview`, { email: 'nobody@example.com' }, { email: 'nobody@example.com' }],
      ['simulate_message', `/${messageId}/simulation`, { cursor: 'x' }, { cursor: 'x' }],
      ['explain_delivery', `/${messageId}/explanation`, { email: 'x' }, { email: 'x' }],
    ]
    for (const [tool, path, args, query] of queries) {
      const [, id] = path.split('/')
      await compare(tool, { ...args, ...(id === undefined ? {} : { messageId: id }) }, get(path, query))
    }
  })

  test('what is done and shown', async () => {
    const messageId = await save({ wait: { minutes: 5 } })
    await goLive(messageId)
    await messaging.event()
    const [saved, savedToo] = await compare(
      'save_message_draft',
      { message: { ...CONTENT, name: 'A' } },
      post('', { message: { ...CONTENT, name: 'B' } }),
    )
    expect({ ...saved, messageId: '' }).toEqual({ ...savedToo, messageId: '' })
    for (const [tool, path, args] of [
      ['get_message', '', {}],
      ['preview_message', '/preview', { email: ADA }],
      ['simulate_message', '/simulation', { email: ADA }],
      ['explain_delivery', '/explanation', { email: ADA }],
    ] as const) {
      const [found, shown] = await compare(tool, { ...args, messageId }, get(`/${messageId}${path}`, args))
      // parts of a long message are only MCP's
      const { untrusted: _, nextCursor: __, ...plain } = found
      expect([tool, shown]).toMatchObject([tool, JSON.parse(JSON.stringify(plain)) as object])
    }
    const [listed, listedToo] = await compare('list_messages', {}, get(''))
    expect(listed.data).toEqual(listedToo.data as typeof listed.data)
    const asked = { messageId, state: 'waiting' }
    const query = new URLSearchParams({ app: server.first.appId, ...asked })
    const [waiting, waitingToo] = await compare('list_deliveries', asked, server.call('GET', `${DELIVERIES}?${query}`))
    expect(waiting.data).toEqual(waitingToo.data as typeof waiting.data)
    expect(waiting.data).toHaveLength(1)
  })
})

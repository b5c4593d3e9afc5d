import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { publicId } from '../../../src/core/ids.ts'
import { COSTLY_CALL_LIMIT } from '../../../src/accounts/costly-calls.ts'
import { RESULT_BYTES } from '../../../src/mcp/budget.ts'
import { createTestServer, DAY, HOUR, inTurns, type TestServer } from '../../helper.ts'
import { createMessaging, messageOf, type Messaging, MINUTE, page } from '../../messaging.ts'
import { RETURNED_LATE_MS } from '../../postgres/test-databases.ts'
import { callTool } from '../client.ts'

let server: TestServer
let app: string
let messaging: Messaging
const ids: Record<string, string> = {}
const PEOPLE = 30
beforeAll(async () => {
  server = await createTestServer()
  app = server.first.appId
  messaging = await createMessaging(server)
  const status = 'draft'
  await messaging.put({ ...messageOf({ name: 'All' }), status })
  await messaging.put({ ...messageOf({ name: 'Beta', onlyIf: [{ rule: 'tag', has: 'beta' }] }), status })
  await messaging.put({ ...messageOf({ name: 'Opened', onlyIf: [{ rule: 'seen' }] }), status })
  const rule = { rule: 'field' as const, field: 'x'.repeat(80), is: 'equal' as const, to: '"'.repeat(500) }
  await messaging.put({ ...messageOf({ name: 'Heavy', onlyIf: Array.from({ length: 20 }, () => rule) }), status })
  await messaging.put({ ...messageOf({ name: 'Hidden', onlyIf: [{ rule: 'tag', has: 'be\u202e\u200bta' }] }), status })
  await messaging.put({ ...messageOf({ name: 'Tagged', trigger: { tag: 'beta' } }), status })
  for (const { id, name } of (await call('list_messages')).data.data ?? []) ids[String(name)] = String(id)
  await inTurns(PEOPLE, (index) => messaging.event({ email: `p${index}.${'x'.repeat(50)}@example.com` }))
  server.clock.tick(MINUTE)
})
afterAll(() => server.close())

const call = (name: string, args: object = {}) => callTool(server, name, { app, ...args })
const simulate = async (name: string, args: object = {}) =>
  (await call('simulate_message', { messageId: ids[name], ...args })).data

describe('simulate_message', () => {
  test('ends when the client has left', async () => {
    const leaving = new AbortController()
    const params = { name: 'simulate_message', arguments: { app, messageId: ids.All } }
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    // the client leaves right after its request was read
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(text))
        controller.close()
        setTimeout(() => leaving.abort(), 0)
      },
    })
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        Authorization: `Bearer ${server.first.apiKey}`,
      },
      body,
    })
    const answered = server.send(request)
    expect(await (await answered).text()).toContain('Eventpost is stopping')
  })

  test('lists who would have received it and when; queues nothing', async () => {
    const data = await simulate('All', { days: 1 })
    expect(data.simulation as unknown).toEqual({
      from: '2026-05-14T12:01:00.000Z',
      until: '2026-05-15T12:01:00.000Z',
      triggered: PEOPLE,
      counts: { send: PEOPLE },
      estimated: 0,
      notes: [
        expect.stringContaining('Past events and page views are simulated in the order they arrived'),
        expect.stringContaining('Daily and weekly limits per person are ignored'),
      ],
    })
    expect(data.data?.[0] as unknown).toEqual({
      email: expect.stringMatching(/^p\d+\.x+@example\.com$/),
      contactId: expect.stringMatching(/^con_/),
      triggeredAt: '2026-05-15T12:00:00.000Z',
      dueAt: '2026-05-15T12:00:00.000Z',
      outcome: 'send',
      why: 'It would have been sent on 15 May 2026, 12:00 UTC.',
      rules: [],
    })
    expect((await call('list_deliveries')).data.data).toEqual([])
  })
  test('explains the others, and names rules that use current data', async () => {
    const { simulation, data } = await simulate('Beta')
    expect(simulation).toMatchObject({ counts: { tag: PEOPLE } })
    const why = expect.stringContaining('did not have the tag beta')
    expect(data?.[0]).toMatchObject({ outcome: 'tag', why, rules: [{ rule: 'tag', verdict: 'fail', isToday: true }] })
  })
  test('counts people never reported separately', async () => {
    const { simulation, data } = await simulate('Opened')
    expect(simulation).toMatchObject({ counts: { never_reported: PEOPLE } })
    const why = expect.stringMatching(
      /^When the email was due, Eventpost had received no page views by p\d+\.x+@example\.com\./,
    )
    expect(data?.[0]).toMatchObject({ outcome: 'never_reported', why, rules: [{ rule: 'seen', verdict: 'fail' }] })
  })
  test('cleans text of others', async () => {
    const { text, data } = await call('simulate_message', { messageId: ids.Hidden, limit: 2 })
    expect(data.data?.[0]?.why).toContain('did not have the tag "beta"')
    expect(text).not.toMatch(/[\u202e\u200b]|\\u20[02]/)
  })
  test('explains and counts one person', async () => {
    const email = `p7.${'x'.repeat(50)}@example.com`
    const { simulation, data } = await simulate('Beta', { email: email.toUpperCase() })
    expect(simulation).toMatchObject({ triggered: 1, counts: { tag: 1 } })
    expect(data).toMatchObject([{ email, outcome: 'tag' }])
    expect((await simulate('All', { email })).data).toMatchObject([{ email, outcome: 'send' }])
    expect(await simulate('All', { email: 'nobody@example.com' })).toMatchObject({ error: 'contact_not_found' })
    expect(await simulate('All', { email: 'x' })).toMatchObject({ error: 'invalid_field', field: 'email' })
  })
  test('pages stay under 25 KB and miss no one, also with new events', async () => {
    const seen: unknown[] = []
    let cursor: unknown
    do {
      const args = { messageId: ids.Heavy, limit: 12, ...(cursor ? { cursor } : {}) }
      const { answer, data } = await call('simulate_message', args)
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
      expect(data.simulation).toMatchObject({ triggered: PEOPLE })
      seen.push(...(data.data ?? []).map(({ contactId }) => contactId))
      cursor = data.nextCursor
      server.clock.tick(1)
      const event = { email: `late${seen.length}@example.com`, event: 'results_ready', createContact: true }
      await call('send_event', event)
    } while (cursor)
    expect([seen.length, new Set(seen).size]).toEqual([PEOPLE, PEOPLE])
  })
  test('refuses a page of an expired simulation', async () => {
    const { nextCursor: cursor } = await simulate('All', { limit: 1 })
    server.clock.tick(HOUR)
    expect(await simulate('All', { cursor })).toMatchObject({ error: 'invalid_field', field: 'cursor' })
    expect(await simulate('All', { cursor: 'x' })).toMatchObject({ error: 'invalid_field', field: 'cursor' })
  })
  test('refuses tag triggers', async () => {
    expect(await simulate('Tagged')).toMatchObject({ error: 'invalid_field', message: expect.stringContaining('tag') })
  })
  test.each([0, 31, 'many', 1.5])('refuses %p days', async (days) => {
    expect(await simulate('All', { days })).toMatchObject({ error: 'invalid_field', field: 'days' })
  })
  test('is limited per minute', async () => {
    // limits of PostgreSQL count whole seconds
    const untilSecond = 1_000 - (server.clock.now() % 1_000)
    server.clock.tick(COSTLY_CALL_LIMIT.windowMs + RETURNED_LATE_MS + untilSecond)
    await inTurns(COSTLY_CALL_LIMIT.max, () => simulate('Tagged'))
    expect(await simulate('All')).toMatchObject({ error: 'rate_limited', limit: COSTLY_CALL_LIMIT.max, retryAfter: 60 })
  })
  test('marks estimates by page views alone', async () => {
    server.clock.tick(COSTLY_CALL_LIMIT.windowMs + RETURNED_LATE_MS)
    await call('send_event', { email: 'ada@example.com', event: 'signed_up', createContact: true })
    await messaging.browse('a', page('/wait'))
    server.clock.tick(MINUTE)
    await call('send_event', { email: 'ada@example.com', event: 'left', createContact: true })
    const onlyIf = [{ rule: 'away' as const, at: 'trigger' as const }]
    const saved = await messaging.put({
      ...messageOf({ name: 'Left', trigger: { event: 'left' }, onlyIf }),
      status: 'draft',
    })
    ids.Left = publicId('msg', saved.id)
    server.clock.tick(3 * DAY)
    const { simulation, data } = await simulate('Left', { email: 'ada@example.com' })
    const notes = expect.arrayContaining([expect.stringContaining('checked against page views only')])
    expect(simulation).toMatchObject({ triggered: 1, counts: { send: 1 }, estimated: 1, notes })
    expect(data).toMatchObject([{ outcome: 'send', rules: [{ rule: 'away', verdict: 'pass', isEstimated: true }] }])
  })
})

describe('progress', () => {
  const ask = (given: { meta?: object; accept?: string }) => {
    const { meta = { progressToken: 'p1' }, accept = 'application/json, text/event-stream' } = given
    const params = { name: 'simulate_message', arguments: { app, messageId: ids.All, limit: 1 }, _meta: meta }
    return server.send(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: accept, Authorization: `Bearer ${server.first.apiKey}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
      }),
    )
  }
  test('is reported during a long simulation, to clients that ask for it', async () => {
    await inTurns(400, (index) => messaging.event({ email: `many${index}@example.com` }))
    server.clock.tick(MINUTE)
    const answer = await ask({})
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const events = (await answer.text()).split('\n\n').filter((event) => event !== '')
    const messages = events.map((event) => JSON.parse(event.replace(/^event: message\ndata: /, '')) as Message)
    const last = messages.pop()
    expect(last).toMatchObject({ jsonrpc: '2.0', id: 7, result: { structuredContent: { ok: true } } })
    expect(messages.length).toBeGreaterThanOrEqual(1)
    for (const { method, params } of messages) {
      expect(method).toBe('notifications/progress')
      expect(params).toMatchObject({ progressToken: 'p1', total: expect.any(Number) })
    }
    const reached = messages.map(({ params }) => params?.progress ?? 0)
    expect(reached).toEqual([...new Set(reached)].sort((a, b) => a - b))
  })
  test.each([{ meta: {} }, { accept: 'application/json' }])('is not reported with %p', async (given) => {
    const answer = await ask(given)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toMatchObject({ id: 7, result: { structuredContent: { ok: true } } })
  })
})

type Message = { method?: string; params?: { progress?: number } }

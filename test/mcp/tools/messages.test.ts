import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { RESULT_BYTES } from '../../../src/mcp/budget.ts'
import { createTestServer, inTurns, type TestServer } from '../../helper.ts'
import { callTool, openManaged } from '../client.ts'

let server: TestServer
let app: string
let known: Awaited<ReturnType<typeof openManaged>>
beforeEach(async () => {
  server = await createTestServer()
  app = server.first.appId
  known = await openManaged(server)
})
afterEach(() => server.close())

const call = (name: string, args: object = {}) => callTool(server, name, { app, ...args }, known.how)
const MESSAGE = {
  name: 'Hello',
  trigger: { event: 'signed_up' },
  mail: { subject: 'Hello', body: 'Hello\n\nand welcome' },
}
const save = (changes: object = {}, more: object = {}) =>
  call('save_message_draft', { message: { ...MESSAGE, ...changes }, ...more })
const preview = async (messageId: unknown) => (await call('preview_message', { messageId })).data

describe('list_messages', () => {
  test('in the order in which they were made, with what became of each', async () => {
    await save({ trigger: { event: 'signed_up', where: [{ property: 'plan', is: 'equal', to: 'pro' }] } })
    const { data } = await call('list_messages')
    expect(data as unknown).toEqual({
      untrusted: expect.stringContaining('untrusted'),
      ok: true,
      data: [
        expect.objectContaining({ name: 'Results ready, they left', trigger: { event: 'results_ready' } }),
        expect.objectContaining({ name: 'Results not opened yet' }),
        {
          id: expect.stringMatching(/^msg_/),
          name: 'Hello',
          status: 'draft',
          version: 1,
          createdAt: '2026-05-15T12:00:00.000Z',
          updatedAt: '2026-05-15T12:00:00.000Z',
          trigger: { event: 'signed_up' },
          counts: {},
        },
      ],
      nextCursor: null,
    })
  })
  test('many stay under 25 KB, and the cursor misses none', async () => {
    await inTurns(60, (index) => save({ name: `${index} ${'"'.repeat(90)}`, trigger: { page: `/${'"'.repeat(400)}` } }))
    const seen: unknown[] = []
    let cursor: unknown
    do {
      const { answer, data } = await call('list_messages', { limit: 40, ...(cursor ? { cursor } : {}) })
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
      seen.push(...(data.data ?? []).map(({ id }) => id))
      cursor = data.nextCursor
    } while (cursor)
    expect([seen.length, new Set(seen).size]).toEqual([62, 62])
  })
})

describe('get_message', () => {
  test('as it can be saved again', async () => {
    const { data } = await call('get_message', { messageId: known.messageId })
    expect(data).toMatchObject({ id: known.messageId, status: 'draft', version: 1, counts: {} })
    expect('omitted' in data).toBe(false)
    const { data: again } = await call('save_message_draft', { messageId: known.messageId, message: data.message })
    expect(again).toEqual({ ok: true, messageId: known.messageId, status: 'draft', version: 1, change: 'unchanged' })
  })
  test('with its lines, and without what is not seen', async () => {
    const family = '\u{1f469}\u200d\u{1f467}'
    const body = `One ${family}\n\nTwo\u202e\u200b${String.fromCodePoint(0xe0049)}`
    const { messageId } = (await save({ name: 'a\u200bb', mail: { subject: 'S', body } })).data
    const { data } = await call('get_message', { messageId })
    expect(data.message as unknown).toMatchObject({ name: 'ab', mail: { body: `One ${family}\n\nTwo` } })
  })
  test.each([
    ['a long mail', { mail: { subject: 'S', body: '"\n'.repeat(13_000) } }, ['mail.body']],
    [
      'many rules',
      {
        onlyIf: Array.from({ length: 20 }, () => ({ rule: 'field', field: 'x', is: 'equal', to: 'x'.repeat(990) })),
        mail: { subject: 'S', body: 'x'.repeat(30_000) },
      },
      ['trigger.where', 'onlyIf', 'mail.body'],
    ],
  ])('%s is cut to 25 KB, and says so', async (_, changes, omitted) => {
    const { messageId } = (await save(changes)).data
    const { answer, data } = await call('get_message', { messageId })
    expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
    expect(Buffer.byteLength(answer.text)).toBeGreaterThan(RESULT_BYTES / 2)
    expect(data.omitted as unknown).toEqual(omitted)
  })
})

describe('save_message_draft', () => {
  test('makes a draft, writes over it, and leaves who did it', async () => {
    const { data } = await save()
    const { messageId } = data
    expect(data as unknown).toEqual({ ok: true, messageId, status: 'draft', version: 1, change: 'created' })
    expect((await save({ wait: { minutes: 5 } }, { messageId })).data).toMatchObject({ messageId, change: 'changed' })
    expect((await call('get_message', { messageId })).data.message).toMatchObject({ wait: { minutes: 5 } })
    expect((await save()).data).toMatchObject({ error: 'message_name_taken' })
  })
  test('names every field that fails by its path', async () => {
    const message = { ...MESSAGE, onlyIf: [{ rule: 'away', minutes: -1 }], mail: { subject: '', body: 'x' } }
    const { data } = await call('save_message_draft', { message })
    expect(data).toMatchObject({ error: 'invalid_field', field: 'message.onlyIf[0].minutes' })
    expect(data.errors).toMatchObject([{ field: 'message.onlyIf[0].minutes' }, { field: 'message.mail.subject' }])
  })
  test.each([
    ['message', undefined],
    ['message', []],
    ['message', 'Hello'],
    ['message.status', { ...MESSAGE, status: 'live' }],
    ['message.colour', { ...MESSAGE, colour: 'red' }],
  ])('refuses %s: %p', async (field, message) => {
    expect((await call('save_message_draft', { message })).data).toMatchObject({ error: 'invalid_field', field })
  })
  test('never touches what is live', async () => {
    await call('set_message_status', { messageId: known.messageId, status: 'live', token: known.token })
    const before = (await call('get_message', { messageId: known.messageId })).text
    const { data } = await save({}, { messageId: known.messageId })
    expect(data).toMatchObject({ error: 'invalid_field', field: 'messageId' })
    expect((await call('get_message', { messageId: known.messageId })).text).toBe(before)
    await call('set_message_status', { messageId: known.messageId, status: 'paused' })
    expect((await save({}, { messageId: known.messageId })).data).toMatchObject({ status: 'paused', version: 2 })
  })
})

describe('set_message_status', () => {
  const turnOn = async (messageId: unknown, token?: unknown) =>
    (await call('set_message_status', { messageId, status: 'live', ...(token === undefined ? {} : { token }) })).data

  test('live with the token of its preview, and mails go out from then on', async () => {
    const { messageId } = (await save()).data
    const { token } = await preview(messageId)
    expect(await turnOn(messageId, token)).toEqual({ ok: true, messageId, status: 'live' })
    const event = { email: 'ada@example.com', event: 'signed_up', createContact: true }
    expect((await call('send_event', event)).data.messages).toMatchObject([{ messageId }])
    expect((await call('set_message_status', { messageId, status: 'paused' })).data).toMatchObject({ status: 'paused' })
    expect((await call('send_event', { ...event, email: 'bob@example.com' })).data.messages).toEqual([])
  })
  test('not without one, nor with one of another message, another content or another installation', async () => {
    const { messageId } = (await save()).data
    const { messageId: other } = (await save({ name: 'Other' })).data
    const { token } = await preview(messageId)
    const own = String(token)
    const wrong = [undefined, '', 'x', 7, (await preview(other)).token, `${own.slice(0, -2)}AA`, own.toLowerCase()]
    for (const one of wrong) expect(await turnOn(messageId, one)).toMatchObject({ ok: false, field: 'token' })
    await save({ mail: { ...MESSAGE.mail, subject: 'Hello!' } }, { messageId })
    expect(await turnOn(messageId, token)).toMatchObject({ error: 'invalid_field', field: 'token' })
    await save({}, { messageId })
    expect(await turnOn(messageId, token)).toMatchObject({ ok: true })
    const elsewhere = await createTestServer()
    const managed = await openManaged(elsewhere)
    const { data } = await callTool(
      elsewhere,
      'set_message_status',
      { app: elsewhere.first.appId, messageId: managed.messageId, status: 'live', token: known.token },
      managed.how,
    )
    expect(data).toMatchObject({ error: 'invalid_field', field: 'token' })
    await elsewhere.close()
  })
  test('a token outlives a restart', async () => {
    await server.restart()
    expect(await turnOn(known.messageId, known.token)).toMatchObject({ ok: true })
  })
  test('not while something stands in the way, even with a token from before', async () => {
    const event = { email: 'ada@example.com', event: 'results_ready', createContact: true }
    await call('send_event', event)
    expect(await turnOn(known.messageId, known.token)).toMatchObject({ error: 'invalid_field', field: 'mail.body' })
    expect((await call('get_message', { messageId: known.messageId })).data.status).toBe('draft')
  })
  test.each([undefined, 'gone', null])('to nothing else: %p', async (status) => {
    const { data } = await call('set_message_status', { messageId: known.messageId, status })
    expect(data).toMatchObject({ error: 'invalid_field', field: 'status' })
  })
})

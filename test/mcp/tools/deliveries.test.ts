import { beforeEach, describe, expect, test } from 'bun:test'
import { RESULT_BYTES } from '../../../src/mcp/budget.ts'
import { inTurns, type TestServer, useSharedServer } from '../../helper.ts'
import { createMessaging, messageOf, MINUTE, type Messaging } from '../../messaging.ts'
import { callTool } from '../client.ts'

const openServer = useSharedServer()
let server: TestServer
let app: string
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  app = server.first.appId
  messaging = await createMessaging(server)
})

const call = (name: string, args: object = {}) => callTool(server, name, { app, ...args })

describe('list_deliveries', () => {
  test('newest first, of a message, of a person, or in a state', async () => {
    await messaging.put(messageOf({ name: 'One' }))
    await messaging.put(messageOf({ name: 'Two\u200b', wait: { minutes: 5 } }))
    await messaging.event()
    await messaging.decide()
    const sentAt = new Date(server.clock.now()).toISOString()
    server.clock.tick(MINUTE)
    await messaging.event({ email: 'bob@example.com' })
    const { data } = await call('list_deliveries')
    expect(data.data).toHaveLength(4)
    expect(data.data?.at(-1) as unknown).toEqual({
      id: expect.stringMatching(/^dlv_/),
      messageId: expect.stringMatching(/^msg_/),
      version: 1,
      contactId: expect.stringMatching(/^con_/),
      state: 'sent',
      reason: null,
      createdAt: sentAt,
      triggeredAt: sentAt,
      dueAt: sentAt,
      sentAt,
      cameBackAt: null,
      deliveredAt: null,
      openedAt: null,
      mayHaveArrivedTwice: false,
      joinedTo: null,
      keyId: null,
      subject: null,
      message: 'One',
      email: 'ada@example.com',
    })
    const list = async (args: object) =>
      (await call('list_deliveries', args)).data.data?.map(({ message, email, state }) => [message, email, state])
    expect(await list({ state: 'sent' })).toEqual([['One', 'ada@example.com', 'sent']])
    expect(await list({ email: 'bob@example.com' })).toEqual([
      ['Two', 'bob@example.com', 'waiting'],
      ['One', 'bob@example.com', 'waiting'],
    ])
    const messageId = data.data?.at(-1)?.messageId
    expect(await list({ messageId })).toEqual([
      ['One', 'bob@example.com', 'waiting'],
      ['One', 'ada@example.com', 'sent'],
    ])
  })
  test.each([
    [{ email: 'nobody@example.com' }, 'contact_not_found'],
    [{ messageId: 'msg_zzzzzzzzzzz' }, 'message_not_found'],
    [{ messageId: 'x' }, 'message_not_found'],
    [{ state: 'lost' }, 'invalid_field'],
    [{ cursor: 'x' }, 'invalid_field'],
    [{ limit: 0 }, 'invalid_field'],
    [{ colour: 'red' }, 'invalid_field'],
  ])('refuses %p', async (args, error) => {
    expect((await call('list_deliveries', args)).data).toMatchObject({ ok: false, error })
  })
  test('large pages stay under 25 KB, and their cursor misses nothing', async () => {
    await messaging.put(messageOf({ name: `"${'ž'.repeat(98)}"` }))
    await inTurns(120, (index) => messaging.event({ email: `p${index}.${'x'.repeat(50)}@example.com` }))
    const seen: unknown[] = []
    let cursor: unknown
    do {
      const { answer, data } = await call('list_deliveries', { limit: 100, ...(cursor ? { cursor } : {}) })
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
      seen.push(...(data.data ?? []).map(({ id }) => id))
      cursor = data.nextCursor
    } while (cursor)
    expect([seen.length, new Set(seen).size]).toEqual([120, 120])
  })
})

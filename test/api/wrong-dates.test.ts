/** Dates of people that trigger live messages, sent in a form that is no date. */
import { beforeEach, expect, test } from 'bun:test'
import { type Answer, CONTACTS, type TestServer, useSharedServer } from '../helper.ts'
import { callTool } from '../mcp/client.ts'
import { createMessaging, messageOf, type Messaging } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const ADA = 'ada@example.com'
const WRONG = { trialEndsAt: '30.11.2026', other: 'soon' }
const WARNING = {
  field: 'fields.trialEndsAt',
  code: 'not_a_date',
  message:
    '`fields.trialEndsAt` is not a date, so it triggers no message for this person. Send a date such as `2026-11-30` or `2026-11-30T09:00:00Z`.',
}

const save = (fields: object, method = 'POST', headers: Record<string, string> = {}): Promise<Answer> =>
  server.call(method, CONTACTS, { body: { app: server.first.appId, email: ADA, fields }, headers })

const goLive = async (): Promise<number> => {
  const trigger = { date: 'trialEndsAt', days: 3, when: 'before' } as const
  const saved = await messaging.put(messageOf({ name: 'Ends soon', trigger }))
  await messaging.put(messageOf({ name: 'Ended', trigger: { ...trigger, when: 'after' } }))
  return saved.id
}

test('are saved with one warning per field, also when a request is repeated', async () => {
  await goLive()
  const headers = { 'Idempotency-Key': 'one' }
  for (const status of [201, 201]) {
    const answer = await save(WRONG, 'POST', headers)
    expect([answer.status, answer.body.warnings]).toEqual([status, [WARNING]])
    expect(answer.body.contact).toMatchObject({ fields: WRONG })
  }
  expect((await save(WRONG, 'PATCH')).body.warnings).toEqual([WARNING])
  expect((await save({ trialEndsAt: true })).body.warnings).toEqual([WARNING])
})

test.each(['2026-11-30', '2026-11-30T09:00:00Z', 1_796_000_000, '', ' ', null])(
  '%j needs no warning',
  async (value) => {
    await goLive()
    expect((await save({ trialEndsAt: value, other: 'soon' })).body).not.toHaveProperty('warnings')
  },
)

test('matter only to live messages, and only when they are sent', async () => {
  expect((await save(WRONG)).body).not.toHaveProperty('warnings')
  await goLive()
  expect((await save({ other: 'soon' }, 'PATCH')).body).not.toHaveProperty('warnings')
  for (const { id, name, content } of await messaging.store().listMessages(messaging.app.id)) {
    await messaging.put({ ...content, name, status: 'paused' }, id)
  }
  expect((await save(WRONG)).body).not.toHaveProperty('warnings')
})

test('have the same warning over MCP, also in a dry run', async () => {
  await goLive()
  for (const dryRun of [true, false]) {
    const { data } = await callTool(server, 'add_contact', {
      app: server.first.appId,
      email: ADA,
      fields: WRONG,
      dryRun,
    })
    expect(data.warnings).toEqual([WARNING])
  }
})

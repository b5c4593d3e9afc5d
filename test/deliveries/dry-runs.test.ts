import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { RESULT_BYTES } from '../../src/mcp/budget.ts'
import { type TestServer, useSharedServer } from '../helper.ts'
import { callTool } from '../mcp/client.ts'
import { readAll } from '../mcp/both-servers.ts'
import { createMessaging, messageOf } from '../messaging.ts'

describe('dryRun', () => {
  const openServer = useSharedServer()
  let server: TestServer
  beforeAll(async () => {
    server = await openServer()
    const { app, put, store } = await createMessaging(server)
    await put(messageOf({ name: 'Welcome\u200b', trigger: { contact: 'created' } }))
    await put(messageOf({ name: 'Beta', trigger: { tag: 'beta' }, wait: { minutes: 5 } }))
    await put(messageOf({ name: 'Tour', trigger: { contact: 'created' }, onlyIf: [{ rule: 'tag', lacks: 'vip' }] }))
    await store().suppress({ appId: app.id, email: 'off@example.com', reason: 'unsubscribed', at: server.clock.now() })
  })
  afterAll(() => server.close())
  const call = (tool: string, args: object) => callTool(server, tool, { app: server.first.appId, ...args })
  /** Without what a dry run can't know. */
  const withoutIds = ({
    dryRun: _,
    requestId: __,
    contactId,
    contact,
    messages,
    ...rest
  }: Record<string, unknown>) => ({
    ...rest,
    contact: contact && { ...contact, ...(contactId === null || rest.created ? { id: null } : {}), updatedAt: null },
    messages: (messages as object[] | undefined)?.map((one) => ({ ...one, deliveryId: null })).sort(byName),
  })
  const byName = (a: object, b: object) => JSON.stringify(a).localeCompare(JSON.stringify(b))

  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, 1]))
  const more = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`g${index}`, 1]))
  const eve = { email: 'Eve@Example.com' }
  const CALLS: [string, object, string[]][] = [
    ['update_contact', { ...eve, firstName: 'Eve' }, []],
    [
      'add_contact',
      { ...eve, tags: ['new'], source: 'ads', fields: { plan: 'pro' }, nickname: 'x' },
      ['Tour', 'Welcome'],
    ],
    ['add_contact', { ...eve, tags: ['new'], source: 'other', lastName: 'E' }, []],
    ['add_contact', { email: 'off@example.com' }, ['Tour', 'Welcome']],
    ['add_contact', { email: 'off@example.com', source: 'ads' }, []],
    ['add_contact', { email: 'vip@example.com', tags: ['vip'] }, ['Tour', 'Welcome']],
    ['update_contact', { ...eve, tags: ['vip'] }, []],
    ['add_contact', { email: 'max@example.com', tags: ['beta'], ip: '203.0.113.9' }, ['Beta', 'Tour', 'Welcome']],
    ['update_contact', { ...eve, tags: ['beta'], removeTags: ['new'], fields: { plan: null }, source: 'x' }, ['Beta']],
    ['update_contact', { ...eve, tags: ['beta'] }, []],
    ['update_contact', { ...eve, firstName: null, fields: many }, []],
    ['update_contact', { ...eve, fields: more }, []],
    ['update_contact', { ...eve, app: 'app_none' }, []],
    ['add_contact', { email: 'x' }, []],
  ]
  const named = CALLS.map(([tool, args, names]) => [tool, JSON.stringify(args).slice(0, 90), args, names] as const)
  test.each(named)('%s %s: says what the write then does, and leaves no trace', async (tool, _, args, names) => {
    const before = await readAll(server)
    const { limits } = (await call('get_key_info', { app: undefined })).data
    const dry = await call(tool, { ...args, dryRun: true })
    expect(await readAll(server)).toEqual(before)
    expect((await call('get_key_info', { app: undefined })).data.limits).toEqual(limits)
    const real = await call(tool, args)
    expect([dry.isError, withoutIds(dry.data)] as unknown).toEqual([real.isError, withoutIds(real.data)])
    const queued = (real.data.messages ?? []) as { name: string; deliveryId: string }[]
    expect(queued.map(({ name }) => name).sort()).toEqual(names)
    for (const { deliveryId } of queued) expect(deliveryId).toMatch(/^dlv_/)
    if (!dry.isError) expect(dry.data.dryRun).toBe(true)
    server.clock.tick(1)
  })
  test('a person who would be added has no ID and no deliveries', async () => {
    const { data } = await call('add_contact', { email: 'nobody@example.com', tags: ['beta'], dryRun: true })
    expect(data).toMatchObject({ contactId: null, created: true, contact: { id: null, tags: ['beta'] } })
    expect(data.messages).toMatchObject(Array(3).fill({ deliveryId: null }))
    expect((await call('get_contact', { email: 'nobody@example.com' })).data.error).toBe('contact_not_found')
  })
  test('is true or false', async () => {
    expect((await call('add_contact', { ...eve, dryRun: 'yes' })).data).toMatchObject({ field: 'dryRun' })
    expect((await call('update_contact', { ...eve, dryRun: null })).data.dryRun).toBeUndefined()
  })
  test('limits the listed emails and counts all', async () => {
    const { put } = await createMessaging(server)
    const name = (index: number) => `${index} ${'"'.repeat(90)}`
    for (let index = 0; index < 60; index += 1) await put(messageOf({ name: name(index), trigger: { tag: 'many' } }))
    for (const more of [{ dryRun: true }, {}]) {
      const { answer, data } = await call('update_contact', { ...eve, tags: ['many'], ...more })
      const shown = (data.messages as object[]).length
      expect(shown).toBeGreaterThan(5)
      expect(data.omitted).toEqual({ messages: 60 - shown })
      expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(RESULT_BYTES)
    }
  })
})

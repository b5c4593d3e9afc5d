import { afterEach, beforeEach, expect, test } from 'bun:test'
import { listSamples, makeSampleFor } from '../../src/messages/message-samples.ts'
import type { Trigger } from '../../src/store/message-types.ts'
import { CONTACTS, createTestServer, TEMPLATES, type TestServer } from '../helper.ts'
import { createMessaging, type Messaging, page } from '../messaging.ts'
import { report, send } from '../api/reports.ts'

let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await createTestServer()
  messaging = await createMessaging(server)
})
afterEach(() => server.close())

const MAIL = { subject: 'Ready', body: 'Hello' }

const samples = async (trigger: Trigger) =>
  (await listSamples(messaging.store(), messaging.app, { trigger, mail: MAIL })).map(({ contact, event }) => [
    contact.email,
    event?.properties ?? null,
  ])

test('of an event: the latest of each person whose properties fit', async () => {
  await messaging.event({ email: 'ada@example.com', properties: { n: 1 } })
  await messaging.event({ email: 'bob@example.com', properties: { n: 1, plan: 'pro' } })
  await messaging.event({ email: 'ada@example.com', properties: { n: 2, plan: 'pro' } })
  await messaging.event({ email: 'eve@example.com', event: 'another', properties: {} })
  expect(await samples({ event: 'results_ready' })).toEqual([
    ['ada@example.com', '{"n":2,"plan":"pro"}'],
    ['bob@example.com', '{"n":1,"plan":"pro"}'],
  ])
  const where = [{ property: 'n', is: 'equal' as const, to: 1 }]
  expect((await samples({ event: 'results_ready', where })).map(([email]) => email)).toEqual([
    'bob@example.com',
    'ada@example.com',
  ])
  expect(await samples({ event: 'nothing' })).toEqual([])
})

test('of a page, a new person and a tag: people', async () => {
  for (const [email, tags] of [
    ['ada@example.com', ['beta']],
    ['bob@example.com', []],
  ]) {
    await server.call('POST', CONTACTS, { body: { app: server.first.appId, email, tags } })
  }
  await send(server, report(server.first, { email: 'ada@example.com', events: [page('/pricing')] }))
  expect(await samples({ page: '/pricing' })).toEqual([['ada@example.com', null]])
  expect(await samples({ page: '/price*' })).toEqual([])
  expect(await samples({ contact: 'created' })).toEqual([
    ['bob@example.com', null],
    ['ada@example.com', null],
  ])
  expect(await samples({ tag: 'beta' })).toEqual([['ada@example.com', null]])
})

test('nothing of another app', async () => {
  await messaging.event()
  const [other] = await messaging.store().listApps(server.second.accountId)
  if (!other) throw new Error('no other app')
  for (const trigger of [{ event: 'results_ready' }, { contact: 'created' as const }]) {
    expect(await listSamples(messaging.store(), other, { trigger, mail: MAIL })).toEqual([])
  }
})

test('a made-up person has a value for everything in the email', async () => {
  const mail = {
    subject: '{{ event.total }}',
    preheader: '{{ event.headline }}',
    body: '{{ event.deep.down }} {{ broken',
  }
  const make = (trigger: Trigger) => makeSampleFor(TEMPLATES, messaging.app, { content: { trigger, mail }, at: 1 })
  const { contact, event } = await make({ event: 'paid' })
  expect(contact.firstName).toBe('Ada')
  expect(JSON.parse(event?.properties ?? '')).toEqual({
    total: 'total',
    headline: 'Your 12 pictures are ready',
    url: 'https://first.example/results',
  })
  expect((await make({ tag: 'x' })).event).toBeNull()
})

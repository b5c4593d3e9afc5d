import { beforeEach, expect, test } from 'bun:test'
import { previewMessage, sendTestMail } from '../../src/deliveries/message-preview.ts'
import { publicId } from '../../src/core/ids.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { type TestServer, useSharedServer } from '../helper.ts'
import { createMessaging, type Messaging } from '../messaging.ts'

const CONTENT: MessageContent = {
  trigger: { event: 'results_ready' },
  mail: { subject: '{{ event.headline }}', body: 'Hello {{ contact.email }}' },
}

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
})

const preview = (content: MessageContent = CONTENT, sampleId = '') =>
  previewMessage(server.parts(), messaging.app, { content, sampleId })

test('shows the latest or the chosen person, with their real events', async () => {
  await messaging.event({ email: 'ada@example.com', properties: { headline: 'One', n: 1 } })
  await messaging.event({ email: 'bob@example.com', properties: { headline: 'Two' } })
  const { choices, sample, properties, mail } = await preview()
  expect(choices.map(({ contact }) => contact.email)).toEqual(['bob@example.com', 'ada@example.com'])
  expect([sample, properties]).toEqual([choices[0] ?? null, ['headline', 'n']])
  expect(mail).toMatchObject({ subject: 'Two', text: expect.stringContaining('Hello bob@example.com') })
  expect((await preview(CONTENT, choices[1]?.id)).mail).toMatchObject({ subject: 'One' })
  expect((await preview(CONTENT, publicId('evt', 1))).sample).toEqual(choices[0] ?? null)
})

test('says what is wrong with the texts, and only then', async () => {
  await messaging.event({ email: 'ada@example.com', properties: {} })
  const withBody = (body: string) => preview({ ...CONTENT, mail: { subject: 'One', body } })
  expect(await withBody('{{ contact.fristName }}')).toMatchObject({
    mail: { missing: 'contact.fristName' },
    problems: [{ field: 'mail.body', message: expect.stringMatching(/^There is no variable contact\.fristName\./) }],
  })
  expect((await withBody('Hi {{ contact.email }, see {{ event.url }}')).problems).toMatchObject([
    { field: 'mail.body', message: '“{{ contact.email }” does not end with }}.' },
  ])
  expect(await withBody('{{ event.url }}')).toMatchObject({ mail: { missing: 'event.url' }, problems: [] })
})

test('prefers the latest event with all values', async () => {
  await messaging.event({ email: 'ada@example.com', properties: {} })
  await messaging.event({ email: 'bob@example.com', properties: {} })
  expect((await preview()).sample?.contact.email).toBe('bob@example.com')
  await messaging.event({ email: 'eve@example.com', properties: { headline: 'One' } })
  await messaging.event({ email: 'bob@example.com', properties: {} })
  expect((await preview()).sample?.contact.email).toBe('eve@example.com')
})

test('prefers people who can be emailed', async () => {
  for (const email of ['ada@example.com', 'bob@example.com'])
    await messaging.event({ email, properties: { headline: email } })
  const { store, app } = messaging
  await store().suppress({ appId: app.id, email: 'bob@example.com', reason: 'unsubscribed', at: server.clock.now() })
  const { choices, sample } = await preview()
  expect([sample?.contact.email, choices.map(({ unsent }) => unsent)]).toEqual([
    'ada@example.com',
    [null, 'bob@example.com unsubscribed.'],
  ])
})

test('shows a made-up person if there is no one, and the variables of the texts', async () => {
  const used = await preview({ ...CONTENT, mail: { subject: '{{ event.plan }}', body: '{{ contact.fields.team }}' } })
  expect([used.properties, used.fields]).toEqual([['plan'], ['team']])
  const { choices, sample, mail } = await preview()
  expect([choices, sample]).toEqual([[], null])
  expect(mail).toMatchObject({ subject: 'Your 12 pictures are ready' })
})

test('uses the sender of the message, the app or the installation', async () => {
  const from = async (mail: Partial<MessageContent['mail']> = {}) =>
    (await preview({ ...CONTENT, mail: { ...CONTENT.mail, ...mail } })).from
  expect(await from()).toEqual({ name: 'Demo', address: 'hello@first.example' })
  await messaging.set({ fromName: 'App', fromEmail: 'app@first.example' })
  expect(await from()).toEqual({ name: 'App', address: 'app@first.example' })
  expect(await from({ fromEmail: 'own@first.example' })).toEqual({ name: 'App', address: 'own@first.example' })
  expect(await from({ fromEmail: 'none' })).toBeNull()
})

test('a test email is the same and creates no delivery', async () => {
  await messaging.event({ email: 'ada@example.com', properties: { headline: 'One' } })
  const to = { name: '', address: 'first@owner.example' }
  const given = { deps: server.parts(), app: messaging.app, to }
  const { whose, result } = await sendTestMail(given, { content: CONTENT, sampleId: '' })
  const raw = 'raw' in result ? result.raw : ''
  expect(whose).toBe('ada@example.com')
  expect(raw).toContain('Subject: [Test] One')
  expect(raw).toContain('To: first@owner.example')
  expect(await messaging.deliveries()).toEqual([])
})

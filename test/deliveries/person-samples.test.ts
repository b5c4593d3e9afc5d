import { afterEach, beforeEach, expect, test } from 'bun:test'
import { findSample } from '../../src/deliveries/person-samples.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { createTestServer, type TestServer } from '../helper.ts'
import { ADA, createMessaging, messageOf, type Messaging, RESULT } from '../messaging.ts'

let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await createTestServer()
  messaging = await createMessaging(server)
})
afterEach(() => server.close())

const MAIL = { subject: '{{ event.headline }}', body: 'Hello {{ event.plan }}' }

async function put(changes: Partial<MessageContent & { name: string }> = {}) {
  const { id } = await messaging.put({ ...messageOf({ mail: MAIL, ...changes }), status: 'draft' })
  const message = await messaging.store().findMessage(messaging.app.id, id)
  if (!message) throw new Error('no message')
  return message
}

async function preview(changes: Partial<MessageContent & { name: string }> = {}, email: string | null = null) {
  const message = await put(changes)
  const found = await findSample(server.parts(), { app: messaging.app, message, email })
  if ('refusal' in found) return { refusal: found.refusal }
  const { sample, isMadeUp } = found
  const mail = await server.parts().mailer.preview(sample)
  return { isMadeUp, to: sample.contact.email, mail: 'html' in mail ? mail.subject : mail }
}

test('a made-up person has a value for everything in the email', async () => {
  expect(await preview()).toEqual({ isMadeUp: true, to: ADA, mail: 'Your 12 pictures are ready' })
})
test('uses the last event that would trigger it, and no other', async () => {
  await messaging.event({ email: 'pro@example.com', properties: { ...RESULT, plan: 'pro', headline: 'Pro' } })
  await messaging.event({ email: 'free@example.com', properties: { ...RESULT, plan: 'free', headline: 'Free' } })
  const where = [{ property: 'plan', is: 'equal' as const, to: 'pro' }]
  expect(await preview({ trigger: { event: 'results_ready', where } })).toMatchObject({
    to: 'pro@example.com',
    mail: 'Pro',
  })
})
test('one person: their last event or none', async () => {
  await messaging.event({ properties: { ...RESULT, plan: 'pro', headline: 'First' } })
  await messaging.event({ properties: { ...RESULT, plan: 'pro', headline: 'Second' } })
  await messaging.event({ email: 'bob@example.com', event: 'other' })
  expect(await preview({}, ADA)).toEqual({ isMadeUp: false, to: ADA, mail: 'Second' })
  const second = await preview({ name: 'Another' }, 'bob@example.com')
  expect(second).toEqual({ isMadeUp: false, to: 'bob@example.com', mail: { missing: 'event.headline' } })
})
test('an unknown person gives no sample', async () => {
  expect(await preview({}, 'nobody@example.com')).toEqual({ refusal: 'contact_not_found' })
})

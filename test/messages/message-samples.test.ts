import { afterEach, beforeEach, expect, test } from 'bun:test'
import { makeSampleFor } from '../../src/messages/message-samples.ts'
import type { Trigger } from '../../src/store/message-types.ts'
import { createTestServer, TEMPLATES, type TestServer } from '../helper.ts'
import { createMessaging, type Messaging } from '../messaging.ts'

let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await createTestServer()
  messaging = await createMessaging(server)
})
afterEach(() => server.close())

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

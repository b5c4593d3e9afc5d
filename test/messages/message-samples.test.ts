import { beforeEach, expect, test } from 'bun:test'
import { makeSampleFor } from '../../src/messages/message-samples.ts'
import { makeSampleValue } from '../../src/messages/sample-values.ts'
import type { Trigger } from '../../src/store/message-types.ts'
import { TEMPLATES, type TestServer, useSharedServer } from '../helper.ts'
import { createMessaging, type Messaging } from '../messaging.ts'

const openServer = useSharedServer()
let server: TestServer
let messaging: Messaging
beforeEach(async () => {
  server = await openServer()
  messaging = await createMessaging(server)
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
    total: '$49.00',
    headline: 'Your 12 pictures are ready',
    url: 'https://first.example/results',
  })
  expect((await make({ tag: 'x' })).event).toBeNull()
})

test('fields of a made-up person, and the date that triggers the email', async () => {
  const mail = {
    subject: '{{ contact.fields.plan }} in {{ contact.fields.locale }}',
    body: '{{ contact.fields.seats | times: 2 }} {{ contact.fields.endsAt | date: "full" }}',
  }
  const trigger = { date: 'endsAt', days: 3, when: 'before' } as const
  const { contact } = await makeSampleFor(TEMPLATES, messaging.app, { content: { trigger, mail }, at: 0 })
  expect(contact.fields).toEqual({
    plan: 'Pro',
    locale: messaging.app.locale,
    seats: 12,
    endsAt: '1970-01-04T00:00:00.000Z',
  })
})

const MAKING = { at: 0, home: 'https://app.example.com', locale: 'en', timezone: 'UTC' }

test.each([
  ['projectTitle', 'text', 'Spring report'],
  ['favourite_colour', 'text', 'favourite colour'],
  ['resetsAt', 'text', '1970-01-04T00:00:00.000Z'],
  ['whenever', 'date', '1970-01-04T00:00:00.000Z'],
  ['invoiceUrl', 'text', 'https://app.example.com/results'],
  ['total', 'number', 49],
  ['runs', 'number', 12],
  ['invoice_id', 'text', '1042'],
  ['§', 'text', '§'],
] as const)('a value for %s as %s', (name, kind, value) => expect(makeSampleValue({ name, kind }, MAKING)).toBe(value))

/** One example per call, for the documentation; openapi.test.ts sends them. */

const APP = 'app_0mp6v7uo0u63b1cojcdwp'
const PERSON = 'con_029bh3swvls'

const EVENT = {
  app: APP,
  email: 'ada@example.com',
  event: 'results_ready',
  createContact: true,
  properties: { url: 'https://app.example.com/results/1', headline: 'Your 12 pictures are ready.' },
}

const CONTACT = {
  id: PERSON,
  app: APP,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  tags: ['beta'],
  fields: { plan: 'pro', seats: 3 },
  source: 'landing page',
  status: 'subscribed',
  createdAt: '2026-05-15T12:00:00.000Z',
  updatedAt: '2026-05-15T12:00:00.000Z',
  firstSeenAt: null,
  lastSeenAt: null,
  lastEventAt: '2026-05-15T12:00:00.000Z',
}

const STORED_EVENT = {
  id: 'evt_029bh3sx1xc',
  type: 'event',
  event: 'results_ready',
  path: null,
  email: 'ada@example.com',
  contactId: PERSON,
  properties: EVENT.properties,
  occurredAt: '2026-05-15T12:00:00.000Z',
  receivedAt: '2026-05-15T12:00:00.000Z',
  via: 'api',
}

const DELIVERY = {
  id: 'dlv_029bh3sx1xc',
  messageId: 'msg_029bh3swvls',
  version: 1,
  contactId: PERSON,
  state: 'waiting',
  reason: null,
  createdAt: '2026-05-15T12:00:00.000Z',
  triggeredAt: '2026-05-15T12:00:00.000Z',
  dueAt: '2026-05-15T12:10:00.000Z',
  sentAt: null,
  deliveredAt: null,
  cameBackAt: null,
  openedAt: null,
  mayHaveArrivedTwice: false,
  joinedTo: null,
  keyId: null,
  subject: null,
  message: 'Pictures ready',
  email: 'ada@example.com',
}

const RECORDED = { ok: true, contactId: PERSON, created: true }

/** `send`: the body, or the query of a GET. */
export type Example = {
  send: Record<string, unknown>
  /** parameters in the path */
  path?: Record<string, string>
  answer: Record<string, unknown>
  /** if the person already exists */
  again?: Record<string, unknown>
}

export const EXAMPLES = {
  postEvent: { send: EVENT, answer: RECORDED },
  postBatch: {
    send: { events: [EVENT, { app: APP, email: 'grace@example.com', event: 'signed_in' }] },
    answer: {
      ok: false,
      accepted: 1,
      results: [
        { index: 0, ...RECORDED },
        {
          index: 1,
          ok: false,
          error: 'contact_not_found',
          message:
            'This app has no person with this email. Send `createContact: true` with the event to add the person.',
        },
      ],
    },
  },
  getEvents: {
    send: { app: APP, email: 'ada@example.com', limit: '1' },
    answer: { ok: true, data: [STORED_EVENT], nextCursor: null },
  },
  postContact: {
    send: {
      app: APP,
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: 'Lovelace',
      tags: ['beta'],
      fields: { plan: 'pro', seats: 3 },
      source: 'landing page',
    },
    answer: { ...RECORDED, contact: { ...CONTACT, lastEventAt: null } },
    again: { ...RECORDED, created: false, contact: CONTACT },
  },
  patchContact: {
    send: {
      app: APP,
      email: 'ada@example.com',
      removeTags: ['trial'],
      fields: { plan: 'pro', trialEnds: null },
    },
    answer: { ...RECORDED, created: false, contact: CONTACT },
  },
  getContacts: { send: { app: APP, email: 'ada@example.com' }, answer: { ok: true, contact: CONTACT } },
  postSend: {
    send: {
      app: APP,
      email: 'ada@example.com',
      createContact: true,
      firstName: 'Ada',
      subject: 'Your receipt for {{ event.plan }}',
      body: 'Hello {{ contact.firstName | default: "there" }}, we received {{ event.total }}. Thank you!',
      properties: { plan: 'Pro', total: '$29.00' },
    },
    answer: { ok: true, deliveryId: DELIVERY.id, contactId: PERSON, created: true },
  },
  getDeliveries: {
    send: { app: APP, state: 'waiting', limit: '1' },
    answer: { ok: true, data: [DELIVERY], nextCursor: null },
  },
  getDelivery: {
    path: { delivery: DELIVERY.id },
    send: { app: APP },
    answer: {
      ok: true,
      delivery: { ...DELIVERY, state: 'sent', sentAt: '2026-05-15T12:10:00.000Z' },
      why: 'It was sent on 15 May 2026, 12:10 UTC.',
      decidedAt: '2026-05-15T12:10:00.000Z',
      rules: [
        { rule: 'suppression', verdict: 'pass', sentence: 'Ada can be emailed.' },
        { rule: 'message', verdict: 'pass', sentence: 'The message was live.' },
      ],
    },
  },
  cancelDelivery: {
    send: { app: APP, delivery: DELIVERY.id },
    answer: { ok: true, delivery: { ...DELIVERY, state: 'skipped', reason: 'cancelled' } },
  },
  sendDelivery: {
    send: { app: APP, delivery: DELIVERY.id },
    answer: { ok: true, delivery: { ...DELIVERY, dueAt: '2026-05-15T12:05:00.000Z' } },
  },
  postVisit: {
    send: {
      v: 1,
      site: 'site_0mp6v7uo0u63b1cojcdwp',
      email: 'ada@example.com',
      signature: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      id: 'm3x8k2.1',
      events: [{ type: 'page', path: '/results', age: 1200 }],
    },
    answer: { ok: true },
  },
  postBounce: {
    send: { kind: 'bounced', delivery: 'dlv_029bh3sx1xc', reason: '550 5.1.1 no such user' },
    answer: { ok: true },
  },
  takeSignedWebhook: {
    send: { type: 'email.delivered', data: { tags: { delivery: 'dlv_029bh3sx1xc' } } },
    answer: { ok: true },
  },
  takeWebhook: {
    send: { RecordType: 'Delivery', Metadata: { delivery: 'dlv_029bh3sx1xc' } },
    answer: { ok: true },
  },
  deleteContact: { send: { app: APP, email: 'ada@example.com' }, answer: { ok: true } },
} as const satisfies Record<string, Example>

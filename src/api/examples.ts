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

const CONTENT = {
  name: 'Pictures ready',
  trigger: { event: 'results_ready' },
  wait: { minutes: 10 },
  mail: {
    subject: '{{ event.headline }}',
    body: 'Hello, [see your pictures]({{ event.url | default: app.homeUrl }}).',
  },
}

const MESSAGE = {
  id: DELIVERY.messageId,
  name: CONTENT.name,
  status: 'live',
  version: 1,
  createdAt: '2026-05-15T11:00:00.000Z',
  updatedAt: '2026-05-15T11:05:00.000Z',
}

const SAVED = {
  ok: true,
  messageId: DELIVERY.messageId,
  status: 'draft',
  version: 1,
  updatedAt: '2026-05-15T11:00:00.000Z',
  change: 'created',
  waiting: 0,
}

const TOKEN = 'q3mC0gYb8T1nXv5kJd7wR2hLzPa9sEuF4iOtWcGyKxM'

const CHECKS = [
  { rule: 'suppression', verdict: 'pass', sentence: 'Ada can be emailed.' },
  { rule: 'message', verdict: 'pass', sentence: 'The message was live.' },
]

const RECORDED = { ok: true, contactId: PERSON, created: true }

/** `send`: the body, or the query of a GET. */
export type Example = {
  send: Record<string, unknown>
  /** parameters in the path */
  path?: Record<string, string>
  answer: Record<string, unknown>
  /** if the person or message already exists */
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
  exportContact: {
    send: { app: APP, email: 'ada@example.com' },
    answer: {
      ok: true,
      person: CONTACT,
      suppression: null,
      changes: [],
      topics: [],
      consents: [],
      emails: [],
      pageReports: [],
      deleted: { eventsUntil: null, pageViewsUntil: null },
      events: [STORED_EVENT],
    },
  },
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
      rules: CHECKS,
    },
  },
  cancelDelivery: {
    send: { app: APP, deliveryId: DELIVERY.id },
    answer: { ok: true, delivery: { ...DELIVERY, state: 'skipped', reason: 'cancelled' } },
  },
  sendDelivery: {
    send: { app: APP, deliveryId: DELIVERY.id },
    answer: { ok: true, delivery: { ...DELIVERY, dueAt: '2026-05-15T12:05:00.000Z' } },
  },
  getMessages: {
    send: { app: APP, limit: '1' },
    answer: {
      ok: true,
      data: [{ ...MESSAGE, trigger: CONTENT.trigger, counts: { sent: 12, cameBack: 5 } }],
      nextCursor: null,
    },
  },
  postMessage: {
    send: { app: APP, message: CONTENT },
    answer: SAVED,
    again: { ...SAVED, status: 'live', version: 2, change: 'changed', waiting: 3 },
  },
  getMessage: {
    path: { message: MESSAGE.id },
    send: { app: APP },
    answer: {
      ok: true,
      id: MESSAGE.id,
      status: MESSAGE.status,
      version: MESSAGE.version,
      createdAt: MESSAGE.createdAt,
      updatedAt: MESSAGE.updatedAt,
      counts: { sent: 12, skipped: 3, cameBack: 5, opened: 4 },
      results: {
        days: 30,
        started: 15,
        wouldSend: 12,
        sent: 12,
        cameBack: 5,
        opened: 4,
        reachedGoal: 0,
        heldBack: 0,
        notSent: [{ reason: 'seen', emails: 3 }],
      },
      message: CONTENT,
    },
  },
  previewMessage: {
    path: { message: MESSAGE.id },
    send: { app: APP, email: 'ada@example.com' },
    answer: {
      ok: true,
      mail: {
        to: 'ada@example.com',
        eventId: STORED_EVENT.id,
        isMadeUp: false,
        language: null,
        subject: 'Your 12 pictures are ready.',
        html: '<!doctype html>...',
        text: 'Hello, see your pictures: https://app.example.com/results/1 ...',
        refusedLinks: [],
        fault: null,
      },
      problems: [],
      warnings: [],
      token: TOKEN,
    },
  },
  simulateMessage: {
    path: { message: MESSAGE.id },
    send: { app: APP, days: '7', limit: '1' },
    answer: {
      ok: true,
      simulation: {
        from: '2026-05-08T12:00:00.000Z',
        until: '2026-05-15T12:00:00.000Z',
        triggered: 1,
        counts: { send: 1 },
        estimated: 0,
        notes: ['Daily and weekly limits per person are ignored, because they depend on other messages.'],
      },
      data: [
        {
          email: 'ada@example.com',
          contactId: PERSON,
          triggeredAt: '2026-05-15T11:00:00.000Z',
          dueAt: '2026-05-15T11:10:00.000Z',
          outcome: 'send',
          why: 'It would have been sent on 15 May 2026, 11:10 UTC.',
          rules: [{ rule: 'suppression', verdict: 'pass', sentence: 'ada@example.com can be emailed.', isToday: true }],
        },
      ],
      nextCursor: null,
    },
  },
  explainMessage: {
    path: { message: MESSAGE.id },
    send: { app: APP, email: 'ada@example.com' },
    answer: {
      ok: true,
      why: 'It was sent on 15 May 2026, 12:10 UTC.',
      decidedAt: '2026-05-15T12:10:00.000Z',
      rules: CHECKS,
      message: { id: MESSAGE.id, name: MESSAGE.name, status: MESSAGE.status },
      delivery: { ...DELIVERY, state: 'sent', sentAt: '2026-05-15T12:10:00.000Z' },
    },
  },
  postStatus: {
    send: { app: APP, messageId: MESSAGE.id, status: 'live', token: TOKEN },
    answer: { ok: true, messageId: MESSAGE.id, status: 'live' },
  },
  postTest: {
    send: { app: APP, messageId: MESSAGE.id, to: 'grace@example.com' },
    answer: { ok: true, outcome: 'sent', reason: null },
  },
  resendFailed: {
    send: { app: APP, reason: 'smtp_550' },
    answer: { ok: true, sent: 2, refused: 0, gone: 0, next: null },
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

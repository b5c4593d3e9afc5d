/** One example of each call, for the documentation; openapi.test.ts sends them. */

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

const RECORDED = { ok: true, contactId: PERSON, created: true }

/** `send` is a body, or for a GET its query. */
export type Example = { send: Record<string, unknown>; answer: Record<string, unknown> }

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
            'Nobody with this email is known to the app. Send `createContact: true` with the event to add the person.',
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
      newsletter: APP,
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: 'Lovelace',
      tags: ['beta'],
      fields: { plan: 'pro', seats: 3 },
      source: 'landing page',
    },
    answer: { ...RECORDED, contact: { ...CONTACT, lastEventAt: null } },
  },
  patchContact: {
    send: {
      newsletter: APP,
      email: 'ada@example.com',
      removeTags: ['trial'],
      fields: { plan: 'pro', trialEnds: null },
    },
    answer: { ...RECORDED, created: false, contact: CONTACT },
  },
  getContacts: { send: { app: APP, email: 'ada@example.com' }, answer: { ok: true, contact: CONTACT } },
  deleteContact: { send: { newsletter: APP, email: 'ada@example.com' }, answer: { ok: true } },
} as const satisfies Record<string, Example>

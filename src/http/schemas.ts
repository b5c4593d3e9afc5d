/**
 * What customers send, as the doors publish it: TypeBox schemas from which OpenAPI, MCP
 * and the documentation are made. The readers (event-input.ts, contact-input.ts) enforce them with better sentences and
 * a few rules that a schema cannot say; schemas.test.ts holds the two together. Unknown fields are allowed, and
 * ignored with a warning. `brief` is the description for a model. What the service answers stands in answer-schemas.ts.
 */
import { type TSchema, Type } from '@sinclair/typebox'
import * as limits from '../core/field-limits.ts'
import * as patterns from '../core/field-patterns.ts'

const appId = (description: string) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength: limits.MAX_APP_ID_CHARACTERS }))

const APP = appId('The app ID from the Activation screen. `newsletter` is its other name: send either.')
const NEWSLETTER = appId('The app ID from the Activation screen. `app` is its other name: send either.')

/**
 * Not without both names. TypeBox hands it on to JSON Schema without checking it; the readers do. `anyOf` would say the
 * same, but makers of typed clients read it as "or anything".
 */
const EITHER_APP_NAME = { not: { properties: { app: false, newsletter: false } } }

const EMAIL = Type.String({
  description:
    "The person's email: one plain address. Trimmed and lowercased to identify the person; international domains are folded to punycode.",
  pattern: patterns.EMAIL_PATTERN,
  examples: ['jane@example.com'],
})

const EVENT = Type.String({
  description:
    'The name of the event: 1 to 64 letters, digits, `_`, `.`, `:` and `-`. `results_ready` when results are ready for the first time.',
  pattern: patterns.EVENT_NAME_PATTERN,
  examples: ['results_ready'],
})

const PROPERTIES = Type.Object(
  {},
  {
    description:
      'Data of the event: compact JSON under 2 KB (2,048 bytes) and at most 32 levels deep. For `results_ready`: `url` (string, the page where the user sees the results) and `headline` (string, one sentence).',
    brief: 'under 2 KB; for results_ready: url of the results, headline',
    additionalProperties: true,
    examples: [{ url: 'https://app.example.com/results/1', headline: 'Your 12 pictures are ready' }],
  },
)

const CREATE_CONTACT = Type.Boolean({
  description: 'When true, adds the person if the service does not know them yet; without it, false.',
  brief: 'add the person if unknown',
})

const name = (description: string) =>
  Type.Union(
    [Type.String({ pattern: patterns.NO_CONTROL_PATTERN, maxLength: limits.MAX_NAME_CHARACTERS }), Type.Null()],
    { description },
  )

const shortText = (maxLength: number, description?: string) =>
  Type.String({ description, minLength: 1, maxLength, pattern: patterns.NO_CONTROL_PATTERN })

const tags = (description: string) =>
  Type.Array(shortText(limits.MAX_TAG_CHARACTERS), { description, maxItems: limits.MAX_TAGS })

const FIELDS = Type.Record(
  Type.String({ pattern: patterns.CUSTOM_FIELD_KEY_PATTERN }),
  Type.Union([
    Type.String({ maxLength: limits.MAX_CUSTOM_FIELD_TEXT_CHARACTERS }),
    Type.Number(),
    Type.Boolean(),
    Type.Null(),
  ]),
  {
    description:
      "The customer's own data about the person: up to 100 keys and 16 KB in all, texts of up to 1,000 characters. What is not sent stays; null removes.",
    brief: 'own data; null removes a key',
    additionalProperties: false,
    maxProperties: limits.MAX_CUSTOM_FIELDS,
    examples: [{ plan: 'pro', seats: 3 }],
  },
)

const source = (description: string) => shortText(limits.MAX_SOURCE_CHARACTERS, description)

const IP = Type.String({
  description: "The visitor's IPv4 or IPv6 address, for the limit per visitor. It is never stored.",
  brief: "the visitor's; never stored",
  maxLength: limits.MAX_IP_CHARACTERS,
  pattern: patterns.IP_PATTERN,
  examples: ['203.0.113.7', '2001:db8::1'],
})

/** POST /events, and each item of the batch. */
export const EventInput = Type.Object(
  {
    app: APP,
    newsletter: NEWSLETTER,
    email: EMAIL,
    event: { ...EVENT, brief: 'A-Z a-z 0-9 _ . : -; `results_ready`: results are ready for the first time' },
    properties: Type.Optional(PROPERTIES),
    createContact: Type.Optional(CREATE_CONTACT),
    firstName: Type.Optional(name('First name of a new person; fills an empty one of a known person.')),
    lastName: Type.Optional(name('Last name of a new person; fills an empty one of a known person.')),
    occurredAt: Type.Optional(
      Type.String({
        description:
          'When it happened, ISO 8601 with a timezone; without it, now. Older than 72 hours is stored and triggers nothing; over 10 minutes ahead is refused.',
        brief: 'ISO 8601 with a timezone',
        pattern: patterns.TIME_PATTERN,
        examples: ['2026-03-01T12:00:00Z'],
      }),
    ),
  },
  { title: 'EventInput', description: 'An event of one person.', ...EITHER_APP_NAME },
)

const CONTACT_FIELDS = {
  newsletter: NEWSLETTER,
  app: APP,
  email: EMAIL,
  firstName: Type.Optional(name('First name; null clears it.')),
  lastName: Type.Optional(name('Last name; null clears it.')),
} as const satisfies Record<string, TSchema>

/** POST /contacts. */
export const ContactInput = Type.Object(
  {
    ...CONTACT_FIELDS,
    tags: Type.Optional(tags('Tags to add, up to 50 at a time and 200 in all.')),
    fields: Type.Optional(FIELDS),
    source: Type.Optional(source('Where the person came from. The first one stays.')),
    ip: Type.Optional(IP),
  },
  {
    title: 'ContactInput',
    description: 'A person to add, or to merge into the one with this email.',
    ...EITHER_APP_NAME,
  },
)

/** PATCH /contacts. */
export const ContactUpdateInput = Type.Object(
  {
    ...CONTACT_FIELDS,
    tags: Type.Optional(tags('Tags to add, up to 50 at a time and 200 in all.')),
    removeTags: Type.Optional(tags('Tags to remove; none that `tags` adds.')),
    fields: Type.Optional(FIELDS),
    source: Type.Optional(source('Where the person came from; replaces what is stored.')),
    ip: Type.Optional(IP),
  },
  {
    title: 'ContactUpdateInput',
    description: 'What to change of a known person. What is not sent stays as it is.',
    ...EITHER_APP_NAME,
  },
)

/** DELETE /contacts. */
export const ContactErase = Type.Object(
  { newsletter: NEWSLETTER, app: APP, email: EMAIL },
  { title: 'ContactErase', description: 'The person to erase everywhere.', ...EITHER_APP_NAME },
)

/** POST /events/batch. */
export const BatchInput = Type.Object(
  {
    events: Type.Array(EventInput, {
      description: 'Events, each judged and answered by itself.',
      minItems: 1,
      maxItems: limits.MAX_BATCH_EVENTS,
    }),
  },
  { title: 'BatchInput', description: 'Up to 100 events in 256 KB.' },
)

const PAGE = {
  cursor: Type.Optional(
    Type.String({ description: '`nextCursor` of the page before.', maxLength: limits.MAX_CURSOR_CHARACTERS }),
  ),
  limit: Type.Optional(
    Type.Integer({
      description: 'How many to give, newest first.',
      minimum: 1,
      maximum: limits.MAX_PAGE_ITEMS,
      default: limits.DEFAULT_PAGE_ITEMS,
    }),
  ),
} as const satisfies Record<string, TSchema>

/** GET /contacts: one person with `email`, else a page of people. */
export const ContactQuery = Type.Object(
  {
    app: APP,
    newsletter: NEWSLETTER,
    email: Type.Optional(EMAIL),
    ...PAGE,
    tag: Type.Optional(shortText(limits.MAX_TAG_CHARACTERS, 'Only people with this tag.')),
    updatedAfter: Type.Optional(
      Type.String({
        description: 'Only people changed after this time, ISO 8601 with a timezone.',
        brief: 'ISO 8601 with a timezone',
        pattern: patterns.TIME_PATTERN,
      }),
    ),
  },
  EITHER_APP_NAME,
)

/** GET /events. */
export const EventQuery = Type.Object(
  { app: APP, newsletter: NEWSLETTER, email: Type.Optional(EMAIL), event: Type.Optional(EVENT), ...PAGE },
  EITHER_APP_NAME,
)

const VisitItem = Type.Object(
  {
    type: Type.Union([Type.Literal('page'), Type.Literal('leave'), Type.Literal('here'), Type.Literal('track')], {
      description: 'A page was opened, was left, is still open; or an action.',
    }),
    path: Type.String({ description: 'The path of the page; what follows `?` or `#` is dropped.', pattern: '^/' }),
    age: Type.Number({ description: 'Milliseconds since it happened.', minimum: 0, maximum: 86_400_000 }),
    name: Type.Optional(
      Type.String({ description: 'With `track`: the name of the action.', pattern: patterns.EVENT_NAME_PATTERN }),
    ),
  },
  { title: 'VisitItem', description: 'What happened on a page.' },
)

/** POST /c. */
export const VisitReport = Type.Object(
  {
    v: Type.Literal(1, { description: 'The version of the report.' }),
    site: Type.String({ description: 'The site ID of the script tag.', minLength: 1 }),
    email: EMAIL,
    signature: Type.String({
      description: 'HMAC-SHA256 of the email under the identity secret, in lowercase hexadecimal.',
      minLength: 1,
    }),
    id: Type.String({
      description: 'The ID of the report, the same when it is sent again.',
      pattern: '^[\\x20-\\x7e]{1,64}$',
    }),
    events: Type.Array(VisitItem, { description: 'What happened.', minItems: 1, maxItems: 20 }),
  },
  { title: 'VisitReport', description: 'What the browser script saw of one person.' },
)

/** POST /hooks/bounces/{app}. */
export const BounceReport = Type.Object(
  {
    kind: Type.Union([Type.Literal('bounced'), Type.Literal('complained')], {
      description: 'The mail came back, or the person complained about it.',
    }),
    delivery: Type.Optional(
      Type.String({ description: 'The ID of the delivery (`dlv_...`), or the Message-ID of its mail.' }),
    ),
    email: Type.Optional(
      Type.String({
        description: 'Whom no more mail goes to; needed without `delivery`.',
        pattern: patterns.EMAIL_PATTERN,
        examples: ['jane@example.com'],
      }),
    ),
    reason: Type.Optional(shortText(200, 'What the mail server said.')),
  },
  { title: 'BounceReport', description: 'What became of a mail that went out.' },
)

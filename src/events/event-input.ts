/** From the body of POST /events, or an item of the batch, to a clean event. */
import { Type } from '@sinclair/typebox'
import { RESULTS_READY, TIME_PATTERN } from '../core/field-patterns.ts'
import { APP, EITHER_APP_NAME, EMAIL, EVENT, nameField, NEWSLETTER } from '../core/field-schemas.ts'
import { MAX_BATCH_EVENTS, MAX_FIELD_DEPTH, PROPERTIES_BYTES_BOUND } from '../core/field-limits.ts'
import type { AppRow, EventWrite } from '../store/types.ts'
import * as readers from '../core/field-readers.ts'
import { isDeeperThan, isJsonObject } from '../core/json.ts'
import type { FieldError, Warning } from '../core/refusals.ts'

/** What happened longer ago is stored and triggers nothing. */
const TRIGGER_AGE_MS = 72 * 3_600_000

/** Whether something came (`at`) too long after it happened. Times are ms UTC. */
export const isTooOld = ({ at, occurredAt }: { at: number; occurredAt: number }): boolean =>
  occurredAt < at - TRIGGER_AGE_MS

export type EventFields = {
  app: string
  /** Identity form; `emailShown` is as it was sent. */
  email: string
  emailShown: string
  event: string
  /** Compact JSON, at most 2,047 bytes of UTF-8. */
  properties: string | null
  createContact: boolean
  firstName: string | null
  lastName: string | null
  /** Milliseconds since 1970; null means now. */
  occurredAt: number | null
  /** The property `url` of a `results_ready`, for the link rule. */
  url: string | null
}

type Properties = Pick<EventFields, 'properties' | 'url'>

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

/** POST /events, and each item of the batch. */
export const EventInput = Type.Object(
  {
    app: APP,
    newsletter: NEWSLETTER,
    email: EMAIL,
    event: { ...EVENT, brief: 'A-Z a-z 0-9 _ . : -; `results_ready`: results are ready for the first time' },
    properties: Type.Optional(PROPERTIES),
    createContact: Type.Optional(CREATE_CONTACT),
    firstName: Type.Optional(nameField('First name of a new person; fills an empty one of a known person.')),
    lastName: Type.Optional(nameField('Last name of a new person; fills an empty one of a known person.')),
    occurredAt: Type.Optional(
      Type.String({
        description:
          'When it happened, ISO 8601 with a timezone; without it, now. Older than 72 hours is stored and triggers nothing; over 10 minutes ahead is refused.',
        brief: 'ISO 8601 with a timezone',
        pattern: TIME_PATTERN,
        examples: ['2026-03-01T12:00:00Z'],
      }),
    ),
  },
  { title: 'EventInput', description: 'An event of one person.', ...EITHER_APP_NAME },
)

/** POST /events/batch. */
export const BatchInput = Type.Object(
  {
    events: Type.Array(EventInput, {
      description: 'Events, each judged and answered by itself.',
      minItems: 1,
      maxItems: MAX_BATCH_EVENTS,
    }),
  },
  { title: 'BatchInput', description: 'Up to 100 events in 256 KB.' },
)

/** In the order of the schema, which is the order of the errors. */
const EVENT_FIELD_NAMES: ReadonlySet<string> = new Set(Object.keys(EventInput.properties))

const NO_PROPERTIES: Properties = { properties: null, url: null }

/** Reads one event. `now` in milliseconds since 1970. Errors name every field that fails, in the schema's order. */
export function readEventInput(body: readers.Body, now: number): readers.Reading<EventFields> {
  const errors: FieldError[] = []
  const app = readers.readAppId(body, 'app', errors)
  const address = readers.readAddress(body.email, errors)
  const event = readers.readEventName(body.event, errors)
  const { properties, url } = readProperties(body.properties, event, errors)
  const input: EventFields = {
    app,
    email: address.email,
    emailShown: address.shown,
    event,
    properties,
    createContact: readers.readFlag(body.createContact, 'createContact', errors),
    firstName: readers.readName(body.firstName, 'firstName', errors) ?? null,
    lastName: readers.readName(body.lastName, 'lastName', errors) ?? null,
    occurredAt: readers.readOccurredAt(body.occurredAt, now, errors),
    url,
  }
  if (errors.length > 0) return { errors }
  const warnings = readers.warnOfUnknown(body, EVENT_FIELD_NAMES)
  const { occurredAt } = input
  if (occurredAt !== null && isTooOld({ at: now, occurredAt })) warnings.push(TOO_OLD)
  return { input, warnings }
}

const TOO_OLD: Warning = {
  field: 'occurredAt',
  code: 'too_old',
  message: 'This is more than 72 hours ago. The event is stored, but it triggers no message.',
}

function readProperties(value: unknown, event: string, errors: FieldError[]): Properties {
  if (value === undefined) return NO_PROPERTIES
  const add = (code: string, message: string): Properties => {
    readers.addError(errors, 'properties', code, message)
    return NO_PROPERTIES
  }
  if (!isJsonObject(value)) return add('invalid', 'Send a JSON object.')
  // a body's depth is judged when it is parsed; this is for items of a batch and for other doors
  if (isDeeperThan(value, MAX_FIELD_DEPTH)) return add('invalid', `Send at most ${MAX_FIELD_DEPTH} levels of objects.`)
  const text = JSON.stringify(value)
  if (isTooLarge(text)) return add('too_large', 'Send less than 2 KB (2,048 bytes of compact JSON).')
  if (event !== RESULTS_READY) return { properties: text, url: null }
  const { url, headline } = value
  if (!isTextOrAbsent(url) || !isTextOrAbsent(headline))
    return add('invalid', 'With results_ready, send `url` and `headline` as strings, or leave them out.')
  return { properties: text, url: url ?? null }
}

/** A character of UTF-16 takes at most three bytes of UTF-8, so most need no count. */
const isTooLarge = (text: string): boolean =>
  text.length * 3 >= PROPERTIES_BYTES_BOUND && Buffer.byteLength(text) >= PROPERTIES_BYTES_BOUND

const isTextOrAbsent = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string'

type EventContext = Pick<EventWrite, 'via' | 'buckets' | 'idempotency' | 'newPeoplePerMonth' | 'at'> & {
  app: Pick<AppRow, 'id' | 'accountId'>
}

/** What the store is told of an event that came from a server. */
export function eventWrite(context: EventContext, fields: EventFields): EventWrite {
  const { app } = context
  return {
    accountId: app.accountId,
    appId: app.id,
    email: fields.email,
    shownEmail: fields.emailShown === fields.email ? null : fields.emailShown,
    newPeoplePerMonth: context.newPeoplePerMonth,
    createContact: fields.createContact,
    firstName: fields.firstName,
    lastName: fields.lastName,
    type: 'event',
    name: fields.event,
    properties: fields.properties,
    path: null,
    via: context.via,
    at: context.at,
    occurredAt: fields.occurredAt,
    buckets: context.buckets,
    idempotency: context.idempotency,
  }
}

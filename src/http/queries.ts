/** Validates the query of a GET. */
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { readEmail } from '../core/email.ts'
import * as fields from '../core/field-schemas.ts'
import * as limits from '../core/field-limits.ts'
import { TIME_PATTERN } from '../core/field-patterns.ts'
import { publicId, readPublicId } from '../core/ids.ts'
import { type Body, createReader, type Fault, faultOf, type Rules } from '../core/inputs.ts'
import { listNames, quoteName } from '../core/json.ts'
import type { FieldError } from '../core/refusals.ts'
import type { ContactCursor } from '../store/contacts.ts'
import { DELIVERY_STATES, type DeliveryState } from '../store/message-types.ts'

export type EventsQuery = {
  app: string
  email: string | null
  event: string | null
  before: number | null
  limit: number
}

export type DeliveriesQuery = Omit<EventsQuery, 'event'> & { state: DeliveryState | null }

export type ContactsQuery = {
  app: string
  email: string | null
  tag: string | null
  /** ms UTC */
  updatedAfter: number | null
  before: ContactCursor | null
  limit: number
}

export type Query = Record<string, string>
type Read<T> = { input: T } | { errors: FieldError[] }

export const CURSOR = Type.String({
  description: '`nextCursor` of the previous page.',
  maxLength: limits.MAX_CURSOR_CHARACTERS,
  say: 'Send `nextCursor` of the previous page, with the same filters.',
})

/** A whole number from 1. */
export const count = (maximum: number, options: { description?: string; default?: number } = {}) =>
  Type.Integer({ ...options, minimum: 1, maximum, say: `Send a whole number from 1 to ${maximum}.` })

export const PAGE = {
  cursor: Type.Optional(CURSOR),
  limit: Type.Optional(
    count(limits.MAX_PAGE_ITEMS, {
      description: 'How many to return.',
      default: limits.DEFAULT_PAGE_ITEMS,
    }),
  ),
} as const satisfies Record<string, TSchema>

/** In a query, + means a space; many clients don't encode it as %2B. */
const unlessSpace = (say: string, sayOfPlus: string) => (value: unknown) =>
  typeof value === 'string' && value.trim().includes(' ') ? sayOfPlus : say

const EMAIL = {
  ...fields.EMAIL,
  description: 'Only this person. Trimmed and lowercased; international domains become punycode.',
  say: unlessSpace(fields.INVALID_EMAIL, 'Send one email address. Encode each `+` as `%2B`.'),
}

const UPDATED_AFTER = Type.String({
  description: 'Only people changed after this time, ISO 8601 with a timezone.',
  brief: 'ISO 8601 with a timezone',
  pattern: TIME_PATTERN,
  say: unlessSpace(
    'Send an ISO 8601 time with a timezone, such as 2026-03-01T12:00:00Z.',
    'Send an ISO 8601 time with a timezone. Encode `+` as `%2B`.',
  ),
})

const TAG = {
  ...fields.shortText(limits.MAX_TAG_CHARACTERS, 'a tag', 'Only people with this tag.'),
  say: `Send a tag of 1 to ${limits.MAX_TAG_CHARACTERS} characters.`,
}

/** GET /contacts: one person with `email`, else a page of people. */
export const ContactQuery = Type.Object(
  {
    app: fields.APP,
    newsletter: fields.NEWSLETTER,
    email: Type.Optional(EMAIL),
    tag: Type.Optional(TAG),
    updatedAfter: Type.Optional(UPDATED_AFTER),
    ...PAGE,
  },
  fields.EITHER_APP_NAME,
)

/** GET /events. */
export const EventQuery = Type.Object(
  {
    app: fields.APP,
    newsletter: fields.NEWSLETTER,
    email: Type.Optional(EMAIL),
    event: Type.Optional({ ...fields.EVENT, description: 'Only events with this name.' }),
    ...PAGE,
  },
  fields.EITHER_APP_NAME,
)

const STATE = Type.Union(
  DELIVERY_STATES.map((state) => Type.Literal(state)),
  { description: 'Only deliveries in this state.', say: `Send one of ${DELIVERY_STATES.join(', ')}.` },
)

/** GET /deliveries. */
export const DeliveryQuery = Type.Object(
  {
    app: fields.APP,
    newsletter: fields.NEWSLETTER,
    email: Type.Optional(EMAIL),
    state: Type.Optional(STATE),
    ...PAGE,
  },
  fields.EITHER_APP_NAME,
)

/** Of a call whose path names what it is about. */
export const AppQuery = Type.Object({ app: fields.APP, newsletter: fields.NEWSLETTER }, fields.EITHER_APP_NAME)

/** Parameters without effect next to `email`. */
const OF_LISTS = ['tag', 'updatedAfter', 'cursor'] as const

/** Repeated parameters are refused, because either value could be meant. */
export function readParameters(sent: URLSearchParams): Read<Query> {
  const [names, twice] = [new Set<string>(), new Set<string>()]
  for (const name of sent.keys()) (names.has(name) ? twice : names).add(name)
  const errors: FieldError[] = []
  for (const name of [...twice].slice(0, limits.MAX_UNKNOWN_FIELD_WARNINGS)) {
    errors.push({ field: quoteName(name), code: 'invalid', message: 'Send this parameter once.' })
  }
  return errors.length > 0 ? { errors } : { input: Object.fromEntries(sent) }
}

type JsonReader<C, R> = (body: Body, context: C) => Read<R>

/** Unlike in a body, unknown names are refused: a mistyped filter would list everyone. */
export function refuseUnknown<C, R>(
  read: JsonReader<C, R>,
  body: Body,
  context: C,
  known: ReadonlySet<string>,
): Read<R> {
  const unknown = findUnknown(body, known)
  const reading = read(body, context)
  const errors = [...unknown, ...('errors' in reading ? reading.errors : [])]
  return 'errors' in reading || errors.length > 0 ? { errors } : reading
}

/** Whole numbers of a query string become numbers; everything else stays text. */
const parseQuery = ({ properties }: TObject, query: Query): Body =>
  Object.fromEntries(Object.entries(query).map(([name, text]) => [name, parseParameter(properties[name], text)]))

const parseParameter = (schema: TSchema | undefined, text: string): unknown =>
  schema?.type === 'integer' && /^\d{1,3}$/.test(text) ? Number(text) : text

/** GET /events. */
const readEvents = createReader({ schema: EventQuery, clean: cleanEventsQuery, rules: () => EVENT_RULES })
const EVENT_NAMES = new Set(Object.keys(EventQuery.properties))

export const readEventsQuery = (query: Query): Read<EventsQuery> => readEventsFilter(parseQuery(EventQuery, query))

/** As JSON. `names`: the known ones, if not all of them. */
export const readEventsFilter = (sent: Body, names: ReadonlySet<string> = EVENT_NAMES): Read<EventsQuery> =>
  refuseUnknown(readEvents, sent, null, names)

function cleanEventsQuery(sent: Static<typeof EventQuery>): EventsQuery | null {
  const app = fields.findAppId(sent)
  const email = cleanEmail(sent.email)
  const before = sent.cursor === undefined ? null : readIdCursor(sent.cursor)
  if (app === null || email === undefined || (sent.cursor !== undefined && before === null)) return null
  return { app, email, event: sent.event ?? null, before, limit: sent.limit ?? limits.DEFAULT_PAGE_ITEMS }
}

/** The identity form; null if missing, undefined if invalid. */
const cleanEmail = (text: string | undefined): string | null | undefined =>
  text === undefined ? null : readEmail(text)?.email

const emailRule = (value: unknown): Fault | null =>
  typeof value === 'string' && readEmail(value) === null ? faultOf(EMAIL, 'invalid', value) : null

export const cursorRule =
  (isRead: (text: string, body: Body) => boolean): Rules[string] =>
  (value, body) =>
    typeof value === 'string' && !isRead(value, body) ? faultOf(CURSOR, 'invalid', value) : null

export const idCursorRule = cursorRule((text) => readIdCursor(text) !== null)

const EVENT_RULES: Rules = { ...fields.appRules(EventQuery), email: emailRule, cursor: idCursorRule }

/** GET /deliveries. */
const readDeliveries = createReader({
  schema: DeliveryQuery,
  clean: cleanDeliveriesQuery,
  rules: () => ({ ...fields.appRules(DeliveryQuery), email: emailRule, cursor: idCursorRule }),
})
const DELIVERY_NAMES = new Set(Object.keys(DeliveryQuery.properties))

export const readDeliveriesQuery = (query: Query): Read<DeliveriesQuery> =>
  refuseUnknown(readDeliveries, parseQuery(DeliveryQuery, query), null, DELIVERY_NAMES)

function cleanDeliveriesQuery(sent: Static<typeof DeliveryQuery>): DeliveriesQuery | null {
  const app = fields.findAppId(sent)
  const email = cleanEmail(sent.email)
  const before = sent.cursor === undefined ? null : readIdCursor(sent.cursor)
  if (app === null || email === undefined || (sent.cursor !== undefined && before === null)) return null
  return { app, email, state: sent.state ?? null, before, limit: sent.limit ?? limits.DEFAULT_PAGE_ITEMS }
}

const readApp = createReader({
  schema: AppQuery,
  clean: (sent: Static<typeof AppQuery>) => {
    const app = fields.findAppId(sent)
    return app === null ? null : { app }
  },
  rules: () => fields.appRules(AppQuery),
})
const APP_NAMES = new Set(Object.keys(AppQuery.properties))

export const readAppQuery = (query: Query): Read<{ app: string }> => refuseUnknown(readApp, query, null, APP_NAMES)

/** GET /contacts. */
const readContacts = createReader({ schema: ContactQuery, clean: cleanContactsQuery, rules: () => CONTACT_RULES })
const CONTACT_NAMES = new Set(Object.keys(ContactQuery.properties))

export const readContactsQuery = (query: Query): Read<ContactsQuery> =>
  readContactsFilter(parseQuery(ContactQuery, query))

/** As JSON. */
export function readContactsFilter(sent: Body): Read<ContactsQuery> {
  const reading = refuseUnknown(readContacts, sent, null, CONTACT_NAMES)
  const beside = findBesideEmail(sent)
  if (beside.length === 0) return reading
  const errors = 'errors' in reading ? reading.errors : []
  const isUnknown = ({ code }: FieldError): boolean => code === 'unknown'
  return { errors: [...errors.filter(isUnknown), ...beside, ...errors.filter((error) => !isUnknown(error))] }
}

const timeOf = (text: unknown): number | null => (typeof text === 'string' ? fields.parseTime(text) : null)

const CONTACT_RULES: Rules = {
  ...fields.appRules(ContactQuery),
  email: emailRule,
  updatedAfter: (value) =>
    value !== undefined && timeOf(value) === null ? faultOf(UPDATED_AFTER, 'invalid', value) : null,
  cursor: cursorRule((text, { updatedAfter }) => readContactCursor(text, timeOf(updatedAfter) !== null) !== null),
}

function cleanContactsQuery(sent: Static<typeof ContactQuery>): ContactsQuery | null {
  const { cursor, tag = null, limit = limits.DEFAULT_PAGE_ITEMS } = sent
  const app = fields.findAppId(sent)
  const email = cleanEmail(sent.email)
  const updatedAfter = timeOf(sent.updatedAfter)
  const before = cursor === undefined ? null : readContactCursor(cursor, updatedAfter !== null)
  if (app === null || email === undefined || (cursor !== undefined && before === null)) return null
  if (sent.updatedAfter !== undefined && updatedAfter === null) return null
  return { app, email, tag, updatedAfter, before, limit }
}

export function findUnknown(query: Body, known: ReadonlySet<string>): FieldError[] {
  const unknown = Object.keys(query).filter((name) => !known.has(name))
  const message =
    known.size === 0
      ? 'Unknown parameter. This call has no parameters.'
      : `Unknown parameter. Known parameters: ${listNames(known)}.`
  return unknown
    .slice(0, limits.MAX_UNKNOWN_FIELD_WARNINGS)
    .map((name) => ({ field: quoteName(name), code: 'unknown', message }))
}

function findBesideEmail(query: Body): FieldError[] {
  if (query.email === undefined) return []
  const message = 'This has no effect together with `email`, which finds one person. Remove one of them.'
  return OF_LISTS.filter((one) => query[one] !== undefined).map((field) => ({ field, code: 'conflict', message }))
}

/** Includes the time of change if the list is in that order. */
export const writeContactCursor = ({ id, updatedAt }: ContactCursor): string =>
  updatedAt === null ? writeNumber(id) : `${writeNumber(id)}.${writeNumber(updatedAt)}`

export const writeIdCursor = (id: number): string => writeNumber(id)

/** Encoded like a public ID, which detects typing errors. */
const writeNumber = (number: number): string => publicId('evt', number).slice('evt_'.length)
const readNumber = (text: string): number | null => readPublicId('evt', `evt_${text}`)

export const readIdCursor = readNumber

export function readContactCursor(text: string, byChange: boolean): ContactCursor | null {
  const numbers = text.split('.').map(readNumber)
  const [id = null, updatedAt = null] = numbers
  const isOne = id !== null && (updatedAt !== null) === byChange && numbers.length === (byChange ? 2 : 1)
  return isOne ? { id, updatedAt } : null
}

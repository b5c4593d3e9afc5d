/** Validates the query of a GET. */
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { readEmail } from '../core/email.ts'
import * as fields from '../core/field-schemas.ts'
import * as limits from '../core/field-limits.ts'
import { TIME_PATTERN } from '../core/field-patterns.ts'
import { idOf, publicId, readPublicId } from '../core/ids.ts'
import { HOUR_MS } from '../core/clock.ts'
import { type Body, createReader, type Fault, faultOf, isFault, nameKnown, type Rules } from '../core/inputs.ts'
import { quoteName } from '../core/json.ts'
import type { FieldError } from '../core/refusals.ts'
import type { ContactCursor } from '../store/contacts.ts'
import { DELIVERY_STATES } from '../store/message-types.ts'

export type EventsQuery = {
  app: string
  email: string | null
  event: string | null
  before: number | null
  limit: number
}

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
  description: '`nextCursor` from the previous page.',
  maxLength: limits.MAX_CURSOR_CHARACTERS,
  say: 'Send `nextCursor` from the previous page, with the same filters.',
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
const unlessSpace = (say: (value: unknown) => string, sayOfPlus: string) => (value: unknown) =>
  typeof value === 'string' && value.trim().includes(' ') ? sayOfPlus : say(value)

const EMAIL = {
  ...fields.EMAIL,
  description: 'Only this person. Trimmed and lowercased; international domains become punycode.',
  say: unlessSpace(fields.describeWrongEmail, 'Send one email address. Encode each `+` as `%2B`.'),
}

/** With its own description. */
export const queryEmail = (description: string) => ({ ...EMAIL, description })

const UPDATED_AFTER = Type.String({
  description: 'Only people changed after this time, ISO 8601 with a timezone.',
  brief: 'ISO 8601 with timezone',
  pattern: TIME_PATTERN,
  say: unlessSpace(
    () => 'Send an ISO 8601 time with a timezone, such as 2026-03-01T12:00:00Z.',
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

/** GET /contacts/export. */
export const PersonQuery = Type.Object(
  { app: fields.APP, newsletter: fields.NEWSLETTER, email: queryEmail('The person.') },
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

const MESSAGE_ID = Type.String({
  description: 'Only deliveries from this message, `msg_...`.',
  say: 'Send a message ID from GET /messages.',
})

const STATE = Type.Union(
  DELIVERY_STATES.map((state) => Type.Literal(state)),
  { description: 'Only deliveries in this state.', say: `Send one of ${DELIVERY_STATES.join(', ')}.` },
)

/** GET /deliveries. */
export const DeliveryQuery = Type.Object(
  {
    app: fields.APP,
    newsletter: fields.NEWSLETTER,
    messageId: Type.Optional(MESSAGE_ID),
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

const DEFAULT_SIMULATED_DAYS = 7
const MOST_SIMULATED_DAYS = 30
/** For this long, later pages can continue the simulation of the first page. */
const SIMULATED_PAGES_MS = HOUR_MS

/** Parameters of a simulation. Later pages show it as of the first page's time. */
export const SIMULATED = {
  days: Type.Optional(
    count(MOST_SIMULATED_DAYS, { description: 'How many days back.', default: DEFAULT_SIMULATED_DAYS }),
  ),
  ...PAGE,
}

type Simulated = { days?: number; cursor?: string; limit?: number }

/** `skip`: lines shown so far. `at`: the time of the simulation (ms UTC). */
export function readSimulated({ days = DEFAULT_SIMULATED_DAYS, cursor, limit }: Simulated, now: number) {
  const place = cursor === undefined ? { skip: 0, at: now } : readPlace(cursor, now)
  return isFault(place) ? null : { days, ...place, limit: limit ?? limits.DEFAULT_PAGE_ITEMS }
}

export const simulatedRules = (now: number): Rules => ({
  cursor: (cursor) => (typeof cursor === 'string' ? faultIn(readPlace(cursor, now)) : null),
})

const faultIn = (read: object): Fault | null => (isFault(read) ? read : null)

const EXPIRED: Fault = { code: 'invalid', message: 'This cursor has expired. Start again without a cursor.' }

function readPlace(text: string, now: number): { skip: number; at: number } | Fault {
  const place = readContactCursor(text, true)
  if (!place || place.updatedAt === null) return faultOf(CURSOR, 'invalid', text)
  const isRecent = place.updatedAt <= now && place.updatedAt > now - SIMULATED_PAGES_MS
  return isRecent ? { skip: place.id, at: place.updatedAt } : EXPIRED
}

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

/** Whole numbers, true and false become values; everything else stays text. */
const parseQuery = ({ properties }: TObject, query: Query): Body =>
  Object.fromEntries(Object.entries(query).map(([name, text]) => [name, parseParameter(properties[name], text)]))

const parseParameter = (schema: TSchema | undefined, text: string): unknown =>
  schema?.type === 'integer' && /^\d{1,3}$/.test(text)
    ? Number(text)
    : schema?.type === 'boolean' && (text === 'true' || text === 'false')
      ? text === 'true'
      : text

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

type WithEmail = { email?: string }

/** Reads the query of a GET that names an app, and maybe a person. `clean` returns null for what `rules` refuse. */
export function createQuery<S extends TObject, R extends object>(
  schema: S,
  clean: (sent: Static<S>, now: number) => R | null,
  rules: (now: number) => Rules = () => ({}),
): (query: Query, now: number) => Read<{ app: string; email: string | null } & R> {
  const read = createReader({
    schema: schema as TObject,
    clean: (sent: Body, now: number) => {
      const [app, email] = [fields.findAppId(sent), cleanEmail((sent as WithEmail).email)]
      const isRefused = Object.entries(rules(now)).some(([name, rule]) => rule(sent[name], sent) !== null)
      const cleaned = app === null || email === undefined || isRefused ? null : clean(sent as Static<S>, now)
      return app === null || email === undefined || cleaned === null ? null : { app, email, ...cleaned }
    },
    rules: (now) => ({ ...fields.appRules(schema), email: emailRule, ...rules(now) }),
  })
  const known = new Set(Object.keys(schema.properties))
  return (query, now) => refuseUnknown(read, parseQuery(schema, query), now, known)
}

export const readDeliveriesQuery = createQuery(
  DeliveryQuery,
  ({ messageId, state = null, cursor, limit = limits.DEFAULT_PAGE_ITEMS }) => ({
    messageId: messageId === undefined ? null : idOf('msg', messageId),
    state,
    before: cursor === undefined ? null : readIdCursor(cursor),
    limit,
  }),
  () => ({ cursor: idCursorRule }),
)

export const readAppQuery = createQuery(AppQuery, () => ({}))

const readPerson = createQuery(PersonQuery, () => ({}))

/** Always with an email, which the schema requires. */
export function readPersonQuery(query: Query, now: number): Read<{ app: string; email: string }> {
  const reading = readPerson(query, now)
  if ('errors' in reading) return reading
  const { app, email } = reading.input
  return { input: { app, email: email ?? '' } }
}

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
      : `Unknown parameter. Known parameters: ${nameKnown(known)}.`
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

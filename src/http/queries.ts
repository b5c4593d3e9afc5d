/** From the query of a GET to clean input. */
import { type TSchema, Type } from '@sinclair/typebox'
import { TIME_PATTERN } from '../core/field-patterns.ts'
import { APP, EITHER_APP_NAME, EMAIL, EVENT, NEWSLETTER, shortText } from '../core/field-schemas.ts'
import { publicId, readPublicId } from '../core/ids.ts'
import type { ContactCursor } from '../store/contacts.ts'
import * as limits from '../core/field-limits.ts'
import * as readers from '../core/field-readers.ts'
import { listNames, quoteName } from '../core/json.ts'
import type { FieldError } from '../core/refusals.ts'

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
    tag: Type.Optional(shortText(limits.MAX_TAG_CHARACTERS, 'Only people with this tag.')),
    updatedAfter: Type.Optional(
      Type.String({
        description: 'Only people changed after this time, ISO 8601 with a timezone.',
        brief: 'ISO 8601 with a timezone',
        pattern: TIME_PATTERN,
      }),
    ),
    ...PAGE,
  },
  EITHER_APP_NAME,
)

/** GET /events. */
export const EventQuery = Type.Object(
  { app: APP, newsletter: NEWSLETTER, email: Type.Optional(EMAIL), event: Type.Optional(EVENT), ...PAGE },
  EITHER_APP_NAME,
)

const EVENTS_PARAMETERS = new Set(Object.keys(EventQuery.properties))
const CONTACTS_PARAMETERS = new Set(Object.keys(ContactQuery.properties))
/** What has no effect beside the email of one person. */
const OF_LISTS = ['tag', 'updatedAfter', 'cursor'] as const

/** The parameters of a query; one that is given twice is refused, because neither value is more meant than the other. */
export function readParameters(sent: URLSearchParams): Read<Query> {
  const [names, twice] = [new Set<string>(), new Set<string>()]
  for (const name of sent.keys()) (names.has(name) ? twice : names).add(name)
  const errors: FieldError[] = []
  for (const name of [...twice].slice(0, limits.MAX_UNKNOWN_FIELD_WARNINGS)) {
    readers.addError(errors, quoteName(name), 'invalid', 'Send this parameter once.')
  }
  return errors.length > 0 ? { errors } : { input: Object.fromEntries(sent) }
}

/** GET /events. */
export function readEventsQuery(query: Query): Read<EventsQuery> {
  const errors: FieldError[] = []
  refuseUnknown(query, EVENTS_PARAMETERS, errors)
  const input: EventsQuery = {
    app: readers.readAppId(query, 'app', errors),
    email: readQueryEmail(query.email, errors),
    event: query.event === undefined ? null : readers.readEventName(query.event, errors),
    before: query.cursor === undefined ? null : readIdCursor(query.cursor, errors),
    limit: readLimit(query.limit, errors),
  }
  return errors.length > 0 ? { errors } : { input }
}

/** GET /contacts. */
export function readContactsQuery(query: Query): Read<ContactsQuery> {
  const errors: FieldError[] = []
  refuseUnknown(query, CONTACTS_PARAMETERS, errors)
  refuseBesideEmail(query, errors)
  const app = readers.readAppId(query, 'app', errors)
  const email = readQueryEmail(query.email, errors)
  const updatedAfter = query.updatedAfter === undefined ? null : readTime(query.updatedAfter, errors)
  const input: ContactsQuery = {
    app,
    email,
    tag: query.tag === undefined ? null : readTag(query.tag, errors),
    updatedAfter,
    before: query.cursor === undefined ? null : readContactCursor(query.cursor, updatedAfter !== null, errors),
    limit: readLimit(query.limit, errors),
  }
  return errors.length > 0 ? { errors } : { input }
}

/** A filter that is mistyped would list everybody, so what is not known is refused, unlike in a body. */
export function refuseUnknown(query: Query, known: ReadonlySet<string>, errors: FieldError[]): void {
  const unknown = Object.keys(query).filter((name) => !known.has(name))
  const message =
    known.size === 0
      ? 'There is no such parameter here: none is taken.'
      : `There is no such parameter here. Send ${listNames(known)}.`
  for (const name of unknown.slice(0, limits.MAX_UNKNOWN_FIELD_WARNINGS)) {
    readers.addError(errors, quoteName(name), 'unknown', message)
  }
}

function refuseBesideEmail(query: Query, errors: FieldError[]): void {
  if (query.email === undefined) return
  for (const name of OF_LISTS.filter((one) => query[one] !== undefined)) {
    readers.addError(
      errors,
      name,
      'conflict',
      'This has no effect beside `email`, which finds one person. Leave one out.',
    )
  }
}

/** The cursor of a page of people; by the time of change where the list is in that order. */
export const writeContactCursor = ({ id, updatedAt }: ContactCursor): string =>
  updatedAt === null ? writeNumber(id) : `${writeNumber(id)}.${writeNumber(updatedAt)}`

/** The cursor of a list in the order of ids. */
export const writeIdCursor = (id: number): string => writeNumber(id)

/** As in a public ID, in whose whole length a mistyped one is noticed. */
const writeNumber = (number: number): string => publicId('evt', number).slice('evt_'.length)
const readNumber = (text: string): number | null => readPublicId('evt', `evt_${text}`)

export function readIdCursor(text: string, errors: FieldError[]): number | null {
  const id = readNumber(text)
  if (id === null) addCursorError(errors)
  return id
}

export function readContactCursor(text: string, byChange: boolean, errors: FieldError[]): ContactCursor | null {
  const numbers = text.split('.').map(readNumber)
  const [id = null, updatedAt = null] = numbers
  if (id !== null && (updatedAt !== null) === byChange && numbers.length === (byChange ? 2 : 1))
    return { id, updatedAt }
  addCursorError(errors)
  return null
}

const addCursorError = (errors: FieldError[]): void =>
  readers.addError(errors, 'cursor', 'invalid', 'Send `nextCursor` of the page before, with the same filters.')

/** In a query a plus means a space, and many a client forgets to write it as %2B. */
function readQueryEmail(text: string | undefined, errors: FieldError[]): string | null {
  if (text === undefined) return null
  if (!text.trim().includes(' ')) return readers.readAddress(text, errors).email
  readers.addError(errors, 'email', 'invalid', 'Send one plain email address, with each `+` in it written as `%2B`.')
  return null
}

export function readLimit(text: string | undefined, errors: FieldError[]): number {
  if (text === undefined) return limits.DEFAULT_PAGE_ITEMS
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > limits.MAX_PAGE_ITEMS) {
    readers.addError(errors, 'limit', 'invalid', `Send a whole number from 1 to ${limits.MAX_PAGE_ITEMS}.`)
  }
  return limit
}

function readTag(text: string, errors: FieldError[]): string {
  if (text === '' || readers.isLongerThan(text, limits.MAX_TAG_CHARACTERS)) {
    readers.addError(errors, 'tag', 'invalid', `Send a tag of 1 to ${limits.MAX_TAG_CHARACTERS} characters.`)
  }
  return text
}

function readTime(text: string, errors: FieldError[]): number | null {
  const time = readers.parseTime(text)
  if (time !== null) return time
  const message = text.trim().includes(' ')
    ? 'Send ISO 8601 with a timezone, with the `+` in it written as `%2B`.'
    : 'Send ISO 8601 with a timezone, such as 2026-03-01T12:00:00Z.'
  readers.addError(errors, 'updatedAfter', 'invalid', message)
  return null
}

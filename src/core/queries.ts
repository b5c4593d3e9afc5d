/** From the query of a GET to clean input (api.md, Answers). */
import { readPublicId } from './public-ids.ts'
import type { ContactCursor } from '../store/contact-reads.ts'
import * as limits from './field-limits.ts'
import * as readers from './field-readers.ts'
import type { FieldError } from './refusals.ts'

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

type Query = Record<string, string>
type Read<T> = { input: T } | { errors: FieldError[] }

/** GET /events. */
export function readEventsQuery(query: Query): Read<EventsQuery> {
  const errors: FieldError[] = []
  const input: EventsQuery = {
    app: readers.readAppId(query, 'app', errors),
    email: readQueryEmail(query.email, errors),
    event: query.event === undefined ? null : readers.readEventName(query.event, errors),
    before: query.cursor === undefined ? null : readEventCursor(query.cursor, errors),
    limit: readLimit(query.limit, errors),
  }
  return errors.length > 0 ? { errors } : { input }
}

/** GET /contacts. */
export function readContactsQuery(query: Query): Read<ContactsQuery> {
  const errors: FieldError[] = []
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

/** The cursor of a page of people; by the time of change where the list is in that order. */
export const writeContactCursor = ({ id, updatedAt }: ContactCursor): string =>
  updatedAt === null ? id.toString(36) : `${id.toString(36)}.${updatedAt.toString(36)}`

export const writeEventCursor = (id: number): string => id.toString(36)

const readNumber = (text: string | undefined): number | null =>
  text === undefined || text === '' ? null : readPublicId('evt', `evt_${text.padStart(11, '0')}`)

function readEventCursor(text: string, errors: FieldError[]): number | null {
  const id = readNumber(text)
  if (id === null) addCursorError(errors)
  return id
}

function readContactCursor(text: string, byChange: boolean, errors: FieldError[]): ContactCursor | null {
  const numbers = text.split('.').map((part) => readNumber(part))
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

function readLimit(text: string | undefined, errors: FieldError[]): number {
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
  if (time === null) {
    readers.addError(errors, 'updatedAfter', 'invalid', 'Send ISO 8601 with a timezone, such as 2026-03-01T12:00:00Z.')
  }
  return time
}

import { Type } from '@sinclair/typebox'
import { EMAIL } from '../core/field-schemas.ts'
import { lacksEmail, type Body } from '../core/inputs.ts'
import type { ReportedItem } from '../store/visit-reports.ts'
import { readEmail } from '../core/email.ts'
import { MAX_EVENT_NAME_CHARACTERS } from '../core/field-limits.ts'
import { EVENT_NAME_PATTERN } from '../core/field-patterns.ts'
import { isJsonObject } from '../core/json.ts'
import type { FieldError } from '../core/refusals.ts'

const COLLECT_VERSION = 1
export const MAX_BATCH_ITEMS = 20
const MAX_PATH_CHARACTERS = 1024
const MAX_AGE_MS = 86_400_000
const MAX_BATCH_ID_CHARACTERS = 64

const BATCH_ID_PATTERN = `^[\\x20-\\x7e]{1,${MAX_BATCH_ID_CHARACTERS}}$`

const VisitItem = Type.Object(
  {
    type: Type.Union([Type.Literal('page'), Type.Literal('leave'), Type.Literal('here'), Type.Literal('track')], {
      description: 'A page was opened, was left, is still open; or an action.',
    }),
    path: Type.String({ description: 'The path of the page; what follows `?` or `#` is dropped.', pattern: '^/' }),
    age: Type.Number({ description: 'Milliseconds since it happened.', minimum: 0, maximum: MAX_AGE_MS }),
    name: Type.Optional(
      Type.String({ description: 'With `track`: the name of the action.', pattern: EVENT_NAME_PATTERN }),
    ),
  },
  { title: 'VisitItem', description: 'What happened on a page.' },
)

export const VisitReport = Type.Object(
  {
    v: Type.Literal(COLLECT_VERSION, { description: 'The version of the report.' }),
    site: Type.String({ description: 'The site ID of the script tag.', minLength: 1 }),
    email: EMAIL,
    signature: Type.String({
      description: 'HMAC-SHA256 of the email under the identity secret, in lowercase hexadecimal.',
      minLength: 1,
    }),
    id: Type.String({
      description: 'The ID of the report, the same when it is sent again.',
      pattern: BATCH_ID_PATTERN,
    }),
    events: Type.Array(VisitItem, { description: 'What happened.', minItems: 1, maxItems: MAX_BATCH_ITEMS }),
  },
  { title: 'VisitReport', description: 'What the browser script saw of one person.' },
)

export type VisitReportFields = {
  site: string
  /** Identity form; `emailShown` is as sent, and what was signed. */
  email: string
  emailShown: string
  signature: string
  id: string
  items: ReportedItem[]
}

const BATCH_ID = new RegExp(BATCH_ID_PATTERN)
const EVENT_NAME = new RegExp(EVENT_NAME_PATTERN)
/** No control characters, which are dangerous to display. */
const PATH = new RegExp(`^/[^\\u0000-\\u001F\\u007F-\\u009F]{0,${MAX_PATH_CHARACTERS - 1}}$`)
const TYPES = new Map<unknown, ReportedItem['type']>([
  ['page', 'page'],
  ['leave', 'leave'],
  ['here', 'here'],
  ['track', 'action'],
])

const MESSAGES = {
  v: `Send ${COLLECT_VERSION}. This is a version of the script that the service does not know.`,
  site: 'Send the site ID from the Activation screen, as `data-site` of the script tag.',
  email: 'Call identify with one plain email address, without name, brackets or quotes.',
  signature: "Call identify with the signature that your server computed over the user's email.",
  id: `Send 1 to ${MAX_BATCH_ID_CHARACTERS} printable ASCII characters, the same when a batch is sent again.`,
  events: `Send 1 to ${MAX_BATCH_ITEMS} items.`,
  type: 'Each item is of type `page`, `leave`, `here` or `track`.',
  path: `A path begins with \`/\` and has up to ${MAX_PATH_CHARACTERS} characters, without control characters.`,
  age: 'An age is a number of milliseconds from 0 to 24 hours.',
  name: `The name of an action has 1 to ${MAX_EVENT_NAME_CHARACTERS} letters, digits, \`_\`, \`.\`, \`:\` or \`-\`.`,
} as const

/** `now`: ms UTC. Errors are in schema order. */
export function readVisitReport(body: Body, now: number): { input: VisitReportFields } | { errors: FieldError[] } {
  const { v, site, signature, id } = body
  const errors: FieldError[] = []
  const add = (field: string, message: string, isMissing: boolean): void =>
    void errors.push({ field, code: isMissing ? 'missing' : 'invalid', message })
  if (v !== COLLECT_VERSION) add('v', MESSAGES.v, v === undefined)
  if (!isText(site)) add('site', MESSAGES.site, site === undefined)
  const address = typeof body.email === 'string' ? readEmail(body.email) : null
  if (!address) add('email', MESSAGES.email, lacksEmail(body))
  if (!isText(signature)) add('signature', MESSAGES.signature, signature === undefined)
  if (!isBatchId(id)) add('id', MESSAGES.id, id === undefined)
  const items = readItems(body.events, now)
  if (typeof items === 'string') add('events', MESSAGES[items], body.events === undefined)
  if (!address || typeof items === 'string' || !isText(site) || !isText(signature) || !isBatchId(id)) return { errors }
  if (errors.length > 0) return { errors }
  return { input: { site, email: address.email, emailShown: address.shown, signature, id, items } }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isBatchId = (value: unknown): value is string => typeof value === 'string' && BATCH_ID.test(value)

/** In order of time, or what is wrong. */
function readItems(value: unknown, now: number): ReportedItem[] | keyof typeof MESSAGES {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_BATCH_ITEMS) return 'events'
  const items: ReportedItem[] = []
  for (const one of value as unknown[]) {
    const item = readItem(one, now)
    if (typeof item === 'string') return item
    items.push(item)
  }
  // the script holds paths back, so actions may arrive before them
  return items.sort((a, b) => a.occurredAt - b.occurredAt)
}

function readItem(value: unknown, now: number): ReportedItem | keyof typeof MESSAGES {
  if (!isJsonObject(value)) return 'type'
  const type = TYPES.get(value.type)
  if (type === undefined) return 'type'
  const path = typeof value.path === 'string' ? cutPath(value.path) : ''
  if (!PATH.test(path)) return 'path'
  const { age } = value
  if (typeof age !== 'number' || !(age >= 0 && age <= MAX_AGE_MS)) return 'age'
  const occurredAt = now - Math.round(age)
  if (type !== 'action') return { type, name: null, path, occurredAt }
  const { name } = value
  return typeof name === 'string' && EVENT_NAME.test(name) ? { type, name, path, occurredAt } : 'name'
}

/** Drops query and fragment, even if a client sends them. */
function cutPath(path: string): string {
  const end = path.search(/[?#]/)
  return end < 0 ? path : path.slice(0, end)
}

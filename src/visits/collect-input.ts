/** Validates the reports of the browser script. */
import { type Static, Type } from '@sinclair/typebox'
import { EMAIL, emailRule } from '../core/field-schemas.ts'
import { type Body, createReader, faultOf, lacksEmail, type Rules } from '../core/inputs.ts'
import type { ReportedItem } from '../store/visit-reports.ts'
import { readEmail } from '../core/email.ts'
import { MAX_EVENT_NAME_CHARACTERS } from '../core/field-limits.ts'
import { EVENT_NAME_PATTERN } from '../core/field-patterns.ts'
import type { FieldError } from '../core/refusals.ts'

const COLLECT_VERSION = 1
export const MAX_BATCH_ITEMS = 20
const MAX_PATH_CHARACTERS = 1024
const MAX_AGE_MS = 86_400_000
const MAX_BATCH_ID_CHARACTERS = 64

const BATCH_ID_PATTERN = `^[\\x20-\\x7e]{1,${MAX_BATCH_ID_CHARACTERS}}$`
/** No control characters, which are dangerous to display; a query or fragment is dropped. */
const PATH_PATTERN = `^/[^?#\\u0000-\\u001F\\u007F-\\u009F]{0,${MAX_PATH_CHARACTERS - 1}}(?:[?#]|$)`

const TYPE_SAY = { invalid: 'Each item is of type `page`, `leave`, `here` or `track`.' }

const onPage = {
  path: Type.String({
    description: 'The path of the page; what follows `?` or `#` is dropped.',
    pattern: PATH_PATTERN,
    say: {
      invalid: `A path begins with \`/\` and has up to ${MAX_PATH_CHARACTERS} characters, without control characters.`,
    },
  }),
  age: Type.Number({
    description: 'Milliseconds since it happened.',
    minimum: 0,
    maximum: MAX_AGE_MS,
    say: { invalid: 'An age is a number of milliseconds from 0 to 24 hours.' },
  }),
}

const PageItem = Type.Object({
  type: Type.Union([Type.Literal('page'), Type.Literal('leave'), Type.Literal('here')], {
    description: 'A page was opened, was left, or is still open.',
    say: TYPE_SAY,
    isKind: true,
  }),
  ...onPage,
})

const ActionItem = Type.Object({
  type: Type.Literal('track', { description: 'An action.', say: TYPE_SAY }),
  ...onPage,
  name: Type.String({
    description: 'The name of the action.',
    pattern: EVENT_NAME_PATTERN,
    say: {
      invalid: `The name of an action has 1 to ${MAX_EVENT_NAME_CHARACTERS} letters, digits, \`_\`, \`.\`, \`:\` or \`-\`.`,
    },
  }),
})

const VisitItem = Type.Union([PageItem, ActionItem], {
  title: 'VisitItem',
  description: 'What happened on a page.',
  say: TYPE_SAY,
})

const REPORT_EMAIL = {
  ...EMAIL,
  say: 'Call identify with one plain email address, without name, brackets or quotes.',
}

export const VisitReport = Type.Object(
  {
    v: Type.Literal(COLLECT_VERSION, {
      description: 'The version of the report.',
      say: `Send ${COLLECT_VERSION}. This is a version of the script that the service does not know.`,
    }),
    site: Type.String({
      description: 'The site ID of the script tag.',
      minLength: 1,
      say: 'Send the site ID from the Activation screen, as `data-site` of the script tag.',
    }),
    email: REPORT_EMAIL,
    signature: Type.String({
      description: 'HMAC-SHA256 of the email under the identity secret, in lowercase hexadecimal.',
      minLength: 1,
      say: "Call identify with the signature that your server computed over the user's email.",
    }),
    id: Type.String({
      description: 'The ID of the report, the same when it is sent again.',
      pattern: BATCH_ID_PATTERN,
      say: `Send 1 to ${MAX_BATCH_ID_CHARACTERS} printable ASCII characters, the same when a batch is sent again.`,
    }),
    events: Type.Array(VisitItem, {
      description: 'What happened.',
      minItems: 1,
      maxItems: MAX_BATCH_ITEMS,
      say: { invalid: `Send 1 to ${MAX_BATCH_ITEMS} items.`, missing: `Send 1 to ${MAX_BATCH_ITEMS} items.` },
    }),
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

const RULES: Rules = {
  email: (value) => emailRule(value) && faultOf(REPORT_EMAIL, 'invalid', value),
}

const read = createReader({ schema: VisitReport, clean: cleanReport, rules: () => RULES })

/** `now`: ms UTC. Errors are in schema order. */
export function readVisitReport(body: Body, now: number): { input: VisitReportFields } | { errors: FieldError[] } {
  // an empty email is one that is missing
  return read(lacksEmail(body) ? { ...body, email: undefined } : body, now)
}

type Sent = Static<typeof VisitReport>

function cleanReport({ site, email, signature, id, events }: Sent, now: number): VisitReportFields | null {
  const address = readEmail(email)
  if (!address) return null
  const items = events.map((item) => cleanItem(item, now))
  // the script holds paths back, so actions may arrive before them
  items.sort((a, b) => a.occurredAt - b.occurredAt)
  return { site, email: address.email, emailShown: address.shown, signature, id, items }
}

function cleanItem(item: Sent['events'][number], now: number): ReportedItem {
  const path = cutPath(item.path)
  const occurredAt = now - Math.round(item.age)
  return item.type === 'track'
    ? { type: 'action', name: item.name, path, occurredAt }
    : { type: item.type, name: null, path, occurredAt }
}

/** Drops query and fragment, even if a client sends them. */
function cutPath(path: string): string {
  const end = path.search(/[?#]/)
  return end < 0 ? path : path.slice(0, end)
}

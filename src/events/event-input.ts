/** Reads and validates events, however they arrive: alone, in a batch or over MCP. */
import { type Static, Type } from '@sinclair/typebox'
import { HOUR_MS } from '../core/clock.ts'
import { RESULTS_READY, TIME_PATTERN } from '../core/field-patterns.ts'
import { readEmail } from '../core/email.ts'
import * as fields from '../core/field-schemas.ts'
import * as limits from '../core/field-limits.ts'
import * as inputs from '../core/inputs.ts'
import { findRepeatedKeys, joinWarnings, parseJsonText, warnOfRepeated } from '../core/json.ts'
import { type Refusal, refuse, refuseApp, refuseFields, type Warning } from '../core/refusals.ts'
import type { EventSender, EventText, RefusedText, ReadEvent } from '../store/event-texts.ts'
import type { EventWrite } from '../store/types.ts'
import { findApp, findNamedApp } from '../accounts/apps.ts'
import { findKeyFault, hashRequest } from '../accounts/idempotency.ts'
import { warnOfUrl } from '../accounts/links.ts'
import { pageKeyOf } from '../core/urls.ts'
import type { OwnHosts } from '../accounts/app-hosts.ts'

/** Older events are stored but trigger nothing. */
const TRIGGER_AGE_MS = 72 * HOUR_MS

/** `at`: the time of arrival. Times are ms UTC. */
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

export const PROPERTIES = Type.Object(
  {},
  {
    description:
      'Data for the event: compact JSON under 2 KB (2,048 bytes) and at most 32 levels deep. For `results_ready`: `url` (string, the page where the user sees the results) and `headline` (string, one sentence).',
    brief: 'under 2 KB; for results_ready: result url, headline',
    additionalProperties: true,
    examples: [{ url: 'https://app.example.com/results/1', headline: 'Your 12 pictures are ready' }],
    say: { invalid: 'Send a JSON object.', too_large: 'Send less than 2 KB (2,048 bytes of compact JSON).' },
  },
)

export const CREATE_CONTACT = fields.flag({
  description: 'Whether to add the person if they are unknown. Default: false.',
  brief: 'add the person if unknown',
})

const OCCURRED_AT = Type.String({
  description:
    'When it happened, ISO 8601 with a timezone. Default: now. Events older than 72 hours are stored but trigger nothing. Times more than 10 minutes in the future are refused.',
  brief: 'ISO 8601 with timezone',
  pattern: TIME_PATTERN,
  examples: ['2026-03-01T12:00:00Z'],
  say: fields.TIME_SAY,
})

/** POST /events, and each item of the batch. */
export const EventInput = Type.Object(
  {
    app: fields.APP,
    newsletter: fields.NEWSLETTER,
    email: fields.EMAIL,
    event: { ...fields.EVENT, brief: 'A-Z a-z 0-9 _ . : -; `results_ready`: the first results are ready' },
    properties: Type.Optional(PROPERTIES),
    createContact: Type.Optional(CREATE_CONTACT),
    firstName: Type.Optional(fields.nameField('First name. For a known person, it only fills in an empty name.')),
    lastName: Type.Optional(fields.nameField('Last name. For a known person, it only fills in an empty name.')),
    occurredAt: Type.Optional(OCCURRED_AT),
  },
  { title: 'EventInput', description: 'An event for one person.', ...fields.EITHER_APP_NAME },
)

/** POST /events/batch. */
export const BatchInput = Type.Object(
  {
    events: Type.Array(EventInput, {
      description: 'The events. Each has its own result.',
      minItems: 1,
      maxItems: limits.MAX_BATCH_EVENTS,
    }),
  },
  { title: 'BatchInput', description: 'Up to 100 events in 256 KB.' },
)

const EVENT_FIELD_NAMES = fields.knownFields(EventInput)

const NO_PROPERTIES: Properties = { properties: null, url: null }

/** `now` is in ms UTC. Errors name every invalid field, in the schema's order. */
export function readEventInput(body: inputs.Body, now: number): inputs.Reading<EventFields> {
  const reading = read(body, now)
  if ('errors' in reading) return reading
  const { input } = reading
  const warnings = inputs.warnOfUnknown(body, EVENT_FIELD_NAMES)
  const { occurredAt } = input
  if (occurredAt !== null && isTooOld({ at: now, occurredAt })) warnings.push(TOO_OLD)
  return { input, warnings }
}

const TOO_OLD: Warning = {
  field: 'occurredAt',
  code: 'too_old',
  message: 'This is more than 72 hours ago. The event is stored, but it triggers no message.',
}

const read = inputs.createReader({ schema: EventInput, clean: cleanEvent, rules: eventRules })

type Sent = Static<typeof EventInput>

function cleanEvent(sent: Sent, now: number): EventFields | null {
  const app = fields.findAppId(sent)
  const address = readEmail(sent.email)
  const properties = sent.properties === undefined ? NO_PROPERTIES : readProperties(sent.properties, sent.event)
  const occurredAt = sent.occurredAt === undefined ? null : readOccurredAt(sent.occurredAt, now)
  if (app === null || address === null || 'code' in properties || inputs.isFault(occurredAt)) return null
  return {
    app,
    email: address.email,
    emailShown: address.shown,
    event: sent.event,
    properties: properties.properties,
    createContact: sent.createContact === true,
    firstName: sent.firstName || null,
    lastName: sent.lastName || null,
    occurredAt,
    url: properties.url,
  }
}

const APP_RULES = fields.appRules(EventInput)

function eventRules(now: number): inputs.Rules {
  return {
    ...APP_RULES,
    email: fields.emailRule,
    properties: (value, { event }) => (value === undefined ? null : faultIn(readProperties(value as object, event))),
    occurredAt: (value) => (value === undefined ? null : faultIn(readOccurredAt(String(value), now))),
  }
}

const faultIn = (read: unknown): inputs.Fault | null => (inputs.isFault(read) ? read : null)

/** `event`: its name; null for the values of an email that a call sends. */
export function readProperties(value: object, event: unknown): Properties | inputs.Fault {
  const text = JSON.stringify(value)
  if (isTooLarge(text)) return inputs.faultOf(PROPERTIES, 'too_large', value)
  if (event !== RESULTS_READY) return { properties: text, url: null }
  const { url, headline } = value as Record<string, unknown>
  return isTextOrAbsent(url) && isTextOrAbsent(headline) ? { properties: text, url: url ?? null } : NOT_TEXTS
}

const NOT_TEXTS: inputs.Fault = {
  code: 'invalid',
  message: 'With results_ready, send `url` and `headline` as strings, or leave them out.',
}

/** A UTF-16 unit takes at most three bytes of UTF-8, so short texts needn't be counted. */
const isTooLarge = (text: string): boolean =>
  text.length * 3 >= limits.PROPERTIES_BYTES_BOUND && Buffer.byteLength(text) >= limits.PROPERTIES_BYTES_BOUND

const isTextOrAbsent = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string'

/** Milliseconds since 1970. */
function readOccurredAt(text: string, now: number): number | inputs.Fault {
  const at = fields.parseTime(text)
  if (at === null) return inputs.faultOf(OCCURRED_AT, 'invalid', text)
  if (at < 0) return BEFORE_1970
  return at > now + limits.MAX_OCCURRED_AHEAD_MS ? IN_FUTURE : at
}

const BEFORE_1970: inputs.Fault = { code: 'invalid', message: 'This is before 1970. Check the unit and the year.' }
const IN_FUTURE: inputs.Fault = {
  code: 'future',
  message: 'This is more than 10 minutes in the future. Check the clock and the timezone.',
}

type ResultUrl = { appId: number; email: string; url: string | null }

/** Oldest entries are dropped. An unknown page causes no warning. */
const MOST_SHARED_PAGES = 10_000

const URL_SHARED: Warning = {
  field: 'properties',
  code: 'url_shared',
  message:
    "Another person's `url` has the same path and a different query. Page views don't include the query, so rules can't tell whether this result was opened. Put the result's ID in the path. For one email per result, send `resultId`.",
}

/** Finds results of different people whose URLs differ in their query only. URLs without a query cost nothing. */
export function createSharedPaths() {
  const pages = new Map<string, Omit<ResultUrl, 'appId'>>()
  return {
    warn({ appId, email, url }: ResultUrl): Warning[] {
      if (url === null || !url.includes('?')) return []
      const key = `${appId} ${pageKeyOf(url)}`
      const before = pages.get(key)
      if (before === undefined && pages.size >= MOST_SHARED_PAGES) pages.delete(pages.keys().next().value ?? '')
      if (before === undefined) pages.set(key, { email, url })
      return before !== undefined && before.email !== email && before.url !== url ? [URL_SHARED] : []
    },
  }
}

/**
 * Parses events in the writer thread. This saves the main thread a fifth to a quarter of its work, and both together a
 * tenth, because an event crosses threads as text (measured).
 */

/** Of the writer thread, which reads all events. */
const sharedPaths = createSharedPaths()

/** Refuses with 400, 404 for the app, 409, in this order. */
export function readEventText(event: EventText): ReturnType<ReadEvent> {
  const { text, sender, at, idempotency, refusal } = event
  const body = parseJsonText(text)
  if ('refused' in body) return body
  const { object } = body
  const keyFault = idempotency && findKeyFault(idempotency.key)
  if (keyFault) return { refused: keyFault }
  const refused = (reason: Refusal): RefusedText => ({ refused: reason, appId: findNamedApp(sender, object)?.id })
  const reading = readEventInput(object, at)
  if ('errors' in reading) return { ...refused(refuseFields(reading.errors)), lacksEmail: inputs.lacksEmail(object) }
  const { input } = reading
  const app = findApp(sender, input.app)
  if (!app) return refused(refuseApp(input.app))
  if (refusal === 'idempotency_in_progress') return refused(refuse(refusal))
  const repeated = findRepeatedKeys(text, object)
  const warnings = repeated.length > 0 ? joinWarnings(warnOfRepeated(repeated), reading.warnings) : reading.warnings
  return {
    write: eventWrite(event, { app, input, object }),
    warnings: warnings.concat(warnOfUrl(input, app.hosts as OwnHosts), sharedPaths.warn({ ...input, appId: app.id })),
  }
}

type Read = { app: EventSender['apps'][number]; input: EventFields; object: inputs.Body }

function eventWrite({ sender, via, at, idempotency }: EventText, { app, input, object }: Read): EventWrite {
  const { email, emailShown } = input
  const isHashed = idempotency !== undefined && 'bodyHash' in idempotency
  return {
    accountId: app.accountId,
    appId: app.id,
    email,
    shownEmail: emailShown === email ? null : emailShown,
    newPeoplePerMonth: sender.newPeoplePerMonth,
    createContact: input.createContact,
    firstName: input.firstName,
    lastName: input.lastName,
    type: 'event',
    name: input.event,
    properties: input.properties,
    path: null,
    via,
    at,
    occurredAt: input.occurredAt,
    limits: sender.limits,
    idempotency: idempotency === undefined ? null : isHashed ? idempotency : hashRequest(idempotency, object),
  }
}

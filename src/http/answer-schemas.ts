/** Schemas of HTTP and MCP answers. Times are ISO 8601 UTC. A `title` makes a named type in openapi.json. */
import { type TSchema, Type } from '@sinclair/typebox'
import { DELIVERY_STATES } from '../store/message-types.ts'
import { CONTACT_STATUSES, EVENT_TYPES } from '../store/types.ts'
import type { LimitName, RefusalCode, ScriptLimitName } from '../core/refusals.ts'

export const TRUE = Type.Literal(true)
export const time = (description: string) => Type.String({ description, format: 'date-time' })
export const orNull = <S extends TSchema>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description })
export const timeOrNull = (description: string) => orNull(Type.String({ format: 'date-time' }), description)
export const oneOf = <T extends string>(values: readonly T[], description: string, title?: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    title === undefined ? { description } : { title, description },
  )

const ISSUE = {
  field: Type.String({ description: 'The name or path of the field, such as `email` or `mail.subject`.' }),
  code: Type.String({ description: 'A stable code for programs.' }),
  message: Type.String({
    description:
      'An explanation for people. In calls about people and events, it never repeats the values that you sent.',
  }),
}

export const WarningItem = Type.Object(ISSUE, {
  title: 'Warning',
  description: 'Something to check. The request succeeded.',
})

export const FieldErrorItem = Type.Object(ISSUE, {
  title: 'FieldError',
  description: 'An invalid field.',
})

export const WARNINGS = Type.Optional(
  Type.Array(WarningItem, {
    description:
      "Absent if there are no warnings. `unknown_field`: the field is unknown and was ignored. `ignored_field`: `removeTags` has no effect on POST. `duplicate_key`: a key is in the JSON more than once; the last value was used. `too_old`: `occurredAt` is more than 72 hours ago, so the event triggers no message. `name_not_taken`: the person already has a different name. `unknown_timezone`: `fields.timezone` is not a timezone, so the app's timezone is used. `not_a_date`: a live message is triggered by the date in this field, but the value is not a date, so it triggers nothing. `url_missing`: `results_ready` has no `url`, so emails link to the app's home page. `url_not_linkable`: emails do not link to this `url`. `url_trimmed`: emails link to `url` without the whitespace around it. `url_shared`: another person has this `url` with a different query. `no_email_sent`: this app has no record of an email to `email`, for example because the person was erased, so the report does not count towards the rates. `still_sending`: the mail server already has emails from this message or to this person, which may still arrive.",
  }),
)
export const CONTACT_ID = Type.String({ description: 'The ID of the person, `con_...`.' })

export const ContactRecord = Type.Object(
  {
    id: CONTACT_ID,
    app: Type.String({ description: 'The app ID.' }),
    email: Type.String({ description: 'Trimmed, lowercase, the domain in punycode.' }),
    firstName: orNull(Type.String(), 'First name.'),
    lastName: orNull(Type.String(), 'Last name.'),
    tags: Type.Array(Type.String(), { description: "The person's tags." }),
    fields: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description: 'Your own data about the person.',
    }),
    source: orNull(Type.String(), 'Where the person came from.'),
    status: oneOf(CONTACT_STATUSES, 'Whether this person can get email. `pending`: has not confirmed the address yet.'),
    createdAt: time('When the person was added.'),
    updatedAt: time('When a field last changed.'),
    firstSeenAt: timeOrNull('The first page view.'),
    lastSeenAt: timeOrNull('The latest page view.'),
    lastEventAt: timeOrNull('The latest event.'),
  },
  { title: 'Contact', description: 'A stored person.' },
)

export const EventRecord = Type.Object(
  {
    id: Type.String({ description: 'The ID of the event, `evt_...`.' }),
    type: oneOf(
      EVENT_TYPES,
      '`event`: sent by a server. `page`: a page view. `action`: sent by `track` in the browser script.',
    ),
    event: orNull(Type.String(), 'The name; null for a page view.'),
    path: orNull(Type.String(), 'The path of the page; null for an event from a server.'),
    email: Type.String({ description: "The person's email." }),
    contactId: CONTACT_ID,
    properties: orNull(Type.Object({}, { additionalProperties: true }), 'As sent.'),
    occurredAt: time('When it happened.'),
    receivedAt: time('When it arrived.'),
    via: Type.String({ description: 'The interface it came through.' }),
  },
  { title: 'Event', description: 'A stored event, page view or action.' },
)

export const DeliveryRecord = Type.Object(
  {
    id: Type.String({ description: 'The ID of the delivery, `dlv_...`.' }),
    messageId: orNull(Type.String(), 'The ID of the message, `msg_...`; null if the email was sent without a message.'),
    message: orNull(Type.String(), 'The name of the message; null if the email was sent without a message.'),
    version: orNull(Type.Integer(), 'The version of the message; null if the email was sent without a message.'),
    contactId: CONTACT_ID,
    email: orNull(Type.String(), "The person's email; null if they were just erased."),
    state: oneOf(
      DELIVERY_STATES,
      '`waiting`: not due yet. `deferred`: checked or tried again later. `claimed`, `handed`: being sent. `kept`: captured. `joined`: listed in the email with the ID in `joinedTo`. `unknown`: the mail server did not confirm it.',
    ),
    reason: orNull(Type.String(), 'Why it was not sent or was deferred, such as `cancelled`.'),
    createdAt: time('When it was created: right after its trigger was received.'),
    triggeredAt: time('When its trigger happened, such as the `occurredAt` of the event.'),
    dueAt: time('When its rules are checked.'),
    sentAt: timeOrNull('When the mail server accepted it.'),
    deliveredAt: timeOrNull(
      'When the email provider reported that it was delivered, or the recipient reported it as spam.',
    ),
    cameBackAt: timeOrNull('When the person came back after the email.'),
    openedAt: timeOrNull('When the person opened the result after the email.'),
    mayHaveArrivedTwice: Type.Boolean({ description: 'Whether it was sent again after an unknown outcome.' }),
    joinedTo: orNull(Type.String(), 'The ID of the delivery whose email lists the event.'),
    keyId: orNull(Type.String(), 'The ID of the API key that sent it with POST /send; null for all others.'),
    subject: orNull(Type.String(), 'The `subject` from POST /send; null for emails from messages.'),
  },
  { title: 'Delivery', description: 'An email to a person, sent or not.' },
)

const CREATED = Type.Boolean({ description: 'Whether this call added the person.' })

export const EventAnswer = Type.Object(
  {
    ok: TRUE,
    contactId: CONTACT_ID,
    created: CREATED,
    warnings: WARNINGS,
  },
  { title: 'EventRecorded' },
)

export const SendAnswer = Type.Object(
  {
    ok: TRUE,
    deliveryId: Type.String({ description: 'The ID of the email, for GET /deliveries/ID.' }),
    contactId: CONTACT_ID,
    created: CREATED,
    warnings: WARNINGS,
  },
  { title: 'EmailAccepted' },
)

const SHOWN = '`contact` is the person after this call. It is absent for keys with scope `ingest`, which cannot read.'

const contactAnswer = <S extends TSchema>(title: string, created: S) =>
  Type.Object(
    { ok: TRUE, contactId: CONTACT_ID, created, contact: Type.Optional(ContactRecord), warnings: WARNINGS },
    { title, description: SHOWN },
  )

export const ContactAddedAnswer = contactAnswer(
  'ContactAdded',
  Type.Literal(true, { description: 'This call added the person.' }),
)
export const ContactSavedAnswer = contactAnswer(
  'ContactSaved',
  Type.Literal(false, { description: 'The person was known.' }),
)

export const ContactFoundAnswer = Type.Object({ ok: TRUE, contact: ContactRecord }, { title: 'ContactFound' })

export const ContactEraseAnswer = Type.Object({ ok: TRUE, warnings: WARNINGS }, { title: 'ContactErased' })

export const DeliveryAnswer = Type.Object(
  { ok: TRUE, delivery: DeliveryRecord, warnings: WARNINGS },
  { title: 'DeliveryChanged', description: '`delivery` is the email after this call.' },
)

const emails = (description: string) => Type.Integer({ description, minimum: 0 })

export const ResentAnswer = Type.Object(
  {
    ok: TRUE,
    sent: emails(
      "How many were queued. They go out in a moment, except to people who can't be emailed. Lifecycle emails wait while the brake is on.",
    ),
    refused: emails(
      'How many stay failed, because another email from the same message was sent or is waiting, or because their event was deleted.',
    ),
    gone: emails('How many were no longer `failed`.'),
    next: orNull(Type.String(), 'Where to continue; null if none are left. Send it as `until`.'),
    warnings: WARNINGS,
  },
  { title: 'EmailsResent' },
)

export const ExplainedRule = Type.Object(
  {
    rule: Type.String({ description: 'The rule or limit that was checked, such as `away` or `suppression`.' }),
    verdict: oneOf(['pass', 'fail'], 'Whether it allowed the email.'),
    sentence: Type.String({ description: 'The result in one sentence.' }),
    isToday: Type.Optional(Type.Literal(true, { description: "It is based on today's data." })),
    isEstimated: Type.Optional(Type.Literal(true, { description: 'It is based on page views only.' })),
  },
  { title: 'CheckedRule', description: 'One check before sending.' },
)

export const DeliveryFoundAnswer = Type.Object(
  {
    ok: TRUE,
    delivery: DeliveryRecord,
    why: Type.String({ description: "Why the person got or didn't get the email, in one or two sentences." }),
    serverReply: Type.Optional(
      Type.String({ description: "The mail server's refusal, explained; absent if it didn't refuse the email." }),
    ),
    decidedAt: timeOrNull('When the rules were checked; null if they have not been checked yet.'),
    rules: Type.Array(ExplainedRule, { description: 'The checks that were recorded, in order.' }),
  },
  { title: 'DeliveryFound' },
)

export const VisitAnswer = Type.Object({ ok: TRUE }, { title: 'VisitReported' })

export const BounceAnswer = Type.Object({ ok: TRUE, warnings: WARNINGS }, { title: 'BounceReported' })

export const WebhookAnswer = Type.Object({ ok: TRUE }, { title: 'WebhookTaken' })

export const pageOf = <S extends TSchema>(title: string, item: S) =>
  Type.Object(
    {
      ok: TRUE,
      data: Type.Array(item, {
        description: 'A page can have fewer than `limit` items without being the last.',
      }),
      nextCursor: orNull(Type.String(), 'Send it as `cursor` to get the next page. Null on the last page only.'),
    },
    { title },
  )

export const ContactPage = pageOf('ContactPage', ContactRecord)
export const ContactFoundOrPage = Type.Union([ContactFoundAnswer, ContactPage], { title: 'ContactFoundOrPage' })
const { email: _, ...EXPORTED_DELIVERY } = DeliveryRecord.properties

const pairOf = <S extends TSchema>(schema: S) => Type.Array(schema, { minItems: 2, maxItems: 2 })
const VALUES = pairOf(Type.Union([Type.String(), Type.Null()]))
const NAMES = pairOf(Type.Array(Type.String()))

const PersonChange = Type.Object({
  at: time('When it changed.'),
  status: orNull(pairOf(Type.String()), 'The old and the new status. This and the fields below are null if unchanged.'),
  firstName: orNull(VALUES, 'The old and the new first name.'),
  lastName: orNull(VALUES, 'The old and the new last name.'),
  source: orNull(VALUES, 'The old and the new source.'),
  tags: orNull(NAMES, 'The tags that were removed, and those that were added.'),
  fields: orNull(
    Type.Record(Type.String(), VALUES),
    'The old and the new value of each changed field, as text of up to 200 characters.',
  ),
  cause: orNull(Type.String(), 'What changed the status, in words; null if it is not known.'),
  topics: orNull(NAMES, 'The topics that were unsubscribed from, and those that were subscribed to again.'),
  added: orNull(TRUE, '`true`: a member added the person; null: another change.'),
})

export const PersonExport = Type.Object(
  {
    ok: TRUE,
    person: ContactRecord,
    suppression: orNull(
      Type.Object({
        reason: Type.String({ description: '`unsubscribed`, `bounced` or `complained`.' }),
        since: time('When the address was suppressed.'),
        why: orNull(Type.String(), 'What suppressed it, in words; null if it is not known.'),
      }),
      'Null if the address is not suppressed.',
    ),
    changes: Type.Array(PersonChange, { description: 'Changes to the person, newest first: at most 200.' }),
    topics: Type.Array(
      Type.Object({
        name: Type.String(),
        isOn: Type.Boolean(),
        endedAt: timeOrNull('When the person unsubscribed from it.'),
      }),
      { description: "The app's topics, and which of them the person gets." },
    ),
    consents: Type.Array(
      Type.Object({
        askedAt: time('When an email asked the person to confirm the address.'),
        source: Type.String({ description: '`api`, `mcp`, `dashboard`, or `page` for a new link.' }),
        confirmedAt: timeOrNull('When the person confirmed it.'),
        confirmedBy: orNull(Type.String(), '`page`: the person, with the link in the email.'),
        wording: Type.String({ description: 'The version of the wording.' }),
        text: orNull(Type.Object({}, { additionalProperties: true }), 'The wording: subject, body and button.'),
        address: orNull(Type.String(), 'The IP address from which it was confirmed, if the app stores it.'),
      }),
      { description: 'Requests to confirm the address.' },
    ),
    emails: Type.Array(
      Type.Object({
        ...EXPORTED_DELIVERY,
        why: Type.String({ description: "Why it was or wasn't sent." }),
        properties: orNull(Type.Object({}, { additionalProperties: true }), 'The `properties` from POST /send.'),
        captured: orNull(
          Type.Object({
            at: time('When it was captured.'),
            subject: orNull(Type.String(), 'The subject.'),
            text: Type.String({ description: 'The text. For emails from older releases: the whole source.' }),
          }),
          'The email itself, if it was captured instead of sent.',
        ),
      }),
      { description: 'Emails to the person, sent or not, newest first.' },
    ),
    pageReports: Type.Array(
      Type.Object({ type: Type.String(), path: Type.String(), at: time('When it was reported.') }),
      {
        description:
          'Pages that were opened, left or returned to. Stored for 48 hours, or longer while an email to the person is waiting.',
      },
    ),
    deleted: Type.Object(
      {
        eventsUntil: timeOrNull('Events that arrived up to this time were deleted.'),
        pageViewsUntil: timeOrNull('Page views that arrived up to this time were deleted.'),
      },
      { description: 'What was deleted because of its age. A time is null if nothing of that kind was deleted.' },
    ),
    events: Type.Array(EventRecord, { description: 'Events, page views and actions, newest first.' }),
  },
  { title: 'PersonExport' },
)

export const EventPage = pageOf('EventPage', EventRecord)
export const DeliveryPage = pageOf('DeliveryPage', DeliveryRecord)

/** HTTP codes by status. Other refusals belong to the dashboard and the command line. */
export const ERROR_CODES = [
  'invalid_json',
  'invalid_field',
  'invalid_api_key',
  'plan_limit_reached',
  'insufficient_scope',
  'invalid_signature',
  'signature_expired',
  'origin_not_allowed',
  'app_not_found',
  'contact_not_found',
  'site_not_found',
  'message_not_found',
  'delivery_not_found',
  'not_found',
  'method_not_allowed',
  'message_not_live',
  'message_changed',
  'message_name_taken',
  'delivery_in_use',
  'idempotency_in_progress',
  'too_large',
  'unsupported_media_type',
  'idempotency_mismatch',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const satisfies readonly RefusalCode[]
const ERROR_CODE = oneOf(ERROR_CODES, 'A stable code for programs.', 'ErrorCode')

const API_LIMIT_NAMES = [
  'events_per_hour',
  'contact_adds_per_hour',
  'contact_updates_per_hour',
  'contact_adds_per_ip',
  'refused_requests_per_minute',
  'requests_without_key_per_minute',
  'costly_calls_per_minute',
  'person_items_per_hour',
  'site_items_per_hour',
  'reports_per_minute',
  'wrong_signatures_per_minute',
] as const satisfies readonly (LimitName | ScriptLimitName)[]

const LIMITED = {
  scope: Type.Optional(
    oneOf(
      ['key', 'ip', 'person', 'site'],
      'With `rate_limited`: what the limit applies to, a key or an IP address; for reports of page views, also a person or a site.',
    ),
  ),
  limitName: Type.Optional(oneOf(API_LIMIT_NAMES, 'With `rate_limited`: the limit you reached.')),
  keyId: Type.Optional(Type.String({ description: 'With `rate_limited` and scope `key`: the ID of the key.' })),
  limit: Type.Optional(Type.Integer({ description: 'With `rate_limited`: how many the limit allows.' })),
  retryAfter: Type.Optional(Type.Integer({ description: 'With `rate_limited`: seconds to wait.' })),
  retryAt: Type.Optional(time('With `rate_limited`: when to retry.')),
}

const ACCEPTED = Type.Literal(true, { description: 'The event was accepted.' })

const BATCH_INDEX = Type.Integer({ description: 'The position of the event in the request, from 0.', minimum: 0 })

const BatchAccepted = Type.Object(
  { index: BATCH_INDEX, ok: ACCEPTED, contactId: CONTACT_ID, created: CREATED, warnings: WARNINGS },
  { title: 'BatchAccepted' },
)

const BatchRefused = Type.Object(
  {
    index: BATCH_INDEX,
    ok: Type.Literal(false, { description: 'The event was refused.' }),
    error: ERROR_CODE,
    message: ISSUE.message,
    field: Type.Optional(ISSUE.field),
    errors: Type.Optional(Type.Array(FieldErrorItem, { description: 'Present if several fields are invalid.' })),
    ...LIMITED,
  },
  { title: 'BatchRefused' },
)

export const BatchAnswer = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether every event was accepted.' }),
    accepted: Type.Integer({ description: 'How many were accepted.', minimum: 0 }),
    results: Type.Array(Type.Union([BatchAccepted, BatchRefused]), {
      description: 'One result for each event, in the same order.',
    }),
    warnings: WARNINGS,
  },
  { title: 'BatchRecorded' },
)

export const ErrorAnswer = Type.Object(
  {
    ok: Type.Literal(false, { description: 'The request was refused or failed.' }),
    error: ERROR_CODE,
    message: ISSUE.message,
    hint: Type.Optional(
      Type.String({
        description:
          'With `invalid_api_key`: what to send. The same for every wrong key. With `invalid_signature`: what is missing or wrong, what is signed and with which secret.',
      }),
    ),
    field: Type.Optional(ISSUE.field),
    errors: Type.Optional(Type.Array(FieldErrorItem, { description: 'Present if several fields are invalid.' })),
    requestId: Type.String({ description: 'The ID of this request, as in the header X-Request-Id and the log.' }),
    ...LIMITED,
  },
  { title: 'Error', description: 'An error.' },
)

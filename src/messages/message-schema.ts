/**
 * What a message says: the one schema for the editor, the file, MCP and the documentation.
 * `say` is the sentence for someone who wrote something else (core/inputs.ts). `isKind` marks the property
 * that tells which variant of a union is meant, and `brief` is the description for a model.
 */
import { describeInvalidEmail } from '../core/email.ts'
import { formatLimit } from '../core/count.ts'
import { Kind, type Static, type TSchema, Type } from '@sinclair/typebox'
import { COMPARISONS, MAIL_CATEGORIES, MESSAGE_STATUSES } from '../store/message-types.ts'
import { CONTACT_STATUSES } from '../store/types.ts'
import { WORD } from '../core/inputs.ts'
import { MAX_TAG_CHARACTERS } from '../core/field-limits.ts'
import { EMAIL_PATTERN, EVENT_NAME_PATTERN, NO_CONTROL_PATTERN } from '../core/field-patterns.ts'

const MAX_WAIT_MINUTES = 30 * 24 * 60
const MAX_RULES = 20
const MAX_CONDITIONS = 20
const MAX_AWAY_MINUTES = 24 * 60
const MAX_SINCE_DAYS = 365
const MAX_AGAIN_HOURS = 365 * 24
const MAX_SUBJECT_CHARACTERS = 300
const MAX_BODY_CHARACTERS = 50_000
const MAX_HTML_CHARACTERS = 100_000
const MAX_GOAL_DAYS = 30
const MAX_HOLDBACK_PERCENT = 50
export const MAX_NAME_CHARACTERS = 100
const MAX_TOPIC_CHARACTERS = 60
const MAX_PROPERTY_CHARACTERS = 100
const MAX_ONCE_PROPERTIES = 10
const MAX_COMPARED_CHARACTERS = 1_000
const MAX_COMPARED_VALUES = 100
const MAX_DATE_DAYS = 365

/** For an email without HTML of its own, too. */
export const SAY_BODY = `Enter the text of the email: 1 to ${formatLimit(MAX_BODY_CHARACTERS)} characters of Markdown.`

const text = (maxLength: number, say: string, minLength = 1) =>
  Type.String({ minLength, maxLength, pattern: NO_CONTROL_PATTERN, say })
const longText = (
  maxLength: number,
  say: string,
  { minLength = 1, brief }: { minLength?: number; brief?: string } = {},
) => Type.String({ minLength, maxLength, pattern: '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F]*$', brief, say })
const whole = (minimum: number, maximum: number, say: string) => Type.Integer({ minimum, maximum, say })
const oneOf = <const T extends readonly string[]>(words: T) =>
  Type.Unsafe<T[number]>({ [Kind]: WORD, type: 'string', enum: words, say: `Use one of ${words.join(', ')}.` })
const object = <T extends Record<string, TSchema>>(properties: T, say = 'Send a JSON object.') =>
  Type.Object(properties, { additionalProperties: false, say })

const EVENT = Type.String({
  pattern: EVENT_NAME_PATTERN,
  say: 'Enter an event name: 1 to 64 letters, digits, `_`, `.`, `:` and `-`.',
})
const TAG = text(MAX_TAG_CHARACTERS, `Enter a tag of 1 to ${MAX_TAG_CHARACTERS} characters.`)
const PROPERTY = text(MAX_PROPERTY_CHARACTERS, `Enter a name of 1 to ${MAX_PROPERTY_CHARACTERS} characters.`)
/** Of an address that a message is sent from, or replies go to. */
export const describeWrongAddress = (value: unknown): string => describeInvalidEmail(value, 'Enter one email address.')

const ADDRESS = Type.String({ maxLength: 254, pattern: EMAIL_PATTERN, say: describeWrongAddress })

const COMPARED_TEXT = Type.String({ maxLength: MAX_COMPARED_CHARACTERS })
const COMPARED = {
  is: oneOf(COMPARISONS),
  to: Type.Optional(
    Type.Union(
      [
        COMPARED_TEXT,
        Type.Number(),
        Type.Boolean(),
        Type.Array(Type.Union([COMPARED_TEXT, Type.Number()], { isPlain: true }), {
          minItems: 1,
          maxItems: MAX_COMPARED_VALUES,
        }),
      ],
      {
        say: `Enter text of up to ${MAX_COMPARED_CHARACTERS} characters, a number, true or false, or for "in" a list of up to ${MAX_COMPARED_VALUES} strings and numbers.`,
      },
    ),
  ),
  or: Type.Optional(Type.Literal(true, { say: 'Use true, or leave this out.' })),
}

const CONDITIONS = Type.Array(object({ property: PROPERTY, ...COMPARED }), {
  maxItems: MAX_CONDITIONS,
  say: `Send a list of up to ${MAX_CONDITIONS} conditions.`,
})

const TriggerSchema = Type.Union(
  [
    object({ event: EVENT, where: Type.Optional(CONDITIONS) }),
    object({
      page: Type.String({
        maxLength: 1_024,
        pattern: '^/[^\\x00-\\x20?#*\\x7F]*\\*?$',
        brief: '/pricing, /docs/*',
        say: 'Enter a page path, such as /pricing, or /docs/* for every path that starts with /docs/.',
      }),
    }),
    object({ contact: Type.Literal('created', { say: 'Use "created".' }) }),
    object({ tag: TAG }),
    object({ api: Type.Literal('send', { say: 'Use "send".' }) }),
    object({
      message: Type.String({
        minLength: 1,
        maxLength: MAX_NAME_CHARACTERS,
        brief: 'name or ID',
        say: 'Enter the name or ID of another message.',
      }),
    }),
    object({
      date: Type.String({
        minLength: 1,
        maxLength: MAX_PROPERTY_CHARACTERS,
        pattern: NO_CONTROL_PATTERN,
        say: 'Enter the name of a field that has a date, such as trialEndsAt.',
      }),
      days: whole(0, MAX_DATE_DAYS, `Enter a whole number of days from 0 to ${MAX_DATE_DAYS}.`),
      when: oneOf(['before', 'after']),
    }),
    object({
      inactiveDays: whole(1, MAX_DATE_DAYS, `Enter a whole number of days from 1 to ${MAX_DATE_DAYS}.`),
    }),
  ],
  { say: 'Enter a trigger: an event, a page, a contact, a tag, a message, a date, inactiveDays, or api with "send".' },
)

const WaitSchema = Type.Union(
  [
    object({
      minutes: whole(
        0,
        MAX_WAIT_MINUTES,
        `Enter a whole number, from 0 to 30 days (${formatLimit(MAX_WAIT_MINUTES)} minutes).`,
      ),
    }),
    object({
      until: Type.String({
        pattern: '^(?:[01]\\d|2[0-3]):[0-5]\\d$',
        brief: '09:00',
        say: 'Enter a time of day, such as 09:00.',
      }),
    }),
  ],
  { say: 'Use { "minutes": 10 }, or { "until": "09:00" } for a time of day.' },
)

const IF_UNKNOWN = Type.Optional(oneOf(['send', 'skip']))
const SINCE = Type.Optional(
  Type.Union(
    [
      oneOf(['trigger', 'ever']),
      object({ days: whole(1, MAX_SINCE_DAYS, `Enter a whole number of days from 1 to ${MAX_SINCE_DAYS}.`) }),
    ],
    { say: 'Use trigger, ever or days.' },
  ),
)
const minutes = (maximum: number, minimum = 0) =>
  Type.Optional(whole(minimum, maximum, `Enter a whole number of minutes from ${minimum} to ${maximum}.`))
const rule = <const N extends readonly string[], T extends Record<string, TSchema>>(names: N, properties: T) =>
  object({ rule: Type.Unsafe<N[number]>({ [Kind]: WORD, type: 'string', enum: names, isKind: true }), ...properties })

const RuleSchema = Type.Union(
  [
    rule(['away'], {
      minutes: minutes(MAX_AWAY_MINUTES),
      at: Type.Optional(oneOf(['sending', 'trigger'])),
      quietMinutes: minutes(MAX_AWAY_MINUTES, 1),
      ifUnknown: IF_UNKNOWN,
    }),
    rule(['seen', 'notSeen'], { ifUnknown: IF_UNKNOWN }),
    rule(['done', 'notDone'], { event: EVENT, since: SINCE, same: Type.Optional(PROPERTY) }),
    rule(['tag'], { has: TAG }),
    rule(['tag'], { lacks: TAG }),
    rule(['field'], { field: PROPERTY, ...COMPARED }),
    rule(['status'], { is: oneOf(CONTACT_STATUSES) }),
  ],
  { say: 'Use a rule: away, seen, notSeen, done, notDone, tag with has or lacks, field, or status.' },
)

const ONCE_PROPERTY = Type.Union(
  [PROPERTY, Type.Array(PROPERTY, { minItems: 1, maxItems: MAX_ONCE_PROPERTIES, uniqueItems: true })],
  { say: `Enter a property name, or a list of 1 to ${MAX_ONCE_PROPERTIES} different names.` },
)
const COLLECT = object({
  minutes: whole(
    1,
    MAX_WAIT_MINUTES,
    `Enter a whole number of minutes from 1 to ${formatLimit(MAX_WAIT_MINUTES)} (30 days).`,
  ),
})

const ONCE = Type.Unsafe<'person' | 'trigger'>({
  [Kind]: WORD,
  type: 'string',
  enum: ['person', 'trigger'],
  isKind: true,
  say: {
    invalid: 'Use "person", "trigger", or "property" with its name.',
    missing: 'Add `once`: "person", or "property" with its name.',
  },
})

const AgainSchema = Type.Union(
  [
    object({ once: ONCE, collect: Type.Optional(COLLECT) }),
    object({ once: Type.Literal('property'), property: ONCE_PROPERTY, collect: Type.Optional(COLLECT) }),
    object({ everyHours: whole(1, MAX_AGAIN_HOURS, `Enter a whole number of hours from 1 to ${MAX_AGAIN_HOURS}.`) }),
  ],
  { say: 'Use once with "person" or "trigger", once with "property" and its name, or everyHours.' },
)

const GoalSchema = object(
  {
    event: EVENT,
    days: whole(1, MAX_GOAL_DAYS, `Enter a whole number of days from 1 to ${MAX_GOAL_DAYS}.`),
  },
  'Send `goal` with `event` and `days`.',
)

const TEXTS = {
  subject: text(MAX_SUBJECT_CHARACTERS, `Enter a subject of one line and 1 to ${MAX_SUBJECT_CHARACTERS} characters.`),
  preheader: Type.Optional(
    text(MAX_SUBJECT_CHARACTERS, `Enter one line of up to ${MAX_SUBJECT_CHARACTERS} characters.`, 0),
  ),
  body: Type.Optional(
    longText(MAX_BODY_CHARACTERS, SAY_BODY, {
      minLength: 0,
      brief: 'Markdown: {{ event.NAME | default: "none" }}',
    }),
  ),
  html: Type.Optional(
    longText(MAX_HTML_CHARACTERS, `Enter HTML of 1 to ${formatLimit(MAX_HTML_CHARACTERS)} characters.`),
  ),
}

const LANGUAGE = '^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}$'
const MAX_VARIANTS = 20

const MailSchema = object(
  {
    ...TEXTS,
    variants: Type.Optional(
      Type.Record(Type.String({ pattern: LANGUAGE }), object(TEXTS, 'Send `subject` and `body`.'), {
        additionalProperties: false,
        maxProperties: MAX_VARIANTS,
        // each problem names its language
        isByName: true,
        brief: '{ de: { subject, body } }',
        say: {
          invalid: 'Send an object of texts by language, such as { "de": { "subject": ..., "body": ... } }.',
          too_large: `Send up to ${MAX_VARIANTS} languages.`,
          key: 'Name each text by its language, such as de or de-CH.',
        },
      }),
    ),
    fromName: Type.Optional(text(MAX_NAME_CHARACTERS, `Enter a name of 1 to ${MAX_NAME_CHARACTERS} characters.`)),
    fromEmail: Type.Optional(ADDRESS),
    replyTo: Type.Optional(ADDRESS),
    category: Type.Optional(oneOf(MAIL_CATEGORIES)),
  },
  'Send `mail` with `subject` and `body`.',
)

/** Its name. */
export const TopicSchema = text(
  MAX_TOPIC_CHARACTERS,
  `Enter a topic of one line and 1 to ${MAX_TOPIC_CHARACTERS} characters.`,
)

const about = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description })

/** A message as the editor, a file, the API and MCP write it. */
export const MessageSchema = object({
  name: about(
    text(MAX_NAME_CHARACTERS, `Enter a name of 1 to ${MAX_NAME_CHARACTERS} characters.`),
    'Unique in the app. Only your team sees it.',
  ),
  status: Type.Optional(oneOf(MESSAGE_STATUSES)),
  trigger: about(TriggerSchema, 'What [triggers](/docs/triggers) it.'),
  wait: Type.Optional(about(WaitSchema, 'How long it [waits](/docs/triggers).')),
  onlyIf: Type.Optional(
    Type.Array(RuleSchema, {
      description: 'The [rules](/docs/rules) about who gets it.',
      maxItems: MAX_RULES,
      say: `Send a list of up to ${MAX_RULES} rules.`,
    }),
  ),
  again: Type.Optional(about(AgainSchema, '[How often](/docs/frequency) a person gets it.')),
  goal: Type.Optional(about(GoalSchema, 'The goal counted in its [results](/docs/results).')),
  holdback: Type.Optional(
    about(
      whole(1, MAX_HOLDBACK_PERCENT, `Enter a whole percentage from 1 to ${MAX_HOLDBACK_PERCENT}.`),
      'The percentage of people who are [held back for comparison](/docs/holdback).',
    ),
  ),
  topic: Type.Optional(about(TopicSchema, 'The [topic](/docs/topics) it is about.')),
  ifUnconfirmed: Type.Optional(
    about(
      oneOf(['resend', 'leave']),
      "What to do if [delivery isn't confirmed](/docs/content#if-delivery-isnt-confirmed).",
    ),
  ),
  mail: about(MailSchema, '[What it says](/docs/content).'),
})

export type MessageInput = Static<typeof MessageSchema>

/** Validates the bodies of POST, PATCH and DELETE /contacts. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import * as limits from '../core/field-limits.ts'
import { CUSTOM_FIELD_KEY_PATTERN, IP_PATTERN } from '../core/field-patterns.ts'
import { readIp } from '../core/addresses.ts'
import { readEmail } from '../core/email.ts'
import * as fields from '../core/field-schemas.ts'
import * as inputs from '../core/inputs.ts'
import type { Warning } from '../core/refusals.ts'
import { ownTimezone, TIMEZONE_FIELD } from './timezone.ts'

export type CustomFields = Record<string, string | number | boolean | null>

export type ContactFields = {
  app: string
  /** Identity form; `emailShown` is as sent. */
  email: string
  emailShown: string
  /** undefined: keep; null: clear. */
  firstName?: string | null
  lastName?: string | null
  source?: string | null
  tags: string[]
  removeTags: string[]
  /** A key may be `__proto__`: use entries, never assignment or spread. */
  fields: CustomFields | null
  /** For the limit only; never stored. */
  ip: string | null
  /** They are asked to confirm the address. */
  consent?: 'pending'
}

export type ContactEraseFields = { app: string; email: string }

const tags = (description: string) =>
  Type.Array(fields.shortText(limits.MAX_TAG_CHARACTERS, 'each tag as a string'), {
    description,
    maxItems: limits.MAX_TAGS,
    say: { invalid: 'Send an array of strings.', too_long: `Send at most ${limits.MAX_TAGS} tags at a time.` },
  })

const FIELDS = Type.Record(
  Type.String({ pattern: CUSTOM_FIELD_KEY_PATTERN }),
  Type.Union(
    [Type.String({ maxLength: limits.MAX_CUSTOM_FIELD_TEXT_CHARACTERS }), Type.Number(), Type.Boolean(), Type.Null()],
    {
      say: {
        invalid: 'Send strings, numbers, true, false or null as values.',
        too_long: 'Send values of up to 1,000 characters.',
      },
    },
  ),
  {
    description:
      "Your own data about the person: up to 100 keys and 16 KB, strings of up to 1,000 characters. Absent keys don't change. Null removes a key.",
    brief: 'own data; null removes a key',
    additionalProperties: false,
    maxProperties: limits.MAX_CUSTOM_FIELDS,
    examples: [{ plan: 'pro', seats: 3 }],
    say: {
      invalid: 'Send a JSON object.',
      too_large: `Send at most ${limits.MAX_CUSTOM_FIELDS} keys.`,
      key: 'Use 1 to 64 characters for each name: letters A to Z and a to z, digits, underscores, periods and hyphens.',
    },
  },
)

const source = (description?: string) => fields.shortText(limits.MAX_SOURCE_CHARACTERS, 'a string', description)

const IP = Type.String({
  description:
    "The visitor's IPv4 or IPv6 address. Used to limit how many people one visitor can add, and never stored.",
  brief: "the visitor's; never stored",
  maxLength: limits.MAX_IP_CHARACTERS,
  pattern: IP_PATTERN,
  examples: ['203.0.113.7', '2001:db8::1'],
  say: "Send the visitor's IPv4 or IPv6 address, without port or zone.",
})

const CONSENT = Type.Literal('pending', {
  description:
    'Emails a new person a link to confirm the address. Until then, they get only transactional emails. Needs double opt-in.',
  say: 'Send `pending`, or leave this out.',
})

const CONTACT_FIELDS = {
  newsletter: fields.NEWSLETTER,
  app: fields.APP,
  email: fields.EMAIL,
  firstName: Type.Optional(fields.nameField('First name; null clears it.')),
  lastName: Type.Optional(fields.nameField('Last name; null clears it.')),
} as const satisfies Record<string, TSchema>

export const ContactInput = Type.Object(
  {
    ...CONTACT_FIELDS,
    tags: Type.Optional(tags('Tags to add, up to 50 at a time and 200 in total.')),
    fields: Type.Optional(FIELDS),
    source: Type.Optional(
      source('Where the person came from, such as `landing page`. Set only if the person has no source yet.'),
    ),
    ip: Type.Optional(IP),
    consent: Type.Optional(CONSENT),
  },
  {
    title: 'ContactInput',
    description: 'A person to add, or changes to the person with this email.',
    ...fields.EITHER_APP_NAME,
  },
)

export const ContactUpdateInput = Type.Object(
  {
    ...CONTACT_FIELDS,
    tags: Type.Optional(tags('Tags to add, up to 50 at a time and 200 in total.')),
    removeTags: Type.Optional(tags('Tags to remove. None of them can be in `tags`.')),
    fields: Type.Optional(FIELDS),
    source: Type.Optional(
      Type.Union([source(), Type.Null()], {
        description: 'Where the person came from. Replaces the stored value; null clears it.',
        say: source().say,
      }),
    ),
    ip: Type.Optional({
      ...IP,
      description: "The visitor's IPv4 or IPv6 address. Only POST uses it.",
      brief: undefined,
    }),
  },
  {
    title: 'ContactUpdateInput',
    description: 'Changes to a known person. Absent fields stay unchanged.',
    ...fields.EITHER_APP_NAME,
  },
)

export const ContactErase = Type.Object(
  { newsletter: fields.NEWSLETTER, app: fields.APP, email: fields.EMAIL },
  { title: 'ContactErase', description: 'The person to erase.', ...fields.EITHER_APP_NAME },
)

const ADD_FIELD_NAMES = fields.knownFields(ContactInput)
const UPDATE_FIELD_NAMES = fields.knownFields(ContactUpdateInput)
const ERASE_FIELD_NAMES = fields.knownFields(ContactErase)

/** Reads POST /contacts. `removeTags` is ignored with a warning, whatever it contains. */
export function readContactInput(body: inputs.Body): inputs.Reading<ContactFields> {
  const reading = readAdded(body, null)
  if ('errors' in reading) return reading
  const { removeTags, ...sent } = body
  const warnings = [...inputs.warnOfUnknown(sent, ADD_FIELD_NAMES), ...warnOfTimezone(reading.input)]
  if (removeTags !== undefined) {
    const message = 'This was ignored. Only PATCH removes tags.'
    warnings.unshift({ field: 'removeTags', code: 'ignored_field', message })
  }
  return { input: reading.input, warnings }
}

/** Reads PATCH /contacts. The same tag to add and to remove is an error. */
export function readContactUpdate(body: inputs.Body): inputs.Reading<ContactFields> {
  const reading = readChanged(body, null)
  if ('errors' in reading) return reading
  const { input } = reading
  return { input, warnings: [...inputs.warnOfUnknown(body, UPDATE_FIELD_NAMES), ...warnOfTimezone(input)] }
}

/** Reads DELETE /contacts. */
export function readContactErase(body: inputs.Body): inputs.Reading<ContactEraseFields> {
  const reading = readErased(body, null)
  return 'errors' in reading
    ? reading
    : { input: reading.input, warnings: inputs.warnOfUnknown(body, ERASE_FIELD_NAMES) }
}

/** An invalid timezone is stored, but Eventpost can't use it. */
function warnOfTimezone({ fields: own }: ContactFields): Warning[] {
  const zone = own !== null && Object.hasOwn(own, TIMEZONE_FIELD) ? own[TIMEZONE_FIELD] : null
  if (zone === null || zone === '' || ownTimezone(own) !== null) return []
  const message = "This is not a timezone like `Europe/Berlin`, so the app's timezone is used for this person."
  return [{ field: `fields.${TIMEZONE_FIELD}`, code: 'unknown_timezone', message }]
}

const rules: inputs.Rules = {
  ...fields.appRules(ContactUpdateInput),
  email: fields.emailRule,
  removeTags: (removed, body) => (isInBoth(body.tags, removed) ? IN_BOTH : null),
  fields: (value) => (value !== undefined && isTooLarge(value) ? TOO_LARGE : null),
  ip: (value) => (typeof value === 'string' && readIp(value) === null ? inputs.faultOf(IP, 'invalid', value) : null),
}

const IN_BOTH: inputs.Fault = {
  code: 'conflict',
  message: 'A tag is in both `tags` and `removeTags`. Send it in one of them.',
}
const TOO_LARGE: inputs.Fault = {
  code: 'too_large',
  message: 'Send at most 16 KB (16,384 bytes of compact JSON) in total.',
}

const isInBoth = (tags: unknown, removed: unknown): boolean =>
  Array.isArray(removed) &&
  Array.isArray(tags) &&
  removed.some((tag) => tags.includes(tag)) &&
  inputs.isFine(ContactUpdateInput.properties.tags, tags)

const isTooLarge = (value: unknown): boolean =>
  Buffer.byteLength(JSON.stringify(value)) > limits.MAX_CUSTOM_FIELDS_BYTES

const readAdded = inputs.createReader({
  schema: ContactInput,
  clean: (sent: Static<typeof ContactInput>) => addConsent(clean(sent), sent),
  rules: () => rules,
})
const readChanged = inputs.createReader({
  schema: ContactUpdateInput,
  clean: (sent: Static<typeof ContactUpdateInput>) => clean(sent, sent.removeTags),
  rules: () => rules,
})
const readErased = inputs.createReader({
  schema: ContactErase,
  clean: (sent: Static<typeof ContactErase>) => cleanErased(sent),
  rules: () => rules,
})

function cleanPerson(sent: Static<typeof ContactErase>) {
  const app = fields.findAppId(sent)
  const address = readEmail(sent.email)
  return app === null || address === null ? null : { app, email: address.email, emailShown: address.shown }
}

function cleanErased(sent: Static<typeof ContactErase>): ContactEraseFields | null {
  const person = cleanPerson(sent)
  return person && { app: person.app, email: person.email }
}

const addConsent = (cleaned: ContactFields | null, { consent }: Static<typeof ContactInput>): ContactFields | null =>
  cleaned && (consent === undefined ? cleaned : { ...cleaned, consent })

/** Ignores `removeTags` in inputs without it. */
function clean(
  sent: Static<typeof ContactInput | typeof ContactUpdateInput>,
  removed: string[] = [],
): ContactFields | null {
  const person = cleanPerson(sent)
  const { tags = [], fields: own, source, ip } = sent
  const address = ip === undefined ? null : readIp(ip)
  if (!person || isInBoth(tags, removed) || (own !== undefined && isTooLarge(own))) return null
  if (ip !== undefined && address === null) return null
  return {
    ...person,
    firstName: cleanName(sent.firstName),
    lastName: cleanName(sent.lastName),
    tags: [...new Set(tags)],
    removeTags: [...new Set(removed)],
    fields: own ?? null,
    source,
    ip: address,
  }
}

/** An empty name clears, as null does. */
const cleanName = (name: string | null | undefined): string | null | undefined => (name === '' ? null : name)

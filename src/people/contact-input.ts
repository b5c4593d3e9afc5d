import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import * as limits from '../core/field-limits.ts'
import { CUSTOM_FIELD_KEY_PATTERN, IP_PATTERN } from '../core/field-patterns.ts'
import { APP, EITHER_APP_NAME, EMAIL, nameField, NEWSLETTER, shortText } from '../core/field-schemas.ts'
import * as readers from '../core/field-readers.ts'
import { isJsonObject } from '../core/json.ts'
import type { FieldError } from '../core/refusals.ts'

export type CustomFields = Record<string, string | number | boolean | null>

export type ContactFields = {
  app: string
  /** Identity form; `emailShown` is as sent. */
  email: string
  emailShown: string
  /** undefined: keep; null: clear. */
  firstName?: string | null
  lastName?: string | null
  tags: string[]
  removeTags: string[]
  /** A key may be `__proto__`: use entries, never assignment or spread. */
  fields: CustomFields | null
  source: string | null
  /** For the limit only; never stored. */
  ip: string | null
}

export type ContactEraseFields = { app: string; email: string }

const tags = (description: string) =>
  Type.Array(shortText(limits.MAX_TAG_CHARACTERS), { description, maxItems: limits.MAX_TAGS })

const FIELDS = Type.Record(
  Type.String({ pattern: CUSTOM_FIELD_KEY_PATTERN }),
  Type.Union([
    Type.String({ maxLength: limits.MAX_CUSTOM_FIELD_TEXT_CHARACTERS }),
    Type.Number(),
    Type.Boolean(),
    Type.Null(),
  ]),
  {
    description:
      "The customer's own data about the person: up to 100 keys and 16 KB in all, texts of up to 1,000 characters. What is not sent stays; null removes.",
    brief: 'own data; null removes a key',
    additionalProperties: false,
    maxProperties: limits.MAX_CUSTOM_FIELDS,
    examples: [{ plan: 'pro', seats: 3 }],
  },
)

const source = (description: string) => shortText(limits.MAX_SOURCE_CHARACTERS, description)

const IP = Type.String({
  description: "The visitor's IPv4 or IPv6 address, for the limit per visitor. It is never stored.",
  brief: "the visitor's; never stored",
  maxLength: limits.MAX_IP_CHARACTERS,
  pattern: IP_PATTERN,
  examples: ['203.0.113.7', '2001:db8::1'],
})

const CONTACT_FIELDS = {
  newsletter: NEWSLETTER,
  app: APP,
  email: EMAIL,
  firstName: Type.Optional(nameField('First name; null clears it.')),
  lastName: Type.Optional(nameField('Last name; null clears it.')),
} as const satisfies Record<string, TSchema>

export const ContactInput = Type.Object(
  {
    ...CONTACT_FIELDS,
    tags: Type.Optional(tags('Tags to add, up to 50 at a time and 200 in all.')),
    fields: Type.Optional(FIELDS),
    source: Type.Optional(source('Where the person came from. The first one stays.')),
    ip: Type.Optional(IP),
  },
  {
    title: 'ContactInput',
    description: 'A person to add, or to merge into the one with this email.',
    ...EITHER_APP_NAME,
  },
)

export const ContactUpdateInput = Type.Object(
  {
    ...CONTACT_FIELDS,
    tags: Type.Optional(tags('Tags to add, up to 50 at a time and 200 in all.')),
    removeTags: Type.Optional(tags('Tags to remove; none that `tags` adds.')),
    fields: Type.Optional(FIELDS),
    source: Type.Optional(source('Where the person came from; replaces what is stored.')),
    ip: Type.Optional(IP),
  },
  {
    title: 'ContactUpdateInput',
    description: 'What to change of a known person. What is not sent stays as it is.',
    ...EITHER_APP_NAME,
  },
)

export const ContactErase = Type.Object(
  { newsletter: NEWSLETTER, app: APP, email: EMAIL },
  { title: 'ContactErase', description: 'The person to erase everywhere.', ...EITHER_APP_NAME },
)

/** Schema order is the order of errors. */
const namesOf = ({ properties }: TObject): ReadonlySet<string> => new Set(Object.keys(properties))
const UPDATE_FIELD_NAMES = namesOf(ContactUpdateInput)
const ERASE_FIELD_NAMES = namesOf(ContactErase)

const CUSTOM_FIELD_KEY = new RegExp(CUSTOM_FIELD_KEY_PATTERN)
const TAG: readers.TextKind = { what: 'each tag as a string', min: 1, max: limits.MAX_TAG_CHARACTERS }
const SOURCE: readers.TextKind = { what: 'a string', min: 1, max: limits.MAX_SOURCE_CHARACTERS }

/** `removeTags` has no effect and gives a warning. */
export function readContactInput(body: readers.Body): readers.Reading<ContactFields> {
  const { input, errors } = readContact(body, undefined)
  if (errors.length > 0) return { errors }
  const warnings = readers.warnOfUnknown(body, UPDATE_FIELD_NAMES)
  if (body.removeTags !== undefined) {
    const message = 'Tags are removed with PATCH only, so this was ignored.'
    warnings.unshift({ field: 'removeTags', code: 'ignored_field', message })
  }
  return { input, warnings }
}

/** Adding and removing the same tag is an error. */
export function readContactUpdate(body: readers.Body): readers.Reading<ContactFields> {
  const { input, errors } = readContact(body, body.removeTags)
  return errors.length > 0 ? { errors } : { input, warnings: readers.warnOfUnknown(body, UPDATE_FIELD_NAMES) }
}

export function readContactErase(body: readers.Body): readers.Reading<ContactEraseFields> {
  const errors: FieldError[] = []
  const app = readers.readAppId(body, 'newsletter', errors)
  const { email } = readers.readAddress(body.email, errors)
  if (errors.length > 0) return { errors }
  return { input: { app, email }, warnings: readers.warnOfUnknown(body, ERASE_FIELD_NAMES) }
}

function readContact(body: readers.Body, removed: unknown): { input: ContactFields; errors: FieldError[] } {
  const errors: FieldError[] = []
  const app = readers.readAppId(body, 'newsletter', errors)
  const address = readers.readAddress(body.email, errors)
  const firstName = readers.readName(body.firstName, 'firstName', errors)
  const lastName = readers.readName(body.lastName, 'lastName', errors)
  const tags = readTags(body.tags, 'tags', errors)
  const removeTags = readTags(removed, 'removeTags', errors)
  if (removeTags.some((tag) => tags.includes(tag)))
    readers.addError(
      errors,
      'removeTags',
      'conflict',
      'A tag is in both `tags` and `removeTags`. Send it in one of them.',
    )
  const fields = readCustomFields(body.fields, errors)
  const source = readSource(body.source, errors)
  const ip = readers.readIp(body.ip, errors)
  const { email, shown: emailShown } = address
  return { input: { app, email, emailShown, firstName, lastName, tags, removeTags, fields, source, ip }, errors }
}

function readTags(value: unknown, field: string, errors: FieldError[]): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    readers.addError(errors, field, 'invalid', 'Send an array of strings.')
    return []
  }
  if (value.length > limits.MAX_TAGS) {
    readers.addError(errors, field, 'too_long', `Send at most ${limits.MAX_TAGS} tags at a time.`)
    return []
  }
  const tags = new Set<string>()
  for (const tag of value as unknown[]) {
    if (!readers.isPlainText(tag, field, TAG, errors)) return []
    tags.add(tag)
  }
  return [...tags]
}

function readSource(value: unknown, errors: FieldError[]): string | null {
  return value !== undefined && readers.isPlainText(value, 'source', SOURCE, errors) ? value : null
}

function readCustomFields(value: unknown, errors: FieldError[]): CustomFields | null {
  if (value === undefined) return null
  const add = (code: string, message: string): null => {
    readers.addError(errors, 'fields', code, message)
    return null
  }
  if (!isJsonObject(value)) return add('invalid', 'Send a JSON object.')
  const entries = Object.entries(value)
  if (entries.length > limits.MAX_CUSTOM_FIELDS)
    return add('too_large', `Send at most ${limits.MAX_CUSTOM_FIELDS} keys.`)
  if (!entries.every(([key]) => CUSTOM_FIELD_KEY.test(key)))
    return add('invalid', 'Name each key with 1 to 64 of the letters A to Z and a to z, digits, `_`, `.` and `-`.')
  if (!hasPlainValues(value)) return add('invalid', 'Send strings, numbers, true, false or null as values.')
  const max = limits.MAX_CUSTOM_FIELD_TEXT_CHARACTERS
  if (Object.values(value).some((one) => typeof one === 'string' && readers.isLongerThan(one, max)))
    return add('too_long', 'Send values of up to 1,000 characters.')
  return isTooLarge(value) ? add('too_large', 'Send at most 16 KB (16,384 bytes of compact JSON) in all.') : value
}

const isPlainValue = (value: unknown): boolean =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

const hasPlainValues = (value: Record<string, unknown>): value is CustomFields =>
  Object.values(value).every(isPlainValue)

const isTooLarge = (value: CustomFields): boolean =>
  Buffer.byteLength(JSON.stringify(value)) > limits.MAX_CUSTOM_FIELDS_BYTES

import type { AppRow } from '../../accounts/access.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { ContactRow } from '../../people/contacts.ts'
import type { ContactChangeRow } from '../../store/contact-changes.ts'
import { type ContactFields, readContactInput, readContactUpdate } from '../../people/contact-input.ts'
import type { FormInput } from '../layout/forms.ts'

type FieldRow = { name: string; value: string }

/** What the form shows. Tags: one per line. */
export type PersonText = {
  email: string
  firstName: string
  lastName: string
  source: string
  tags: string
  fields: FieldRow[]
  /** a new person gets an email that asks them to confirm the address */
  asksConsent: boolean
}

type FieldValue = string | number | boolean

const isLiteral = (text: string): boolean =>
  text === 'true' || text === 'false' || (text !== '' && String(Number(text)) === text && Number.isFinite(Number(text)))

const QUOTED = /^".*"$/s

/** Text that would be read as a number, true or false is in quotes. */
const writeValue = (value: FieldValue): string =>
  typeof value === 'string' && (isLiteral(value) || QUOTED.test(value)) ? `"${value}"` : String(value)

function readValue(text: string): FieldValue {
  if (QUOTED.test(text)) return text.slice(1, -1)
  if (!isLiteral(text)) return text
  return text === 'true' || text === 'false' ? text === 'true' : Number(text)
}

export const NO_PERSON: PersonText = {
  email: '',
  firstName: '',
  lastName: '',
  source: '',
  tags: '',
  fields: [],
  asksConsent: false,
}

export const toPersonText = (person: ContactRow): PersonText => ({
  email: person.email,
  firstName: person.firstName ?? '',
  lastName: person.lastName ?? '',
  source: person.source ?? '',
  tags: (person.tags ?? []).join('\n'),
  fields: Object.entries(person.fields ?? {}).map(([name, value]) => ({ name, value: writeValue(value) })),
  asksConsent: false,
})

/** A form has no more rows of fields, so that it stays small. */
const MAX_FIELD_ROWS = 110
/** Room for the most tags and fields, typed and shown. */
export const PERSON_FORM_BYTES = 512 * 1024

/** Before the names of the hidden fields with what the form showed. */
const SHOWN = 'shown.'

export const readPersonForm = (form: FormInput): PersonText => readTexts(form, '')
export const readShown = (form: FormInput): PersonText => readTexts(form, SHOWN)

function readTexts(form: FormInput, prefix: string): PersonText {
  const text = (name: string): string => form.text(`${prefix}${name}`)
  const rows = Array.from({ length: MAX_FIELD_ROWS }, (_, row) => ({
    name: text(`fields[${row}].name`).trim(),
    value: text(`fields[${row}].value`).trim(),
  }))
  return {
    email: text('email'),
    firstName: text('firstName'),
    lastName: text('lastName'),
    source: text('source'),
    tags: text('tags'),
    fields: rows.filter(({ name, value }) => name !== '' || value !== ''),
    asksConsent: text('asksConsent') !== '',
  }
}

/** Hidden fields; see readShown. */
export const writeShown = ({ firstName, lastName, source, tags, fields }: PersonText): Record<string, string> => ({
  [`${SHOWN}firstName`]: firstName,
  [`${SHOWN}lastName`]: lastName,
  [`${SHOWN}source`]: source,
  [`${SHOWN}tags`]: tags,
  ...Object.fromEntries(
    fields.flatMap(({ name, value }, row) => [
      [`${SHOWN}fields[${row}].name`, name],
      [`${SHOWN}fields[${row}].value`, value],
    ]),
  ),
})

/** Browsers drop line feeds in the inputs of a form. */
const tidy = (text: string): string => text.replaceAll(/[\r\n]/g, '').trim()
const isSame = (one: string, other: string): boolean => tidy(one) === tidy(other)

const textOrNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

const readLines = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
]

const NAMED = { firstName: 'First name', lastName: 'Last name', source: 'Source' } as const
type Named = keyof typeof NAMED

/** A field that both the form and someone else changed. `isIn`: whether a stored change is about it. */
export type PersonConflict = { label: string; now: string; isIn: (change: ContactChangeRow['change']) => boolean }

/** Applies only the edits, so that values changed by others meanwhile stay. */
export function mergePersonText(
  typed: PersonText,
  shown: PersonText,
  stored: PersonText,
): { text: PersonText; conflicts: PersonConflict[] } {
  const conflicts: PersonConflict[] = []
  const merge = (was: string, now: string, wanted: string, about: Pick<PersonConflict, 'label' | 'isIn'>): string => {
    if (isSame(wanted, was)) return now
    if (!isSame(now, was) && !isSame(now, wanted)) conflicts.push({ now, ...about })
    return wanted
  }
  const named = (name: Named): string =>
    merge(shown[name], stored[name], typed[name], { label: NAMED[name], isIn: (change) => change[name] !== null })
  const text = { ...stored, firstName: named('firstName'), lastName: named('lastName'), source: named('source') }
  const [typedTags, shownTags] = [readLines(typed.tags), readLines(shown.tags)]
  const tags = [
    ...readLines(stored.tags).filter((tag) => typedTags.includes(tag) || !shownTags.includes(tag)),
    ...typedTags.filter((tag) => !shownTags.includes(tag)),
  ]
  const [before, now, wanted] = [shown, stored, typed].map(
    ({ fields }) => new Map(fields.map(({ name, value }) => [name, value])),
  ) as [Map<string, string>, Map<string, string>, Map<string, string>]
  const fields = [...new Set([...now.keys(), ...wanted.keys()])].flatMap((name) => {
    const isIn: PersonConflict['isIn'] = (change) => Object.hasOwn(change.fields ?? {}, name)
    const old = now.get(name) ?? ''
    const value = merge(before.get(name) ?? '', old, wanted.get(name) ?? '', { label: name, isIn })
    return value !== '' || (now.has(name) && value === old) ? [{ name, value }] : []
  })
  return { text: { ...text, tags: [...new Set(tags)].join('\n'), fields }, conflicts }
}

const fieldError = (message: string): FieldError => ({ field: 'fields', code: 'invalid_value', message })

export function findWrongNames({ fields }: PersonText): FieldError[] {
  const names = fields.map(({ name }) => name)
  if (names.includes('')) return [fieldError('Name each field.')]
  return new Set(names).size < names.length ? [fieldError('Use each name only once.')] : []
}

/** The API's messages say "Send"; people enter. */
const wordForForm = (error: FieldError): FieldError => ({
  ...error,
  message: error.message.replace(/^Send /, 'Enter '),
})

/** The first error gets the focus. */
const FORM_ORDER = ['app', 'email', 'firstName', 'lastName', 'source', 'tags', 'removeTags', 'fields']

type Reading = { input: ContactFields } | { errors: FieldError[] }

export const readNewPerson = (text: PersonText, app: AppRow): Reading =>
  read(text, NO_PERSON, (body) =>
    readContactInput({
      ...body,
      app: app.publicId,
      email: text.email.trim(),
      ...(text.asksConsent && { consent: 'pending' }),
    }),
  )

/** Only what differs from `stored` is written. */
export const readPersonChange = (text: PersonText, stored: PersonText, app: AppRow): Reading =>
  read(text, stored, (body) => readContactUpdate({ ...body, app: app.publicId, email: stored.email }))

function read(
  text: PersonText,
  stored: PersonText,
  readInput: (body: Record<string, unknown>) => ReturnType<typeof readContactInput>,
): Reading {
  const wrongNames = findWrongNames(text)
  const [tags, known] = [readLines(text.tags), readLines(stored.tags)]
  // a tag may begin or end with a space
  const removedTags = stored.tags.split('\n').filter((tag) => tag.trim() !== '' && !tags.includes(tag.trim()))
  const old = new Map(stored.fields.map(({ name, value }) => [name, value]))
  const names = text.fields.map(({ name }) => name)
  const removed = stored.fields.filter(({ name }) => !names.includes(name)).map(({ name }) => [name, null] as const)
  const changed = text.fields
    .filter(({ name, value }) => !isSame(value, old.get(name) ?? ''))
    .map(({ name, value }) => [name, value === '' ? null : readValue(value)] as const)
  const fields = Object.fromEntries<FieldValue | null>([...removed, ...changed])
  const isChanged = (name: Named): boolean => !isSame(text[name], stored[name])
  const reading = readInput({
    ...(isChanged('firstName') && { firstName: textOrNull(text.firstName) }),
    ...(isChanged('lastName') && { lastName: textOrNull(text.lastName) }),
    tags: tags.filter((tag) => !known.includes(tag)),
    ...(removedTags.length > 0 && { removeTags: removedTags }),
    ...(wrongNames.length === 0 && removed.length + changed.length > 0 && { fields }),
    ...(isChanged('source') && { source: textOrNull(text.source) }),
  })
  const errors = [...('errors' in reading ? reading.errors : []), ...wrongNames].toSorted(
    (a, b) => FORM_ORDER.indexOf(a.field) - FORM_ORDER.indexOf(b.field),
  )
  return 'errors' in reading || errors.length > 0 ? { errors: errors.map(wordForForm) } : reading
}

import type { AppRow } from '../../accounts/access.ts'
import type { FieldError } from '../../core/refusals.ts'
import type { ContactRow } from '../../people/contacts.ts'
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
}

type FieldValue = string | number | boolean

const isLiteral = (text: string): boolean =>
  text === 'true' || text === 'false' || (text !== '' && String(Number(text)) === text && Number.isFinite(Number(text)))

const QUOTED = /^".*"$/s

/** Text that would be read as a number, true or false stands in quotes. */
const writeValue = (value: FieldValue): string =>
  typeof value === 'string' && (isLiteral(value) || QUOTED.test(value)) ? `"${value}"` : String(value)

function readValue(text: string): FieldValue {
  if (QUOTED.test(text)) return text.slice(1, -1)
  if (!isLiteral(text)) return text
  return text === 'true' || text === 'false' ? text === 'true' : Number(text)
}

export const NO_PERSON: PersonText = { email: '', firstName: '', lastName: '', source: '', tags: '', fields: [] }

export const toPersonText = (person: ContactRow): PersonText => ({
  email: person.email,
  firstName: person.firstName ?? '',
  lastName: person.lastName ?? '',
  source: person.source ?? '',
  tags: (person.tags ?? []).join('\n'),
  fields: Object.entries(person.fields ?? {}).map(([name, value]) => ({ name, value: writeValue(value) })),
})

/** A form has no more rows of fields, so that it stays small. */
const MAX_FIELD_ROWS = 110

export function readPersonForm(form: FormInput): PersonText {
  const rows = Array.from({ length: MAX_FIELD_ROWS }, (_, row) => ({
    name: form.text(`fields[${row}].name`).trim(),
    value: form.text(`fields[${row}].value`).trim(),
  }))
  return {
    email: form.text('email'),
    firstName: form.text('firstName'),
    lastName: form.text('lastName'),
    source: form.text('source'),
    tags: form.text('tags'),
    fields: rows.filter(({ name, value }) => name !== '' || value !== ''),
  }
}

const textOrNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

const readLines = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
]

const fieldError = (message: string): FieldError => ({ field: 'fields', code: 'invalid_value', message })

type Reading = { input: ContactFields } | { errors: FieldError[] }

/** Only what differs from `before` is written, so that changes by the API meanwhile stay. */
export function readPersonText(text: PersonText, app: AppRow, before: ContactRow | null): Reading {
  const names = text.fields.map(({ name }) => name)
  const wrongNames = names.includes('')
    ? [fieldError('Name each field.')]
    : new Set(names).size < names.length
      ? [fieldError('Name each field once.')]
      : []
  const [tags, known] = [readLines(text.tags), before?.tags ?? []]
  const fields = Object.fromEntries([
    ...Object.keys(before?.fields ?? {})
      .filter((name) => !names.includes(name))
      .map((name) => [name, null]),
    ...text.fields
      .filter(({ name, value }) => value !== '' || Object.hasOwn(before?.fields ?? {}, name))
      .map(({ name, value }) => [name, value === '' ? null : readValue(value)]),
  ]) as Record<string, FieldValue | null>
  const body = {
    app: app.publicId,
    email: before?.email ?? text.email.trim(),
    firstName: textOrNull(text.firstName),
    lastName: textOrNull(text.lastName),
    tags: tags.filter((tag) => !known.includes(tag)),
    ...(before && { removeTags: known.filter((tag) => !tags.includes(tag)) }),
    ...(wrongNames.length === 0 && Object.keys(fields).length > 0 && { fields }),
    ...(textOrNull(text.source) !== null && { source: textOrNull(text.source) }),
  }
  const reading = before ? readContactUpdate(body) : readContactInput(body)
  const errors = [...('errors' in reading ? reading.errors : []), ...wrongNames]
  return 'errors' in reading || errors.length > 0 ? { errors } : reading
}

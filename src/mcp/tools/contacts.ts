import { Type } from '@sinclair/typebox'
import type { Access } from '../../core/access.ts'
import { findApp } from '../../core/access.ts'
import { type ContactFields, readContactInput, readContactUpdate } from '../../core/contact-input.ts'
import * as contacts from '../../core/contacts.ts'
import type { Reading } from '../../core/field-readers.ts'
import type { Parts } from '../../core/parts.ts'
import { publicId } from '../../core/public-ids.ts'
import { readContactsQuery, writeContactCursor } from '../../core/queries.ts'
import { isRefusal, refuse, refuseFields, withWarnings } from '../../core/refusals.ts'
import { contactView } from '../../core/views.ts'
import { type ContactWriteName, takeForContact } from '../../core/write-limits.ts'
import { findAsked, readPerson, toQuery } from '../arguments.ts'
import { CONTACT_BYTES, fitContact, LISTED_CONTACT_BYTES, PAGE_BYTES, takeFitting } from '../budget.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import * as schemas from './tool.ts'

export const getContact: schemas.Tool = {
  name: 'get_contact',
  title: 'One person',
  description: 'A person by email: names, tags, fields, whether mail may go to them, when they were last seen.',
  kind: 'read',
  input: schemas.takes({ app: schemas.APP, email: schemas.EMAIL }),
  output: schemas.gives({ contact: schemas.CONTACT }),
  run: async (parts, { access }, args) => {
    const asked = findAsked(access, readPerson(args))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const row = await contacts.findContact(parts, app, input.email)
    if (!row) return contacts.UNKNOWN_PERSON
    return { untrusted: UNTRUSTED, ok: true, contact: fitContact(cleanValue(contactView(row, app)), CONTACT_BYTES) }
  },
}

export const searchContacts: schemas.Tool = {
  name: 'search_contacts',
  title: 'People of an app',
  description:
    'People, newest first; with `updatedAfter` those changed last first. A page may hold fewer than `limit`.',
  kind: 'read',
  input: schemas.takes({
    app: schemas.APP,
    tag: Type.Optional(schemas.text()),
    updatedAfter: Type.Optional(schemas.text('ISO 8601 with a timezone')),
    ...schemas.PAGE,
  }),
  output: schemas.gives({ data: schemas.records('as of get_contact'), ...schemas.NEXT }),
  run: async (parts, { access }, args) => {
    const asked = findAsked(access, readContactsQuery(toQuery(args)))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const rows = await contacts.listContacts(parts, app, { ...input, limit: input.limit + 1 })
    const views = rows
      .slice(0, input.limit)
      .map((row) => fitContact(cleanValue(contactView(row, app)), LISTED_CONTACT_BYTES))
    const data = takeFitting(views, PAGE_BYTES)
    const last = rows[data.length - 1]
    const position = last && { id: last.id, updatedAt: input.updatedAfter === null ? null : last.updatedAt }
    const nextCursor = rows.length > data.length && position ? writeContactCursor(position) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

const NAME = Type.Optional(schemas.textOrNull())
const TAGS = Type.Optional(Type.Array(Type.String()))
const FIELDS = {
  app: schemas.APP,
  email: schemas.EMAIL,
  firstName: NAME,
  lastName: NAME,
  tags: TAGS,
  fields: Type.Optional(schemas.record('own data; null removes a key')),
  source: Type.Optional(Type.String()),
}

export const addContact: schemas.Tool = {
  name: 'add_contact',
  title: 'Add a person',
  description: 'Adds a person, or merges into the one with this email. What is not sent stays; a known source stays.',
  kind: 'write',
  input: schemas.takes({ ...FIELDS, ip: Type.Optional(schemas.text("the visitor's; never stored")) }),
  output: schemas.SAVED,
  run: (parts, { access }, args) => save(parts, { access, write: 'contactAdds', reading: readContactInput(args) }),
}

export const updateContact: schemas.Tool = {
  name: 'update_contact',
  title: 'Change a person',
  description: 'Changes a known person, and never makes one. What is not sent stays; null clears a name.',
  kind: 'write',
  hints: { destructive: true },
  input: schemas.takes({ ...FIELDS, removeTags: TAGS }),
  output: schemas.SAVED,
  run: (parts, { access }, args) => save(parts, { access, write: 'contactUpdates', reading: readContactUpdate(args) }),
}

type Save = { access: Access; write: ContactWriteName; reading: Reading<ContactFields> }

/** The checks and the effect of POST and PATCH /contacts, in their order. */
async function save(parts: Parts, { access, write, reading }: Save) {
  if ('errors' in reading) return refuseFields(schemas.nameApp(reading.errors))
  const { input, warnings } = reading
  const app = findApp(access, input.app)
  if (!app) return refuse('app_not_found')
  const counted = takeForContact(parts, { access, app, input }, write)
  if (counted.refused) return counted.refused
  const context = { access, app, via: 'mcp', buckets: counted.buckets, idempotency: null } as const
  const outcome = await (write === 'contactAdds' ? contacts.addContact : contacts.updateContact)(parts, context, input)
  counted.settle(outcome)
  if (isRefusal(outcome)) return contacts.explainUnknown(outcome)
  const { contactId, created } = outcome
  const contact = fitContact(cleanValue(contactView(outcome.contact, app)), CONTACT_BYTES - WARNINGS_BYTES)
  const body = { untrusted: UNTRUSTED, ok: true, contactId: publicId('con', contactId), created, contact }
  return withWarnings(body, cleanValue(warnings))
}

/** Up to 11 of them, each with a name of up to 64 characters. */
const WARNINGS_BYTES = 6 * 1024

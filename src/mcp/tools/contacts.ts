import { Type } from '@sinclair/typebox'
import type { Access, AppRow } from '../../accounts/access.ts'
import { findApp } from '../../accounts/apps.ts'
import { type ContactFields, readContactInput, readContactUpdate } from '../../people/contact-input.ts'
import { tryContact, type TriedContact } from '../../deliveries/contact-trials.ts'
import * as contacts from '../../people/contacts.ts'
import type { Body } from '../../core/field-readers.ts'
import type { ToolParts } from './tool.ts'
import { joinWarnings } from '../../core/json.ts'
import { publicId } from '../../core/ids.ts'
import { listQueuedByContact, type QueuedMessage } from '../../deliveries/queued-messages.ts'
import { readContactsQuery, writeContactCursor } from '../../http/queries.ts'
import { isRefusal, type Refusal, refuse, refuseFields, withWarnings } from '../../core/refusals.ts'
import { contactView } from '../../people/contacts.ts'
import { type ContactWriteName, takeForContact } from '../../accounts/write-limits.ts'
import { findAsked, readPerson, toQuery } from '../arguments.ts'
import { CONTACT_BYTES, costOf, fitContact, LISTED_CONTACT_BYTES, PAGE_BYTES, takeFitting } from '../budget.ts'
import type { Caller } from '../caller.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import * as schemas from './tool.ts'
import { checkDryRun, DRY_RUN, queuedView } from './writes.ts'

export const getContact: schemas.Tool = {
  name: 'get_contact',
  title: 'One person',
  description: 'A person by email: names, tags, fields, subscription, last seen.',
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
  description: 'People, newest first; with `updatedAfter` those changed last first.',
  kind: 'read',
  input: schemas.takes({
    app: schemas.APP,
    tag: Type.Optional(schemas.text()),
    updatedAfter: Type.Optional(schemas.text('ISO 8601 with a timezone')),
    ...schemas.PAGE,
  }),
  output: schemas.gives({ data: schemas.records('contacts'), ...schemas.NEXT }),
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
  description:
    'Adds a person, or merges into the one with this email; lists the emails it queued. Absent fields and a known source stay.',
  kind: 'write',
  hints: { reachesOut: true },
  input: schemas.takes({ ...FIELDS, ip: Type.Optional(schemas.text("the visitor's; never stored")), dryRun: DRY_RUN }),
  output: schemas.SAVED,
  run: (parts, caller, args) => save(parts, caller, 'contactAdds', args),
}

export const updateContact: schemas.Tool = {
  name: 'update_contact',
  title: 'Change a person',
  description:
    'Changes a known person, never adds one; lists the emails it queued. Absent fields stay; null clears a name.',
  kind: 'write',
  hints: { destructive: true, reachesOut: true },
  input: schemas.takes({ ...FIELDS, removeTags: TAGS, dryRun: DRY_RUN }),
  output: schemas.SAVED,
  run: (parts, caller, args) => save(parts, caller, 'contactUpdates', args),
}

const READERS = { contactAdds: readContactInput, contactUpdates: readContactUpdate } as const

/** The checks and the effect of POST and PATCH /contacts, in their order; with `dryRun` the verdict alone. */
async function save(parts: ToolParts, caller: Caller, write: ContactWriteName, { dryRun, ...body }: Body) {
  const { access } = caller
  const reading = checkDryRun(READERS[write](body), dryRun)
  if ('errors' in reading) return refuseFields(schemas.nameApp(reading.errors))
  const { input } = reading
  const app = findApp(access, input.app)
  if (!app) return refuse('app_not_found')
  const saved = await (dryRun === true ? tryContact : saveContact)(parts, { access, app, write, input })
  if (isRefusal(saved)) return contacts.explainUnknown(saved)
  const warnings = cleanValue(joinWarnings(caller.warnings, reading.warnings))
  return withWarnings({ untrusted: UNTRUSTED, ok: true, ...savedView(saved, app, costOf(warnings)) }, warnings)
}

type Wanted = { access: Access; app: AppRow; write: ContactWriteName; input: ContactFields }
type Saved = { contactId: number; created: boolean; contact: contacts.ContactRow; queued: QueuedMessage[] }

async function saveContact(parts: ToolParts, { access, app, write, input }: Wanted): Promise<Saved | Refusal> {
  const before = await contacts.findContact(parts, app, input.email)
  const counted = takeForContact(parts, { access, app, input }, write)
  if (counted.refused) return counted.refused
  const context = { access, app, via: 'mcp', buckets: counted.buckets, idempotency: null } as const
  const saved = await (write === 'contactAdds' ? contacts.addContact : contacts.updateContact)(parts, context, input)
  counted.settle(saved)
  if (isRefusal(saved)) return saved
  const queued = await listQueuedByContact(parts.store, app, { saved, tagsBefore: before?.tags ?? [] })
  return { ...saved, queued }
}

/** `taken`: the bytes of the warnings. */
function savedView(saved: Saved | TriedContact, app: AppRow, taken: number) {
  const id = saved.contactId === null ? null : publicId('con', saved.contactId)
  const queued = queuedView(saved.queued)
  const contact = { ...cleanValue(contactView(saved.contact, app)), id }
  const fitted = fitContact(contact, CONTACT_BYTES - taken - costOf(queued))
  return 'created' in saved
    ? { contactId: id, created: saved.created, contact: fitted, ...queued }
    : { contactId: id, created: id === null, dryRun: true, contact: fitted, ...queued }
}

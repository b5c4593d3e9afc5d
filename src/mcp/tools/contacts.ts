import { Type } from '@sinclair/typebox'
import type { AppRow } from '../../accounts/access.ts'
import {
  ContactUpdateInput,
  ContactInput,
  type ContactFields,
  readContactInput,
  readContactUpdate,
} from '../../people/contact-input.ts'
import { dryRunContact, type DryRunContact } from '../../deliveries/dry-runs.ts'
import { refuseConsent } from '../../people/consent.ts'
import * as contacts from '../../people/contacts.ts'
import type { PeopleFilter } from '../../people/people-lists.ts'
import { CONTACT_STATUSES } from '../../store/types.ts'
import { MAX_CUSTOM_FIELD_KEY_CHARACTERS, MAX_CUSTOM_FIELD_TEXT_CHARACTERS } from '../../core/field-limits.ts'
import { type Body, createReader } from '../../core/inputs.ts'
import type { ToolDependencies } from './tool.ts'
import { joinWarnings } from '../../core/json.ts'
import { publicId } from '../../core/ids.ts'
import { listQueuedByContact, type QueuedMessage } from '../../deliveries/queued-messages.ts'
import { ContactQuery, findUnknown, readContactsFilter, writeContactCursor, writeIdCursor } from '../../http/queries.ts'
import { isRefusal, type Refusal, refuseApp, refuseFields, withWarnings } from '../../core/refusals.ts'
import { contactView } from '../../people/contacts.ts'
import { type ContactWriteName, takeForContact } from '../../accounts/write-limits.ts'
import { createArguments, emailOf, type Names, findAsked, findAskedApp, withoutNulls } from '../arguments.ts'
import { CONTACT_BYTES, costOf, fitContact, LISTED_CONTACT_BYTES, PAGE_BYTES, takeWithin } from '../budget.ts'
import type { Caller } from '../caller.ts'
import { cleanValue, UNTRUSTED } from '../untrusted.ts'
import * as schemas from './tool.ts'
import { DRY_RUN, findDryRunFault, queuedView, splitArguments } from './writes.ts'

const PERSON = schemas.takes({ app: schemas.APP, email: schemas.EMAIL })

const readPerson = createArguments({
  schema: PERSON,
  clean: ({ email }) => {
    const person = emailOf(email)
    return person === null ? null : { email: person }
  },
})

export const getContact: schemas.Tool = {
  name: 'get_contact',
  title: 'Get a person',
  description: 'Tags, fields, subscription, last page view.',
  kind: 'read',
  input: PERSON,
  run: async (deps, caller, args) => {
    const asked = await findAsked(deps, caller, readPerson(args, null))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const row = await deps.store.findContact(app.id, input.email)
    if (!row) return contacts.UNKNOWN_PERSON
    return { untrusted: UNTRUSTED, ok: true, contact: fitContact(cleanValue(contactView(row, app)), CONTACT_BYTES) }
  },
}

const MOST_SEARCH_CHARACTERS = 254

const FILTERS = {
  search: Type.Optional(
    Type.String({
      maxLength: MOST_SEARCH_CHARACTERS,
      pattern: '\\S',
      say: `Send the start of an email or part of a name, up to ${MOST_SEARCH_CHARACTERS} characters.`,
    }),
  ),
  status: Type.Optional(schemas.oneOf(CONTACT_STATUSES, `Send one of ${CONTACT_STATUSES.join(', ')}.`)),
  field: Type.Optional(
    Type.String({
      brief: 'like plan=pro',
      pattern: '^[A-Za-z0-9_.-]{1,64}=',
      maxLength: MAX_CUSTOM_FIELD_KEY_CHARACTERS + 1 + MAX_CUSTOM_FIELD_TEXT_CHARACTERS,
      say: 'Send the name of a field, `=` and its whole value, such as plan=pro.',
    }),
  ),
}
const readFilters = createReader({ schema: Type.Object(FILTERS), clean: (sent) => sent, rules: () => ({}) })

/** A page of people; `filter`: null without `search`, `status` and `field`. */
function readSearch(args: Body, known: Names) {
  const filters = readFilters(args, null)
  const { search, status, field, ...query } = args
  const isFiltered = [search, status, field].some((one) => one !== undefined)
  const errors = [
    ...findUnknown(args, known),
    ...('errors' in filters ? filters.errors : []),
    ...(isFiltered && query.updatedAfter !== undefined ? [BESIDE_FILTER] : []),
  ]
  if (errors.length > 0 || 'errors' in filters) return { errors }
  const reading = readContactsFilter(query)
  if ('errors' in reading) return reading
  const { search: text = null, status: only = null, field: having } = filters.input
  const { tag } = reading.input
  const filter = { search: text, status: only, field: fieldOf(having), tag, event: null, seen: null, email: null }
  return { input: { ...reading.input, filter: isFiltered ? filter : null } }
}

function fieldOf(text: string | undefined): PeopleFilter['field'] {
  if (text === undefined) return null
  const end = text.indexOf('=')
  return { name: text.slice(0, end), value: text.slice(end + 1) }
}

const BESIDE_FILTER = {
  field: 'updatedAfter',
  code: 'conflict',
  message: 'This has no effect together with `search`, `status` or `field`. Remove one of them.',
}
const INDEXING = 'People added before the upgrade are still being indexed. Some may be missing.'

export const searchContacts: schemas.Tool = {
  name: 'search_contacts',
  title: 'Search people',
  description: 'Newest first; with `updatedAfter`, newest changes first. `search`: start of email or part of name.',
  kind: 'read',
  input: schemas.inputSchema(Type.Omit(ContactQuery, ['email']), FILTERS),
  run: async (deps, caller, args, known) => {
    const asked = await findAsked(deps, caller, readSearch(withoutNulls(args), known))
    if (isRefusal(asked)) return asked
    const { app, input } = asked
    const { filter, limit } = input
    if (filter) {
      const after = input.before && { key: null, id: input.before.id }
      const query = { appId: app.id, filter, sort: 'newest', after, limit, isCounted: false } as const
      const [{ people, next }, indexed] = await Promise.all([
        deps.store.findPeople(query),
        deps.store.contactIndexShare(),
      ])
      const data = fitPeople(people, app)
      const left = (data.length < people.length ? people[data.length - 1] : next)?.id
      const nextCursor = left === undefined ? null : writeIdCursor(left)
      return { untrusted: UNTRUSTED, ok: true, data, nextCursor, ...(indexed < 1 && { note: INDEXING }) }
    }
    const rows = await deps.store.listContacts({ ...input, appId: app.id, limit: limit + 1 })
    const data = fitPeople(rows.slice(0, limit), app)
    const last = rows[data.length - 1]
    const position = last && { id: last.id, updatedAt: input.updatedAfter === null ? null : last.updatedAt }
    const nextCursor = rows.length > data.length && position ? writeContactCursor(position) : null
    return { untrusted: UNTRUSTED, ok: true, data, nextCursor }
  },
}

const fitPeople = (rows: contacts.ContactRow[], app: AppRow) =>
  takeWithin(
    rows.map((row) => fitContact(cleanValue(contactView(row, app)), LISTED_CONTACT_BYTES)),
    PAGE_BYTES,
  )

export const addContact: schemas.Tool = {
  name: 'add_contact',
  title: 'Add a person',
  description: 'Adds or updates a person. Lists queued emails.',
  kind: 'write',
  hints: { reachesOut: true },
  input: schemas.inputSchema(ContactInput, { dryRun: DRY_RUN }),
  run: (deps, caller, args, known) => save(deps, caller, { write: 'contactAdds', known }, args),
}

export const updateContact: schemas.Tool = {
  name: 'update_contact',
  title: 'Change a person',
  description: 'Changes a known person; null clears names and source. Lists queued emails.',
  kind: 'write',
  hints: { destructive: true, reachesOut: true },
  input: schemas.inputSchema(ContactUpdateInput, { dryRun: DRY_RUN }),
  run: (deps, caller, args, known) => save(deps, caller, { write: 'contactUpdates', known }, args),
}

const READERS = { contactAdds: readContactInput, contactUpdates: readContactUpdate } as const
/** Fields that have warnings of their own. */
const IGNORED = { contactAdds: ['removeTags'], contactUpdates: [] }

/** Like POST and PATCH /contacts; with `dryRun` only the result. */
async function save(
  deps: ToolDependencies,
  caller: Caller,
  { write, known }: { write: ContactWriteName; known: Names },
  { dryRun, ...args }: Body,
) {
  const { body, unknown } = splitArguments(args, known, IGNORED[write])
  const reading = READERS[write](body)
  const fault = findDryRunFault(dryRun)
  const errors = ['errors' in reading ? reading.errors : [], fault ?? []].flat()
  if ('errors' in reading || fault) return refuseFields(schemas.nameApp(errors))
  const { input } = reading
  const found = await findAskedApp(deps, caller, input.app)
  if (!found) return refuseApp(input.app)
  const { access, app } = found
  const unmet = await refuseConsent(deps.store, app, input)
  if (unmet) return unmet
  const context: contacts.ContactContext = { access, app, via: 'mcp', limits: [], idempotency: null }
  const saved = await (dryRun === true ? dryRunContact : saveContact)(deps, context, { write, fields: input })
  if (isRefusal(saved)) return contacts.explainUnknown(saved)
  const warnings = cleanValue(
    joinWarnings(caller.warnings, [...reading.warnings, ...unknown, ...contacts.warnOfDates(saved)]),
  )
  const isDry = dryRun === true ? { dryRun } : {}
  return withWarnings(
    { untrusted: UNTRUSTED, ok: true, ...isDry, ...savedView(saved, app, costOf(warnings)) },
    warnings,
  )
}

type Wanted = { write: ContactWriteName; fields: ContactFields }
type Saved = contacts.SavedContact & { queued: QueuedMessage[] }

async function saveContact(
  deps: ToolDependencies,
  context: contacts.ContactContext,
  { write, fields }: Wanted,
): Promise<Saved | Refusal> {
  const { access, app } = context
  const before = await deps.store.findContact(app.id, fields.email)
  const counted = takeForContact(deps, { access, app, input: fields }, write)
  if (counted.refused) return counted.refused
  const save = write === 'contactAdds' ? contacts.addContact : contacts.updateContact
  const saved = await save(deps, { ...context, limits: counted.counted }, fields)
  const { refused } = counted.settle(saved)
  if (isRefusal(saved)) return refused ?? saved
  const sent = { tagsBefore: before?.tags ?? [], fields: fields.fields ?? null }
  const queued = await listQueuedByContact(deps.store, app, { saved, ...sent })
  return { ...saved, queued }
}

function savedView(saved: Saved | DryRunContact, app: AppRow, taken: number) {
  const id = saved.contactId === null ? null : publicId('con', saved.contactId)
  const queued = queuedView(saved.queued)
  const contact = { ...cleanValue(contactView(saved.contact, app)), id }
  const fitted = fitContact(contact, CONTACT_BYTES - taken - costOf(queued))
  return { contactId: id, created: saved.created, contact: fitted, ...queued }
}

import { publicId } from '../core/ids.ts'
import type { WriteContext } from '../accounts/write-limits.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { EventPage, EventQuery } from '../store/events.ts'
import type { TextOutcome } from '../store/event-texts.ts'
import type { EventRow, NameField, RecordedEvent, Refused } from '../store/types.ts'
import type { Access, AppRow } from '../accounts/access.ts'
import { ownHosts } from '../accounts/app-hosts.ts'
import { type EventFields, eventWrite } from './event-input.ts'
import { warnOfUrl } from '../accounts/links.ts'
import type { Warning } from '../core/refusals.ts'

export type { EventRow, NameField, RecordedEvent, TextOutcome }

/**
 * Resolves after the commit. `createContact` adds unknown people.
 * Refusals: contact_not_found, plan_limit_reached, idempotency_mismatch, unavailable.
 */
export function recordEvent(
  { store, clock }: { store: Store; clock: Clock },
  { access, ...context }: WriteContext,
  fields: EventFields,
): Promise<RecordedEvent | Refused> {
  const { newPeoplePerMonth } = access.plan
  return store.recordEvent(eventWrite({ ...context, newPeoplePerMonth, at: clock.now() }, fields))
}

export const warnOfLink = (input: EventFields, app: AppRow): Warning[] => warnOfUrl(input, ownHosts(app.hosts))

const NAME_TEXT: Record<NameField, string> = { firstName: 'first name', lastName: 'last name' }

/** Names that differ from stored ones. Keys that can't read get no warning, which would reveal something. */
export const warnOfNames = (
  { keptNames }: Pick<RecordedEvent, 'keptNames'>,
  { key }: Pick<Access, 'key'>,
): Warning[] => (keptNames === undefined || key.scope === 'ingest' ? [] : keptNames.map(warnOfName))

const warnOfName = (field: NameField): Warning => ({
  field,
  code: 'name_not_taken',
  message: `This person has another ${NAME_TEXT[field]}. An event only fills an empty one. Update the contact to change it.`,
})

/** Newest first. A page may be short and still have a next one. null: unknown person. */
export async function listEvents(
  { store }: { store: Store },
  app: AppRow,
  query: { email: string | null } & Pick<EventQuery, 'name' | 'before' | 'limit'>,
): Promise<EventPage | null> {
  const { email, ...rest } = query
  if (email === null) return store.listEvents({ ...rest, appId: app.id, contactId: null })
  const contact = await store.findContact(app.id, email)
  return contact && store.listEvents({ ...rest, appId: app.id, contactId: contact.id })
}

/** Times are ISO 8601 UTC; absent values are null. */
export const eventView = (row: EventRow) => ({
  id: publicId('evt', row.id),
  type: row.type,
  event: row.type === 'page' ? null : row.name,
  path: row.path,
  email: row.email,
  contactId: publicId('con', row.contactId),
  properties: row.properties === null ? null : (JSON.parse(row.properties) as Record<string, unknown>),
  occurredAt: new Date(row.occurredAt).toISOString(),
  receivedAt: new Date(row.receivedAt).toISOString(),
  via: row.via,
})

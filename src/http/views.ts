/** What stored rows look like from outside (api.md, Answers): times ISO 8601 UTC, absent values null. */
import type { Static } from '@sinclair/typebox'
import type { AppRow } from '../accounts/access.ts'
import type { ContactRecord, EventRecord } from './answer-schemas.ts'
import type { ContactRow } from '../people/contacts.ts'
import type { EventRow } from '../events/events.ts'
import { publicId } from '../core/public-ids.ts'

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

export const contactView = (row: ContactRow, app: AppRow): Static<typeof ContactRecord> => ({
  id: publicId('con', row.id),
  app: app.publicId,
  email: row.email,
  firstName: row.firstName,
  lastName: row.lastName,
  tags: row.tags ?? [],
  fields: row.fields ?? {},
  source: row.source,
  status: row.status,
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
  firstSeenAt: isoOrNull(row.firstSeenAt),
  lastSeenAt: isoOrNull(row.lastSeenAt),
  lastEventAt: isoOrNull(row.lastEventAt),
})

export const eventView = (row: EventRow): Static<typeof EventRecord> => ({
  id: publicId('evt', row.id),
  type: row.type,
  event: row.type === 'page' ? null : row.name,
  path: row.path,
  email: row.email,
  contactId: publicId('con', row.contactId),
  properties: row.properties === null ? null : (JSON.parse(row.properties) as Record<string, unknown>),
  occurredAt: iso(row.occurredAt),
  receivedAt: iso(row.receivedAt),
  via: row.via,
})

import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, lt, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { contacts, contactTags, events, install } from './schema.ts'
import type { ContactRow } from './types.ts'

/** Beyond every id. */
const NO_ID = Number.MAX_SAFE_INTEGER

/** `updatedAt` belongs to the cursor only in a list by `updatedAfter`. */
export type ContactCursor = { id: number; updatedAt: number | null }
export type ContactQuery = {
  appId: number
  tag: string | null
  updatedAfter: number | null
  before: ContactCursor | null
  limit: number
}

const isTagOf = eq(contactTags.contactId, contacts.id)

/** Reads of people, newest first. Every row's `lastEventAt` counts events that the bulk update has not reached. */
export function createContactReads(db: Database) {
  const orm = drizzle(db)
  const id = sql.placeholder('id')
  const oneById = orm.select().from(contacts).where(eq(contacts.id, id)).prepare()
  const oneByEmail = orm
    .select()
    .from(contacts)
    .where(and(eq(contacts.appId, sql.placeholder('appId')), eq(contacts.email, sql.placeholder('email'))))
    .prepare()
  const mark = orm.select().from(install).where(eq(install.name, 'last_events_until')).prepare()
  const lastEvent = orm
    .select({ at: sql<number | null>`max(ifnull(${events.occurredAt}, ${events.receivedAt}))` })
    .from(events)
    .where(and(eq(events.contactId, id), gt(events.id, sql.placeholder('mark')), eq(events.type, 0)))
    .prepare()

  const complete = (rows: ContactRow[]): ContactRow[] => {
    if (rows.length === 0) return rows
    const until = Number(mark.get()?.value ?? 0)
    return rows.map((row) => {
      const at = lastEvent.get({ id: row.id, mark: until })?.at ?? null
      return at === null ? row : { ...row, lastEventAt: Math.max(at, row.lastEventAt ?? 0) }
    })
  }
  // one snapshot for the rows and for what came after them
  const inSnapshot = (find: () => ContactRow[]): ContactRow[] => db.transaction(() => complete(find()))()
  const one = (row: ContactRow | undefined): ContactRow[] => (row ? [row] : [])

  const listUpdated = ({ appId, tag, before, limit }: ContactQuery, updatedAfter: number): ContactRow[] => {
    const position = sql`(${contacts.updatedAt}, ${contacts.id}) < (${before?.updatedAt ?? NO_ID}, ${before?.id ?? NO_ID})`
    const query = orm.select({ contact: contacts }).from(contacts).$dynamic()
    const tagged = and(eq(contactTags.appId, appId), eq(contactTags.tag, tag ?? ''), isTagOf)
    return (tag === null ? query : query.innerJoin(contactTags, tagged))
      .where(and(eq(contacts.appId, appId), gt(contacts.updatedAt, updatedAfter), position))
      .orderBy(desc(contacts.updatedAt), desc(contacts.id))
      .limit(limit)
      .all()
      .map((row) => row.contact)
  }

  const listTagged = ({ appId, before, limit }: ContactQuery, tag: string): ContactRow[] =>
    orm
      .select({ contact: contacts })
      .from(contactTags)
      .innerJoin(contacts, isTagOf)
      .where(
        and(eq(contactTags.appId, appId), eq(contactTags.tag, tag), lt(contactTags.contactId, before?.id ?? NO_ID)),
      )
      .orderBy(desc(contactTags.contactId))
      .limit(limit)
      .all()
      .map((row) => row.contact)

  const listAll = ({ appId, before, limit }: ContactQuery): ContactRow[] =>
    orm
      .select()
      .from(contacts)
      .where(and(eq(contacts.appId, appId), lt(contacts.id, before?.id ?? NO_ID)))
      .orderBy(desc(contacts.id))
      .limit(limit)
      .all()

  const list = (query: ContactQuery): ContactRow[] => {
    if (query.updatedAfter !== null) return listUpdated(query, query.updatedAfter)
    return query.tag === null ? listAll(query) : listTagged(query, query.tag)
  }

  return {
    byId: (contactId: number): ContactRow | null => complete(one(oneById.get({ id: contactId })))[0] ?? null,
    findContact: (appId: number, email: string): ContactRow | null =>
      inSnapshot(() => one(oneByEmail.get({ appId, email })))[0] ?? null,
    listContacts: (query: ContactQuery): ContactRow[] => inSnapshot(() => list(query)),
  }
}

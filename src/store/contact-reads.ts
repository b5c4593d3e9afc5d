import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { contacts, contactTags } from './schema.ts'
import { HELD_UNTIL, MERGED_UNTIL, WAITING_RUNS } from './timeline/timeline-reads.ts'
import { type ContactRow, EVENT_TYPES, type EventType, type StoredContact } from './types.ts'

/** Events may come late: the first or last of this many that came decides when somebody was seen. */
const RECENT = 16
/** How many people are looked through for those who are not written to, or for a name (measured: 10 ms). */
const LOOKED_THROUGH = 10_000
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

/** Reads of people, newest first. */
export function createContactReads(db: Database) {
  const orm = drizzle(db)
  const id = sql.placeholder('id')
  const oneById = orm.select().from(contacts).where(eq(contacts.id, id)).prepare()
  const oneByEmail = orm
    .select()
    .from(contacts)
    .where(and(eq(contacts.appId, sql.placeholder('appId')), eq(contacts.email, sql.placeholder('email'))))
    .prepare()
  const newestStatuses = db.prepare<{ id: number; status: string }, [number, number, number]>(
    'SELECT id, status FROM contacts WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
  )
  const emailsFrom = db.prepare<{ id: number }, [number, string, string, number]>(
    'SELECT id FROM contacts WHERE app_id = ? AND email >= ? AND email < ? ORDER BY email LIMIT ?',
  )
  const newestNames = db.prepare<{ id: number; first: string | null; last: string | null }, [number, number]>(
    'SELECT id, first_name AS first, last_name AS last FROM contacts WHERE app_id = ? ORDER BY id DESC LIMIT ?',
  )
  const ofType = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Times, [number]>(
      // a join takes twice as long (measured)
      `SELECT received_at AS receivedAt, occurred_at AS occurredAt FROM events WHERE id IN
         (SELECT id FROM timeline
          WHERE contact_id = ? AND type = ${EVENT_TYPES.indexOf(type)} AND id <= ${MERGED_UNTIL}
          ORDER BY id ${order} LIMIT ${RECENT}) ORDER BY id ${order}`,
    )
  const ofRuns = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Times, [number]>(
      `SELECT received_at AS receivedAt, occurred_at AS occurredAt FROM events WHERE id IN
         (SELECT held.id FROM ${WAITING_RUNS} AND contact_id = ? AND type = ${EVENT_TYPES.indexOf(type)}
          ORDER BY last ${order}, id ${order} LIMIT ${RECENT}) ORDER BY id ${order}`,
    )
  const hasRuns = db.prepare('SELECT 1 FROM timeline_runs LIMIT 1')
  const [lastEvents, lastViews, firstViews] = [ofType('event', 'DESC'), ofType('page', 'DESC'), ofType('page', 'ASC')]
  const [lastEventsOfRuns, lastViewsOfRuns, firstViewsOfRuns] = [
    ofRuns('event', 'DESC'),
    ofRuns('page', 'DESC'),
    ofRuns('page', 'ASC'),
  ]
  const late = db.prepare<Times & { contactId: number; type: number }, [string]>(
    `SELECT contact_id AS contactId, type, received_at AS receivedAt, occurred_at AS occurredAt FROM events
     WHERE id > ${HELD_UNTIL} AND contact_id IN (SELECT value FROM json_each(?)) ORDER BY id`,
  )

  /**
   * Each time is a look at one end of an index, and costs the writing of an event nothing. Runs are asked where any wait,
   * and what no index holds yet is read once for all of them.
   */
  const complete = (rows: StoredContact[]): ContactRow[] => {
    const all = late.all(JSON.stringify(rows.map((row) => row.id)))
    const lateOf = Map.groupBy(all, ({ contactId }) => contactId)
    const areRuns = hasRuns.get() !== null
    return rows.map((row) => {
      const lateTimes = (type: EventType): Times[] =>
        lateOf.get(row.id)?.filter((event) => event.type === EVENT_TYPES.indexOf(type)) ?? []
      const inRuns = (times: typeof lastEventsOfRuns): Times[] => (areRuns ? times.all(row.id) : [])
      const latest = (type: EventType, held: Times[]) => [...lateTimes(type).slice(-RECENT), ...held].slice(0, RECENT)
      const first = [...firstViews.all(row.id), ...inRuns(firstViewsOfRuns), ...lateTimes('page')].slice(0, RECENT)
      return {
        ...row,
        firstSeenAt: pickTime(Math.min, first),
        lastSeenAt: pickTime(Math.max, latest('page', [...inRuns(lastViewsOfRuns), ...lastViews.all(row.id)])),
        lastEventAt: pickTime(Math.max, latest('event', [...inRuns(lastEventsOfRuns), ...lastEvents.all(row.id)])),
      }
    })
  }
  // one snapshot for the rows and for their events
  const inSnapshot = (find: () => StoredContact[]): ContactRow[] => db.transaction(() => complete(find()))()
  const one = (row: StoredContact | undefined): StoredContact[] => (row ? [row] : [])

  const listUpdated = ({ appId, tag, before, limit }: ContactQuery, updatedAfter: number): StoredContact[] => {
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

  const listTagged = ({ appId, before, limit }: ContactQuery, tag: string): StoredContact[] =>
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

  const listAll = ({ appId, before, limit }: ContactQuery): StoredContact[] =>
    orm
      .select()
      .from(contacts)
      .where(and(eq(contacts.appId, appId), lt(contacts.id, before?.id ?? NO_ID)))
      .orderBy(desc(contacts.id))
      .limit(limit)
      .all()

  const list = (query: ContactQuery): StoredContact[] => {
    if (query.updatedAfter !== null) return listUpdated(query, query.updatedAfter)
    return query.tag === null ? listAll(query) : listTagged(query, query.tag)
  }

  return {
    byId: (contactId: number): ContactRow | null => inSnapshot(() => one(oneById.get({ id: contactId })))[0] ?? null,
    storedById: (contactId: number): StoredContact | null => oneById.get({ id: contactId }) ?? null,
    /** In no order; of those who are gone, nothing. */
    listContactsById: (ids: number[]): StoredContact[] =>
      orm.select().from(contacts).where(inArray(contacts.id, ids)).all(),
    findContact: (appId: number, email: string): ContactRow | null =>
      inSnapshot(() => one(oneByEmail.get({ appId, email })))[0] ?? null,
    /**
     * People who are not written to, newest first. So many are looked through at once; where a page ends before it is
     * full, `next` goes on.
     */
    listRefusing(appId: number, before: number | null, limit: number): { people: ContactRow[]; next: number | null } {
      const looked = newestStatuses.all(appId, before ?? NO_ID, LOOKED_THROUGH)
      const found = looked.filter(({ status }) => status !== 'subscribed').slice(0, limit)
      const people = inSnapshot(() => found.flatMap((row) => one(oneById.get({ id: row.id }))))
      const last = found.length === limit ? found.at(-1) : looked.length === LOOKED_THROUGH ? looked.at(-1) : undefined
      return { people, next: last?.id ?? null }
    },
    /**
     * People whose email, or whose first, last or whole name begins so: first by email, then by the names of the newest.
     * `isPartial`: there may be more.
     */
    searchContacts(appId: number, start: string, limit: number): { people: ContactRow[]; isPartial: boolean } {
      const wanted = start.trim().toLowerCase()
      const byEmail = emailsFrom.all(appId, wanted, `${wanted}\u{10FFFF}`, limit + 1)
      const looked = newestNames.all(appId, LOOKED_THROUGH)
      const byName = looked.filter(({ first, last }) =>
        [first, last, `${first ?? ''} ${last ?? ''}`].some((name) => name?.toLowerCase().startsWith(wanted)),
      )
      const ids = [...new Set([...byEmail, ...byName].map(({ id }) => id))]
      const people = inSnapshot(() => ids.slice(0, limit).flatMap((found) => one(oneById.get({ id: found }))))
      return { people, isPartial: ids.length > limit || looked.length === LOOKED_THROUGH }
    },
    listContacts: (query: ContactQuery): ContactRow[] => inSnapshot(() => list(query)),
  }
}

type Times = { receivedAt: number; occurredAt: number | null }

/** By when things happened, not by when they came. */
const pickTime = (pick: (...times: number[]) => number, rows: Times[]): number | null =>
  rows.length === 0 ? null : pick(...rows.map(({ receivedAt, occurredAt }) => occurredAt ?? receivedAt))

import type { Database } from 'bun:sqlite'
import { selectFields } from './engine/columns.ts'
import { HELD_UNTIL, MERGED_UNTIL, WAITING_RUNS } from './timeline/timeline-reads.ts'
import {
  type ContactRow,
  type ContactStatus,
  EVENT_TYPES,
  type EventType,
  type FieldValue,
  type StoredContact,
} from './types.ts'

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

/** What people must have, all of it; null asks for nothing. A field's value is compared as text. */
export type ContactMatch = {
  status: ContactStatus | null
  field: { name: string; value: string } | null
  tag: string | null
}

/** As it is stored: tags and fields are JSON. */
export type StoredJson = Omit<StoredContact, 'tags' | 'fields'> & { tags: string | null; fields: string | null }

export const CONTACT_FIELDS = {
  id: 'contacts.id',
  appId: 'contacts.app_id',
  email: 'contacts.email',
  shownEmail: 'contacts.shown_email',
  firstName: 'contacts.first_name',
  lastName: 'contacts.last_name',
  source: 'contacts.source',
  status: 'contacts.status',
  tags: 'contacts.tags',
  fields: 'contacts.fields',
  createdAt: 'contacts.created_at',
  updatedAt: 'contacts.updated_at',
} satisfies Record<keyof StoredContact, string>

export const toContact = ({ tags, fields, ...row }: StoredJson): StoredContact => ({
  ...row,
  tags: tags === null ? null : (JSON.parse(tags) as string[]),
  fields: fields === null ? null : (JSON.parse(fields) as Record<string, FieldValue>),
})

/** Reads of people, newest first. */
export function createContactReads(db: Database) {
  const select = <Values extends (number | string)[]>(rest: string) =>
    db.prepare<StoredJson, Values>(`SELECT ${selectFields(CONTACT_FIELDS)} FROM ${rest}`)
  const oneById = select<[number]>('contacts WHERE id = ?')
  const oneByEmail = select<[number, string]>('contacts WHERE app_id = ? AND email = ?')
  const manyById = select<[string]>('contacts WHERE id IN (SELECT value FROM json_each(?))')
  const newest = select<[number, number, number]>('contacts WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT ?')
  const tagged = select<[number, string, number, number]>(
    `contact_tags JOIN contacts ON contacts.id = contact_tags.contact_id
     WHERE contact_tags.app_id = ? AND tag = ? AND contact_id < ? ORDER BY contact_id DESC LIMIT ?`,
  )
  const byUpdate = `contacts.app_id = ?1 AND updated_at > ?2 AND (updated_at, contacts.id) < (?3, ?4)
     ORDER BY updated_at DESC, contacts.id DESC LIMIT ?5`
  const updated = select<[number, number, number, number, number]>(`contacts WHERE ${byUpdate}`)
  const updatedTagged = select<[number, number, number, number, number, string]>(
    `contacts JOIN contact_tags ON contact_tags.app_id = ?1 AND tag = ?6 AND contact_id = contacts.id WHERE ${byUpdate}`,
  )
  const newestStatuses = db.prepare<{ id: number; status: string }, [number, number, number]>(
    'SELECT id, status FROM contacts WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
  )
  const newestMatchable = db.prepare<Matchable, [number, number, number]>(
    'SELECT id, status, tags, fields FROM contacts WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
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
  const one = (row: StoredJson | null): StoredContact[] => (row ? [toContact(row)] : [])

  const list = ({ appId, tag, updatedAfter, before, limit }: ContactQuery): StoredContact[] => {
    const id = before?.id ?? NO_ID
    if (updatedAfter === null) {
      return (tag === null ? newest.all(appId, id, limit) : tagged.all(appId, tag, id, limit)).map(toContact)
    }
    const position = [appId, updatedAfter, before?.updatedAt ?? NO_ID, id, limit] as const
    return (tag === null ? updated.all(...position) : updatedTagged.all(...position, tag)).map(toContact)
  }

  return {
    byId: (contactId: number): ContactRow | null => inSnapshot(() => one(oneById.get(contactId)))[0] ?? null,
    storedById: (contactId: number): StoredContact | null => one(oneById.get(contactId))[0] ?? null,
    /** In no order; of those who are gone, nothing. */
    listContactsById: (ids: number[]): StoredContact[] => manyById.all(JSON.stringify(ids)).map(toContact),
    findContact: (appId: number, email: string): ContactRow | null =>
      inSnapshot(() => one(oneByEmail.get(appId, email)))[0] ?? null,
    /**
     * People who are not written to, newest first. So many are looked through at once; where a page ends before it is
     * full, `next` goes on.
     */
    listRefusing(appId: number, before: number | null, limit: number): { people: ContactRow[]; next: number | null } {
      const looked = newestStatuses.all(appId, before ?? NO_ID, LOOKED_THROUGH)
      const found = looked.filter(({ status }) => status !== 'subscribed').slice(0, limit)
      const people = inSnapshot(() => found.flatMap((row) => one(oneById.get(row.id))))
      const last = found.length === limit ? found.at(-1) : looked.length === LOOKED_THROUGH ? looked.at(-1) : undefined
      return { people, next: last?.id ?? null }
    },
    /** People who match, newest first, in pages like those of listRefusing. */
    listMatching(
      appId: number,
      { status, field, tag }: ContactMatch,
      { before, limit }: { before: number | null; limit: number },
    ): { people: ContactRow[]; next: number | null } {
      const looked = newestMatchable.all(appId, before ?? NO_ID, LOOKED_THROUGH)
      const found = looked.filter(
        (row) =>
          (status === null || row.status === status) &&
          (tag === null || listIn(row.tags).includes(tag)) &&
          (field === null || hasField(row.fields, field)),
      )
      const page = found.slice(0, limit)
      const people = inSnapshot(() => page.flatMap((row) => one(oneById.get(row.id))))
      const last = found.length > limit ? page.at(-1) : looked.length === LOOKED_THROUGH ? looked.at(-1) : undefined
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
      const people = inSnapshot(() => ids.slice(0, limit).flatMap((found) => one(oneById.get(found))))
      return { people, isPartial: ids.length > limit || looked.length === LOOKED_THROUGH }
    },
    listContacts: (query: ContactQuery): ContactRow[] => inSnapshot(() => list(query)),
  }
}

type Matchable = { id: number; status: string; tags: string | null; fields: string | null }

const listIn = (json: string | null): unknown[] => (json === null ? [] : (JSON.parse(json) as unknown[]))

/** Most people lack the name altogether and are not parsed. */
function hasField(json: string | null, { name, value }: { name: string; value: string }): boolean {
  if (!json?.includes(`"${name}"`)) return false
  const fields = JSON.parse(json) as Record<string, unknown>
  return Object.hasOwn(fields, name) && String(fields[name]) === value
}

type Times = { receivedAt: number; occurredAt: number | null }

/** By when things happened, not by when they came. */
const pickTime = (pick: (...times: number[]) => number, rows: Times[]): number | null =>
  rows.length === 0 ? null : pick(...rows.map(({ receivedAt, occurredAt }) => occurredAt ?? receivedAt))

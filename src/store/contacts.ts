import type { Database } from 'bun:sqlite'
import { mapInOrder } from '../core/in-order.ts'
import { selectFields } from './engine/columns.ts'
import { inSnapshot } from './engine/transactions.ts'
import { createExpiredActivity } from './retention.ts'
import { INDEXED_UNTIL, MERGED_UNTIL, WAITING_RUNS } from './timeline/timeline-reads.ts'
import {
  type ContactRow,
  EVENT_TYPES,
  type EventType,
  type FieldValue,
  type SeenTimes,
  type StoredContact,
} from './types.ts'

/** Events may arrive out of order, so the first or last 16 to arrive decide when a person was seen. */
const RECENT_EVENTS = 16
const MAX_ID = Number.MAX_SAFE_INTEGER

export type ContactCursor = { id: number; updatedAt: number | null }
export type ContactQuery = {
  appId: number
  tag: string | null
  updatedAfter: number | null
  before: ContactCursor | null
  limit: number
}

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

type FieldValues = { values: string[]; isAll: boolean }

type FieldPeopleQuery = { name: string; values: readonly string[]; most: number }

/** How many people have a value in a field. */
export type FieldValueCount = { value: string; people: number }

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
  const ofField = 'contact_fields WHERE app_id = ?1 AND name = ?2 AND value'
  // one look into the index per value, however many people have it
  const distinctValues = (pick: 'min' | 'max', next: string) =>
    db.prepare<{ value: string }, [number, string, string, number]>(
      `WITH RECURSIVE found(last) AS (
         SELECT ${pick}(value) FROM ${ofField} >= ?3
         UNION ALL SELECT (SELECT ${pick}(value) FROM ${ofField} ${next}) FROM found WHERE last IS NOT NULL LIMIT ?4)
       SELECT last AS value FROM found WHERE last IS NOT NULL`,
    )
  const [firstValues, lastValues] = [distinctValues('min', '> last'), distinctValues('max', '< last AND value >= ?3')]
  const peopleOf = db.prepare<FieldValueCount, [number, string, string, number]>(
    `SELECT value, count(*) AS people FROM
       (SELECT contact_fields.value FROM json_each(?3) AS wanted CROSS JOIN contact_fields
          ON app_id = ?1 AND name = ?2 AND contact_fields.value = wanted.value LIMIT ?4) GROUP BY value`,
  )
  const ofType = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Times, [number]>(
      // twice as fast as a join (measured)
      `SELECT received_at AS receivedAt, occurred_at AS occurredAt FROM events WHERE id IN
         (SELECT id FROM timeline
          WHERE contact_id = ? AND type = ${EVENT_TYPES.indexOf(type)} AND id <= ${MERGED_UNTIL}
          ORDER BY id ${order} LIMIT ${RECENT_EVENTS}) ORDER BY id ${order}`,
    )
  const ofRuns = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Times, [number]>(
      `SELECT received_at AS receivedAt, occurred_at AS occurredAt FROM events WHERE id IN
         (SELECT run_rows.id FROM ${WAITING_RUNS} AND contact_id = ? AND type = ${EVENT_TYPES.indexOf(type)}
          ORDER BY last ${order}, id ${order} LIMIT ${RECENT_EVENTS}) ORDER BY id ${order}`,
    )
  const hasRuns = db.prepare('SELECT 1 FROM timeline_runs LIMIT 1')
  const expiredActivity = createExpiredActivity(db)
  const [lastEvents, lastViews, firstViews] = [ofType('event', 'DESC'), ofType('page', 'DESC'), ofType('page', 'ASC')]
  const [lastEventsOfRuns, lastViewsOfRuns, firstViewsOfRuns] = [
    ofRuns('event', 'DESC'),
    ofRuns('page', 'DESC'),
    ofRuns('page', 'ASC'),
  ]
  const unindexed = db.prepare<Times & { contactId: number; type: number }, [string]>(
    `SELECT contact_id AS contactId, type, received_at AS receivedAt, occurred_at AS occurredAt FROM events
     WHERE id > ${INDEXED_UNTIL} AND contact_id IN (SELECT value FROM json_each(?)) ORDER BY id`,
  )

  /**
   * Seen times come from the ends of indexes, so that writing an event costs nothing extra. Unindexed events are read
   * once for all rows.
   */
  const findTimes = async (rows: StoredContact[]): Promise<{ row: StoredContact; seen: SeenTimes }[]> => {
    const all = await unindexed.all(JSON.stringify(rows.map((row) => row.id)))
    const unindexedByContact = Map.groupBy(all, ({ contactId }) => contactId)
    const runsExist = (await hasRuns.get()) !== null
    const expired = await expiredActivity.list(rows.map((row) => row.id))
    return await mapInOrder(rows, async (row) => {
      const unindexedTimes = (type: EventType): number[] =>
        timesOf(unindexedByContact.get(row.id)?.filter((event) => event.type === EVENT_TYPES.indexOf(type)) ?? [])
      const timesInRuns = async (times: typeof lastEventsOfRuns): Promise<Times[]> =>
        runsExist ? await times.all(row.id) : []
      const { firstViewAt, lastViewAt, lastEventAt } = expired.get(row.id) ?? {}
      const indexed = {
        firstViews: [
          ...listTime(firstViewAt),
          ...timesOf([...(await firstViews.all(row.id)), ...(await timesInRuns(firstViewsOfRuns))]),
        ],
        lastViews: [
          ...listTime(lastViewAt),
          ...timesOf([...(await timesInRuns(lastViewsOfRuns)), ...(await lastViews.all(row.id))]),
        ],
        lastEvents: [
          ...listTime(lastEventAt),
          ...timesOf([...(await timesInRuns(lastEventsOfRuns)), ...(await lastEvents.all(row.id))]),
        ],
      }
      const seen = addTimes(indexed, { views: unindexedTimes('page'), events: unindexedTimes('event') })
      return { row, seen }
    })
  }
  // the rows and their events must come from one snapshot
  const readSeen = async (rows: StoredContact[]): Promise<ContactRow[]> =>
    (await findTimes(rows)).map(({ row, seen }) => ({ ...row, ...seenAt(seen) }))
  const findSeen = (find: () => Promise<StoredContact[]>): Promise<ContactRow[]> =>
    inSnapshot(db, async () => readSeen(await find()))
  const one = (row: StoredJson | null): StoredContact[] => (row ? [toContact(row)] : [])

  const list = async ({ appId, tag, updatedAfter, before, limit }: ContactQuery): Promise<StoredContact[]> => {
    const id = before?.id ?? MAX_ID
    if (updatedAfter === null) {
      return (tag === null ? await newest.all(appId, id, limit) : await tagged.all(appId, tag, id, limit)).map(
        toContact,
      )
    }
    const position = [appId, updatedAfter, before?.updatedAt ?? MAX_ID, id, limit] as const
    return (tag === null ? await updated.all(...position) : await updatedTagged.all(...position, tag)).map(toContact)
  }

  return {
    byId: async (contactId: number): Promise<ContactRow | null> =>
      (await findSeen(async () => one(await oneById.get(contactId))))[0] ?? null,
    findWithTimes: async (contactId: number) => (await findTimes(one(await oneById.get(contactId))))[0] ?? null,
    storedById: async (contactId: number): Promise<StoredContact | null> =>
      one(await oneById.get(contactId))[0] ?? null,
    /** In the order of the ids. For callers that read in a snapshot. */
    async listSeenContacts(ids: number[]): Promise<ContactRow[]> {
      const rows = new Map((await manyById.all(JSON.stringify(ids))).map((row) => [row.id, row]))
      return readSeen(ids.flatMap((id) => one(rows.get(id) ?? null)))
    },
    listContactsById: async (ids: number[]): Promise<StoredContact[]> =>
      (await manyById.all(JSON.stringify(ids))).map(toContact),
    findContact: async (appId: number, email: string): Promise<ContactRow | null> =>
      (await findSeen(async () => one(await oneByEmail.get(appId, email))))[0] ?? null,
    /** Each once and as text: the first and the last `most` of them. */
    async listFieldValues(appId: number, { name, most }: { name: string; most: number }): Promise<FieldValues> {
      const first = (await firstValues.all(appId, name, '', most)).map(({ value }) => value)
      const end = first.at(-1)
      if (first.length < most || end === undefined) return { values: first, isAll: true }
      // the last of the first ones comes again if there are no others
      const last = (await lastValues.all(appId, name, end, most + 1)).map(({ value }) => value)
      const isAll = last.at(-1) === end
      return { values: [...first, ...last.slice(0, isAll ? -1 : most).reverse()], isAll }
    },
    /** Up to `most` people. */
    countFieldPeople: async (appId: number, { name, values, most }: FieldPeopleQuery): Promise<FieldValueCount[]> =>
      await peopleOf.all(appId, name, JSON.stringify(values), most),
    listContacts: (query: ContactQuery): Promise<ContactRow[]> => findSeen(() => list(query)),
  }
}

type Times = { receivedAt: number; occurredAt: number | null }

const timesOf = (rows: Times[]): number[] => rows.map(({ receivedAt, occurredAt }) => occurredAt ?? receivedAt)

const listTime = (at: number | null | undefined): number[] => (typeof at === 'number' ? [at] : [])

/** With events that arrived later, in their order. */
export const addTimes = (seen: SeenTimes, { views, events }: { views: number[]; events: number[] }): SeenTimes => {
  const newest = (later: number[], earlier: number[]): number[] =>
    [...later.slice(-RECENT_EVENTS).reverse(), ...earlier].slice(0, RECENT_EVENTS)
  return {
    firstViews: [...seen.firstViews, ...views].slice(0, RECENT_EVENTS),
    lastViews: newest(views, seen.lastViews),
    lastEvents: newest(events, seen.lastEvents),
  }
}

export const seenAt = ({ firstViews, lastViews, lastEvents }: SeenTimes) => ({
  firstSeenAt: pickTime(Math.min, firstViews),
  lastSeenAt: pickTime(Math.max, lastViews),
  lastEventAt: pickTime(Math.max, lastEvents),
})

const pickTime = (pick: (...times: number[]) => number, times: number[]): number | null =>
  times.length === 0 ? null : pick(...times)

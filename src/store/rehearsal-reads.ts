import type { Database } from 'bun:sqlite'
import { idAt } from './ids.ts'
import type { ReportRow } from './snippet-types.ts'
import { EVENT_TYPES, type ContactStatus, type FieldValue } from './types.ts'

type TriggerRow = { contactId: number; properties: string | null; occurredAt: number }
type HistoryRow = { contactId: number; path: string | null; occurredAt: number }
export type PersonRow = { id: number; status: ContactStatus; tags: string[]; fields: Record<string, FieldValue> }
/** Since when (ms UTC). */
type Range = { appId: number; from: number }

/** A customer's clock may be so far ahead (field-limits.ts): what happened then may have come so much earlier. */
const AHEAD_MS = 10 * 60_000
const HAPPENED = 'ifnull(occurred_at, received_at)'

/** One pass each over the stored events of an app, for a rehearsal; rows come one by one and are not kept here. */
export function createRehearsalReads(db: Database) {
  const [event, page, action] = EVENT_TYPES.map((_, code) => code)
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  /** Events and actions of one name, or page views. Ids are in the order of arrival, so they bound what is looked at. */
  const select = (types: string, name: number | null, columns: string): string =>
    `SELECT ${columns}, contact_id AS contactId, ${HAPPENED} AS occurredAt FROM events
     WHERE app_id = ? AND id >= ? AND ${HAPPENED} >= ? AND type IN (${types}) ${name === null ? '' : `AND name_id = ${name}`}`

  const idOfName = (appId: number, name: string): number => nameId.get(appId, name)?.id ?? -1

  return {
    /** Events and actions of one name, as they may have triggered a message. */
    eachTrigger({ appId, from }: Range, name: string): IterableIterator<TriggerRow> {
      const text = select(`${event}, ${action}`, idOfName(appId, name), 'properties')
      return db.prepare<TriggerRow, [number, number, number]>(text).iterate(appId, idAt(from - AHEAD_MS), from)
    },

    /** With null page views, else events and actions of one name. */
    eachHappening({ appId, from }: Range, name: string | null): IterableIterator<HistoryRow> {
      const types = name === null ? `${page}` : `${event}, ${action}`
      const text = select(types, name === null ? null : idOfName(appId, name), 'path')
      return db.prepare<HistoryRow, [number, number, number]>(text).iterate(appId, idAt(from - AHEAD_MS), from)
    },

    /** What page loads reported, of the 48 hours for which that is kept. */
    eachReport(appId: number) {
      type Row = Omit<ReportRow, 'isHere'> & { contactId: number; isHere: number | null }
      return db
        .prepare<Row, [number]>(
          `SELECT contact_id AS contactId, page_load AS pageLoad, batch_number AS batchNumber, received_at AS receivedAt,
             received_at - ifnull(age, 0) AS reportedAt, ifnull(path, '') AS path, is_here AS isHere
           FROM snippet_batches WHERE app_id = ?`,
        )
        .iterate(appId)
    },

    /** People who were made since then. */
    eachCreated({ appId, from }: Range) {
      type Row = { id: number; createdAt: number }
      return db
        .prepare<Row, [number, number, number]>(
          'SELECT id, created_at AS createdAt FROM contacts WHERE app_id = ? AND id >= ? AND created_at >= ?',
        )
        .iterate(appId, idAt(from - AHEAD_MS), from)
    },

    /** People as they are today; with `isSettled` only those who may not be written to, who are few. */
    *eachPerson(appId: number, isSettled: boolean): Generator<PersonRow> {
      type Row = { id: number; status: ContactStatus; tags: string | null; fields: string | null }
      const rows = db
        .prepare<Row, [number]>(
          `SELECT id, status, tags, fields FROM contacts WHERE app_id = ?${isSettled ? ` AND status <> 'subscribed'` : ''}`,
        )
        .iterate(appId)
      for (const { id, status, tags, fields } of rows) {
        yield { id, status, tags: tags ? JSON.parse(tags) : [], fields: fields ? JSON.parse(fields) : {} }
      }
    },

    emailOf: (contactId: number): string | null =>
      db.query<{ email: string }, [number]>('SELECT email FROM contacts WHERE id = ?').get(contactId)?.email ?? null,
  }
}

export type RehearsalReads = ReturnType<typeof createRehearsalReads>

import type { Sql } from './engine/sql.ts'
import { idAt, idSince } from '../core/ids.ts'
import { HAS_FOLLOWED } from './delivery-states.ts'
import { createExpiredActivity, lastExpired } from './retention.ts'
import { readLocale, readTimezone } from '../core/local-time.ts'
import { type StoredReport, toReport, type ReportRow } from './visit-reports.ts'
import { createTopicReads } from './topics.ts'
import { VISIT_REPORT_TYPES } from './timeline/timeline-reads.ts'
import { type ContactStatus, EVENT_TYPES, type FieldValue } from './types.ts'

/** `at`: arrival. `occurredAt`: when it happened (ms UTC). Ids are in order of arrival. */
export type Happening = { id: number; at: number; occurredAt: number }
export type ViewHappening = Happening & { path: string }
export type DoneHappening = Happening & { properties: string | null }
/**
 * `eventId`: where another event than this one started it. `trigger`: tells one trigger from another, where that is no
 * event.
 */
export type TriggerHappening = Happening & {
  contactId: number
  path: string | null
  properties: string | null
  eventId?: number | null
  trigger?: string
}
export type ReportHappening = ReportRow & { id: number }

export type SimulatedPerson = {
  id: number
  email: string
  firstName: string | null
  lastName: string | null
  status: ContactStatus
  tags: string[] | null
  fields: Record<string, FieldValue> | null
}

export type ScheduledPerson = { id: number; fields: Record<string, FieldValue>; createdAt: number }
type StoredFields = Omit<ScheduledPerson, 'fields'> & { fields: string | null }

/** `contactId`: one person's only. */
type Range = { appId: number; from: number; contactId?: number }
type Stored = Omit<SimulatedPerson, 'tags' | 'fields'> & { tags: string | null; fields: string | null }
type StoredApp = { name: string; homeUrl: string | null; timezone: string | null; locale: string | null }

const HAPPENED = 'coalesce(occurred_at, received_at)'
const HAPPENING = `id, received_at AS at, ${HAPPENED} AS "occurredAt"`
const TRIGGER = `${HAPPENING}, contact_id AS "contactId", path, properties`
/** Rows per statement, so that no write waits long. */
const ROWS_AT_ONCE = 5_000
/** The earliest of the first few page views to arrive is used, because they may arrive out of order. */
export const FIRST_VIEWS = 16
/** More than a simulation takes. */
const MOST_SENT = 20_000

/** Limited to what arrived by `until` (ms UTC). */
export function createSimulationReads(db: Sql, { until }: { until: number }) {
  const [event, page, action] = EVENT_TYPES.map((_, code) => code)
  const { personIds, somePersonIds } = db.dialect
  const expired = createExpiredActivity(db)
  const nameId = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const idOfName = async (appId: number, name: string): Promise<number> => (await nameId.get(appId, name))?.id ?? -1
  const app = db.prepare<StoredApp, [number]>(
    `SELECT name, home_url AS "homeUrl", timezone, locale FROM apps
     LEFT JOIN app_mail_settings ON app_id = apps.id WHERE apps.id = ?`,
  )
  const person = db.prepare<Stored, [number]>(
    `SELECT id, email, first_name AS "firstName", last_name AS "lastName", status, tags, fields FROM contacts WHERE id = ?`,
  )
  const views = db.prepare<ViewHappening, [number, number, number, number]>(
    `SELECT ${HAPPENING}, path FROM events
     WHERE id IN (${personIds('events', { contact: '?1', types: `= ${page}`, from: '?2' })})
       AND ${HAPPENED} >= ?3 AND received_at <= ?4 AND path IS NOT NULL ORDER BY id`,
  )
  const firstViews = db.prepare<Happening, [number, number]>(
    `SELECT ${HAPPENING} FROM events
     WHERE id IN (${somePersonIds('events', { contact: '?1', types: `= ${page}`, order: 'ASC', limit: `${FIRST_VIEWS}` })})
       AND received_at <= ?2 ORDER BY id`,
  )
  const eventsNamed = db.prepare<DoneHappening, [number, number, number, number, number]>(
    `SELECT ${HAPPENING}, properties FROM events
     WHERE id IN (${personIds('events', { contact: '?1', types: `IN (${event}, ${action})`, from: '?2' })})
       AND name_id = ?3 AND ${HAPPENED} >= ?4 AND received_at <= ?5 ORDER BY id`,
  )
  const confirmed = db.prepare<{ contactId: number; at: number }, [number, number, number]>(
    `SELECT contact_id AS "contactId", confirmed_at AS at FROM consents
     WHERE app_id = ? AND confirmed_at BETWEEN ? AND ? ORDER BY confirmed_at DESC`,
  )
  const activity = db.prepare<Happening, [number, number, number]>(
    `SELECT ${HAPPENING} FROM events
     WHERE id IN (${personIds('events', { contact: '?1', types: `< ${VISIT_REPORT_TYPES}`, from: '?2' })})
       AND received_at <= ?3 ORDER BY id`,
  )
  const reports = db.prepare<StoredReport & { id: number }, [number, number, number, number]>(
    `SELECT id, page_load AS "pageLoad", batch_number AS "reportNumber", received_at AS "receivedAt",
       received_at - coalesce(age, 0) AS "reportedAt", coalesce(path, '') AS path, is_here AS code
     FROM snippet_batches WHERE app_id = ?1 AND received_at BETWEEN ?3 AND ?4 AND id IN
       (${personIds('snippet_batches', { contact: '?2', types: `>= ${VISIT_REPORT_TYPES}` })}) ORDER BY id`,
  )

  /** In chunks, newest id first. `where` and `columns` are SQL. */
  async function* newestOf<Row>(
    table: string,
    { appId, from }: Range,
    where: string,
    columns: string,
  ): AsyncGenerator<Row> {
    const nextFloor = db.prepare<{ id: number }, [number, number]>(
      `SELECT id FROM ${table} WHERE app_id = ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ${ROWS_AT_ONCE - 1}`,
    )
    const select = db.prepare<Row, [number, number, number]>(
      `SELECT ${columns} FROM ${table} WHERE app_id = ? AND id >= ? AND id < ? AND ${where} ORDER BY id DESC`,
    )
    const first = idSince(from)
    for (let before = Number.MAX_SAFE_INTEGER; before > first;) {
      const floor = Math.max(first, (await nextFloor.get(appId, before))?.id ?? first)
      yield* await select.all(appId, floor, before)
      before = floor
    }
  }
  /** `types` and `where` are SQL. */
  const newestEventsOf = async (
    range: Range,
    types: string,
    where: string,
  ): Promise<AsyncIterable<TriggerHappening> | TriggerHappening[]> => {
    const { appId, from, contactId } = range
    const fits = `${isInRange(from)} AND type ${types} AND ${where}`
    if (contactId === undefined) return newestOf('events', range, fits, TRIGGER)
    const ids = personIds('events', { contact: '?1', types, from: '?2' })
    const ofPerson = db.prepare<TriggerHappening, [number, number, number]>(
      `SELECT ${TRIGGER} FROM events WHERE id IN (${ids}) AND app_id = ?3 AND ${fits} ORDER BY id DESC`,
    )
    return await ofPerson.all(contactId, idSince(from), appId)
  }
  const isInRange = (from: number): string =>
    `received_at <= ${until} AND (${HAPPENED} >= ${from} OR received_at >= ${from})`

  return {
    findTopicEnd: createTopicReads(db).findTopicEnd,

    async findApp(appId: number) {
      const found = await app.get(appId)
      return found && { ...found, timezone: readTimezone(found.timezone), locale: readLocale(found.locale) }
    },

    async findPerson(contactId: number): Promise<SimulatedPerson | null> {
      const found = await person.get(contactId)
      if (!found) return null
      const { tags, fields } = found
      return {
        ...found,
        tags: tags === null ? null : (JSON.parse(tags) as string[]),
        fields: fields === null ? null : (JSON.parse(fields) as Record<string, FieldValue>),
      }
    },

    /** Those that happened or arrived since `from`. */
    newestEvents: async (range: Range, name: string) =>
      await newestEventsOf(range, `IN (${event}, ${action})`, `name_id = ${await idOfName(range.appId, name)}`),

    newestViews: (range: Range) => newestEventsOf(range, `= ${page}`, 'TRUE'),

    /** Who was asked to confirm the address counts from the confirmation on. */
    async *newestPeople(range: Range): AsyncGenerator<TriggerHappening> {
      const { appId, from, contactId } = range
      const only = contactId === undefined ? '' : ` AND contacts.id = ${contactId}`
      const added = newestOf<TriggerHappening>(
        'contacts',
        range,
        `created_at BETWEEN ${from} AND ${until}${only} AND status <> 'pending'
           AND NOT EXISTS (SELECT 1 FROM consents WHERE contact_id = contacts.id)`,
        'id, id AS "contactId", created_at AS at, created_at AS "occurredAt", NULL AS path, NULL AS properties',
      )
      const waiting = (await confirmed.all(appId, from, until))
        .filter((one) => contactId === undefined || one.contactId === contactId)
        .map(({ at, ...one }) => ({ id: idAt(at), at, occurredAt: at, ...one, path: null, properties: null }))
      for await (const one of added) {
        while (waiting[0] && waiting[0].id > one.id) yield* waiting.splice(0, 1)
        yield one
      }
      yield* waiting
    },

    /** The newest first. */
    async *listPeople({ appId, contactId }: Omit<Range, 'from'>): AsyncGenerator<ScheduledPerson> {
      const range = { appId, from: 0 }
      const fits = `created_at <= ${until}${contactId === undefined ? '' : ` AND id = ${contactId}`}`
      const columns = 'id, fields, created_at AS "createdAt"'
      for await (const { fields, ...row } of newestOf<StoredFields>('contacts', range, fits, columns))
        yield { ...row, fields: fields === null ? {} : (JSON.parse(fields) as Record<string, FieldValue>) }
    },

    /** Events, actions and page views, in order of arrival. */
    listActivity: async (contactId: number, since: number): Promise<Happening[]> => {
      const last = lastExpired(await expired.find(contactId))
      const found = await activity.all(contactId, idSince(since), until)
      return last === null || last < since ? found : [deletedAt(last), ...found]
    },

    /** Emails of a message, by when they were sent. */
    async *newestSent({ appId, from, contactId }: Range, name: string): AsyncGenerator<TriggerHappening> {
      const ofPerson = contactId === undefined ? '' : `AND contact_id = ${contactId}`
      const sent = db.prepare<Omit<TriggerHappening, 'id' | 'trigger'> & { deliveryId: number }, [number, string]>(
        `SELECT id AS "deliveryId", handed_at AS at, handed_at AS "occurredAt", contact_id AS "contactId", NULL AS path,
           event_id AS "eventId", (SELECT properties FROM events WHERE events.id = event_id) AS properties
         FROM deliveries
         WHERE app_id = ?1 AND message_id = (SELECT id FROM messages WHERE app_id = ?1 AND name = ?2)
           AND ${HAS_FOLLOWED} AND handed_at BETWEEN ${from} AND ${until} ${ofPerson}
         ORDER BY handed_at DESC LIMIT ${MOST_SENT}`,
      )
      for (const { deliveryId, ...row } of await sent.all(appId, name))
        // after all that arrived in the same millisecond
        yield { ...row, id: idAt(row.at + 1) - 1, trigger: String(deliveryId) }
    },

    listViews: async (contactId: number, since: number): Promise<ViewHappening[]> =>
      await views.all(contactId, idSince(since), since, until),

    listFirstViews: async (contactId: number): Promise<Happening[]> => {
      const first = (await expired.find(contactId))?.firstViewAt ?? null
      return [...(first === null ? [] : [deletedAt(first)]), ...(await firstViews.all(contactId, until))]
    },

    listDone: async ({
      appId,
      contactId,
      name,
      since,
    }: {
      appId: number
      contactId: number
      name: string
      since: number
    }) => await eventsNamed.all(contactId, idSince(since), await idOfName(appId, name), since, until),

    listReports: async (appId: number, contactId: number, since: number): Promise<ReportHappening[]> =>
      (await reports.all(appId, contactId, since, until)).map(toReport),
  }
}

export type SimulationReads = ReturnType<typeof createSimulationReads>

/** An event that was deleted because of its age. */
const deletedAt = (at: number): Happening => ({ id: 0, at, occurredAt: at })

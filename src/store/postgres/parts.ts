/** What PostgreSQL has beside the tables, for the writes of one instance: nothing that another instance could make wrong. */
import { DAY_HOURS, HOUR_MS } from '../../core/clock.ts'
import type { IdSequence } from '../../core/ids.ts'
import type { NewContact, NewEvent, NewReport } from '../plan-types.ts'
import type { IsRepeated, RowWrites } from '../planned-writes.ts'
import { EVENT_TYPES, VIAS } from '../types.ts'
import { VISIT_REPORT_MS } from '../visit-reports.ts'
import type { EngineParts } from '../writes.ts'
import { UNSURE } from '../delivery-states.ts'
import type { Person } from '../people.ts'
import type { Run } from './connection.ts'
import { toStorable } from './storable-text.ts'
import { createPostgresUsage } from './limit-usage.ts'
import { rowsAs } from './rows.ts'

type Row = Record<string, string | number | null>

const inOrderOf =
  (...names: string[]) =>
  (a: Row, b: Row): number => {
    for (const name of names) {
      const [first, second] = [a[name] ?? '', b[name] ?? '']
      if (first !== second) return first < second ? -1 : 1
    }
    return 0
  }

export function createPostgresParts(run: Run, { ids }: { ids: IdSequence }) {
  const names = createNames(run)
  const counts = createCounts(run)
  const { usage, ...windows } = createPostgresUsage(run)
  const engine: EngineParts = {
    ids,
    people: createPeople(run),
    usage,
    newPeople: createNewPeople(run),
    rows: createRows(run, { names, counts }),
    isRepeated: createRepeatCheck(run),
    // rows are found by ordinary indexes
    timeline: { erase: () => {}, remove: () => {} },
  }
  const undo = (): void => {
    counts.forget()
    windows.forget()
    names.undo()
  }
  const finish = async (): Promise<void> => {
    await counts.write()
    await windows.write()
  }
  return { engine, loadLimits: windows.load, listUses: windows.listUses, finish, settle: names.settle, undo }
}

type FoundPerson = { id: number; app: number; email: string; lacksName: number; unsureUntil: number | null }

/** Locks the people, in the order of their ids, so that what follows is planned with facts that stay. */
function createPeople(run: Run): EngineParts['people'] {
  const found = new Map<string, Person>()
  const keyOf = (appId: number, email: string): string => `${appId}:${email}`
  const text = `SELECT id, contacts.app_id AS app, contacts.email, first_name IS NULL OR last_name IS NULL AS "lacksName",
      (SELECT max(due_at) FROM deliveries WHERE contact_id = contacts.id AND reason = '${UNSURE}' AND state = 'deferred')
        AS "unsureUntil"
    FROM ${rowsAs({ app_id: 'bigint', email: 'text' })}
    JOIN contacts ON contacts.app_id = rows.app_id AND contacts.email = rows.email ORDER BY id FOR UPDATE OF contacts`
  const clear = (): void => found.clear()
  return {
    async load(keys) {
      found.clear()
      const wanted = new Map(keys.map(({ appId, email }) => [keyOf(appId, email), { app_id: appId, email }]))
      if (wanted.size === 0) return
      for (const row of await run(text, [JSON.stringify([...wanted.values()])])) {
        const { id, app, email, lacksName, unsureUntil } = row as FoundPerson
        found.set(keyOf(app, email), { id, lacksName: lacksName === 1, unsureUntil })
      }
    },
    find: (appId, email) => found.get(keyOf(appId, email)) ?? null,
    remember: (appId, email, person) => void found.set(keyOf(appId, email), person),
    drop: (appId, email) => void found.delete(keyOf(appId, email)),
    settle: clear,
    undo: clear,
    forget: clear,
  }
}

/** Locks the count, so that what instances add together stays within the plan. */
function createNewPeople(run: Run): EngineParts['newPeople'] {
  const text = `INSERT INTO new_people (account_id, month, count) VALUES ($1, $2, 0)
    ON CONFLICT (account_id, month) DO UPDATE SET count = new_people.count RETURNING count`
  return async ({ accountId, month }) => Number((await run(text, [accountId, month]))[0]?.count ?? 0)
}

type Names = {
  load(names: readonly { appId: number; name: string }[]): Promise<void>
  idOf(appId: number, name: string): number
  settle(): void
  undo(): void
}

/** Ids of names never change, so they are cached. */
function createNames(run: Run): Names {
  const MOST = 10_000
  const cache = new Map<string, number>()
  /** by the open transaction, which may have added them */
  const found = new Map<string, number>()
  const keyOf = (appId: number, name: string): string => `${appId}:${toStorable(name)}`
  const find = (appId: number, name: string): number | undefined =>
    cache.get(keyOf(appId, name)) ?? found.get(keyOf(appId, name))
  const columns = rowsAs({ app_id: 'bigint', name: 'text' })
  const add = `INSERT INTO event_names (app_id, name) SELECT app_id, name FROM ${columns} ON CONFLICT (app_id, name) DO NOTHING`
  const select = `SELECT id, event_names.app_id AS app, event_names.name FROM ${columns}
    JOIN event_names ON event_names.app_id = rows.app_id AND event_names.name = rows.name`
  const read = async (text: string): Promise<void> => {
    for (const row of await run(select, [text])) {
      const { id, app, name } = row as { id: number; app: number; name: string }
      found.set(keyOf(app, name), id)
    }
  }
  return {
    async load(names) {
      const unknown = new Map(
        names
          .filter(({ appId, name }) => find(appId, name) === undefined)
          .map((one) => [keyOf(one.appId, one.name), one]),
      )
      if (unknown.size === 0) return
      const rows = [...unknown.values()].map(({ appId, name }) => ({ app_id: appId, name }))
      const text = JSON.stringify(rows.toSorted(inOrderOf('app_id', 'name')))
      await run(add, [text])
      await read(text)
    },
    idOf(appId, name) {
      const id = find(appId, name)
      if (id === undefined) throw new Error('The id of an event name was not loaded')
      return id
    },
    settle(): void {
      if (cache.size > MOST) cache.clear()
      for (const [key, id] of found) cache.set(key, id)
      found.clear()
    },
    undo: () => found.clear(),
  }
}

const EVENT_COLUMNS = {
  id: 'bigint',
  app_id: 'bigint',
  contact_id: 'bigint',
  name_id: 'bigint',
  type: 'bigint',
  via: 'bigint',
  properties: 'text',
  path: 'text',
  received_at: 'bigint',
  occurred_at: 'bigint',
} as const
const CONTACT_COLUMNS = {
  id: 'bigint',
  app_id: 'bigint',
  email: 'text',
  shown_email: 'text',
  first_name: 'text',
  last_name: 'text',
  source: 'text',
  status: 'text',
  created_at: 'bigint',
  updated_at: 'bigint',
} as const
const REPORT_COLUMNS = {
  id: 'bigint',
  app_id: 'bigint',
  contact_id: 'bigint',
  batch: 'bigint',
  received_at: 'bigint',
  items: 'bigint',
  page_load: 'bigint',
  batch_number: 'bigint',
  age: 'bigint',
  path: 'text',
  is_here: 'bigint',
} as const

const insertInto = (table: string, columns: Record<string, 'bigint' | 'text'>): string => {
  const names = Object.keys(columns).join(', ')
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${rowsAs(columns)}`
}

type RowParts = { names: Names; counts: ReturnType<typeof createCounts> }

function createRows(run: Run, { names, counts }: RowParts): RowWrites {
  const insert = async (text: string, rows: Row[]): Promise<void> => {
    if (rows.length > 0) await run(text, [JSON.stringify(rows)])
  }
  const [intoContacts, intoEvents, intoReports] = [
    insertInto('contacts', CONTACT_COLUMNS),
    insertInto('events', EVENT_COLUMNS),
    insertInto('snippet_batches', REPORT_COLUMNS),
  ]
  return {
    addContacts: (contacts) => insert(intoContacts, contacts.map(toContactRow).toSorted(inOrderOf('app_id', 'email'))),
    addReports: (reports) => insert(intoReports, reports.map(toReportRow)),
    async addEvents(events) {
      if (events.length === 0) return
      await names.load(events.map(({ event }) => event))
      await insert(
        intoEvents,
        events.map((one) => toEventRow(one, names)),
      )
      for (const { id, contactId, event } of events) {
        const nameId = names.idOf(event.appId, event.name)
        counts.countEvent({ appId: event.appId, nameId, eventId: id, receivedAt: event.at })
        counts.noteActivity({ contactId, nameId, ...event })
      }
    },
  }
}

const toContactRow = (contact: NewContact): Row => ({
  id: contact.id,
  app_id: contact.appId,
  email: contact.email,
  shown_email: contact.shownEmail,
  first_name: contact.firstName,
  last_name: contact.lastName,
  source: contact.source,
  status: contact.status,
  created_at: contact.at,
  updated_at: contact.at,
})

const toReportRow = (report: NewReport): Row => ({
  id: report.id,
  app_id: report.appId,
  contact_id: report.contactId,
  batch: report.batch,
  received_at: report.at,
  items: report.items,
  page_load: report.pageLoad,
  batch_number: report.reportNumber,
  age: report.age,
  path: report.path,
  is_here: report.code,
})

const toEventRow = ({ id, contactId, event }: NewEvent, names: Names): Row => ({
  id,
  app_id: event.appId,
  contact_id: contactId,
  name_id: names.idOf(event.appId, event.name),
  type: EVENT_TYPES.indexOf(event.type),
  via: VIAS.indexOf(event.via),
  properties: event.properties,
  path: event.path,
  received_at: event.at,
  occurred_at: event.occurredAt === event.at ? null : event.occurredAt,
})

function createRepeatCheck(run: Run): IsRepeated {
  const text = `SELECT 1 AS found FROM snippet_batches WHERE contact_id = $1 AND type = 3 + ($2::bigint & 65535) AND batch = $2
    AND received_at > $3 LIMIT 1`
  return async ({ person, batch, at }) =>
    person.id !== null && (await run(text, [person.id, batch, at - VISIT_REPORT_MS])).length > 0
}

type Counted = { appId: number; nameId: number; eventId: number; receivedAt: number }
type Active = { contactId: number; nameId: number } & Pick<NewEvent['event'], 'appId' | 'type' | 'at' | 'occurredAt'>

/** Sums of a transaction, added in the order of their keys, so that instances don't wait for each other in a circle. */
function createCounts(run: Run) {
  const hours = new Map<string, Row & { count: number }>()
  const days = new Map<string, Row & { count: number }>()
  const seen = new Map<number, Row & { seen_at: number }>()
  const done = new Map<string, Row>()
  const all = [hours, days, seen, done]

  const add = (to: Map<string, Row & { count: number }>, key: string, row: Row): Row & { count: number } => {
    const known = to.get(key) ?? { ...row, count: 0 }
    known.count += 1
    to.set(key, known)
    return known
  }
  const write = async (text: string, rows: Iterable<Row>, ...order: string[]): Promise<void> => {
    const sorted = [...rows].toSorted(inOrderOf(...order))
    if (sorted.length > 0) await run(text, [JSON.stringify(sorted)])
  }
  const forget = (): void => all.forEach((one) => one.clear())

  return {
    countEvent({ appId, nameId, eventId, receivedAt }: Counted): void {
      const hour = Math.floor(receivedAt / HOUR_MS)
      const row = { app_id: appId, name_id: nameId, hour, first_event_id: eventId, last_event_id: eventId }
      add(hours, `${appId}:${nameId}:${hour}`, row).last_event_id = eventId
      const day = Math.floor(hour / DAY_HOURS)
      add(days, `${appId}:${nameId}:${day}`, { app_id: appId, day, name_id: nameId })
    },
    /** For the filters of People. */
    noteActivity({ appId, contactId, nameId, type, at, occurredAt }: Active): void {
      if (type !== 'page') {
        done.set(`${nameId}:${contactId}`, { name_id: nameId, contact_id: contactId })
        return
      }
      const seenAt = Math.max(occurredAt ?? at, seen.get(contactId)?.seen_at ?? 0)
      seen.set(contactId, { contact_id: contactId, app_id: appId, seen_at: seenAt })
    },
    async write(): Promise<void> {
      await write(ADD_HOURS, hours.values(), 'app_id', 'name_id', 'hour')
      await write(ADD_DAYS, days.values(), 'app_id', 'name_id', 'day')
      await write(ADD_DONE, done.values(), 'name_id', 'contact_id')
      await write(ADD_SEEN, seen.values(), 'contact_id')
      forget()
    },
    forget,
  }
}

const ADD_HOURS = `INSERT INTO rollups (app_id, name_id, hour, count, first_event_id, last_event_id)
  SELECT app_id, name_id, hour, count, first_event_id, last_event_id
  FROM ${rowsAs({ app_id: 'bigint', name_id: 'bigint', hour: 'bigint', count: 'bigint', first_event_id: 'bigint', last_event_id: 'bigint' })}
  ON CONFLICT (app_id, name_id, hour) DO UPDATE SET count = rollups.count + excluded.count,
    first_event_id = least(rollups.first_event_id, excluded.first_event_id),
    last_event_id = greatest(rollups.last_event_id, excluded.last_event_id)`
const ADD_DAYS = `INSERT INTO daily_rollups (app_id, day, name_id, count)
  SELECT app_id, day, name_id, count FROM ${rowsAs({ app_id: 'bigint', day: 'bigint', name_id: 'bigint', count: 'bigint' })}
  ON CONFLICT (app_id, day, name_id) DO UPDATE SET count = daily_rollups.count + excluded.count`
const ADD_DONE = `INSERT INTO contact_events (name_id, contact_id)
  SELECT name_id, contact_id FROM ${rowsAs({ name_id: 'bigint', contact_id: 'bigint' })}
  ON CONFLICT (name_id, contact_id) DO NOTHING`
const ADD_SEEN = `INSERT INTO contact_activity (contact_id, app_id, seen_at)
  SELECT contact_id, app_id, seen_at FROM ${rowsAs({ contact_id: 'bigint', app_id: 'bigint', seen_at: 'bigint' })}
  ON CONFLICT (contact_id) DO UPDATE SET seen_at = greatest(contact_activity.seen_at, excluded.seen_at)`

/** What PostgreSQL has beside the tables, for the writes of one instance: nothing that another instance could make wrong. */
import { DAY_HOURS, HOUR_MS } from '../../core/clock.ts'
import type { IdSequence } from '../../core/ids.ts'
import { UNSURE } from '../delivery-states.ts'
import { type NewOutcome, storedKey } from '../idempotency.ts'
import type { Person, PersonKey } from '../people.ts'
import { selectKeptMs } from '../retention.ts'
import type { NewContact, NewEvent, NewReport, Rules } from '../plan-types.ts'
import type { IsRepeated, RowWrites } from '../planned-writes.ts'
import { type CountedLimit, EVENT_TYPES, VIAS } from '../types.ts'
import { VISIT_REPORT_MS } from '../visit-reports.ts'
import type { EngineParts } from '../writes.ts'
import type { Postgres, Run, Send } from './connection.ts'
import { createCounterMerge } from './counter-parts.ts'
import { Outdated } from './faults.ts'
import type { AppLook } from './instance.ts'
import { createPostgresUsage, LIMIT_TABLES } from './limit-usage.ts'
import { keyOfPerson, listOf, lockNewcomers, lockPeople, PEOPLE_BY_ADDRESS } from './people-locks.ts'
import { type Columns, type Row, rowsAs } from './rows.ts'
import { toStorable } from './storable-text.ts'

const inOrderOf =
  (...names: string[]) =>
  (a: Row, b: Row): number => {
    for (const name of names) {
      const [first, second] = [a[name] ?? '', b[name] ?? '']
      if (first !== second) return first < second ? -1 : 1
    }
    return 0
  }

const inOrder = (rows: readonly Row[], names: readonly string[]): readonly Row[] =>
  names.length === 0 ? rows : rows.toSorted(inOrderOf(...names))

type PartOptions = {
  ids: IdSequence
  rules: Pick<Rules, 'defaultResponseDays'>
  /** Sent after the people are locked, so that what others added of them is seen. */
  lookAt: (appIds: readonly number[]) => Promise<readonly AppLook[]>
  /** of an app to which another instance may have added the first one */
  onDeliveries: (appId: number) => void
}

export function createPostgresParts(
  postgres: Pick<Postgres, 'run' | 'send' | 'perTransaction'>,
  { ids, rules, lookAt, onDeliveries }: PartOptions,
) {
  const { run, send, perTransaction } = postgres
  const names = createNames(run)
  const done = createDone()
  const rows = createWaitingRows(send, perTransaction)
  const counts = perTransaction(() => createCounts(done))
  const { usage, ...windows } = createPostgresUsage(postgres)
  /** what the open transaction needs before anything is planned */
  let opening: Promise<unknown> = Promise.resolve()
  const engine: EngineParts = {
    ids,
    people: createPeople(postgres, { lookAt, onDeliveries, opened: () => opening }),
    usage,
    newPeople: createNewPeople(run),
    rows: createRows(rows, { names, counts, dropExpired: createOutcomeExpiry(send, rules) }),
    isRepeated: createRepeatCheck(run),
    mergeCounts: createCounterMerge(run),
    // rows are found by ordinary indexes
    timeline: { erase: () => {}, remove: () => {} },
  }
  return {
    engine,
    /** At the beginning of a transaction: its limits are locked before its people. `others`: what is read beside them. */
    async open(limits: readonly CountedLimit[], others: Promise<unknown> | null): Promise<void> {
      windows.forget()
      names.undo()
      done.undo()
      const all = Promise.all([others, windows.load(limits)])
      opening = all
      all.catch(() => {})
      if (!windows.areKnown(limits)) await all
    },
    /** Before what doesn't begin with people. */
    opened: async (): Promise<void> => void (await opening),
    /** Before each statement, which may look for rows that wait. */
    flush: rows.flush,
    async finish(): Promise<void> {
      await opening
      for (const [table, all] of [...counts().list(), ...windows.list()]) rows.add(table, all)
      rows.flush()
    },
    listUses: windows.listUses,
    settle(): void {
      names.settle()
      done.settle()
    },
    /** What the database may have lost. */
    forget(): void {
      names.forget()
      done.forget()
    },
  }
}

type PeopleParts = Pick<PartOptions, 'lookAt' | 'onDeliveries'> & { opened: () => Promise<unknown> }
type LockedPerson = { id: number; app: number; email: string; lacksName: number }

const MOST_KNOWN = 100_000

/** Locks the people, so that what follows is planned with facts that stay. */
function createPeople(
  { run, perTransaction }: Pick<Postgres, 'run' | 'perTransaction'>,
  { lookAt, onDeliveries, opened }: PeopleParts,
): EngineParts['people'] {
  const open = perTransaction(() => ({ people: new Map<string, Person>(), suppressing: new Set<number>() }))
  const keyOf = (appId: number, email: string): string => keyOfPerson({ appId, email })
  const text = lockPeople(
    'id, app_id AS app, email, first_name IS NULL OR last_name IS NULL AS "lacksName"',
    `SELECT person.id FROM ${PEOPLE_BY_ADDRESS}`,
  )
  const unsure = `SELECT person.id, unsure.until FROM ${PEOPLE_BY_ADDRESS} CROSS JOIN LATERAL
      (SELECT max(due_at) AS until FROM deliveries
       WHERE app_id = rows.app_id AND contact_id = person.id AND reason = '${UNSURE}' AND state = 'deferred') AS unsure
    WHERE unsure.until IS NOT NULL`
  const nothing = (): void => {}

  /** Not in the statement that locks, which would see what was there before it waited. */
  const listUnsure = async (apps: readonly AppLook[], people: PersonKey[]): Promise<Map<number, number>> => {
    const ids = new Set(apps.filter(({ hasUnsure }) => hasUnsure).map(({ app }) => app))
    const asked = people.filter(({ appId }) => ids.has(appId))
    const rows = asked.length === 0 ? [] : await run(unsure, [listOf(asked)])
    return new Map(rows.map(({ id, until }) => [Number(id), Number(until)]))
  }

  const appsOf = (keys: readonly PersonKey[]): number[] => [...new Set(keys.map(({ appId }) => appId))]
  /** People who were there, whose addresses need no lock. */
  const known = new Set<string>()
  const noteKnown = (keys: readonly string[], unknown: Iterable<string>): void => {
    const { people } = open()
    const gone = keys.filter((key) => !people.has(key) && known.delete(key))
    if (known.size > MOST_KNOWN) known.clear()
    for (const key of unknown) if (people.has(key)) known.add(key)
    if (gone.length > 0) throw new Outdated('People were erased meanwhile')
  }

  return {
    async load(keys) {
      const { people, suppressing } = open()
      people.clear()
      const byKey = new Map(keys.map((key) => [keyOfPerson(key), key]))
      const wanted = [...byKey.values()]
      const locked = wanted.length === 0 ? [] : run(text, [listOf(wanted)])
      const unknown = new Map([...byKey].filter(([key]) => !known.has(key)))
      const addresses = unknown.size === 0 ? [] : lockNewcomers(run, [...unknown.values()])
      const looked = lookAt(appsOf(wanted))
      const [rows, apps] = await Promise.all([locked, looked, addresses, opened()])
      const unsureUntil = await listUnsure(apps, wanted)
      for (const { app, hasDeliveries, hasSuppressions } of apps) {
        if (hasDeliveries) onDeliveries(app)
        if (hasSuppressions) suppressing.add(app)
      }
      for (const row of rows) {
        const { id, app, email, lacksName } = row as LockedPerson
        people.set(keyOf(app, email), { id, lacksName: lacksName === 1, unsureUntil: unsureUntil.get(id) ?? null })
      }
      noteKnown([...byKey.keys()], unknown.keys())
    },
    find: (appId, email) => open().people.get(keyOf(appId, email)) ?? null,
    hasSuppressions: (appId) => open().suppressing.has(appId),
    remember: (appId, email, person) => void open().people.set(keyOf(appId, email), person),
    drop: (appId, email) => void open().people.delete(keyOf(appId, email)),
    settle: nothing,
    undo: nothing,
    forget: nothing,
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
  forget(): void
}

/** Ids of names never change, so they are cached, until another server may have given one to another name. */
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
    forget() {
      cache.clear()
      found.clear()
    },
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

const OUTCOME_COLUMNS = {
  key_id: 'text',
  idempotency_key: 'text',
  body_hash: 'text',
  outcome: 'text',
  contact_id: 'bigint',
  created_at: 'bigint',
  app_id: 'bigint',
  account_id: 'text',
} as const
const NEW_PEOPLE_COLUMNS = { account_id: 'text', month: 'text', count: 'bigint' } as const
const HOUR_COLUMNS = {
  app_id: 'bigint',
  name_id: 'bigint',
  hour: 'bigint',
  count: 'bigint',
  first_event_id: 'bigint',
  last_event_id: 'bigint',
} as const
const DAY_COLUMNS = { app_id: 'bigint', day: 'bigint', name_id: 'bigint', count: 'bigint' } as const
const DONE_COLUMNS = { app_id: 'bigint', name_id: 'bigint', contact_id: 'bigint' } as const
const SEEN_COLUMNS = { contact_id: 'bigint', app_id: 'bigint', seen_at: 'bigint' } as const

/** `values`: of columns whose value isn't simply that of the row. */
type TableRows = { columns: Columns; values?: Record<string, string>; order: readonly string[]; ifKnown: string }

/**
 * In the order in which their rows are locked: last those that other transactions wait for. A key that exists is a
 * conflict, unless `ifKnown` says what to do.
 */
const TABLES = {
  contacts: { columns: CONTACT_COLUMNS, order: ['app_id', 'email'], ifKnown: '' },
  snippet_batches: { columns: REPORT_COLUMNS, order: [], ifKnown: '' },
  events: { columns: EVENT_COLUMNS, order: [], ifKnown: '' },
  idempotency_records: { columns: OUTCOME_COLUMNS, order: ['key_id', 'idempotency_key'], ifKnown: '' },
  contact_events: {
    columns: DONE_COLUMNS,
    order: ['name_id', 'contact_id'],
    ifKnown: 'ON CONFLICT (name_id, contact_id, app_id) DO NOTHING',
  },
  contact_activity: {
    columns: SEEN_COLUMNS,
    order: ['contact_id'],
    ifKnown: `ON CONFLICT (contact_id, app_id) DO UPDATE SET seen_at = excluded.seen_at
      WHERE contact_activity.seen_at < excluded.seen_at`,
  },
  new_people: {
    columns: NEW_PEOPLE_COLUMNS,
    order: ['account_id', 'month'],
    ifKnown: 'ON CONFLICT (account_id, month) DO UPDATE SET count = new_people.count + excluded.count',
  },
  rollups: {
    columns: HOUR_COLUMNS,
    order: ['app_id', 'name_id', 'hour'],
    ifKnown: `ON CONFLICT (app_id, name_id, hour) DO UPDATE SET count = rollups.count + excluded.count,
      first_event_id = least(rollups.first_event_id, excluded.first_event_id),
      last_event_id = greatest(rollups.last_event_id, excluded.last_event_id)`,
  },
  daily_rollups: {
    columns: DAY_COLUMNS,
    order: ['app_id', 'day', 'name_id'],
    ifKnown: 'ON CONFLICT (app_id, day, name_id) DO UPDATE SET count = daily_rollups.count + excluded.count',
  },
  ...LIMIT_TABLES,
} satisfies Record<string, TableRows>

type Table = keyof typeof TABLES
const TABLE_NAMES = Object.keys(TABLES) as Table[]

/** Rows of several tables in one statement, of which each table is a part. */
function createWaitingRows(send: Send, perTransaction: Postgres['perTransaction']) {
  const open = perTransaction(() => new Map<Table, Row[]>())
  const texts = new Map<string, string>()
  const textOf = (tables: readonly Table[]): string => {
    const key = tables.join()
    const text = texts.get(key) ?? writeText(tables)
    texts.set(key, text)
    return text
  }
  return {
    add(table: Table, rows: readonly Row[]): void {
      if (rows.length === 0) return
      const waiting = open()
      const known = waiting.get(table)
      if (known) known.push(...rows)
      else waiting.set(table, [...rows])
    },
    flush(): void {
      const waiting = open()
      if (waiting.size === 0) return
      const tables = TABLE_NAMES.filter((name) => waiting.has(name))
      const values = tables.map((name) => JSON.stringify(inOrder(waiting.get(name) ?? [], TABLES[name].order)))
      waiting.clear()
      send(textOf(tables), values)
    },
  }
}

/** PostgreSQL runs the statement itself first, and then the parts before it from the last one to the first. */
function writeText(tables: readonly Table[]): string {
  const [first = '', ...others] = tables.map((table, index) => {
    const { columns, values = {}, ifKnown }: TableRows = TABLES[table]
    const names = Object.keys(columns)
    const found = names.map((name) => values[name] ?? name)
    return `INSERT INTO ${table} (${names.join(', ')}) SELECT ${found.join(', ')} FROM ${rowsAs(columns, `$${index + 1}`)} WHERE true ${ifKnown}`
  })
  const parts = others.toReversed().map((part, index) => `part_${index} AS (${part})`)
  return parts.length === 0 ? first : `WITH ${parts.join(', ')} ${first}`
}

/** Keys that expired are free again before they are removed. */
function createOutcomeExpiry(send: Send, { defaultResponseDays }: PartOptions['rules']) {
  const keptMs = selectKeptMs('record.app_id', 'response_days', defaultResponseDays)
  const text = `DELETE FROM idempotency_records AS record
    USING ${rowsAs({ key_id: 'text', idempotency_key: 'text', created_at: 'bigint' })}
    WHERE record.key_id = rows.key_id AND record.idempotency_key = rows.idempotency_key
      AND record.created_at <= rows.created_at - ${keptMs}`
  return (rows: readonly Row[]): void => {
    if (rows.length > 0) send(text, [JSON.stringify(rows)])
  }
}

type RowParts = {
  names: Names
  counts: () => ReturnType<typeof createCounts>
  dropExpired: ReturnType<typeof createOutcomeExpiry>
}

function createRows(rows: ReturnType<typeof createWaitingRows>, { names, counts, dropExpired }: RowParts): RowWrites {
  return {
    addContacts: (contacts) => rows.add('contacts', contacts.map(toContactRow)),
    addNewPeople: (counts) =>
      rows.add(
        'new_people',
        counts.map(({ accountId, month, count }) => ({ account_id: accountId, month, count })),
      ),
    addReports: (reports) => rows.add('snippet_batches', reports.map(toReportRow)),
    addOutcomes(outcomes) {
      const records = outcomes.map(toOutcomeRow)
      dropExpired(records)
      rows.add('idempotency_records', records)
    },
    async addEvents(events) {
      if (events.length === 0) return
      await names.load(events.map(({ event }) => event))
      const { countEvent, noteActivity } = counts()
      const add = (one: NewEvent): Row => {
        const nameId = names.idOf(one.event.appId, one.event.name)
        countEvent(one, nameId)
        noteActivity(one, nameId)
        return toEventRow(one, nameId)
      }
      rows.add('events', events.map(add))
    },
  }
}

const toOutcomeRow = (outcome: NewOutcome): Row => ({
  key_id: outcome.keyId,
  idempotency_key: storedKey(outcome),
  body_hash: outcome.bodyHash,
  outcome: outcome.outcome,
  contact_id: outcome.contactId,
  created_at: outcome.at,
  app_id: outcome.appId,
  account_id: outcome.accountId,
})

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

const toEventRow = ({ id, contactId, event }: NewEvent, nameId: number): Row => ({
  id,
  app_id: event.appId,
  contact_id: contactId,
  name_id: nameId,
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

/** Sums of a transaction. */
function createCounts(done: ReturnType<typeof createDone>) {
  const hours = new Map<string, HourCount>()
  const seen = new Map<number, Row & { seen_at: number }>()

  return {
    countEvent({ id, event: { appId, at } }: NewEvent, nameId: number): void {
      const hour = Math.floor(at / HOUR_MS)
      const key = `${nameId}:${hour}`
      const counted = hours.get(key)
      if (counted) {
        counted.count += 1
        counted.last_event_id = id
      } else hours.set(key, { app_id: appId, name_id: nameId, hour, first_event_id: id, last_event_id: id, count: 1 })
    },
    /** For the filters of People. */
    noteActivity({ contactId, event: { appId, type, at, occurredAt } }: NewEvent, nameId: number): void {
      if (type !== 'page') return done.add({ app_id: appId, name_id: nameId, contact_id: contactId })
      const seenAt = Math.max(occurredAt ?? at, seen.get(contactId)?.seen_at ?? 0)
      seen.set(contactId, { contact_id: contactId, app_id: appId, seen_at: seenAt })
    },
    list(): [Table, Row[]][] {
      return [
        ['contact_events', done.list()],
        ['contact_activity', [...seen.values()]],
        ['rollups', [...hours.values()]],
        ['daily_rollups', sumDays(hours.values())],
      ]
    },
  }
}

type HourCount = Row & { app_id: number; name_id: number; hour: number; count: number }

function sumDays(hours: Iterable<HourCount>): Row[] {
  const days = new Map<string, Row & { count: number }>()
  for (const { app_id, name_id, hour, count } of hours) {
    const day = Math.floor(hour / DAY_HOURS)
    const key = `${name_id}:${day}`
    days.set(key, { app_id, day, name_id, count: count + (days.get(key)?.count ?? 0) })
  }
  return [...days.values()]
}

/** Retention removes a row when no event of its name is left, and keeps each event for days. */
const DONE_KNOWN_MS = HOUR_MS

type DoneRow = Row & { name_id: number; contact_id: number }

/** Who had an event of which name. Rows that were stored a short time ago are not stored again. */
function createDone() {
  /** people by name */
  const known = new Map<number, Set<number>>()
  let knownCount = 0
  let knownSince = performance.now()
  /** of the open transaction */
  let found: DoneRow[] = []
  const forget = (): void => {
    known.clear()
    knownCount = 0
    knownSince = performance.now()
  }
  /** Each transaction begins with it. */
  const undo = (): void => {
    found = []
    if (performance.now() - knownSince > DONE_KNOWN_MS) forget()
  }
  return {
    add(row: DoneRow): void {
      if (!known.get(row.name_id)?.has(row.contact_id)) found.push(row)
    },
    list: (): Row[] => found,
    settle(): void {
      if (knownCount > MOST_KNOWN) forget()
      for (const { name_id, contact_id } of found) {
        const people = known.get(name_id) ?? new Set()
        known.set(name_id, people.add(contact_id))
      }
      knownCount += found.length
      found = []
    },
    undo,
    forget,
  }
}

/** Rows by the million, in the order of time, as a busy service would have written them. */
import type { Database, SQLQueryBindings } from 'bun:sqlite'
import { createIdSequence } from '../../src/core/ids.ts'
import { createContactIndex } from '../../src/store/search/contact-index.ts'
import { createRandom, type Random } from '../random.ts'
import { NEARLY, type Nearly } from './seeded.ts'

type Span = { from: number; until: number }
export type Contacts = { large: number[]; small: number[] }

const HOUR_MS = 3_600_000
const SMALL_EVENTS = 20
/** Rows of one statement: a call costs as much as ten rows. */
const ROWS = 50
/** Rows of each log. */
const LOGGED = 90_000
/** A commit in between keeps the log from growing to the size of the database. */
const COMMIT_ROWS = 500_000
/** Steps of the index in one commit: a commit of each wrote 36 GB of log for ten million events. */
const INDEX_STEPS = 2_000

/** Gathers rows for statements of many rows. The number of rows need not divide by anything. */
function createInserter(db: Database, table: string, columns: string[]) {
  const row = `(${columns.map(() => '?').join(', ')})`
  const insert = (rows: number) =>
    db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(rows).fill(row).join(', ')}`)
  const many = insert(ROWS)
  let values: SQLQueryBindings[] = []
  let written = 0
  return {
    add(...row: SQLQueryBindings[]): void {
      for (const value of row) values.push(value)
      if (values.length < ROWS * columns.length) return
      many.run(...values)
      values = []
      written += ROWS
      if (written % COMMIT_ROWS === 0) db.run('COMMIT; PRAGMA wal_checkpoint(TRUNCATE); BEGIN')
    },
    end(): void {
      if (values.length > 0) insert(values.length / columns.length).run(...values)
    },
  }
}

/** Makes the indexes of a table once its rows are there: in order, which is many times faster. */
function withoutIndexes(db: Database, table: string, fill: () => void): void {
  const indexes = db
    .query<{ name: string; sql: string }, [string]>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    )
    .all(table)
  for (const { name } of indexes) db.run(`DROP INDEX ${name}`)
  db.run('BEGIN')
  fill()
  db.run('COMMIT')
  for (const { sql } of indexes) db.run(sql)
}

type People = { span: Span; people: number; large: number; small: number; smallPeople: number }

/** People who came one after another; every twentieth has tags, every fifth a field, and few refuse emails. */
export function seedPeople(db: Database, { span, people, large, small, smallPeople }: People): Contacts {
  const contacts: Contacts = { large: [], small: [] }
  const columns = ['id', 'app_id', 'email', 'first_name', 'status', 'tags', 'fields', 'created_at', 'updated_at']
  const fields = createInserter(db, 'contact_fields', ['app_id', 'name', 'value', 'contact_id'])
  const tags = createInserter(db, 'contact_tags', ['app_id', 'tag', 'contact_id'])
  const rows = createInserter(db, 'contacts', columns)
  let at = span.from
  const ids = createIdSequence(() => at)
  const add = (appId: number, index: number, into: number[]): void => {
    const id = ids.next()
    const tag = index % 20 === 0 ? 'beta' : null
    const name = index % 3 === 0 ? null : `Person ${index}`
    const status = index % 50 === 10 ? 'bounced' : index % 1_000 === 11 ? 'unsubscribed' : 'subscribed'
    const plan = index % 5 === 2 ? (index % 4 === 0 ? 'pro' : 'free') : null
    const json = [tag && `["${tag}"]`, plan && `{"plan":"${plan}"}`]
    rows.add(id, appId, `person${index}@example.com`, name, status, ...json, at, at)
    if (tag) tags.add(appId, tag, id)
    if (plan) fields.add(appId, 'plan', plan, id)
    into.push(id)
  }
  withoutIndexes(db, 'contacts', () => {
    for (let index = 0; index < smallPeople; index += 1) add(small, index, contacts.small)
    for (let index = 0; index < people - smallPeople; index += 1) {
      at = Math.floor(span.from + ((span.until - span.from) * index) / people)
      add(large, index, contacts.large)
    }
    rows.end()
    tags.end()
    fields.end()
  })
  return contacts
}

const PAGES = ['/', '/results', '/settings', '/pricing', '/results/1', '/team', '/docs/start', '/account']
/** Each name comes about half as often as the one before, down to one in a few thousand. */
const NAMES = [
  'results_ready',
  'signed_in',
  'file.uploaded',
  'report:shared',
  'invited',
  'paid',
  'exported',
  'upgraded',
]
const RARE = 'account_closed'
const RARE_EVERY = 2_000_000

type Kind = { name: string; type: number; via: number; properties: string | null; path: string | null }

/** Four in ten are page views, one an action, the others events of a server. */
function makeKind(index: number, random: Random): Kind {
  const drawn = random.next()
  const path = PAGES[random.below(PAGES.length)] ?? '/'
  if (drawn < 0.4) return { name: '$page', type: 1, via: 1, properties: null, path }
  if (drawn < 0.5) return { name: 'clicked_export', type: 2, via: 1, properties: null, path }
  const number = String(index).padStart(10, '0')
  const properties = `{"url":"https://app.example.com/results/${number}","headline":"Your results number ${number} are ready now"}`
  const depth = Math.min(NAMES.length - 1, Math.floor(-Math.log2(random.next() || 1)))
  const name = index % RARE_EVERY === RARE_EVERY / 2 ? RARE : (NAMES[depth] ?? RARE)
  return { name, type: 0, via: 0, properties, path: null }
}

type Events = { span: Span; events: number; large: number; small: number; contacts: Contacts }

/** Events of people who were there by then, with their hourly counts; 20 of them the small app's. */
export function seedEvents(db: Database, { span, events, large, small, contacts }: Events): void {
  const random = createRandom(4)
  const columns = ['id', 'app_id', 'contact_id', 'name_id', 'type', 'via', 'properties', 'path', 'received_at']
  const rows = createInserter(db, 'events', columns)
  const { nameOf, count, end } = createCounts(db)
  const every = Math.floor(events / SMALL_EVENTS)
  let at = span.from
  const ids = createIdSequence(() => at)
  withoutIndexes(db, 'events', () => {
    for (let index = 0; index < events; index += 1) {
      at = Math.floor(span.from + ((span.until - span.from) * index) / events)
      const isSmall = index % every === every - 1
      const { large: all, small: few } = contacts
      const known = isSmall ? few.length : Math.max(1, Math.floor((all.length * index) / events))
      const contact = (isSmall ? few : all)[random.below(known)] ?? 0
      const appId = isSmall ? small : large
      const { name, type, via, properties, path } = makeKind(index, random)
      const id = ids.next()
      const nameId = nameOf(appId, name)
      rows.add(id, appId, contact, nameId, type, via, properties, path, at)
      count(appId, nameId, at, id)
    }
    rows.end()
    end()
    db.run(`INSERT INTO daily_rollups (app_id, day, name_id, count)
      SELECT app_id, hour / 24, name_id, sum(count) FROM rollups GROUP BY app_id, hour / 24, name_id`)
  })
}

/** Names, and hourly counts of one hour at a time. */
function createCounts(db: Database) {
  const names = new Map<string, number>()
  const addName = db.prepare<{ id: number }, [number, string]>(
    'INSERT INTO event_names (app_id, name) VALUES (?, ?) RETURNING id',
  )
  const addRollup = db.prepare(
    `INSERT INTO rollups (app_id, name_id, hour, count, first_event_id, last_event_id) VALUES (?, ?, ?, ?, ?, ?)`,
  )
  let hour = 0
  let counts = new Map<number, { appId: number; count: number; first: number; last: number }>()
  const end = (): void => {
    for (const [nameId, { appId, count, first, last }] of counts) addRollup.run(appId, nameId, hour, count, first, last)
    counts = new Map()
  }
  return {
    nameOf(appId: number, name: string): number {
      const key = `${appId}:${name}`
      const known = names.get(key) ?? addName.get(appId, name)?.id ?? 0
      names.set(key, known)
      return known
    },
    count(appId: number, nameId: number, at: number, id: number): void {
      const now = Math.floor(at / HOUR_MS)
      if (now !== hour) end()
      hour = now
      const known = counts.get(nameId)
      if (!known) counts.set(nameId, { appId, count: 1, first: id, last: id })
      else {
        known.count += 1
        known.last = id
      }
    },
    end,
  }
}

/** Of a thousand deliveries so many are in each state, in no order. */
const STATES: [state: string, thousandths: number][] = [
  ['sent', 580],
  ['kept', 20],
  ['skipped', 150],
  ['waiting', 150],
  ['joined', 40],
  ['deferred', 30],
  ['unknown', 20],
  ['failed', 9],
  ['bounced', 1],
]
const REASONS: Record<string, string> = { skipped: 'seen', deferred: 'perDay', failed: 'refused' }
const RECORD = JSON.stringify({ at: 1, verdicts: [{ rule: 'once', value: null, ok: true }] })

type Deliveries = { span: Span; deliveries: number; app: number; large: number; messages: number[]; rare: number }

/** An app's own copies of people of the large one. */
function copyPeople(db: Database, app: number, large: number): number[] {
  const columns = 'email, first_name, status, tags, created_at, updated_at'
  return db
    .query<{ id: number }, [number, number]>(
      `INSERT INTO contacts (id, app_id, ${columns}) SELECT id + 1, ?, ${columns} FROM contacts WHERE app_id = ?
       ORDER BY id LIMIT 100000 RETURNING id`,
    )
    .all(app, large)
    .map(({ id }) => id)
}

/** Deliveries of messages in turn; each 100,000th is of the rare message and waits. */
export function seedDeliveries(db: Database, { span, deliveries, app, large, messages, rare }: Deliveries): void {
  const contacts = copyPeople(db, app, large)
  const random = createRandom(5)
  const columns = ['id', 'app_id', 'contact_id', 'message_id', 'version', 'once_key', 'state', 'triggered_at']
  const more = ['planned_at', 'due_at', 'attempt', 'handed_at', 'resent', 'by_hand', 'record', 'updated_at']
  const ends = ['reason', 'came_back_at', 'opened_at', 'goal_at']
  const rows = createInserter(db, 'deliveries', [...columns, ...more, ...ends])
  const captured = createInserter(db, 'captured_mails', [
    'delivery_id',
    'app_id',
    'raw',
    'created_at',
    'recipient',
    'subject',
  ])
  let at = span.from
  const ids = createIdSequence(() => at)
  const makeState = (): string => {
    let left = random.below(1_000)
    return STATES.find(([, share]) => (left -= share) < 0)?.[0] ?? 'sent'
  }
  withoutIndexes(db, 'deliveries', () => {
    for (let index = 0; index < deliveries; index += 1) {
      at = Math.floor(span.from + ((span.until - span.from) * index) / deliveries)
      const isRare = index % 100_000 === 50_000
      const [message, state] = isRare ? [rare, 'waiting'] : [messages[index % messages.length] ?? rare, makeState()]
      const handedAt = ['sent', 'unknown', 'bounced'].includes(state) ? at : null
      const record = state === 'waiting' ? null : RECORD
      // what waits is due long after the bench
      const dueAt = at + 1_000 * 86_400_000
      const id = ids.next()
      const returned = [3, 5, 50].map((share) => (state === 'sent' && index % share === 0 ? at + HOUR_MS : null))
      if (state === 'kept') captured.add(id, app, 'Subject: S\r\n\r\nB', at, 'person@example.com', 'S')
      const key = [id, app, contacts[random.below(contacts.length)] ?? 0, message, 1, `k${index}`, state, at]
      rows.add(...key, at, dueAt, 1, handedAt, 0, 0, record, at, REASONS[state] ?? null, ...returned)
    }
    rows.end()
    captured.end()
  })
}

/** Six in ten people were emailed, by one message, and a third of them came back. */
export function seedPeopleResults(
  db: Database,
  { span, app, message }: { span: Span; app: number; message: number },
): void {
  const time = `${span.from} + abs(random() % ${span.until - span.from})`
  const add = db.query(
    `INSERT INTO people_results (app_id, message_id, contact_id, emailed_at, came_back_at)
     SELECT app_id, ?2, id, ${time}, iif(random() % 3 = 0, ${time}, NULL) FROM contacts
     WHERE app_id = ?1 AND id / 16 % 10 < 6`,
  )
  db.transaction(() => {
    for (const one of [0, message]) add.run(app, one)
  })()
}

/** Of each kind a message that nearly everyone got, and an event that nearly everyone did. */
export function seedNearlyEveryone(db: Database, { span, app }: { span: Span; app: number }): void {
  const addName = db.query<{ id: number }, [number, string]>(
    'INSERT INTO event_names (app_id, name) VALUES (?, ?) RETURNING id',
  )
  const findMessage = db.query<{ id: number }, [number, string]>(
    'SELECT id FROM messages WHERE app_id = ? AND name = ?',
  )
  db.run(
    'CREATE TEMP TABLE places AS SELECT row_number() OVER (ORDER BY id) AS place, id FROM contacts WHERE app_id = ' +
      app,
  )
  for (const [kind, others] of Object.entries(NEARLY) as [Nearly, string][]) {
    const [event, message] = [addName.get(app, kind)?.id ?? 0, findMessage.get(app, kind)?.id ?? 0]
    db.query(`INSERT INTO contact_events SELECT ?, id FROM places WHERE NOT (${others})`).run(event)
    db.query(
      `INSERT INTO people_results (app_id, message_id, contact_id, emailed_at) SELECT ?, ?, id, ? FROM places WHERE NOT (${others})`,
    ).run(app, message, span.until - HOUR_MS)
  }
  db.run('DROP TABLE places')
}

/** Suppressed addresses, and a full request log. */
export function seedLogs(db: Database, { span, app, account }: { span: Span; app: number; account: string }): void {
  const suppressed = createInserter(db, 'suppressions', ['app_id', 'email_hash', 'reason', 'created_at', 'email'])
  const columns = ['pool', 'account_id', 'app_id', 'caller', 'received_at', 'method', 'path', 'status', 'code']
  const requests = createInserter(db, 'requests', [...columns, 'request_id', 'count'])
  db.run('BEGIN')
  for (let index = 0; index < LOGGED; index += 1) {
    const at = Math.floor(span.from + ((span.until - span.from) * index) / LOGGED)
    suppressed.add(app, `hash${index}`, index % 10 === 0 ? 'unsubscribed' : 'bounced', at, `person${index}@example.com`)
    for (const [pool, status, code] of [
      [0, 400, index % 5 === 0 ? 'unknown_field' : 'invalid'],
      [2, 202, null],
    ] as const)
      requests.add(pool, account, app, 'seed', at, 'POST', '/api/v1/events', status, code, `req_${pool}_${index}`, 1)
  }
  suppressed.end()
  requests.end()
  db.run('INSERT INTO request_callers SELECT pool, account_id, caller, count(*) FROM requests GROUP BY 1, 2, 3')
  db.run('COMMIT')
}

/** As the service leaves it after a pause. */
export function fillTimeline(db: Database): void {
  db.run(
    `INSERT OR IGNORE INTO timeline SELECT contact_id, type, id FROM events
     UNION ALL SELECT contact_id, type, id FROM snippet_batches ORDER BY 1, 2, 3`,
  )
  db.run(`UPDATE install SET value = (SELECT CAST(max(id) AS TEXT) FROM events) WHERE name LIKE 'timeline_%until'`)
  const index = createContactIndex(db, () => performance.now(), false)
  const advanceMany = db.transaction(() => {
    for (let step = 0; step < INDEX_STEPS && index.hasWaiting(); step += 1) index.advance(true)
  })
  while (index.hasWaiting()) {
    advanceMany()
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  }
}

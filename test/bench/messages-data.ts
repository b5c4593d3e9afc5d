/** What `bun run bench:messages` is measured with: messages, people, events and deliveries, straight into the files. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { FIRST_MESSAGES } from '../../src/accounts/first-messages.ts'
import { RESULTS_READY } from '../../src/core/field-patterns.ts'
import { idAt, publicId } from '../../src/core/ids.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import { VISIT_REPORT_MS } from '../../src/store/visit-reports.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { fillTimeline } from './seed-rows.ts'

const MILLION = 1_000_000
const HOUR_MS = 3_600_000

const MAIL = { subject: 'S', body: 'B' }

/** The event of the load starts both, and each writes a delivery. */
const STARTED: readonly MessageContent[] = FIRST_MESSAGES.map(({ content }) => content)

/** Twenty that the load doesn't start: eight compare properties of its event, twelve wait for other events. */
const FURTHER: readonly MessageContent[] = [
  ...Array.from({ length: 8 }, (_, index): MessageContent => {
    const where = [{ property: 'plan', is: 'equal' as const, to: `plan ${index}` }]
    return { trigger: { event: RESULTS_READY, where }, mail: MAIL }
  }),
  ...Array.from({ length: 12 }, (_, index): MessageContent => {
    const onlyIf = [{ rule: 'notDone' as const, event: `paid.${index}` }]
    return { trigger: { event: `other.${index}` }, onlyIf, mail: MAIL }
  }),
]

/** The live messages of each app that gets the load, and how many deliveries each of its events writes. */
export const SIDES = {
  none: { messages: [], deliveries: 0 },
  further: { messages: FURTHER, deliveries: 0 },
  started: { messages: STARTED, deliveries: STARTED.length },
  startedAndFurther: { messages: [...STARTED, ...FURTHER], deliveries: STARTED.length },
} as const satisfies Record<string, { messages: readonly MessageContent[]; deliveries: number }>
export type SideName = keyof typeof SIDES

export async function makeLive(data: string, messages: readonly MessageContent[]): Promise<void> {
  const store = await openStore(data, { threads: false, rules: STORE_RULES })
  const app = await findApp(store)
  const drafts = messages.map((content, index) => ({
    name: `Live ${index}`,
    content,
    id: null,
    status: 'live' as const,
  }))
  const saved = await store.saveMessages({
    accountId: app.accountId,
    appId: app.id,
    actor: 'bench',
    at: Date.now(),
    drafts,
  })
  await store.close()
  if ('refusal' in saved) throw new Error(`the messages were refused: ${saved.refusal}`)
}

/** How many deliveries an event wrote. */
export function countDeliveries(data: string): number {
  const db = new Database(join(data, 'eventpost.db'), { readonly: true })
  const count = (table: string): number =>
    db.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? 0
  const [events, deliveries] = [count('events'), count('deliveries')]
  db.close()
  if (events === 0) throw new Error('no event was stored')
  return deliveries / events
}

const PEOPLE = 100_000
const FIRST_PERSON = 1_000

/** A million events of 100,000 people in the last days, each tenth the view of a result, straight into the file. */
export function fillEvents(db: Database, appId: number, now: number): void {
  db.run('BEGIN')
  const first = now - 6 * 24 * HOUR_MS
  fillPeople(db, appId, first, PEOPLE)
  const name = db.prepare('INSERT INTO event_names (id, app_id, name) VALUES (?, ?, ?)')
  name.run(901, appId, 'simulated')
  name.run(902, appId, '$page of the bench')
  const insert = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, path, received_at) VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)`,
  )
  const report = prepareReports(db, appId)
  for (let index = 0; index < MILLION; index += 1) {
    const at = first + index * 500
    const isView = index % 10 === 9
    const properties = isView
      ? null
      : `{"url":"https://example.com/results/${index}","headline":"Number ${index} is ready"}`
    const contactId = FIRST_PERSON + (Math.floor(index / 10) % PEOPLE)
    const path = isView ? `/results/${index - 1}` : null
    insert.run(idAt(at) + 7, appId, contactId, isView ? 902 : 901, isView ? 1 : 0, properties, path, at)
    // what is older was deleted
    if (path !== null && at > now - VISIT_REPORT_MS) report(contactId, index, path, at)
  }
  db.run('COMMIT')
  fillTimeline(db)
}

function fillPeople(db: Database, appId: number, at: number, count: number): void {
  const insert = db.prepare(
    `INSERT INTO contacts (id, app_id, email, first_name, status, tags, fields, created_at, updated_at)
     VALUES (?, ?, ?, ?, 'subscribed', '["beta"]', '{"plan":"pro"}', ?, ?)`,
  )
  for (let index = 0; index < count; index += 1) {
    const firstName = index % 2 === 0 ? 'Ada' : null
    insert.run(FIRST_PERSON + index, appId, `simulated${index}@example.com`, firstName, at, at)
  }
}

/** A million events of as many people, in no order of theirs; one of them does not want to be written to. */
export function fillStrangers(db: Database, appId: number, now: number): void {
  const first = now - 6 * 24 * HOUR_MS
  db.run('BEGIN')
  fillPeople(db, appId, first, MILLION)
  db.run('INSERT INTO event_names (id, app_id, name) VALUES (901, ?, ?)', [appId, 'simulated'])
  const insert = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, properties, received_at) VALUES (?, ?, ?, 901, 0, 0, ?, ?)`,
  )
  for (let index = 0; index < MILLION; index += 1) {
    const at = first + index * 500
    const properties = `{"url":"https://example.com/results/${index}","headline":"Number ${index} is ready"}`
    insert.run(idAt(at) + 7, appId, FIRST_PERSON + ((index * 611_953) % MILLION), properties, at)
  }
  db.run(`UPDATE contacts SET status = 'unsubscribed' WHERE id = ?`, [FIRST_PERSON])
  db.run(`INSERT INTO suppressions (app_id, email_hash, reason, created_at) VALUES (?, 'bench', 'unsubscribed', ?)`, [
    appId,
    now,
  ])
  db.run('COMMIT')
  fillTimeline(db)
}

/** Of each view two batches of its page load: that it was opened, and that it was left a minute later. */
function prepareReports(db: Database, appId: number) {
  const insert = db.prepare(
    `INSERT INTO snippet_batches (app_id, contact_id, batch, received_at, items, page_load, batch_number, age, path, is_here)
     VALUES (?, ?, ?, ?, 1, ?, ?, 0, ?, ?)`,
  )
  return (contactId: number, pageLoad: number, path: string, at: number): void => {
    insert.run(appId, contactId, 2 * pageLoad, at, pageLoad, 1, path, 1)
    insert.run(appId, contactId, 2 * pageLoad + 1, at + 60_000, pageLoad, 2, path, 0)
  }
}

export function fillQueue(db: Database, appId: number, now: number): void {
  db.run('BEGIN')
  const insert = db.prepare(
    `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, once_key, state, triggered_at, planned_at, due_at,
       attempt, resent, by_hand, updated_at) VALUES (?, ?, ?, 1, 1, ?, 'waiting', ?, ?, ?, 0, 0, 0, ?)`,
  )
  for (let index = 0; index < MILLION; index += 1) {
    const dueAt = now - 1_000 + ((index * 7_919) % MILLION) * 100
    insert.run(2 ** 52 + index, appId, index, `b${index}`, now, dueAt, dueAt, now)
  }
  db.run('COMMIT')
}

export const SIMULATED: MessageContent = {
  trigger: { event: 'simulated' },
  onlyIf: [{ rule: 'away', minutes: 5 }, { rule: 'notSeen' }],
  again: { everyHours: 1 },
  mail: {
    subject: '{{ event.headline }}',
    body: 'Hello {{ contact.firstName | default: "there" }}, [see your results]({{ event.url }})',
  },
}

/** Once for each result: none of them is left out before its decision. */
export const DECIDED: MessageContent = { ...SIMULATED, again: { once: 'property', property: 'url' } }

/** Once for each too, and it asks what is stored of the people. */
export const OF_STRANGERS: MessageContent = {
  ...DECIDED,
  onlyIf: [{ rule: 'away', minutes: 5 }, { rule: 'notSeen' }, { rule: 'tag', has: 'beta' }],
  mail: { subject: '{{ event.headline }}', body: '{{ contact.fields.plan }}: [your results]({{ event.url }})' },
}

/** @returns their public ids */
export async function addMessages(data: string, contents: MessageContent[]): Promise<string[]> {
  const store = await openStore(data, { threads: false, rules: STORE_RULES })
  const app = await findApp(store)
  const drafts = contents.map((content, index) => ({ name: `M${index}`, content, id: null, status: 'draft' as const }))
  await store.saveMessages({ accountId: app.accountId, appId: app.id, actor: 'bench', at: Date.now(), drafts })
  const found = await Promise.all(drafts.map(({ name }) => store.findMessageByName(app.id, name)))
  await store.close()
  return found.map((message) => publicId('msg', message?.id ?? 0))
}

async function findApp(store: Store) {
  const [app] = await store.listApps((await store.findAccount(null))?.id ?? '')
  if (!app) throw new Error('the app is missing')
  return app
}

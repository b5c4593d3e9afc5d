/** Writes that are planned together leave the rows that they would leave one by one. */
import { Database } from 'bun:sqlite'
import { describe, expect, spyOn, test } from 'bun:test'
import fc from 'fast-check'
import { mapInOrder } from '../../src/core/in-order.ts'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { openDatabase } from '../../src/store/engine/database.ts'
import { createEngine } from '../../src/store/engine/engine.ts'
import { createSealer } from '../../src/store/engine/sealing.ts'
import type { MessageContent } from '../../src/store/message-types.ts'
import type { Job, Outcome } from '../../src/store/writes.ts'
import { failing } from './failing.ts'
import {
  AT,
  visitReportWrite,
  BY,
  contactWrite,
  eventWrite,
  idempotency,
  makeMigratedFolder,
  countedBy,
} from './samples.ts'
import { isLong } from '../long-form.ts'

const MINUTE = 60_000
const MESSAGES: Partial<MessageContent>[] = [
  { trigger: { event: 'a' }, onlyIf: [{ rule: 'notDone', event: 'b' }] },
  {
    trigger: { event: 'a' },
    again: { once: 'property', property: 'url', collect: { minutes: 3 } },
    onlyIf: [{ rule: 'notSeen' }, { rule: 'notDone', event: 'c' }],
  },
  {
    trigger: { event: 'b' },
    again: { once: 'person', collect: { minutes: 2 } },
    onlyIf: [{ rule: 'tag', lacks: 't' }],
  },
  { trigger: { event: 'c' }, again: { everyHours: 1 }, onlyIf: [{ rule: 'notDone', event: 'a' }] },
  { trigger: { contact: 'created' }, onlyIf: [{ rule: 'notSeen' }] },
  { trigger: { page: '/r/*' }, again: { once: 'property', property: 'none' } },
  { trigger: { tag: 't' } },
]

/** One migrated database with the messages, which each engine gets a copy of. */
async function makeTemplate(): Promise<Uint8Array> {
  const { folder, remove } = await makeMigratedFolder()
  const db = openDatabase(folder)
  db.run(`INSERT INTO accounts (id, name, snippet_limits, created_at) VALUES ('acc_1', 'A', 1, 1)`)
  db.run(
    `INSERT INTO apps (id, account_id, public_id, site_id, name, created_at) VALUES (1, 'acc_1', 'a', 's', 'A', 1)`,
  )
  for (const [index, content] of MESSAGES.entries()) {
    const text = JSON.stringify({ mail: { subject: 'S', body: 'B' }, wait: { minutes: 60 }, ...content })
    const version = index === 2 ? 2 : 1
    db.run(`INSERT INTO messages VALUES (?, 'acc_1', 1, ?, 'live', ?, 1, 1)`, [index + 1, `M${index}`, version])
    db.run('INSERT INTO message_versions (message_id, version, content, created_at) VALUES (?, ?, ?, 1)', [
      index + 1,
      version,
      text,
    ])
  }
  db.run('PRAGMA journal_mode = DELETE')
  const bytes = db.serialize()
  db.close()
  remove()
  return bytes
}
const template = await makeTemplate()

function openEngine() {
  const db = Database.deserialize(template)
  const { failNext } = failing(db, 'COMMIT', 'SQLITE_FULL')
  const engine = createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES })
  return { db, engine, failNext, close: () => db.close() }
}

/** All rows that writes leave, ids by their order: they depend on how many a commit has. */
function rowsOf(db: Database): unknown {
  const all = (text: string) => db.query<Record<string, unknown>, []>(text).all()
  const ids = new Map<unknown, string>()
  const name = (prefix: string, rows: Record<string, unknown>[]) => {
    for (const [index, { id }] of rows.entries()) ids.set(id, `${prefix}${index}`)
    return rows
  }
  const tables = [
    name('contact', all('SELECT * FROM contacts ORDER BY id')),
    name('event', all('SELECT * FROM events ORDER BY id')),
    name('delivery', all('SELECT * FROM deliveries ORDER BY id')),
    all('SELECT * FROM contact_tags ORDER BY contact_id, tag'),
    all('SELECT * FROM new_people'),
    all('SELECT name_id, hour, count FROM rollups ORDER BY name_id, hour'),
    all('SELECT * FROM limit_usage ORDER BY bucket, second'),
    all('SELECT key_id, idempotency_key, body_hash FROM idempotency_records ORDER BY idempotency_key'),
  ]
  const nameId = (value: unknown): unknown => (typeof value === 'number' ? (ids.get(value) ?? value) : value)
  return tables.map((rows) =>
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, nameId(value)]))),
  )
}

const outcomeOf = (outcome: Outcome | undefined): unknown =>
  outcome === undefined || 'refusal' in outcome
    ? outcome
    : { ...outcome, contactId: 0, eventId: 0, contact: 'contact' in outcome ? { ...outcome.contact, id: 0 } : null }

const what = fc.record({
  kind: fc.constantFrom('event', 'event', 'event', 'page', 'report', 'contact', 'contact', 'update', 'suppress'),
  email: fc.constantFrom('ada@example.com', 'eve@example.com'),
  name: fc.constantFrom('a', 'a', 'b', 'c'),
  page: fc.constantFrom(1, 2, 3),
  ago: fc.constantFrom(0, 0, 1, 2, 4),
  key: fc.option(fc.constantFrom('k1', 'k2'), { freq: 6 }),
  firstName: fc.option(fc.constantFrom('Ada', 'Eve'), { freq: 2 }),
  createContact: fc.boolean(),
})

type What = typeof what extends fc.Arbitrary<infer T> ? T : never

function toJob({ kind, email, name, page, ago, key, firstName, createContact }: What, index: number): Job {
  const at = AT + index * 20_000
  const occurredAt = at - ago * MINUTE
  const limit = { newPeoplePerMonth: 1 + (page % 2) }
  if (kind === 'contact' || kind === 'update') {
    // absent: unchanged; null: cleared
    const names = createContact ? { firstName } : {}
    const tags = page === 2 ? { tags: ['t'] } : page === 3 ? { removeTags: ['t'] } : {}
    const idem = key === null ? null : idempotency({ key: `c${key}`, at })
    const change = { ...names, tags: [], removeTags: [], ...tags, fields: ago > 1 ? { page } : null, source: name }
    const input = contactWrite({ ...limit, email, at, ...change, limits: countedBy('b'), idempotency: idem })
    return { name: kind === 'contact' ? 'addContact' : 'updateContact', input }
  }
  if (kind === 'suppress') return { name: 'suppress', input: { appId: 1, email, reason: 'unsubscribed', at } }
  if (kind === 'report') {
    const items = [
      { type: 'page' as const, name: null, path: `/r/${page}`, occurredAt },
      { type: 'action' as const, name, path: '/', occurredAt: at },
      { type: 'here' as const, name: null, path: `/r/${(page % 3) + 1}`, occurredAt: at },
    ]
    return {
      name: 'recordVisitReport',
      input: visitReportWrite({ ...limit, email, at, createContact, reportId: `l${index}.1`, items }),
    }
  }
  const properties = JSON.stringify({ url: `https://a.example/r/${page}` })
  const event = kind === 'page' ? { type: 'page' as const, name: '$page', path: `/r/${page}` } : { name, properties }
  const input = eventWrite({
    ...limit,
    ...event,
    email,
    at,
    occurredAt,
    firstName,
    createContact,
    limits: countedBy('b'),
  })
  return { name: 'recordEvent', input: { ...input, idempotency: key === null ? null : idempotency({ key, at }) } }
}

describe('writes planned together', () => {
  test('equal the same writes one by one, in any order and with writes between them', async () => {
    const stories = fc.array(what, { minLength: 2, maxLength: 24 })
    await fc.assert(
      fc.asyncProperty(stories, fc.integer({ min: 2, max: 24 }), async (story, size) => {
        const jobs = story.map(toJob)
        const [one, many] = [openEngine(), openEngine()]
        try {
          const alone = await mapInOrder(jobs, async (job) => (await one.engine.run([job]))[0])
          const together: Outcome[] = []
          for (let next = 0; next < jobs.length; next += size) {
            together.push(...(await many.engine.run(jobs.slice(next, next + size))))
          }
          expect(together.map(outcomeOf)).toEqual(alone.map(outcomeOf))
          expect(rowsOf(many.db)).toEqual(rowsOf(one.db))
        } finally {
          one.close()
          many.close()
        }
      }),
      { numRuns: Number(process.env.PLANNED_STORIES ?? (isLong ? 60 : 15)) },
    )
  })

  test('contacts and events are one batch in the order of their arrival', async () => {
    const batches: string[][] = []
    const db = Database.deserialize(template)
    const planWrites: typeof STORE_RULES.planWrites = (batch, facts) => {
      batches.push(batch.map(({ name }) => name))
      return STORE_RULES.planWrites(batch, facts)
    }
    const engine = createEngine(db, () => AT, createSealer(null), { rules: { ...STORE_RULES, planWrites } })
    const at = (seconds: number) => ({ at: AT + seconds * 1_000 })
    const [, added, , , updated] = await engine.run([
      { name: 'recordEvent', input: eventWrite({ ...at(0), name: 'a' }) },
      { name: 'addContact', input: contactWrite({ ...at(1), tags: ['t'] }) },
      { name: 'recordEvent', input: eventWrite({ ...at(2), name: 'b', firstName: 'Ada', occurredAt: AT - 1 }) },
      { name: 'recordEvent', input: eventWrite({ ...at(3), type: 'page', name: '$page', path: '/' }) },
      { name: 'updateContact', input: contactWrite({ ...at(4), lastName: 'Byron' }) },
      { name: 'recordEvent', input: eventWrite({ ...at(5), lastName: 'King' }) },
    ])
    expect(batches).toEqual([
      ['recordEvent', 'addContact', 'recordEvent', 'recordEvent', 'updateContact', 'recordEvent'],
    ])
    const seen = { firstName: null, lastEventAt: AT, lastSeenAt: null, tags: ['t'] }
    expect(added).toMatchObject({ created: false, contact: seen })
    const [lastSeenAt, updatedAt] = [AT + 3_000, AT + 4_000]
    const named = {
      firstName: 'Ada',
      lastName: 'Byron',
      lastEventAt: AT,
      lastSeenAt,
      firstSeenAt: lastSeenAt,
      updatedAt,
    }
    expect(updated).toMatchObject({ contact: named })
    const rows = db.query('SELECT first_name AS first, last_name AS last FROM contacts').all()
    expect(rows).toEqual([{ first: 'Ada', last: 'Byron' }])
    db.close()
  })

  test('of many events, the first and last to arrive decide when a person was seen, as one by one', async () => {
    const times = fc.array(fc.integer({ min: -40, max: 40 }), { minLength: 20, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(times, fc.nat(60), async (minutes, split) => {
        const jobs = minutes.flatMap((ago, index): Job[] => {
          const event = { at: AT + index, occurredAt: AT + ago * MINUTE, properties: null }
          const page = { type: 'page', name: '$page', path: '/' } as const
          return [
            { name: 'recordEvent', input: eventWrite({ ...event, ...(index % 3 === 0 ? page : {}) }) },
            ...(index % 5 === 4 ? [{ name: 'addContact', input: contactWrite({ at: AT + index }) } as Job] : []),
          ]
        })
        const [one, many] = [openEngine(), openEngine()]
        const alone = await mapInOrder(jobs, async (job) => (await one.engine.run([job]))[0])
        const together = [
          ...(await many.engine.run(jobs.slice(0, split))),
          ...(await many.engine.run(jobs.slice(split))),
        ]
        expect(together.map(outcomeOf)).toEqual(alone.map(outcomeOf))
        one.close()
        many.close()
      }),
      { numRuns: isLong ? 20 : 8 },
    )
  })

  test('a failed commit leaves nothing that affects the next one', async () => {
    const { db, engine, failNext, close } = openEngine()
    const [one, many] = [openEngine(), { db, engine }]
    const jobs: Job[] = ['a', 'b', 'c', 'a'].map((name) => ({ name: 'recordEvent', input: eventWrite({ name }) }))
    failNext()
    expect(await many.engine.run(jobs)).toEqual(jobs.map(() => ({ refusal: 'unavailable', reason: 'disk' })))
    await many.engine.run(jobs)
    await one.engine.run(jobs)
    expect(rowsOf(many.db)).toEqual(rowsOf(one.db))
    one.close()
    close()
  })

  test('one failing write among 256 leaves the others and their emails', async () => {
    const { db, engine, close } = openEngine()
    const log = spyOn(console, 'error').mockImplementation(() => {})
    const jobs = Array.from({ length: 256 }, (_, index): Job => {
      const idem = index === 77 ? idempotency({ bodyHash: null as unknown as string }) : null
      return {
        name: 'recordEvent',
        input: eventWrite({ email: `p${index}@example.com`, name: 'a', idempotency: idem }),
      }
    })
    const outcomes = await engine.run(jobs)
    log.mockRestore()
    expect(outcomes.flatMap((one, index) => ('refusal' in one ? [index] : []))).toEqual([77])
    const count = (table: string) => db.query(`SELECT count(*) FROM ${table}`).values().flat()[0]
    // each event starts two, each new person one
    expect(['contacts', 'events', 'deliveries'].map(count)).toEqual([255, 255, 3 * 255])
    close()
  })

  test('a person erased between two events of a batch is added again', async () => {
    const { engine, close } = openEngine()
    const event: Job = { name: 'recordEvent', input: eventWrite({ name: 'a' }) }
    const erase: Job = { name: 'eraseContact', input: { ...BY, appId: 1, email: 'ada@example.com' } }
    const outcomes = [...(await engine.run([event, erase, event])), ...(await engine.run([event]))]
    expect(outcomes.map((one) => 'created' in one && one.created)).toEqual([true, false, true, false])
    close()
  })
})

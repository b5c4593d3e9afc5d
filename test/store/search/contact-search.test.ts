import type { Database } from 'bun:sqlite'
import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { mapInOrder } from '../../../src/core/in-order.ts'
import { STORE_RULES } from '../../../src/deliveries/deliveries.ts'
import {
  createContactSearch,
  PEOPLE_SORTS,
  type EmailFilter,
  type PeopleCursor,
  type PeopleFilter,
  type PeopleSort,
} from '../../../src/store/search/contact-search.ts'
import { databasePath } from '../../../src/store/engine/database.ts'
import { createEngine, type Engine } from '../../../src/store/engine/engine.ts'
import { MIGRATIONS } from '../../../src/store/engine/migrations/index.ts'
import { createSealer } from '../../../src/store/engine/sealing.ts'
import type { Job } from '../../../src/store/writes.ts'
import { createRandom } from '../../random.ts'
import { isLong } from '../../long-form.ts'
import { useFolder } from '../databases.ts'
import { AT, visitReportWrite, BY, contactWrite, DAY, eventWrite } from '../samples.ts'
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'

const databases = useFolder()
const NOBODY: PeopleFilter = {
  search: null,
  tag: null,
  status: null,
  field: null,
  event: null,
  seen: null,
  email: null,
}

let db: Database
let engine: Engine
let now = AT
beforeEach(() => {
  db = databases.open()
  engine = open()
})

const open = (): Engine =>
  createEngine(db, () => (now += 1), createSealer(null), { isAlone: false, rules: STORE_RULES })

const run = async (...jobs: Job[]): Promise<void> => {
  for (const outcome of await engine.run(jobs)) if ('refusal' in outcome) throw new Error(outcome.refusal)
}
const index = async (): Promise<void> => {
  // the first call only sees that it is idle
  await engine.tidy()
  while (await engine.tidy()) continue
}

type Person = Partial<Parameters<typeof contactWrite>[0]> & { email: string }
const add = async (...people: Person[]): Promise<void> => {
  for (const person of people) await run({ name: 'addContact', input: contactWrite({ appId: 1, ...person }) })
}

const filterEmails = (
  result: EmailFilter['result'],
  { messageId = null, since = null }: Partial<EmailFilter> = {},
): Partial<PeopleFilter> => ({ email: { result, messageId, since } })

/** Of the first message, in an email of the second that brought nobody back a day later, and of another app. */
function send(email: string, emailedAt: number, cameBackAt: number | null = null): void {
  const add = db.query(`INSERT INTO people_results (app_id, message_id, contact_id, emailed_at, came_back_at)
    SELECT ?2, ?3, id, ?4, ?5 FROM contacts WHERE email = ?1`)
  add.run(email, 1, 0, emailedAt + DAY, cameBackAt)
  add.run(email, 1, 1, emailedAt, cameBackAt)
  add.run(email, 1, 2, emailedAt + DAY, null)
  add.run(email, 2, 0, AT + DAY, AT + DAY)
}

type Asked = Partial<PeopleFilter> & {
  sort?: PeopleSort
  appId?: number
  limit?: number
  bounds?: typeof SMALL
  isCounted?: boolean
}
/** Pages of a few, so that cursors are tried too. */
async function find({
  sort = 'newest',
  appId = 1,
  limit = 3,
  bounds,
  isCounted = false,
  ...filter
}: Asked = {}): Promise<string[]> {
  const { findPeople } = createContactSearch(createSqliteSql(db), bounds)
  const emails: string[] = []
  let after: PeopleCursor | null = null
  do {
    const page = await findPeople({ appId, filter: { ...NOBODY, ...filter }, sort, after, limit, isCounted })
    emails.push(...page.people.map(({ email }) => email.split('@')[0] ?? ''))
    after = page.next
  } while (after !== null)
  return emails
}
const firstPage = async ({ bounds, appId = 1, limit = 3, sort = 'newest', ...filter }: Asked): Promise<string[]> =>
  (
    await createContactSearch(createSqliteSql(db), bounds).findPeople({
      appId,
      filter: { ...NOBODY, ...filter },
      sort,
      after: null,
      limit,
      isCounted: false,
    })
  ).people.map(({ email }) => email)
const count = async ({ bounds, appId = 1, ...filter }: Asked) =>
  (
    await createContactSearch(createSqliteSql(db), bounds).findPeople({
      appId,
      filter: { ...NOBODY, ...filter },
      sort: 'newest',
      after: null,
      limit: 1,
      isCounted: true,
    })
  ).count

/** Every list is longer than can be listed. */
const SMALL = { counted: 2, scanned: 10, probed: 3, merged: 1_000_000, listed: 1_000_000 }
/** And merges some people at a time. */
const SMALLEST = { ...SMALL, merged: 5 }

describe('a search', () => {
  beforeEach(() =>
    add(
      { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' },
      { email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' },
      { email: 'jose@example.com', firstName: 'José' },
      { email: 'unnamed@example.com' },
      { email: 'adam@example.com', appId: 2, firstName: 'Adam', lastName: 'Lovelace' },
    ),
  )

  test.each([
    ['the start of an email', 'gra', ['grace']],
    ['two letters of an email', 'ad', ['ada']],
    ['any case', 'ADA@Ex', ['ada']],
    ['a part of a last name', 'velac', ['ada']],
    ['a part across both names', 'ce hop', ['grace']],
    ['without the accent', 'jose', ['jose']],
    ['with the accent', 'JOSÉ', ['jose']],
    ['email or name', 'a', ['ada']],
    ['two characters of a name find nobody', 've', []],
    ['the middle of an email finds nobody', 'xample', []],
    ['quotes and operators are text', '"ada" OR "grace"', []],
    ['wildcards are text', '%', []],
    ['control characters are blanks', '\u0000Grace\u0000Hop\n', ['grace']],
  ])('finds %s', async (_, search, emails) => {
    expect(await find({ search })).toEqual(emails)
    expect(await find({ search, bounds: SMALL })).toEqual(emails)
  })

  test('finds people of its own app only', async () => {
    expect([await find({ search: 'lovelace' }), await find({ search: 'lovelace', appId: 2 })]).toEqual([
      ['ada'],
      ['adam'],
    ])
  })

  test('follows changed names', async () => {
    await run({ name: 'updateContact', input: contactWrite({ email: 'ada@example.com', lastName: 'Byron' }) })
    await run({ name: 'recordEvent', input: eventWrite({ email: 'unnamed@example.com', firstName: 'Wanda' }) })
    expect([
      await find({ search: 'lovelace' }),
      await find({ search: 'byron' }),
      await find({ search: 'wanda' }),
    ]).toEqual([[], ['ada'], ['unnamed']])
    await run({
      name: 'updateContact',
      input: contactWrite({ email: 'ada@example.com', firstName: null, lastName: null }),
    })
    expect(await find({ search: 'byron' })).toEqual([])
  })

  test('no trace of an erased name is left in the index', async () => {
    await add({ email: 'rare@example.com', firstName: 'ꙮꙈꙉ', fields: { secret: 'ꙮꙈꙉ' } })
    db.run('CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, contact_names, row)')
    const terms = () => db.query("SELECT term FROM temp.terms WHERE term LIKE '%ꙮ%' OR term LIKE '%ꙉ%'").values()
    expect([terms().length, await find({ search: 'ꙮꙈꙉ' })]).toEqual([1, ['rare']])
    await run({ name: 'eraseContact', input: { ...BY, appId: 1, email: 'rare@example.com' } })
    expect([terms(), await find({ search: 'ꙮꙈꙉ' })]).toEqual([[], []])
    const blocks = db.query<{ block: Uint8Array }, []>('SELECT block FROM contact_names_data').all()
    const text = blocks.map(({ block }) => Buffer.from(block).toString()).join('')
    expect(text).toContain('vel')
    expect([text.includes('ꙮ'), text.includes('ꙉ')]).toEqual([false, false])
    expect(db.query('SELECT count(*) FROM contact_fields').values()).toEqual([[0]])
    db.run("INSERT INTO contact_names (contact_names) VALUES ('integrity-check')")
  })
})

describe('filters', () => {
  const MONTH_AGO = AT - 30 * DAY
  beforeEach(async () => {
    await add(
      { email: 'ada@example.com', tags: ['beta', 'vip'], fields: { plan: 'pro', seats: 3, isAdmin: true } },
      { email: 'bob@example.com', tags: ['beta'], fields: { plan: 'free' } },
      { email: 'eve@example.com' },
    )
    await run(
      { name: 'recordEvent', input: eventWrite({ email: 'ada@example.com', name: 'paid' }) },
      { name: 'recordEvent', input: eventWrite({ email: 'bob@example.com', name: 'invited' }) },
      { name: 'suppress', input: { appId: 1, email: 'bob@example.com', reason: 'unsubscribed', at: AT } },
    )
    const view = (email: string, reportId: string, occurredAt: number): Job => ({
      name: 'recordVisitReport',
      input: visitReportWrite({ email, reportId, items: [{ type: 'page', name: null, path: '/', occurredAt }] }),
    })
    await run(
      view('ada@example.com', 'a', AT),
      view('ada@example.com', 'b', AT - DAY),
      view('bob@example.com', 'c', MONTH_AGO),
    )
    send('ada@example.com', AT - 2 * DAY, AT - DAY)
    send('bob@example.com', AT - 9 * DAY, AT - 8 * DAY)
    db.run(`INSERT INTO people_results (app_id, message_id, contact_id, seen_at)
      SELECT 1, 0, id, ${AT} FROM contacts WHERE email = 'eve@example.com'`)
    await index()
  })

  test.each<[string, Partial<PeopleFilter>, string[]]>([
    ['a tag', { tag: 'beta' }, ['bob', 'ada']],
    ['an unknown tag', { tag: 'gamma' }, []],
    ['a status', { status: 'unsubscribed' }, ['bob']],
    ['the usual status', { status: 'subscribed' }, ['eve', 'ada']],
    ['a field', { field: { name: 'plan', value: 'pro' } }, ['ada']],
    ['any value of a field', { field: { name: 'plan', value: null } }, ['bob', 'ada']],
    ['a field and a tag', { field: { name: 'seats', value: null }, tag: 'beta' }, ['ada']],
    ['a number', { field: { name: 'seats', value: '3' } }, ['ada']],
    ['a boolean', { field: { name: 'isAdmin', value: 'true' } }, ['ada']],
    ['an event that was done', { event: { name: 'paid', isDone: true } }, ['ada']],
    ['an event that was not done', { event: { name: 'paid', isDone: false } }, ['eve', 'bob']],
    ['an event that nobody did', { event: { name: 'flown', isDone: true } }, []],
    ['an event that everybody left out', { event: { name: 'flown', isDone: false } }, ['eve', 'bob', 'ada']],
    ['seen lately', { seen: { since: AT - DAY } }, ['ada']],
    ['seen long ago', { seen: { before: AT - 7 * DAY } }, ['bob']],
    ['never seen', { seen: 'never' }, ['eve']],
    ['came back after an email', filterEmails('cameBack'), ['bob', 'ada']],
    ['came back lately', filterEmails('cameBack', { since: AT - 7 * DAY }), ['ada']],
    ['came back at that time', filterEmails('cameBack', { since: AT - DAY }), ['ada']],
    ['came back later', filterEmails('cameBack', { since: AT - DAY + 1 }), []],
    ['came back after a message', filterEmails('cameBack', { messageId: 1 }), ['bob', 'ada']],
    ['came back after another message', filterEmails('cameBack', { messageId: 2 }), []],
    ['was emailed', filterEmails('emailed'), ['bob', 'ada']],
    ['was emailed lately', filterEmails('emailed', { since: AT - 8 * DAY }), ['bob', 'ada']],
    ['was emailed lately by a message', filterEmails('emailed', { messageId: 1, since: AT - 8 * DAY }), ['ada']],
    ['was emailed by an unknown message', filterEmails('emailed', { messageId: 9 }), []],
    ['was not emailed', filterEmails('notEmailed'), ['eve']],
    ['was not emailed lately', filterEmails('notEmailed', { since: AT - 7 * DAY }), ['eve', 'bob']],
    ['was not emailed by an unknown message', filterEmails('notEmailed', { messageId: 9 }), ['eve', 'bob', 'ada']],
    ['came back, with others', { ...filterEmails('cameBack'), tag: 'beta', status: 'subscribed' }, ['ada']],
    ['several together', { tag: 'beta', event: { name: 'paid', isDone: false }, search: 'b' }, ['bob']],
    ['several that exclude each other', { tag: 'vip', status: 'unsubscribed' }, []],
  ])('%s', async (_, filter, emails) => {
    expect(await find(filter)).toEqual(emails)
    expect(await find({ ...filter, bounds: SMALL })).toEqual(emails)
    expect(await count(filter)).toEqual({ people: emails.length, isExact: true })
  })

  test('follow changed fields', async () => {
    await run({
      name: 'updateContact',
      input: contactWrite({ email: 'ada@example.com', fields: { plan: 'free', seats: null } }),
    })
    const byField = (name: string, value: string) => find({ field: { name, value } })
    expect(await byField('plan', 'pro')).toEqual([])
    expect(await byField('plan', 'free')).toEqual(['bob', 'ada'])
    expect(await byField('seats', '3')).toEqual([])
  })

  test('forget erased people', async () => {
    await run({ name: 'eraseContact', input: { ...BY, appId: 1, email: 'ada@example.com' } })
    for (const table of ['contact_events', 'contact_fields', 'contact_activity', 'contact_tags']) {
      const left = db.query(`SELECT count(*) AS n FROM ${table} WHERE contact_id NOT IN (SELECT id FROM contacts)`)
      expect([table, left.get()]).toEqual([table, { n: 0 }])
    }
  })
})

test('sorts by name, email, last seen and age', async () => {
  await add(
    { email: 'c@example.com', firstName: 'Zoe' },
    { email: 'a@example.com' },
    { email: 'b@example.com', firstName: 'ada' },
    { email: 'd@example.com', firstName: 'Bea' },
  )
  for (const [email, at] of [['b@example.com', AT] as const, ['a@example.com', AT - DAY] as const]) {
    const items = [{ type: 'page' as const, name: null, path: '/', occurredAt: at }]
    await run({ name: 'recordVisitReport', input: visitReportWrite({ email, reportId: email, items }) })
  }
  await index()
  const sorted = await mapInOrder(PEOPLE_SORTS, async (sort) => [
    sort,
    (await find({ sort })).join(''),
    (await find({ sort, bounds: SMALL })).join(''),
  ])
  expect(sorted).toEqual([
    ['newest', 'dbac', 'dbac'],
    ['name', 'bdca', 'bdca'],
    ['email', 'abcd', 'abcd'],
    ['seen', 'badc', 'badc'],
  ])
})

test('counts exactly up to a number', async () => {
  await add(...Array.from({ length: 12 }, (_, number) => ({ email: `p${number}@example.com`, tags: ['t'] })))
  expect(await count({})).toEqual({ people: 12, isExact: true })
  expect(await count({ bounds: { ...SMALL, counted: 12 } })).toEqual({ people: 12, isExact: true })
  expect(await count({ bounds: { ...SMALL, counted: 11 } })).toEqual({ people: 11, isExact: false })
  expect(await count({ tag: 't', bounds: { ...SMALL, counted: 5 } })).toEqual({ people: 5, isExact: false })
  expect(await count({ search: 'p', bounds: { ...SMALL, counted: 5 } })).toEqual({ people: 5, isExact: false })
})

test('counts exactly who matches two long lists, and fills the first page with them', async () => {
  await add(
    ...Array.from({ length: 60 }, (_, number) => ({
      email: `p${number}@example.com`,
      tags: number % 2 === 0 ? ['even'] : [],
    })),
  )
  const doers = Array.from({ length: 60 }, (_, number) => number).filter((one) => one % 2 === 1 || one < 3)
  await run(
    ...doers.map((one): Job => ({
      name: 'recordEvent',
      input: eventWrite({ email: `p${one}@example.com`, name: 'paid' }),
    })),
  )
  await index()
  const filter = { tag: 'even', event: { name: 'paid', isDone: true }, bounds: SMALL }
  expect([await count(filter), await firstPage(filter)]).toEqual([
    { people: 2, isExact: true },
    ['p2@example.com', 'p0@example.com'],
  ])
  const others = { tag: 'even', event: { name: 'paid', isDone: false }, bounds: { ...SMALL, counted: 28 } }
  expect(await count(others)).toEqual({ people: 28, isExact: true })
})

describe('counts exactly who matches long lists', () => {
  /** Those of the service, divided by a hundred. */
  const bounds = { counted: 100, scanned: 150, probed: 500, merged: 4_000, listed: 13_000 }
  const paid = (isDone: boolean) => ({ event: { name: 'paid', isDone } })
  const lately = { seen: { since: AT } }
  /** `i` counts the people. */
  const fill = async (
    people: number,
    { tagged = 'false', seen = 'false', never = 'false', paid = 'false', bounced = 'false' },
  ) => {
    const all = `(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${people - 1}) SELECT i FROM n)`
    db.run(`INSERT INTO contacts (id, app_id, email, status, created_at, updated_at)
      SELECT i + 1, 1, 'p' || i || '@example.com', iif(${bounced}, 'bounced', 'subscribed'), 1, 1 FROM ${all}`)
    db.run(`INSERT INTO contact_tags (app_id, tag, contact_id) SELECT 1, 't', i + 1 FROM ${all} WHERE ${tagged}`)
    await index()
    db.run(`UPDATE contact_activity SET seen_at = n.at
      FROM (SELECT i + 1 AS id, iif(${never}, 0, iif(${seen}, ${AT}, 1)) AS at FROM ${all}) AS n
      WHERE contact_id = n.id`)
    db.run("INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'paid')")
    db.run(`INSERT INTO contact_events SELECT 1, i + 1 FROM ${all} WHERE ${paid}`)
  }

  test.each<[string, number, Parameters<typeof fill>[1], Partial<PeopleFilter>, number]>([
    [
      'half tagged, half seen lately',
      1_500,
      { tagged: 'i % 2 = 0', seen: 'i % 2 = 1 OR i % 50 = 0' },
      { tag: 't', ...lately },
      30,
    ],
    [
      'two thirds tagged, a third seen lately',
      1_500,
      { tagged: 'i % 15 < 10', seen: 'i % 15 > 8' },
      { tag: 't', ...lately },
      100,
    ],
    [
      'a fifth tagged, a fifth that did something',
      5_000,
      { tagged: 'i % 100 < 20', paid: 'i % 100 > 18 AND i % 100 < 41' },
      { tag: 't', ...paid(true) },
      50,
    ],
    [
      'a fifth tagged, a fifth never seen',
      5_000,
      { tagged: 'i % 5 = 0', never: 'i % 5 = 1 OR i % 100 = 0' },
      { tag: 't', seen: 'never' },
      50,
    ],
    ['nearly all did something', 5_000, { paid: 'i % 60 > 0' }, paid(false), 84],
    [
      'nearly all did something, and some bounced',
      5_000,
      { paid: 'i % 60 > 0', bounced: 'i % 40 = 0' },
      { ...paid(false), status: 'subscribed' },
      42,
    ],
  ])('%s', async (_, people, rows, filter, matching) => {
    await fill(people, rows)
    expect(await count({ ...filter, bounds })).toEqual({ people: matching, isExact: true })
    expect(await find({ ...filter, bounds, limit: 35, isCounted: true })).toHaveLength(matching)
  })

  test('or says the least that match, where they are too long', async () => {
    await fill(5_000, { tagged: 'i % 2 = 0', seen: 'i % 2 = 1 OR i % 100 = 0' })
    const { people, isExact } = await count({ tag: 't', ...lately, bounds })
    expect([people > 0, people <= 50, isExact]).toEqual([true, true, false])
  })
})

test('counts exactly who was not emailed lately where nearly all were, and fills the first page with them', async () => {
  const emails = Array.from({ length: 60 }, (_, number) => `p${number}@example.com`)
  await add(...emails.map((email) => ({ email })))
  for (const [number, email] of emails.entries()) {
    if (number !== 7) send(email, number === 3 ? AT - 30 * DAY : AT - 2 * DAY, number < 2 ? AT : null)
  }
  const since = AT - 7 * DAY
  const missed = { ...filterEmails('notEmailed', { messageId: 1, since }), bounds: SMALL }
  expect([await count(missed), await firstPage(missed)]).toEqual([
    { people: 2, isExact: true },
    ['p7@example.com', 'p3@example.com'],
  ])
  const returned = { ...filterEmails('cameBack', { messageId: 1, since }), bounds: SMALL }
  expect([await count(returned), await firstPage(returned)]).toEqual([
    { people: 2, isExact: true },
    ['p1@example.com', 'p0@example.com'],
  ])
  expect(await count({ ...filterEmails('emailed'), bounds: SMALL })).toEqual({ people: 2, isExact: false })
})

test('the list of people seen lately ends with the last of them', async () => {
  const numbers = Array.from({ length: 40 }, (_, number) => number)
  await add(...numbers.map((number) => ({ email: `p${number}@example.com` })))
  for (const number of numbers) {
    const [email, occurredAt] = [`p${number}@example.com`, number < 36 ? AT - 10 * DAY : AT]
    const items = [{ type: 'page' as const, name: null, path: '/', occurredAt }]
    await run({ name: 'recordVisitReport', input: visitReportWrite({ email, reportId: email, items }) })
  }
  await index()
  const { findPeople } = createContactSearch(createSqliteSql(db), SMALL)
  const query = { appId: 1, filter: { ...NOBODY, seen: { since: AT - DAY } }, isCounted: false, limit: 3 }
  const first = await findPeople({ ...query, sort: 'seen', after: null })
  const second = await findPeople({ ...query, sort: 'seen', after: first.next })
  expect([first.people.length, second.people.length, second.next]).toEqual([3, 1, null])
})

test('every query uses an index', async () => {
  await add({ email: 'ada@example.com', firstName: 'Ada', tags: ['t'] }, { email: 'bob@example.com', tags: ['t'] })
  await run({ name: 'recordEvent', input: eventWrite({ email: 'ada@example.com', name: 'paid' }) })
  const texts = new Set<string>()
  db.prepare = ((text: string) => {
    texts.add(text)
    return db.query(text)
  }) as Database['prepare']
  const filters: Partial<PeopleFilter>[] = [
    {},
    { search: 'ada' },
    { tag: 't' },
    { status: 'subscribed' },
    { status: 'bounced' },
    { field: { name: 'a', value: 'b' } },
    { event: { name: 'paid', isDone: true } },
    { event: { name: 'paid', isDone: false } },
    { seen: { since: AT } },
    { seen: { before: AT } },
    { seen: 'never', search: 'a', tag: 't' },
    { tag: 't', event: { name: 'paid', isDone: true } },
    { tag: 't', event: { name: 'paid', isDone: false }, status: 'subscribed' },
    { status: 'bounced', field: { name: 'a', value: 'b' }, seen: { since: AT } },
    { field: { name: 'a', value: null }, tag: 't', seen: 'never' },
    ...(['cameBack', 'emailed', 'notEmailed'] as const).flatMap((result) => [
      filterEmails(result),
      filterEmails(result, { messageId: 1, since: AT }),
      { ...filterEmails(result, { since: AT }), tag: 't', status: 'subscribed' as const },
    ]),
  ]
  for (const bounds of [SMALL, { counted: 0, scanned: 10, probed: 0, merged: 1, listed: 100 }, undefined]) {
    const { findPeople } = createContactSearch(createSqliteSql(db), bounds)
    for (const filter of filters) {
      for (const sort of PEOPLE_SORTS) {
        const query = { appId: 1, filter: { ...NOBODY, ...filter }, sort, after: null, limit: 1, isCounted: true }
        const { next } = await findPeople(query)
        await findPeople({ ...query, after: next })
      }
    }
  }
  const plans = Array.from(texts, (text) => {
    const numbers = new Set(Array.from(text.matchAll(/\?(\d*)/g), ({ 1: number, index }) => number || index))
    const values = Array.from(numbers, () => null)
    const steps = db.query<{ detail: string }, null[]>(`EXPLAIN QUERY PLAN ${text}`).all(...values)
    return [text, ...steps.map(({ detail }) => detail)]
  })
  expect(plans.length).toBeGreaterThan(30)
  const isScan = (step: string): boolean =>
    /^SCAN (contacts|contact_(?!index_progress)\w+|people_results|events)\b(?!.*VIRTUAL)/.test(step)
  const sorts = plans.filter(
    ([text = '', ...steps]) => !text.includes('json_each') && steps.join().includes('TEMP B-TREE'),
  )
  expect([plans.filter((steps) => steps.some(isScan)), sorts]).toEqual([[], []])
})

test('whatever is asked, long lists answer like short ones', async () => {
  const random = createRandom(7)
  const [tags, plans, events] = [
    ['x', 'y', 'z'],
    ['free', 'pro'],
    ['paid', 'invited'],
  ]
  const some = <One>(from: One[]): One[] => from.filter(() => random.next() < 0.4)
  const known = Array.from({ length: 60 }, (_, number) => {
    const name = `${random.below(2) ? 'ann' : 'bob'}${number}`
    const [plan] = some(plans)
    const person = {
      name,
      plan,
      tags: some(tags),
      events: some(events),
      firstName: some(['Anna', 'Marianne', 'Otto'])[0],
    }
    const isBounced = random.below(3) === 0
    const emailedAt = random.below(2) === 0 ? AT - random.below(9) * DAY : null
    return { ...person, isBounced, emailedAt, cameBackAt: emailedAt !== null && random.below(2) === 0 ? AT : null }
  })
  for (const { name, plan, tags, firstName = null, events, isBounced, emailedAt, cameBackAt } of known) {
    const email = `${name}@example.com`
    await add({ email, tags, fields: plan ? { plan } : null, firstName })
    for (const event of events) await run({ name: 'recordEvent', input: eventWrite({ email, name: event }) })
    if (isBounced) await run({ name: 'suppress', input: { appId: 1, email, reason: 'bounced', at: AT } })
    if (emailedAt !== null) send(email, emailedAt, cameBackAt)
  }
  const isMatch = (person: (typeof known)[number], filter: PeopleFilter): boolean => {
    const text = filter.search?.toLowerCase() ?? ''
    const { tag, status, field, event, email } = filter
    // an email of the second message came a day later
    const emailedAt = person.emailedAt === null || email?.messageId === 1 ? person.emailedAt : person.emailedAt + DAY
    const at = email?.result === 'cameBack' ? person.cameBackAt : emailedAt
    return (
      (person.name.startsWith(text) ||
        (text.length > 2 && (person.firstName?.toLowerCase().includes(text) ?? false))) &&
      (tag === null || person.tags.includes(tag)) &&
      (status === null || (status === 'bounced') === person.isBounced) &&
      (field === null || person.plan === field.value) &&
      (event === null || person.events.includes(event.name) === event.isDone) &&
      (email === null || (at !== null && at >= (email.since ?? 0)) === (email.result !== 'notEmailed'))
    )
  }
  await index()
  const maybe = <One>(one: One): One | null => (random.next() < 0.4 ? one : null)
  for (let round = 0; round < (isLong ? 150 : 50); round++) {
    const filter: PeopleFilter = {
      search: maybe(['ann', 'anna', 'ottO', 'b'][random.below(4)] ?? ''),
      tag: maybe(tags[random.below(3)] ?? ''),
      status: maybe(random.below(2) ? ('subscribed' as const) : ('bounced' as const)),
      field: maybe({ name: 'plan', value: plans[random.below(2)] ?? '' }),
      event: maybe({ name: events[random.below(2)] ?? '', isDone: random.below(2) === 0 }),
      seen: null,
      email: maybe({
        result: (['cameBack', 'emailed', 'notEmailed'] as const)[random.below(3)] ?? 'emailed',
        messageId: random.below(2) === 0 ? null : 1,
        since: random.below(2) === 0 ? null : AT - 5 * DAY,
      }),
    }
    const sort = PEOPLE_SORTS[random.below(4)] ?? 'newest'
    const short = await find({ ...filter, sort, limit: 7 })
    const expected = known.filter((person) => isMatch(person, filter)).map(({ name }) => name)
    expect([filter, short.toSorted()]).toEqual([filter, expected.toSorted()])
    if (sort === 'newest') expect(short).toEqual(expected.toReversed())
    for (const bounds of [SMALL, SMALLEST]) {
      for (const isCounted of [false, true])
        expect([filter, sort, await find({ ...filter, sort, limit: 7, bounds, isCounted })]).toEqual([
          filter,
          sort,
          short,
        ])
    }
    if (filter.search === null) {
      const { length } = short
      const exact = { people: Math.min(length, SMALL.counted), isExact: length <= SMALL.counted }
      expect([filter, await count({ ...filter, bounds: SMALL })]).toEqual([filter, exact])
      expect([filter, (await firstPage({ ...filter, bounds: SMALL })).length]).toEqual([filter, Math.min(length, 3)])
    }
    expect([filter, (await count(filter))?.people]).toEqual([filter, short.length])
    for (const bounds of [SMALL, SMALLEST, { ...SMALL, merged: 15 }, { ...SMALLEST, counted: 6, probed: 6 }]) {
      const { people, isExact } = await count({ ...filter, bounds })
      const isRight = isExact ? people === short.length : people <= short.length
      expect([filter, bounds, people, isRight]).toEqual([filter, bounds, people, true])
    }
  }
})

describe('people from before the index', () => {
  const PEOPLE = 2_000
  const BEFORE = MIGRATIONS.slice(
    0,
    MIGRATIONS.findIndex((text) => text.includes('contact_names')),
  )
  const share = () => createContactSearch(createSqliteSql(db)).contactIndexShare()

  beforeEach(() => {
    rmSync(databasePath(databases.path()))
    const old = databases.open(BEFORE)
    old.run("INSERT INTO event_names (id, app_id, name) VALUES (1, 1, 'paid')")
    old.run(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${PEOPLE})
       INSERT INTO contacts (id, app_id, email, first_name, status, fields, created_at, updated_at)
       SELECT i, 1, 'p' || i || '@example.com', 'Number ' || i, 'subscribed', '{"number":' || i || '}', 1, 1 FROM n`,
    )
    old.run(
      `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
       SELECT 10000 + id, 1, id, 1, id % 2, 0, ${AT} + id FROM contacts`,
    )
    old.close()
    db = databases.open()
    engine = createEngine(db, () => AT, createSealer(null), { rules: STORE_RULES })
  })

  const sumOf = (table: string) => db.query<{ n: number }, []>(`SELECT sum(people) AS n FROM ${table}`).get()?.n ?? 0
  const countedPeople = () => sumOf('people_days')
  const people = () => sumOf('people_by_day')

  test('are indexed in steps, while they change', async () => {
    expect([await share(), await find({ search: 'number 1999' })]).toEqual([0, []])
    // a pause in which there is time for some of the steps
    let ms = 0
    const clock = spyOn(performance, 'now').mockImplementation(() => (ms += 1))
    await engine.run([])
    clock.mockRestore()
    expect(await share()).toBeWithin(0.1, 0.9)
    expect(countedPeople()).toBeWithin(1, PEOPLE)
    expect(people()).toBe(PEOPLE)
    await run(
      {
        name: 'updateContact',
        input: contactWrite({ email: 'p1@example.com', firstName: 'Early', fields: { number: -1 } }),
      },
      {
        name: 'updateContact',
        input: contactWrite({ email: 'p1999@example.com', firstName: 'Late', fields: { number: -2 } }),
      },
      { name: 'eraseContact', input: { ...BY, appId: 1, email: 'p2@example.com' } },
      { name: 'eraseContact', input: { ...BY, appId: 1, email: 'p1998@example.com' } },
    )
    await add({ email: 'new@example.com', firstName: 'Newcomer' })
    expect(people()).toBe(PEOPLE - 1)
    await index()
    expect([await share(), countedPeople(), people()]).toEqual([1, PEOPLE - 1, PEOPLE - 1])
    const searched = ['early', 'late', 'newcomer', 'number 1999', 'number 1998', 'number 1997']
    const finds = await mapInOrder(searched, (search) => find({ search }))
    expect(finds).toEqual([['p1'], ['p1999'], ['new'], [], [], ['p1997']])
    const byNumber = await mapInOrder(['-2', '1999', '1998', '1997'], (value) =>
      find({ field: { name: 'number', value } }),
    )
    expect(byNumber).toEqual([['p1999'], [], [], ['p1997']])
    expect(await find({ seen: { since: AT + PEOPLE - 3 } })).toEqual(['p1999', 'p1997'])
    expect(await find({ event: { name: 'paid', isDone: true }, search: 'p199' })).toEqual([
      'p1996',
      'p1994',
      'p1992',
      'p1990',
    ])
    db.run("INSERT INTO contact_names (contact_names) VALUES ('integrity-check')")
  })
})

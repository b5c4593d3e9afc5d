import type { Database } from 'bun:sqlite'
import { beforeEach, expect, test } from 'bun:test'
import { STORE_RULES } from '../../src/deliveries/deliveries.ts'
import { createChangeReads } from '../../src/store/contact-changes.ts'
import { createEngine, type Engine } from '../../src/store/engine/engine.ts'
import { createSealer } from '../../src/store/engine/sealing.ts'
import type { Job } from '../../src/store/writes.ts'
import { useFolder } from './databases.ts'
import { AT, BY, contactWrite, eventWrite } from './samples.ts'
import { createSqliteSql } from '../../src/store/engine/sqlite-sql.ts'

const databases = useFolder()
let db: Database
let engine: Engine
let at = AT
beforeEach(async () => {
  db = databases.open()
  engine = createEngine(db, () => at, createSealer(null), { rules: STORE_RULES })
  at = AT
  await run({ name: 'addContact', input: contactWrite({ tags: ['a', 'b'], fields: { plan: 'free', seats: 3 }, at }) })
})

async function run(...jobs: Job[]): Promise<void> {
  for (const outcome of await engine.run(jobs)) if ('refusal' in outcome) throw new Error(outcome.refusal)
}
const change = (changes: Partial<Parameters<typeof contactWrite>[0]>): Promise<void> =>
  run({ name: 'updateContact', input: contactWrite({ ...changes, at: (at += 1) }) })
const list = (limit = 1_000, before: number | null = null) => {
  const { id } = db.query<{ id: number }, []>('SELECT id FROM contacts').get() ?? { id: 0 }
  return createChangeReads(createSqliteSql(db)).listContactChanges(id, before, limit)
}
const NOTHING = {
  status: null,
  firstName: null,
  lastName: null,
  source: null,
  tags: null,
  fields: null,
  cause: null,
  topics: null,
  added: null,
}

test('a new person has no changes', async () => {
  expect(await list()).toEqual([])
})

test('names, tags, fields and the source are recorded with their values before', async () => {
  await change({ firstName: 'Ada' })
  await change({ tags: ['c'], removeTags: ['a'], fields: { plan: 'pro', seats: null, isAdmin: true } })
  await change({ firstName: 'Ada', tags: ['c'] })
  await run({ name: 'recordEvent', input: eventWrite({ lastName: 'Lovelace', at: (at += 1) }) })
  expect((await list()).map((one) => one.change)).toEqual([
    { ...NOTHING, lastName: [null, 'Lovelace'] },
    {
      ...NOTHING,
      tags: [['a'], ['c']],
      fields: { plan: ['free', 'pro'], seats: ['3', null], isAdmin: [null, 'true'] },
    },
    { ...NOTHING, firstName: [null, 'Ada'] },
  ])
})

test('the status, with the member who set it', async () => {
  const person = { appId: 1, email: 'ada@example.com' }
  await run({ name: 'suppress', input: { ...person, reason: 'unsubscribed', at: AT + 1 } })
  await run({ name: 'unsuppress', input: { ...person, at: AT + 2, by: { ...BY, why: 'asked' } } })
  at = AT + 2
  await change({ firstName: 'Ada', actor: 'mem_2' })
  expect((await list()).map((one) => [one.at, one.actor, one.change.status, one.change.cause])).toEqual([
    [AT + 3, 'mem_2', null, null],
    [AT + 2, 'mem_1', ['unsubscribed', 'subscribed'], { by: 'member', actor: 'mem_1', text: 'asked' }],
    [AT + 1, null, ['subscribed', 'unsubscribed'], null],
  ])
})

test.each([
  ['before', ['unsubscribed', 'bounced']],
  ['after', ['bounced', 'unsubscribed']],
] as const)('a bounce that is freed leaves someone unsubscribed who unsubscribed %s it', async (_, reasons) => {
  const person = { appId: 1, email: 'ada@example.com' }
  const statusOf = async () => (await list())[0]?.change.status?.[1]
  for (const [place, reason] of reasons.entries()) {
    await run({ name: 'suppress', input: { ...person, reason, at: AT + 1 + place } })
  }
  expect(await statusOf()).toBe('bounced')
  await run({ name: 'unsuppress', input: { ...person, at: AT + 3, by: { ...BY, why: 'mailbox works' } } })
  expect(await statusOf()).toBe('unsubscribed')
  await run({ name: 'unsuppress', input: { ...person, at: AT + 4, by: { ...BY, why: 'asked' } } })
  expect(await statusOf()).toBe('subscribed')
})

test('the last 200 stay, in pages, and go with the person', async () => {
  for (let number = 0; number < 210; number++) await change({ firstName: `Ada ${number}` })
  expect([(await list()).length, (await list())[0]?.change.firstName]).toEqual([200, ['Ada 208', 'Ada 209']])
  const page = await list(2)
  expect((await list(1, page[1]?.id))[0]?.change.firstName).toEqual(['Ada 206', 'Ada 207'])
  await run({ name: 'eraseContact', input: { ...BY, appId: 1, email: 'ada@example.com' } })
  expect(db.query('SELECT count(*) AS n FROM contact_changes').get()).toEqual({ n: 0 })
})

test('changes of one millisecond keep their order', async () => {
  for (const firstName of ['Ada', 'Bea', 'Cleo']) {
    await run({ name: 'updateContact', input: contactWrite({ firstName, at: AT + 5 }) })
  }
  expect((await list()).map((one) => one.change.firstName?.[1])).toEqual(['Cleo', 'Bea', 'Ada'])
})

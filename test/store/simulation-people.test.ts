/** What a simulation knows of one person after the other: what is stored of them today. */
import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { openDatabase } from '../../src/store/database.ts'
import { createSimulationPeople } from '../../src/store/simulation-people.ts'
import { makeFolder } from './samples.ts'

let place: ReturnType<typeof makeFolder>
let db: Database
beforeEach(() => {
  place = makeFolder()
  db = openDatabase(place.folder)
  db.run(`INSERT INTO contacts (id, app_id, email, first_name, status, tags, fields, created_at, updated_at)
          VALUES (1, 1, 'ada@example.com', 'Ada', 'subscribed', '["beta"]', '{"plan":"pro"}', 0, 0),
                 (2, 1, 'bob@example.com', NULL, 'subscribed', NULL, NULL, 0, 0)`)
})
afterEach(() => {
  db.close()
  place.remove()
})

test('a person, and nobody where there is none', () => {
  let turns = 0
  const people = createSimulationPeople(db, () => void (turns += 1))
  const nothing = { status: 'subscribed' as const, lastName: null, tags: null, fields: null }
  expect(people.personOf(1)).toEqual({
    ...nothing,
    id: 1,
    email: 'ada@example.com',
    firstName: 'Ada',
    tags: ['beta'],
    fields: { plan: 'pro' },
  })
  expect(people.personOf(2)).toEqual({ ...nothing, id: 2, email: 'bob@example.com', firstName: null })
  expect([people.personOf(3), people.emailOf(3), people.appOf(1)]).toEqual([null, null, null])
  expect(turns).toBe(3)
})

test('many at once, in their order, however many parts that takes', () => {
  const add = db.prepare(
    `INSERT INTO contacts (id, app_id, email, status, fields, created_at, updated_at) VALUES (?, 1, ?, ?, '{"n":1}', 0, 0)`,
  )
  const more = Array.from({ length: 2_500 }, (_, index) => index + 10)
  db.transaction(() => {
    for (const id of more) add.run(id, `p${id}@example.com`, id % 100 === 0 ? 'bounced' : 'subscribed')
  })()
  let turns = 0
  const people = createSimulationPeople(db, () => void (turns += 1))
  const found = Array.from(people.eachPersonOf([1, 2, 3, ...more], { tags: true, fields: true }))
  expect(found.map(({ id }) => id)).toEqual([1, 2, ...more])
  expect(found[0]).toMatchObject({
    email: 'ada@example.com',
    status: 'subscribed',
    tags: ['beta'],
    fields: { plan: 'pro' },
  })
  expect(found.at(-1)).toMatchObject({ tags: null, fields: { n: 1 } })
  expect(turns).toBeGreaterThan(80)
  const [ada] = people.eachPersonOf([1], { tags: false, fields: true })
  expect(ada).toMatchObject({ tags: null, fields: { plan: 'pro' } })
  const unwilling = Array.from(people.eachUnwillingOf([1, ...more]))
  expect(unwilling).toEqual(more.filter((id) => id % 100 === 0).map((id) => ({ id, status: 'bounced' })))
})

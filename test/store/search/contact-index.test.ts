import type { Database } from 'bun:sqlite'
import { beforeEach, expect, test } from 'bun:test'
import { createContactIndex } from '../../../src/store/search/contact-index.ts'
import { useFolder } from '../databases.ts'
import { AT } from '../samples.ts'

const databases = useFolder()
const VIEWED = 2_000

let db: Database
let now = 0
let index: ReturnType<typeof createContactIndex>

beforeEach(() => {
  db = databases.open()
  now = 10_000
  index = createContactIndex(db, () => now, false)
  index.advance(true)
  const view = db.prepare(
    `INSERT INTO events (id, app_id, contact_id, name_id, type, via, received_at)
     VALUES (?, 1, ?, 1, 1, 0, ?)`,
  )
  for (let one = 1; one <= VIEWED; one += 1) view.run(one, one, AT)
})

const indexed = (): number => db.query<{ n: number }, []>('SELECT count(*) AS n FROM contact_activity').get()?.n ?? 0

/** A commit of so many rows, so long after the last step. */
const commit = (added: number, afterMs: number): number => {
  now += afterMs
  index.note(added)
  index.advance(false)
  return indexed()
}

test('a commit indexes a share of the rows every 200 ms', () => {
  expect(commit(1, 199)).toBe(0)
  expect(commit(1, 1)).toBe(500)
  expect(commit(1, 199)).toBe(500)
  expect(commit(1, 1)).toBe(1_000)
})

test('where more rows arrive than are indexed, most wait until the load falls, but not all', () => {
  expect(commit(501, 200)).toBe(0)
  expect(commit(1, 1_799)).toBe(0)
  expect(commit(1, 1)).toBe(500)
  expect(commit(500, 200)).toBe(1_000)
  expect(commit(501, 200)).toBe(1_000)
  now += 1
  index.advance(true)
  expect(indexed()).toBe(VIEWED)
})

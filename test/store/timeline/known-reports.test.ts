/** New batches are distinguished from repetitions without reading the disk. */
import type { Database } from 'bun:sqlite'
import { beforeEach, expect, test } from 'bun:test'
import { createKnownReports } from '../../../src/store/timeline/known-reports.ts'
import { createRandom } from '../../random.ts'
import { useFolder } from '../databases.ts'
import { AT } from '../samples.ts'

const folder = useFolder()
let db: Database
beforeEach(() => void (db = folder.open()))

const NOWHERE = { id: null, indexed: null }

const BATCHES = 100_000
/** As ids and hashes are: all bits of a hash are random, of an id the lower ones count on. */
function createBatches(seed: number) {
  const random = createRandom(seed)
  return Array.from({ length: BATCHES }, (_, index) => ({
    contactId: 2.6e14 + (index % 20_000) * 16,
    batch: random.below(2 ** 21) * 2 ** 32 + random.below(2 ** 32),
  }))
}

function store(rows: { contactId: number; batch: number }[], firstId = 1): void {
  const insert = db.prepare(
    'INSERT INTO snippet_batches (id, app_id, contact_id, batch, received_at, items) VALUES (?, 1, ?, ?, ?, 1)',
  )
  db.transaction(() => {
    for (const [index, { contactId, batch }] of rows.entries()) insert.run(firstId + index, contactId, batch, AT)
  })()
}
const holdUntil = (id: number): void =>
  void db.run('UPDATE install SET value = ? WHERE name = ?', [`${id}`, 'timeline_until'])

test('finds every added batch, and takes fewer than 1 in 1,000 others for known', () => {
  const known = createKnownReports(db)
  const added = createBatches(1)
  for (const [index, { contactId, batch }] of added.entries()) known.add(index + 1, contactId, batch, AT)
  expect(added.filter(({ contactId, batch }) => known.find(contactId, batch).indexed === null)).toEqual([])
  const seeming = createBatches(2).filter(({ contactId, batch }) => known.find(contactId, batch).indexed !== null)
  expect(seeming.length).toBeLessThan(BATCHES / 1_000)
  // the same id of somebody else is another batch
  expect(known.find(7, added[0]?.batch ?? 0)).toEqual(NOWHERE)
})

test('a batch is known by its ID until the timeline indexes it', () => {
  const known = createKnownReports(db)
  const rows = createBatches(3).slice(0, 12_000)
  const add = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) {
      const { contactId, batch } = rows[index] ?? { contactId: 0, batch: 0 }
      known.add(index + 1, contactId, batch, AT)
    }
    known.settle()
  }
  const idOf = (index: number) => known.find(rows[index]?.contactId ?? 0, rows[index]?.batch ?? 0).id
  add(0, 6_000)
  expect([idOf(0), idOf(5_999)]).toEqual([1, 6_000])
  holdUntil(5_000)
  add(6_000, 12_000)
  expect([idOf(0), idOf(4_999), idOf(5_000), idOf(11_999)]).toEqual([null, null, 5_001, 12_000])
})

test('batches from before the start are looked up until they are read, then none is missed', () => {
  const rows = createBatches(4).slice(0, 5_000)
  store(rows)
  holdUntil(4_500)
  const known = createKnownReports(db)
  const placeOf = (index: number) => known.find(rows[index]?.contactId ?? 0, rows[index]?.batch ?? 0)
  const other = () => known.find(1, 1)
  expect([placeOf(0), placeOf(4_499), placeOf(4_500), other()]).toEqual([
    { id: null, indexed: { from: 0, upTo: 4_500 } },
    { id: null, indexed: { from: 0, upTo: 4_500 } },
    { id: 4_501, indexed: { from: 0, upTo: 5_000 } },
    { id: null, indexed: { from: 0, upTo: 4_500 } },
  ])
  known.readEarlier()
  expect([placeOf(2_499), placeOf(2_500), other()]).toEqual([
    { id: null, indexed: { from: 0, upTo: 2_500 } },
    { id: null, indexed: { from: 0, upTo: 5_000 } },
    { id: null, indexed: { from: 0, upTo: 2_500 } },
  ])
  for (let look = 0; look < 3; look += 1) known.readEarlier()
  expect(rows.filter((_, index) => placeOf(index).indexed?.upTo !== 5_000)).toEqual([])
  expect(other()).toEqual(NOWHERE)
})

test('batches of another process are known, also after a rollback here', () => {
  const known = createKnownReports(db)
  known.add(10, 1, 1, AT)
  known.settle()
  known.add(500, 2, 2, AT)
  known.undo()
  store([{ contactId: 3, batch: 3 }], 11)
  expect(known.find(3, 3)).toEqual(NOWHERE)
  known.catchUp()
  expect(known.find(3, 3)).toEqual({ id: 11, indexed: { from: 10, upTo: 500 } })
})

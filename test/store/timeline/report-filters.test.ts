/** What tells new batches from repetitions in memory. */
import { expect, test } from 'bun:test'
import { createReportFilters } from '../../../src/store/timeline/report-filters.ts'
import { createRandom } from '../../random.ts'
import { AT, DAY } from '../samples.ts'

/** As many as fill a filter, and all that there may be. */
const EACH = 125_000
const MOST = 32 * EACH

const random = createRandom(1)
const randomBatch = (): number => random.below(2 ** 21) * 2 ** 32 + random.below(2 ** 32)

test('with four sites for 48 hours, fewer than 1 in 100 new batches look known in each part', () => {
  const filters = createReportFilters()
  for (let id = 1; id <= 20 * EACH; id += 1) filters.add(id, 16 * random.below(100_000), randomBatch(), AT)
  const found = Array.from({ length: 20_000 }, () => filters.find(16 * random.below(100_000), randomBatch()))
  const seeming = found.flatMap((range) => range ?? [])
  expect(seeming.length).toBeWithin(1, found.length / 100)
  expect(seeming.filter(({ from, upTo }) => upTo - from === EACH - 1).length).toBeGreaterThan(seeming.length * 0.9)
})

const seemingOf = ({ find }: ReturnType<typeof createReportFilters>): number =>
  Array.from({ length: 5_000 }, () => find(16 * random.below(100_000), randomBatch())).filter((one) => one !== null)
    .length

test('all batches of 48 hours are known, also over four million, and not all new ones look known', () => {
  const filters = createReportFilters()
  const kept = Array.from({ length: 2_000 }, () => randomBatch())
  for (let id = 1; id <= 1.25 * MOST; id += 1) {
    const batch = id % (MOST / 2_000) === 0 ? kept[id / (MOST / 2_000) - 1] : undefined
    filters.add(id, 16, batch ?? randomBatch(), AT)
  }
  expect(kept.filter((batch) => filters.find(16, batch) === null)).toEqual([])
  expect(seemingOf(filters)).toBeLessThan(5_000 / 10)
})

test('older batches are forgotten when there is no room, whatever the clock did', () => {
  const filters = createReportFilters()
  filters.add(1, 5, 7, AT)
  const add = (from: number, to: number, at: number): void => {
    for (let id = from; id <= to; id += 1) filters.add(id, 16, randomBatch(), at)
  }
  add(2, EACH - 1, AT)
  add(EACH, EACH, AT - 3 * DAY)
  add(EACH + 1, 2 * EACH, AT + DAY)
  add(2 * EACH + 1, 2 * EACH + 1, AT + 2 * DAY - 1)
  expect(filters.find(5, 7)).toEqual({ from: 1, upTo: EACH })
  add(2 * EACH + 2, 3 * EACH + 1, AT + 2 * DAY)
  expect(filters.find(5, 7)).toBeNull()
})

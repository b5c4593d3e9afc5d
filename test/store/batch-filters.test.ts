/** What tells new batches from repetitions in memory (snippet.md, POST /c). */
import { expect, test } from 'bun:test'
import { createBatchFilters } from '../../src/store/batch-filters.ts'
import { createRandom } from '../random.ts'
import { AT, DAY } from './samples.ts'

/** As many as fill a filter, and all that there may be. */
const EACH = 125_000
const MOST = 32 * EACH

const random = createRandom(1)
const randomBatch = (): number => random.below(2 ** 21) * 2 ** 32 + random.below(2 ** 32)

test('of so many as four sites send in 48 hours, fewer than 1 in 100 new ones seem known, each in a part of them', () => {
  const filters = createBatchFilters()
  for (let id = 1; id <= 20 * EACH; id += 1) filters.add(id, 16 * random.below(100_000), randomBatch(), AT)
  const found = Array.from({ length: 20_000 }, () => filters.find(16 * random.below(100_000), randomBatch()))
  const seeming = found.flatMap((range) => range ?? [])
  expect(seeming.length).toBeWithin(1, found.length / 100)
  expect(seeming.filter(({ from, upTo }) => upTo - from === EACH - 1).length).toBeGreaterThan(seeming.length * 0.9)
})

test('those of the last 48 hours are known; beyond four million, it says up to where they are not', () => {
  const filters = createBatchFilters()
  expect(filters.add(1, 5, 7, AT)).toBe(0)
  const add = (from: number, to: number, at: number): number[] => {
    const lost: number[] = []
    for (let id = from; id <= to; id += 1) {
      const one = filters.add(id, 16, randomBatch(), at)
      if (one > 0) lost.push(one)
    }
    return lost
  }
  expect([add(2, EACH, AT), filters.find(5, 7)]).toEqual([[], { from: 1, upTo: EACH }])
  expect([add(EACH + 1, MOST, AT + DAY), filters.isFull(), filters.find(5, 7)?.from]).toEqual([[], true, 1])
  // a day later the first filter is past its 48 hours
  expect(add(MOST + 1, MOST + 1, AT + 2 * DAY)).toEqual([])
  expect(filters.find(5, 7)?.from ?? EACH + 1).toBeGreaterThan(EACH)
  expect(add(MOST + 2, MOST + EACH + 1, AT + 2 * DAY)).toEqual([2 * EACH])
})

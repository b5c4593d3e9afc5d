import { expect, test } from 'bun:test'
import { createFaultWatch } from '../../src/store/store.ts'
import type { Outcome } from '../../src/store/writes.ts'

test('a fault ends with the first committed write, not with a refused one', async () => {
  const [done, full, wrong] = [
    { done: true },
    { refusal: 'unavailable', reason: 'disk full' },
    { refused: { refusal: 'invalid_json' } },
  ]
  const commits = [[done], [full, full], [wrong, wrong], [wrong, full], [wrong, done], [wrong], [full]]
  const faults = createFaultWatch()
  const reported: (string | null)[] = []
  faults.onFault((reason) => reported.push(reason))
  const counts: number[] = []
  for (const outcomes of commits as Outcome[][]) {
    await faults.watch(async () => outcomes)([])
    counts.push(reported.length)
  }
  expect(reported).toEqual(['disk full', null, 'disk full'])
  expect(counts).toEqual([0, 1, 1, 1, 2, 2, 3])
})

import { expect, test } from 'bun:test'
import { formatCount, formatCounted, formatLimit } from '../../src/core/count.ts'

test.each([
  [0, '0'],
  [9_999, '9999'],
  [10_000, '10,000'],
  [1_234_567, '1,234,567'],
])('%d is written %s', (count, text) => {
  expect(formatCount(count)).toBe(text)
})

test('what was counted up to one more than 10,000 says so', () => {
  expect([9_999, 10_000, 10_001].map(formatCounted)).toEqual(['9999', '10,000', '10,000+'])
})

test('limits are written as in the documentation', () => {
  expect([600, 6_000].map(formatLimit)).toEqual(['600', '6,000'])
})

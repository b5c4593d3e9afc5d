import { expect, test } from 'bun:test'
import { formatCount, formatCounted, formatLimit, readWholeNumber } from '../../src/core/count.ts'

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

test('whole numbers are read as they are written, with or without separators', () => {
  for (const number of [0, 600, 6_000, 999_999_999])
    expect([readWholeNumber(formatLimit(number)), readWholeNumber(String(number))]).toEqual([number, number])
  for (const text of ['', '1.5', '1.000', '1,5', '10,00', '1,0000', ',100', '1 000', '-1', '1e3'])
    expect([text, readWholeNumber(text)]).toEqual([text, Number.NaN])
})

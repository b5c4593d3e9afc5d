import { expect, test } from 'bun:test'
import { BASE62, randomBase62, toBase62 } from '../../src/core/base62.ts'

test.each([
  [0, 1, '0'],
  [61, 1, 'z'],
  [62, 2, '10'],
  [2 ** 32 - 1, 6, '4gfFC3'],
  [1, 6, '000001'],
])('%i in %i characters is %s', (value, length, text) => {
  expect(toBase62(value, length)).toBe(text)
})

test('the alphabet has 62 different letters and digits in code order', () => {
  expect(BASE62).toBe([...new Set(BASE62)].sort().join(''))
  expect(BASE62).toMatch(/^[0-9A-Za-z]{62}$/)
})

test('redraws bytes that would favour the first characters', () => {
  const draws = [[255, 247, 248], [254, 0], [62]]
  const asked: number[] = []
  const random = (count: number) => {
    asked.push(count)
    return Uint8Array.from(draws.shift() ?? [])
  }
  expect(randomBase62(3, random)).toBe('z00')
  expect(asked).toEqual([3, 2, 1])
})

test('every character is as likely as the others', () => {
  const counts = new Map<string, number>()
  const draws = 620_000
  for (const character of randomBase62(draws)) counts.set(character, (counts.get(character) ?? 0) + 1)
  const expected = draws / 62
  const chiSquare = [...BASE62].reduce((sum, c) => sum + ((counts.get(c) ?? 0) - expected) ** 2 / expected, 0)
  // 61 degrees of freedom: above 145 once in a hundred million runs; a plain `byte % 62` gives thousands.
  expect(chiSquare).toBeLessThan(145)
})

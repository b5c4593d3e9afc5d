import { describe, expect, test } from 'bun:test'
import { toStorable } from '../../../src/store/postgres/storable-text.ts'

const HALF = '\u{D83D}'

describe('toStorable', () => {
  test.each<[string, string, string]>([
    ['NUL', 'a\0b', 'a\u{FFFD}b'],
    ['half of a surrogate pair', `a${HALF}b`, 'a\u{FFFD}b'],
    ['both escaped in JSON', JSON.stringify({ [`a\0`]: [`b${HALF}`] }), '{"a\u{FFFD}":["b\u{FFFD}"]}'],
    [
      'JSON in JSON',
      JSON.stringify([{ properties: JSON.stringify({ a: '\0' }) }]),
      String.raw`[{"properties":"{\"a\":\"` + '\u{FFFD}' + String.raw`\"}"}]`,
    ],
  ])('replaces %s', (_, text, stored) => {
    expect(toStorable(text)).toBe(stored)
  })

  test.each([
    ['a text', 'Ada 𝒳 \u202e'],
    ['a backslash before the letters of an escape', JSON.stringify({ path: String.raw`C:\u0000` })],
    ['what only looks like an escape', String.raw`C:\u0000`],
    ['a whole pair, escaped', String.raw`{"a":1} \ud83d\ude00`],
  ])('leaves %s', (_, text) => {
    expect(toStorable(text)).toBe(text)
  })

  test('leaves numbers and null', () => {
    expect([toStorable(1), toStorable(null)]).toEqual([1, null])
  })
})

import { expect, test } from 'bun:test'
import { readServerAnswer } from '../../src/mail/smtp-session.ts'
import { growthTo, MOST_GROWTH } from '../waiting.ts'

const read = (response: string) => readServerAnswer(response, null)

test.each([
  [
    'as received',
    '550 5.7.1 Rejected: see https://mx.example/p?a=1',
    '550 5.7.1 Rejected: see https://mx.example/p?a=1',
  ],
  [
    'of several lines, with the code once',
    '550-5.7.26 Not signed.\r\n550-5.7.26 \n550 5.7.26  See there.',
    '550 5.7.26 Not signed. See there.',
  ],
  ['of several lines without enhanced codes', '451-Come again\n451 later', '451 Come again later'],
  ['with all kinds of line breaks', '550 a\tb\u2028c\u0085d\v e', '550 a b c d e'],
  ['with control and direction characters', '550 \u001b[31mred\u202e\u2066\u200f\u200b\u0000 end', '550 [31mred end'],
  ['with half of a character', '550 \ud83d no', '550 \ufffd no'],
  ['in another script', '550 почта не принята', '550 почта не принята'],
])('text %s', (_, response, words) => {
  expect(read(response)).toBe(words)
})

test('leaves out email addresses', () => {
  expect(read('550 <ada@example.com>: unknown, says bob@mx.example')).toBe('550 [email] unknown, says [email]')
})

test('truncates long text, never within a character', () => {
  const long = read(`550 ${'x'.repeat(1_995)}\u{1f600}${'y'.repeat(100_000)}`)
  expect(long).toBe(`550 ${'x'.repeat(1_995)}\u2026`)
  expect(long?.isWellFormed()).toBe(true)
})

test('limits stacked marks to their line', () => {
  expect(read(`550 a${'\u0301'.repeat(200)}`)).toBe(`550 a${'\u0301'.repeat(4)}`)
})

test('returns nothing if nothing is left', () => {
  for (const nothing of ['', ' \r\n', '\u200b']) expect(read(nothing)).toBeUndefined()
})

const LOGIN = { user: 'ada', password: 'pass word' }

test.each([
  ['as it is', '535 "pass word" is wrong'],
  ['as sent alone', `535 cannot read ${btoa('pass word')}`],
  ['as sent with the user', `535 cannot read ${btoa('\0ada\0pass word')}`],
  ['in part', `535 cannot read ${btoa('\0ada\0pass word').slice(3, 11)}...`],
  ['with invisible characters', `535 cannot read ${Array.from(btoa('pass word')).join('\u200b')}`],
  ['at the read limit', `550 ${' '.repeat(3_989)}pass word`],
  ['folded over lines', `535-cannot read ${btoa('pass word').slice(0, 5)}\r\n${btoa('pass word').slice(5)}`],
])('drops an answer that repeats the password %s', (_, response) => {
  expect(readServerAnswer(response, LOGIN)).toBeUndefined()
  expect(readServerAnswer(response, { ...LOGIN, password: 'other' })).toBeDefined()
})

// searching every piece of one in all of the other would take quadratic time
test('handles a long answer and a long password in linear time', () => {
  const repeating = (size: number): void => {
    const login = { ...LOGIN, password: 'ba'.repeat(size / 32) }
    expect(readServerAnswer(`535 ${'ab'.repeat(size)}`, login)).toBeUndefined()
  }
  expect(growthTo(409_600, repeating)).toBeLessThan(MOST_GROWTH)
  // pieces differ in their last letter only
  const differing = (size: number): void => {
    const pieces = Array.from(
      { length: size / 12_800 },
      (_, index) => `aaaaaaa${String.fromCodePoint(98 + (index % 25))}`,
    )
    expect(readServerAnswer(`535 ${'a'.repeat(size)}`, { ...LOGIN, password: pieces.join('') })).toBeDefined()
  }
  expect(growthTo(819_200, differing)).toBeLessThan(MOST_GROWTH)
})

test('keeps the answer if there is no password', () => {
  expect(readServerAnswer('535 no', { ...LOGIN, password: '' })).toBe('535 no')
})

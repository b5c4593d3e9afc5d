import { describe, expect, test } from 'bun:test'
import { cutText, readVisibleText, toVisibleLine } from '../../src/core/visible-text.ts'

/** Hidden characters in brackets. */
const show = (text: string): string =>
  readVisibleText(text)
    .map((piece) => ('text' in piece ? piece.text : `[${piece.hidden.join(' ')}]`))
    .join('')

describe('names invisible characters', () => {
  test.each([
    ['a direction override', 'exe.\u202egnp', 'exe.[U+202E]gnp'],
    ['isolates', '\u2066a\u2069', '[U+2066]a[U+2069]'],
    ['a zero-width space', 'results\u200b_ready', 'results[U+200B]_ready'],
    ['a joiner between Latin letters', 'a\u200db\u200cc', 'a[U+200D]b[U+200C]c'],
    ['a soft hyphen and a byte order mark', '\ufeffa\u00adb', '[U+FEFF]a[U+00AD]b'],
    ['controls', 'a\u0000\u001b[2Jb\r\n', 'a[U+0000 U+001B][2Jb[U+000D]\n'],
    ['line separators', 'a\u2028\u2029', 'a[U+2028 U+2029]'],
    ['letters without a shape', '\u3164\u115f\u2800', '[U+3164 U+115F U+2800]'],
    ['tags', 'a\u{e0041}', 'a[U+E0041]'],
    ['a shape where none belongs', 'a\ufe0f', 'a[U+FE0F]'],
    ['half a pair', 'a\ud800b', 'a[U+D800]b'],
    ['a pile of marks', `a${'\u0301'.repeat(6)}`, `a${'\u0301'.repeat(4)}[U+0301 U+0301]`],
  ])('%s', (_, text, shown) => {
    expect(show(text)).toBe(shown)
  })
})

describe('keeps visible text', () => {
  test.each([
    ['nothing', ''],
    ['lines and tabs', 'a\n\tb'],
    ['a family and a heart', '👨‍👩‍👧 ❤️ 👍🏽 1️⃣'],
    ['Arabic and Hebrew', 'مرحبا שלום'],
    ['Persian with its joiner', 'می‌خواهم'],
    ['Hindi with its joiner', 'क्‍ष'],
    ['Vietnamese in pieces', 'Việt'.normalize('NFD')],
    ['Thai', 'ภาษาไทยที่นี้'],
  ])('%s', (_, text) => {
    expect(show(text)).toBe(text)
  })
})

test('a line for a terminal shows what would control it', () => {
  expect(toVisibleLine('a\u001b[2J\nb\u009b\u202e "é"')).toBe('a\\u001b[2J\\nb\\u009b\\u202e "é"')
})

test.each([
  ['short', 10, 'short', false],
  ['exactly', 7, 'exactly', false],
  ['longer than it may be', 6, 'longer', true],
  ['ab😀', 3, 'ab', true],
  ['ab😀c', 4, 'ab😀', true],
])('%p cut to %d', (text, most, cut, isCut) => {
  expect(cutText(text, most)).toEqual({ text: cut, isCut })
})

import { describe, expect, test } from 'bun:test'
import { cleanText, cleanValue, cleanWritten, UNTRUSTED } from '../../src/mcp/untrusted.ts'

describe('cleanText', () => {
  test.each([
    ['plain', 'Ada Lovelace', 'Ada Lovelace'],
    ['letters of the world', 'Žofie 李 علي 🦊', 'Žofie 李 علي 🦊'],
    ['lines', 'a\r\n\tb\u2028c\u0085d', 'a b c d'],
    ['control characters', 'a\u0000\u001b[31m\u007f\u009bb', 'a[31mb'],
    ['marks of direction', '\u202eabc\u202c\u2066d\u2069\u200f\u061c', 'abcd'],
    ['what is not seen', 'a\u200b\u200d\u2060\u00ad\ufeff\u3164b', 'ab'],
    ['tags, which hide whole sentences', `a${String.fromCodePoint(0xe0049, 0xe0067, 0xe006e)}b`, 'ab'],
    ['variation selectors', `a\ufe0f${String.fromCodePoint(0xe0100)}b`, 'ab'],
    ['half a pair', 'a\ud800b', 'ab'],
  ])('%s', (_, given, cleaned) => {
    expect(cleanText(given)).toBe(cleaned)
  })
  test('truncates after 500 characters, never within one', () => {
    expect(cleanText('x'.repeat(500))).toBe('x'.repeat(500))
    expect(cleanText('x'.repeat(501))).toBe(`${'x'.repeat(500)}…`)
    expect(cleanText('🦊'.repeat(500))).toBe('🦊'.repeat(500))
    expect(cleanText('🦊'.repeat(60_000))).toBe(`${'🦊'.repeat(500)}…`)
  })
})

test('cleanValue cleans names and values at every depth', () => {
  const given = { 'a\u200b': [1, true, null, 'x\ny', { b: '\u202ez' }], ['__proto__']: { c: '\u0007' } }
  expect(JSON.stringify(cleanValue(given))).toBe('{"a":[1,true,null,"x y",{"b":"z"}],"__proto__":{"c":""}}')
})

test('cleanWritten keeps lines, length and joiners', () => {
  const family = '\u{1f469}\u200d\u{1f467}'
  const body = `One\n\n\tTwo ${family} \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 ${'x'.repeat(2_000)}`
  expect(cleanWritten({ mail: { body } })).toEqual({ mail: { body } })
  expect(cleanWritten(['a\u200bb\u202ec', String.fromCodePoint(0x61, 0xe0049)])).toEqual(['abc', 'a'])
})

test('the warning contains the word', () => expect(UNTRUSTED).toContain('untrusted'))

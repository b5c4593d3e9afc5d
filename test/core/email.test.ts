import { describe, expect, test } from 'bun:test'
import { readEmail, signedEmail } from '../../src/core/email.ts'

/** 64 + 1 + 63 + 1 + 63 + 1 + 61 = 254 characters. */
const LONGEST = `${'l'.repeat(64)}@${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(61)}`

describe('readEmail gives the identity form and the shown form', () => {
  const cases: [string, string, string][] = [
    ['jane@example.com', 'jane@example.com', 'jane@example.com'],
    [' \t\r\n\u00a0\ufeffJane.Doe@Example.COM\u2003 ', 'jane.doe@example.com', 'Jane.Doe@Example.COM'],
    ['a@b.c', 'a@b.c', 'a@b.c'],
    ['jane+tag@example.com', 'jane+tag@example.com', 'jane+tag@example.com'],
    ["!#$%&'*+/=?^_`{|}~-@example.com", "!#$%&'*+/=?^_`{|}~-@example.com", "!#$%&'*+/=?^_`{|}~-@example.com"],
    ['xn--a@example.com', 'xn--a@example.com', 'xn--a@example.com'],
    ['Jane@Bücher.DE', 'jane@xn--bcher-kva.de', 'Jane@Bücher.DE'],
    ['jane@BU\u0308CHER.de', 'jane@xn--bcher-kva.de', 'jane@BU\u0308CHER.de'],
    ['jane@XN--BCHER-KVA.de', 'jane@xn--bcher-kva.de', 'jane@XN--BCHER-KVA.de'],
    ['jane@пример.рф', 'jane@xn--e1afmkfd.xn--p1ai', 'jane@пример.рф'],
    ['jane@1und1.example', 'jane@1und1.example', 'jane@1und1.example'],
    [LONGEST, LONGEST, LONGEST],
  ]
  test.each(cases)('%j', (text, email, shown) => {
    expect(readEmail(text)).toEqual({ email, shown })
  })
})

describe('readEmail refuses', () => {
  const texts = [
    '',
    ' ',
    '@',
    'jane',
    'jane@',
    '@example.com',
    'jane@example',
    'jane@localhost',
    'jane doe@example.com',
    'jane@exam ple.com',
    'jane@@example.com',
    'a@b@example.com',
    'jane@example.com@evil.com',
    'a@example.com,b@example.com',
    'a@example.com;b@example.com',
    'a@example.com b@example.com',
    'a@example.com\nb@example.com',
    '<jane@example.com>',
    'Jane <jane@example.com>',
    'mailto:jane@example.com',
    '"jane"@example.com',
    '"j d"@example.com',
    'jane(work)@example.com',
    'jane@example.com(work)',
    'jane@(x)example.com',
    '.jane@example.com',
    'jane.@example.com',
    'ja..ne@example.com',
    'ja\\ne@example.com',
    'ja:ne@example.com',
    'ja[ne@example.com',
    'jané@example.com',
    '\u212aate@example.com',
    'j\u0131m@example.com',
    'ｊane@example.com',
    '😀@example.com',
    'ja\u0000ne@example.com',
    'ja\rne@example.com',
    'jane@exam\r\nple.com',
    'jane@example.com\r\nBcc: x@evil.com',
    'ja\u007fne@example.com',
    'ja\u200bne@example.com',
    'ja\u00adne@example.com',
    'jane@exam\u200bple.com',
    'jane@exam\u00adple.com',
    'jane@exam\u202eple.com',
    'jane\u2060@example.com',
    'jane@bü\ufeffcher.de',
    'jane@bü\u200dcher.de',
    'jane@bü\u034fcher.de',
    'jane@[127.0.0.1]',
    'jane@[IPv6:::1]',
    'jane@127.0.0.1',
    'jane@127.1',
    'jane@１２７.0.0.1',
    'jane@0x7f.1',
    'jane@a.1',
    'jane@example.com.',
    'jane@.example.com',
    'jane@example..com',
    'jane@-example.com',
    'jane@example-.com',
    'jane@example.-com',
    'jane@example.com-',
    'jane@exa_mple.com',
    'jane@exa%6dple.com',
    'jane@bü%6d.com',
    'jane@bücher.de:25',
    'jane@bücher.de/x',
    'jane@bücher.de#x',
    'jane@bücher.de?x',
    'jane@bücher\\.de',
    'jane@bücher。de',
    'jane@example．com',
    'jane@xn--a.com',
    'jane@XN--A.com',
    'jane@xn--.com',
    'jane@☃.com',
    `${'l'.repeat(65)}@example.com`,
    `jane@${'x'.repeat(64)}.com`,
    `${LONGEST}c`,
    `${'l'.repeat(64)}@${'ü'.repeat(50)}.${'ü'.repeat(50)}.${'ü'.repeat(50)}.${'ü'.repeat(30)}.de`,
    'a'.repeat(100_000),
    `${'a.'.repeat(30_000)}@example.com`,
    `a@${'a.'.repeat(30_000)}com`,
  ]
  test.each(texts)('%#', (text) => {
    expect({ text, read: readEmail(text) }).toEqual({ text, read: null })
  })
})

test.each([
  [' Jane@Example.com\n', 'jane@example.com'],
  ['\ufeffJANE@BÜCHER.de\u00a0', 'jane@bücher.de'],
  ['\u212aate@example.com', 'kate@example.com'],
  ['', ''],
])('signedEmail(%j) is %j, without folding', (text, signed) => {
  expect(signedEmail(text)).toBe(signed)
})

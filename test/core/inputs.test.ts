import { describe, expect, test } from 'bun:test'
import { readIp } from '../../src/core/addresses.ts'
import { parseTime } from '../../src/core/field-schemas.ts'
import { isLongerThan, warnOfUnknown } from '../../src/core/inputs.ts'

describe('parseTime', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-03-01T12:00:00Z', Date.UTC(2026, 2, 1, 12)],
    ['2026-03-01T12:00Z', Date.UTC(2026, 2, 1, 12)],
    ['2026-03-01T12:00:00.5Z', Date.UTC(2026, 2, 1, 12, 0, 0, 500)],
    ['2026-03-01T12:00:00.123456789Z', Date.UTC(2026, 2, 1, 12, 0, 0, 123)],
    ['2026-03-01T12:00:00+02:00', Date.UTC(2026, 2, 1, 10)],
    ['2026-03-01T00:30:00-0530', Date.UTC(2026, 2, 1, 6)],
    ['2024-02-29T23:59:59+00:00', Date.UTC(2024, 1, 29, 23, 59, 59)],
    ['1969-12-31T23:59:59Z', -1000],
  ])('%s', (text, at) => {
    expect(parseTime(text)).toBe(at)
  })
  test.each([
    '',
    'now',
    '2026-03-01',
    '2026-03-01T12:00:00',
    '2026-03-01 12:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T12:60:00Z',
    '2026-03-01T12:00:60Z',
    '2026-03-01T12:00:00.Z',
    '2026-03-01T12:00:00+2',
    '2026-03-01T12:00:00+24:00',
    '2026-03-01T12:00:00+02:60',
    '2026-03-01T12:00:00 Z',
    '2026-03-01T12:00:00Z\n',
    ' 2026-03-01T12:00:00Z',
    '+002026-03-01T12:00:00Z',
    '20260301T120000Z',
    '1772366400000',
    'Sun, 01 Mar 2026 12:00:00 GMT',
  ])('refuses %j', (text) => {
    expect(parseTime(text)).toBeNull()
  })
})

describe('readIp', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:db8::1:0:0:1', '2001:db8::1:0:0:1'],
    ['::', '::'],
    ['::1', '::1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.7'],
    ['::ffff:0:1', '0.0.0.1'],
    ['0000:0000:0000:0000:0000:ffff:255.255.255.255', '255.255.255.255'],
    ['::ffff:0:203.0.113.7', '::ffff:0:cb00:7107'],
    ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107'],
  ])('%s is %s', (text, ip) => {
    expect(readIp(text)).toBe(ip)
  })
  test.each([
    '',
    'localhost',
    '203.0.113',
    '203.0.113.256',
    '203.0.113.07',
    '0xcb.0.113.7',
    '3405803783',
    ' 203.0.113.7',
    '203.0.113.7\n',
    '203.0.113.7:80',
    '203.0.113.7, 203.0.113.8',
    '[::1]',
    '[::1]:80',
    'fe80::1%eth0',
    'fe80::1%251',
    '::ffff:203.0.113.7%lo',
    '1::2::3',
    '12345::',
    '::ffff:203.0.113.256',
    '2001:db8::/32',
    'unknown',
  ])('refuses %j', (text) => {
    expect(readIp(text)).toBeNull()
  })
})

test.each([
  ['', 0, false],
  ['ab', 2, false],
  ['abc', 2, true],
  ['😀😀', 2, false],
  ['😀😀a', 2, true],
  ['😀😀😀', 2, true],
])('isLongerThan(%j, %i) is %p', (text, max, expected) => {
  expect(isLongerThan(text, max)).toBe(expected)
})

describe('warnOfUnknown', () => {
  const known = new Set(['a'])
  const warnedFields = (text: string) => warnOfUnknown(JSON.parse(text), known).map(({ field }) => field)
  test('names unknown fields, also hostile ones', () => {
    expect(warnedFields('{"a":1,"b":2,"__proto__":{"c":1},"constructor":1,"toString":1}')).toEqual([
      'b',
      '__proto__',
      'constructor',
      'toString',
    ])
    expect(warnedFields(`{"${'x'.repeat(5000)}":1}`)).toEqual(['x'.repeat(64)])
  })
  test('does not include the value', () => {
    expect(warnOfUnknown({ b: 'secret' }, known)).toEqual([
      {
        field: 'b',
        code: 'unknown_field',
        message: 'Unknown field, ignored. Known fields: `a`.',
      },
    ])
  })
  test('stops after twenty', () => {
    const body = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`x${i}`, 1]))
    expect(warnOfUnknown(body, known).map(({ field }) => field)).toEqual(Array.from({ length: 20 }, (_, i) => `x${i}`))
  })
})

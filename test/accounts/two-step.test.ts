import { describe, expect, test } from 'bun:test'
import { findCodeStep, makeRecoveryCodes, readTypedCode, twoStepUri } from '../../src/accounts/two-step.ts'

/** RFC 6238, appendix B, "12345678901234567890" in base32. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const STEP_MS = 30_000

// the last six of the appendix's eight digits
const VECTORS: [seconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

describe('a code', () => {
  test.each(VECTORS)('of RFC 6238 at %p seconds is %p', (seconds, code) => {
    expect(findCodeStep(SECRET, code, seconds * 1_000)).toBe(Math.floor(seconds / 30))
  })

  test.each([
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ])('is accepted %p steps later: %p', (steps, isTaken) => {
    const [seconds, code] = [1_111_111_110, '050471']
    const step = seconds / 30
    expect(findCodeStep(SECRET, code, (step + steps) * STEP_MS)).toBe(isTaken ? step : null)
    expect(findCodeStep(SECRET, code, (step + steps + 1) * STEP_MS - 1)).toBe(isTaken ? step : null)
  })

  test.each(['', '28708', '2870820', '287083', 'abcdef'])('refuses %p', (code) => {
    expect(findCodeStep(SECRET, code, 59_000)).toBeNull()
  })
})

test('the QR code contains the service, the member and the secret', () => {
  const uri = new URL(twoStepUri(SECRET, 'ada+x@example.com'))
  expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
    'otpauth:',
    'totp',
    '/Eventpost:ada+x@example.com',
  ])
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    issuer: 'Eventpost',
    secret: SECRET,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

describe('typed input', () => {
  test.each(['287082', ' 287 082 ', '287-082'])('%p is a code', (typed) => {
    expect(readTypedCode(typed)).toEqual({ code: '287082' })
  })

  test('of 16 characters is too short', () => {
    expect(readTypedCode('0123-4567-89ab-cdef')).toBeNull()
  })

  test.each(['0123-4567-89ab-cdef-ghjk-mnpq-rstv', 'OI23 4567 89AB CDEF GHJK MNPQ RSTV'])(
    '%p is a recovery code',
    (typed) => {
      const hash = Bun.SHA256.hash('0123456789abcdefghjkmnpqrstv', 'base64url')
      expect(readTypedCode(typed)).toEqual({ recoveryHash: hash })
    },
  )

  test.each([
    '',
    '28708',
    '2870829',
    '２８７０８２',
    '0123-4567-89ab-cde',
    '0123-4567-89ab-cdeu',
    '0123-4567-89ab-cdef-g',
    'x'.repeat(30_000),
  ])('%# is neither code', (typed) => expect(readTypedCode(typed)).toBeNull())
})

test('recovery codes have at least 128 bits', () => {
  const [code = ''] = makeRecoveryCodes().codes
  expect(Math.log2(32) * code.replaceAll('-', '').length).toBeGreaterThanOrEqual(128)
})

test('there are ten different recovery codes, stored as hashes', () => {
  const made = Array.from({ length: 50 }, makeRecoveryCodes)
  for (const { codes, codeHashes } of made) {
    expect(codes.map((code) => /^([0-9a-hjkmnp-tv-z]{4}-){6}[0-9a-hjkmnp-tv-z]{4}$/.test(code))).toEqual(
      Array(10).fill(true),
    )
    expect(codes.map(readTypedCode)).toEqual(codeHashes.map((recoveryHash) => ({ recoveryHash })))
  }
  const all = made.flatMap(({ codes }) => codes)
  expect(new Set(all).size).toBe(500)
  // each of the 32 characters about 437 times
  const counts = Map.groupBy(all.join('').replaceAll('-', ''), (character) => character)
  expect(counts.size).toBe(32)
  for (const { length } of counts.values()) expect(Math.abs(length - 437)).toBeLessThan(150)
})

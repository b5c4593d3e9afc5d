import { describe, expect, test } from 'bun:test'
import { createHmac, randomBytes } from 'node:crypto'
import { makeIdentitySecret, PREVIOUS_SECRET_VALID_MS, signEmail, verifyIdentity } from '../../src/accounts/identity.ts'

const NOW = 1_750_000_000_000
const CURRENT = { id: 'sec_current', secret: `is_${'A'.repeat(43)}`, retiredAt: null }
const previous = (retiredAt: number) => ({ id: 'sec_previous', secret: `is_${'B'.repeat(43)}`, retiredAt })

const oracle = (email: string, secret: string) =>
  createHmac('sha256', Buffer.from(secret, 'utf8')).update(email).digest('hex')

describe('makeIdentitySecret', () => {
  test('returns is_ and 43 base62 characters, never the same twice', () => {
    const secrets = Array.from({ length: 1_000 }, () => makeIdentitySecret())
    for (const secret of secrets) expect(secret).toMatch(/^is_[0-9A-Za-z]{43}$/)
    expect(new Set(secrets).size).toBe(1_000)
  })
})

describe('signEmail', () => {
  test.each([
    // RFC 4231, 4.3 (test case 2). Lowercasing and trimming don't change this text.
    ['what do ya want for nothing?', 'Jefe', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
  ])('published: %s', (text, secret, signature) => {
    expect(signEmail(text, secret)).toBe(signature)
  })

  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['  Ada@Example.COM\r\n\t', 'ada@example.com'],
    ['ÅSA@Exämple.com', 'åsa@exämple.com'],
  ])('%j is signed as %j', (email, signed) => {
    expect(signEmail(email, CURRENT.secret)).toBe(oracle(signed, CURRENT.secret))
  })

  test.each(['is_x', 'schlüssel-🔑', 'k'.repeat(64), 'k'.repeat(65), 'ü'.repeat(300)])(
    'the secret is used as UTF-8 text: %s',
    (secret) => {
      expect(signEmail('a@b.co', secret)).toBe(oracle('a@b.co', secret))
    },
  )

  test('agrees with node:crypto on anything', () => {
    for (let i = 0; i < 500; i++) {
      const [email, secret] = [randomBytes(i % 90).toString('hex'), makeIdentitySecret()]
      expect(signEmail(email, secret)).toBe(oracle(email, secret))
    }
  })
})

describe('verifyIdentity', () => {
  const email = ' Ada@Example.com '
  const verify = (
    signature: string,
    secrets = [CURRENT] as Parameters<typeof verifyIdentity>[0]['secrets'],
    now = NOW,
  ) => verifyIdentity({ email, signature, secrets, now })

  test('the current secret', () => {
    const signature = oracle('ada@example.com', CURRENT.secret)
    expect(verify(signature)).toEqual({ ok: true, secretId: 'sec_current', isPrevious: false })
    expect(verify(signature, [previous(NOW), CURRENT])).toEqual({
      ok: true,
      secretId: 'sec_current',
      isPrevious: false,
    })
  })

  test.each([
    [0, true],
    [1, true],
    [PREVIOUS_SECRET_VALID_MS - 1, true],
    [PREVIOUS_SECRET_VALID_MS, false],
    [PREVIOUS_SECRET_VALID_MS + 1_000, false],
    [-60_000, true],
  ])('%i ms after a rotation, the previous secret is valid: %p', (age, isValid) => {
    const retired = previous(NOW - age)
    const expected = isValid ? { ok: true, secretId: 'sec_previous', isPrevious: true } : { ok: false, reason: 'wrong' }
    for (const secrets of [[CURRENT, retired], [retired, CURRENT], [retired]]) {
      expect(verify(oracle('ada@example.com', retired.secret), secrets)).toEqual(expected as never)
    }
  })

  test('the previous secret is valid for 24 hours', () => {
    expect(PREVIOUS_SECRET_VALID_MS).toBe(86_400_000)
  })

  test('after several rotations in a day, every secret is valid for its own 24 hours', () => {
    const [old, older] = [previous(NOW - 1_000), { ...previous(NOW - 90_000_000), id: 'sec_older', secret: 'is_older' }]
    const oldest = { id: 'sec_3', secret: 'is_3', retiredAt: NOW - 80_000_000 }
    const secrets = [older, oldest, old, CURRENT]
    expect(verify(oracle('ada@example.com', old.secret), secrets)).toMatchObject({ ok: true, secretId: 'sec_previous' })
    expect(verify(oracle('ada@example.com', 'is_3'), secrets)).toMatchObject({ ok: true, secretId: 'sec_3' })
    expect(verify(oracle('ada@example.com', 'is_older'), secrets)).toEqual({ ok: false, reason: 'wrong' })
  })

  test('every bit of the signature counts', () => {
    const right = Buffer.from(oracle('ada@example.com', CURRENT.secret), 'hex')
    for (let bit = 0; bit < 256; bit++) {
      const wrong = Buffer.from(right)
      wrong[bit >> 3] = (wrong[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(verify(wrong.toString('hex'))).toEqual({ ok: false, reason: 'wrong' })
    }
  })

  const right = oracle('ada@example.com', CURRENT.secret)
  test.each([
    ['of another person', oracle('eve@example.com', CURRENT.secret), 'wrong'],
    ['of another secret', oracle('ada@example.com', 'is_other'), 'wrong'],
    ['of the email as it was written', oracle(' Ada@Example.com ', CURRENT.secret), 'wrong'],
    ['all zero', '0'.repeat(64), 'wrong'],
    ['right but uppercase', right.toUpperCase(), 'uppercase'],
    ['wrong and uppercase', 'F'.repeat(64), 'uppercase'],
    ['of mixed case', right.slice(0, 63).replace(/[a-f]/, (c) => c.toUpperCase()) + right.slice(63), 'uppercase'],
    ['empty', '', 'malformed'],
    ['one character short', right.slice(1), 'malformed'],
    ['one character long', `${right}0`, 'malformed'],
    ['with a line feed', `${right}\n`, 'malformed'],
    ['with a prefix', `0x${right.slice(2)}`, 'malformed'],
    ['base64', Buffer.from(right, 'hex').toString('base64'), 'malformed'],
    ['64 characters that are not hex', 'g'.repeat(64), 'malformed'],
  ] as const)('a signature %s is refused', (_, signature, reason) => {
    expect(verify(signature)).toEqual({ ok: false, reason })
  })

  test('without secrets no signature is valid', () => {
    expect(verify(right, [])).toEqual({ ok: false, reason: 'wrong' })
  })
})

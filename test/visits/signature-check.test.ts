import { describe, expect, test } from 'bun:test'
import { PREVIOUS_SECRET_VALID_MS, signEmail } from '../../src/accounts/identity.ts'
import { checkSignature, type SignatureVerdict } from '../../src/visits/signature-check.ts'
import { NOW } from '../durations.ts'

const secret = (name: string, retiredAt: number | null) => ({
  id: `sec_${name}`,
  secret: `is_${name}`,
  createdAt: 0,
  retiredAt,
})
const SECRETS = [
  secret('current', null),
  secret('previous', NOW - PREVIOUS_SECRET_VALID_MS + 1),
  secret('expired', NOW - PREVIOUS_SECRET_VALID_MS),
]
const TYPED = ' Ada@Example.com '
const raw = (name: string) => new Bun.CryptoHasher('sha256', `is_${name}`).update(TYPED).digest('hex')

describe('a signature', () => {
  test.each<[string, string, SignatureVerdict]>([
    ['of the current secret', signEmail(TYPED, 'is_current'), 'current'],
    ['of the previous secret', signEmail(TYPED, 'is_previous'), 'previous'],
    ['of a secret expired after 24 hours', signEmail(TYPED, 'is_expired'), 'expired'],
    ['in uppercase', signEmail(TYPED, 'is_current').toUpperCase(), 'uppercase'],
    ['in uppercase and wrong', signEmail(TYPED, 'is_foreign').toUpperCase(), 'wrong'],
    ['of the email as typed', raw('current'), 'unfolded'],
    ['of another secret', signEmail(TYPED, 'is_foreign'), 'wrong'],
    ['of another email', signEmail('eve@example.com', 'is_current'), 'wrong'],
    ['in base64', Buffer.from(signEmail(TYPED, 'is_current'), 'hex').toString('base64'), 'malformed'],
    ['that is empty', '', 'malformed'],
  ])('%s', (_name, signature, verdict) => {
    expect(checkSignature({ email: TYPED, signature, secrets: SECRETS, now: NOW })).toBe(verdict)
  })
})

import { timingSafeEqual } from 'node:crypto'
import { DAY_MS } from '../core/clock.ts'
import type { SecretRow } from '../store/types.ts'
import { randomBase62, type RandomBytes } from '../core/base62.ts'

export type { SecretRow }

export const PREVIOUS_SECRET_VALID_MS = DAY_MS

/** Tells a leaked secret apart from an API key. */
const SECRET_PREFIX = 'is_'

const SECRET_LENGTH = 43

export type IdentitySecret = { id: string; secret: string; retiredAt: number | null }

export type Verified =
  { ok: true; secretId: string; isPrevious: boolean } | { ok: false; reason: 'malformed' | 'uppercase' | 'wrong' }

/** 43 random base62 characters (256 bits). Its UTF-8 text is the HMAC key. */
export const makeIdentitySecret = (random?: RandomBytes): string => SECRET_PREFIX + randomBase62(SECRET_LENGTH, random)

/** Lowercase hex HMAC-SHA256 of the trimmed, lowercased email. The domain is not folded to punycode. */
export const signEmail = (email: string, secret: string): string => hmacOf(email, secret).toString('hex')

/**
 * Accepts the current secret and those rotated out less than 24 hours before `now` (use `expiryNow`). All candidates
 * are compared in full: the time taken reveals nothing.
 */
export function verifyIdentity(claim: {
  email: string
  signature: string
  secrets: readonly IdentitySecret[]
  now: number
}): Verified {
  const { email, signature, secrets, now } = claim
  if (!ANY_HEX.test(signature)) return { ok: false, reason: 'malformed' }
  if (/[A-F]/.test(signature)) return { ok: false, reason: 'uppercase' }
  const claimed = Buffer.from(signature, 'hex')
  let fitting: IdentitySecret | null = null
  for (const candidate of secrets) {
    if (!isStillValid(candidate, now)) continue
    if (timingSafeEqual(hmacOf(email, candidate.secret), claimed)) fitting = candidate
  }
  return fitting
    ? { ok: true, secretId: fitting.id, isPrevious: fitting.retiredAt !== null }
    : { ok: false, reason: 'wrong' }
}

const ANY_HEX = /^[0-9A-Fa-f]{64}$/

const isStillValid = ({ retiredAt }: IdentitySecret, now: number): boolean =>
  retiredAt === null || now < retiredAt + PREVIOUS_SECRET_VALID_MS

const hmacOf = (email: string, secret: string): Buffer =>
  new Bun.CryptoHasher('sha256', secret).update(email.trim().toLowerCase()).digest()

import { timingSafeEqual } from 'node:crypto'
import type { SecretRow } from '../store/types.ts'
import { randomBase62, type RandomBytes } from '../core/base62.ts'

export type { SecretRow }

/** How long a secret that was rotated out keeps working: 24 hours. */
export const PREVIOUS_SECRET_VALID_MS = 86_400_000

/** So that a secret found in a log or a repository is recognised for what it is, and not taken for an API key. */
const SECRET_PREFIX = 'is_'

const SECRET_LENGTH = 43

/** A customer's secret and when it was rotated out, in milliseconds UTC; null is the current one. */
export type IdentitySecret = { id: string; secret: string; retiredAt: number | null }

export type Verified =
  { ok: true; secretId: string; isPrevious: boolean } | { ok: false; reason: 'malformed' | 'uppercase' | 'wrong' }

/** A new secret's text: `is_` and 43 random base62 characters (256 bits). Its UTF-8 is the key of the HMAC as it stands. */
export const makeIdentitySecret = (random?: RandomBytes): string => SECRET_PREFIX + randomBase62(SECRET_LENGTH, random)

/** The identity signature: lowercase hex HMAC-SHA256 of the trimmed, lowercased email, domain not folded. */
export const signEmail = (email: string, secret: string): string => hmacOf(email, secret).toString('hex')

/**
 * Whether a signature proves the email: made with the current secret, or with one rotated out less than
 * 24 hours before `now` (milliseconds UTC: `expiryNow`, so that no step of a clock ends the 24 hours early). Every
 * candidate is computed and compared in full, so that the time taken tells nothing about how near a guess came, nor
 * which secret fitted. Refusals: `malformed` is not 64 hex characters, `uppercase` has hex in capitals (right or not),
 * `wrong` fits no secret.
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

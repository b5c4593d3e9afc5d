import { createHmac } from 'node:crypto'
import { Secret, TOTP } from 'otpauth/bare'
import type { TwoStepRow } from '../store/two-step.ts'
import type { Store } from '../store/store.ts'
import type { Refused } from '../store/types.ts'
import type { Clock } from '../core/clock.ts'
import type { Sessions, SignedIn } from './sessions.ts'
import { hashToken } from './tokens.ts'

export type { TwoStepRow }

/** The standard allows others, but some authenticator apps ignore them. */
const CODE_RULES = { algorithm: 'SHA1', digits: 6, period: 30 } as const
const SECRET_BYTES = 20
/** Also accepts the codes 30 seconds before and after. */
const STEPS_AROUND = 1

export const RECOVERY_CODES = 10
/** No letters that look like digits. 28 of 32 make 140 bits, so a plain hash is enough. */
const RECOVERY_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const RECOVERY_CHARACTERS = 28
const RECOVERY_FORM = new RegExp(`^[${RECOVERY_ALPHABET}]{${RECOVERY_CHARACTERS}}$`)

const toTotp = (secret: string, label = ''): TOTP =>
  new TOTP({
    ...CODE_RULES,
    issuer: 'Eventpost',
    label,
    secret: Secret.fromBase32(secret),
    hmac: (_, key, message) => createHmac('sha1', key).update(message).digest(),
  })

export const twoStepUri = (secret: string, email: string): string => toTotp(secret, email).toString()

/** Returns the 30-second step since 1970, or null for a wrong code. */
export function findCodeStep(secret: string, code: string, now: number): number | null {
  const delta = toTotp(secret).validate({ token: code, timestamp: now, window: STEPS_AROUND })
  return delta === null ? null : TOTP.counter({ period: CODE_RULES.period, timestamp: now }) + delta
}

export type TypedCode = { code: string } | { recoveryHash: string }

export function readTypedCode(typed: string): TypedCode | null {
  const plain = typed.replaceAll(/[\s-]/g, '').toLowerCase()
  if (/^\d{6}$/.test(plain)) return { code: plain }
  const meant = plain.replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return RECOVERY_FORM.test(meant) ? { recoveryHash: hashToken(meant) } : null
}

export function makeRecoveryCodes(): { codes: string[]; codeHashes: string[] } {
  const plain = Array.from({ length: RECOVERY_CODES }, makeRecoveryCode)
  return { codes: plain.map((code) => code.replaceAll(/.{4}(?!$)/g, '$&-')), codeHashes: plain.map(hashToken) }
}

function makeRecoveryCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RECOVERY_CHARACTERS))
  return Array.from(bytes, (byte) => RECOVERY_ALPHABET.charAt(byte % RECOVERY_ALPHABET.length)).join('')
}

/** Returns a pending secret again. Refusals: already_done. */
export async function startTwoStep(
  { store, clock }: { store: Store; clock: Clock },
  memberId: string,
): Promise<TwoStepRow | Refused> {
  const secret = new Secret({ size: SECRET_BYTES }).base32
  const outcome = await store.startTwoStep({ memberId, secret, at: clock.now() })
  if ('refusal' in outcome) return outcome
  return (await store.findTwoStep(memberId)) ?? { refusal: 'not_found' }
}

/**
 * Ends all other sessions and returns the recovery codes. Refusals: wrong_code, already_done, not_found (set-up
 * expired).
 */
export async function turnOnTwoStep(
  { store, clock, sessions }: { store: Store; clock: Clock; sessions: Sessions },
  signedIn: SignedIn,
  typed: string,
): Promise<{ codes: string[] } | Refused | { refusal: 'wrong_code' }> {
  const row = await store.findTwoStep(signedIn.member.id)
  if (!row) return { refusal: 'not_found' }
  if (row.turnedOnAt !== null) return { refusal: 'already_done' }
  const read = readTypedCode(typed)
  const step = read && 'code' in read ? findCodeStep(row.secret, read.code, clock.now()) : null
  if (step === null) return { refusal: 'wrong_code' }
  const { codes, codeHashes } = makeRecoveryCodes()
  const outcome = await sessions.turnOnTwoStep(signedIn, { startedAt: row.startedAt, step, codeHashes })
  return 'refusal' in outcome ? outcome : { codes }
}

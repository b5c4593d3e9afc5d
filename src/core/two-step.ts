/** The second step of signing in: codes of an authenticator app (RFC 6238), and those for whoever lost it (promises 14). */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { TwoStepRow } from '../store/session-types.ts'
import type { Store } from '../store/store.ts'
import type { Refused } from '../store/types.ts'
import type { Clock } from './parts.ts'
import type { Sessions, SignedIn } from './sessions.ts'
import { hashToken } from './tokens.ts'

export type { TwoStepRow }

/** What every authenticator app takes: others are possible by the standard, and some apps ignore what they are told. */
const CODE_RULES = { algorithm: 'SHA1', digits: 6, period: 30 } as const
/** As long as the hash of the standard: 160 bits. */
const SECRET_BYTES = 20
/** The code of the 30 seconds before and after counts too: phones go wrong, and people are slow. */
const STEPS_AROUND = [-1, 0, 1] as const
/** RFC 4648, section 6. */
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const BASE32_BITS = 5

export const RECOVERY_CODES = 10
/** Without letters that are taken for digits. 28 of 32 make 140 bits, so a plain hash keeps them safe at rest. */
const RECOVERY_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const RECOVERY_CHARACTERS = 28
/** Codes of 16 characters, from before they were longer, work until they are made anew. */
const RECOVERY_FORM = new RegExp(`^(?:[${RECOVERY_ALPHABET}]{16}|[${RECOVERY_ALPHABET}]{${RECOVERY_CHARACTERS}})$`)

/** Each byte gives one character, so that the last ones are as random as the first. */
function makeSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array((SECRET_BYTES * 8) / BASE32_BITS))
  return Array.from(bytes, (byte) => BASE32.charAt(byte % BASE32.length)).join('')
}

function readSecret(base32: string): Uint8Array {
  const bytes: number[] = []
  let [bits, held] = [0, 0]
  for (const character of base32) {
    bits = ((bits << BASE32_BITS) | BASE32.indexOf(character)) & 0xfff
    held += BASE32_BITS
    if (held >= 8) bytes.push((bits >> (held -= 8)) & 0xff)
  }
  return Uint8Array.from(bytes)
}

/** The code of a step (RFC 4226, section 5.3). */
function codeOf(key: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigInt64BE(BigInt(step))
  const hash = createHmac('sha1', key).update(counter).digest()
  const number = hash.readUInt32BE(hash.readUInt8(hash.length - 1) & 0xf) & 0x7fffffff
  return String(number % 10 ** CODE_RULES.digits).padStart(CODE_RULES.digits, '0')
}

/** What an authenticator app reads from the square: the secret, whose it is, and how codes are made of it. */
export function twoStepUri(secret: string, email: string): string {
  const { algorithm, digits, period } = CODE_RULES
  const query = new URLSearchParams({
    issuer: 'Eventpost',
    secret,
    algorithm,
    digits: `${digits}`,
    period: `${period}`,
  })
  return `otpauth://totp/Eventpost:${encodeURIComponent(email)}?${query}`
}

/** The 30 seconds, counted from 1970, that a code of 6 digits belongs to at `now` (ms UTC); null for a wrong one. */
export function findCodeStep(secret: string, code: string, now: number): number | null {
  const [key, typed] = [readSecret(secret), Buffer.from(code)]
  const current = Math.floor(now / (CODE_RULES.period * 1_000))
  let found: number | null = null
  // all of them are compared, so that the time says nothing
  for (const step of STEPS_AROUND.map((around) => current + around)) {
    const right = Buffer.from(codeOf(key, step))
    if (typed.length === right.length && timingSafeEqual(typed, right)) found = step
  }
  return found
}

export type TypedCode = { code: string } | { recoveryHash: string }

/** What was typed where a code is asked for, however it was spaced; null where it can be neither. */
export function readTypedCode(typed: string): TypedCode | null {
  const plain = typed.replaceAll(/[\s-]/g, '').toLowerCase()
  if (/^\d{6}$/.test(plain)) return { code: plain }
  const meant = plain.replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return RECOVERY_FORM.test(meant) ? { recoveryHash: hashToken(meant) } : null
}

/** Ten codes as they are shown, in groups of four, and as they are stored. */
export function makeRecoveryCodes(): { codes: string[]; codeHashes: string[] } {
  const plain = Array.from({ length: RECOVERY_CODES }, makeRecoveryCode)
  return { codes: plain.map((code) => code.replaceAll(/.{4}(?!$)/g, '$&-')), codeHashes: plain.map(hashToken) }
}

function makeRecoveryCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RECOVERY_CHARACTERS))
  return Array.from(bytes, (byte) => RECOVERY_ALPHABET.charAt(byte % RECOVERY_ALPHABET.length)).join('')
}

/** The secret to set up with; one that waits already is given again. Refusals: already_done where it is on. */
export async function startTwoStep(
  { store, clock }: { store: Store; clock: Clock },
  memberId: string,
): Promise<TwoStepRow | Refused> {
  const secret = makeSecret()
  const outcome = await store.startTwoStep({ memberId, secret, at: clock.now() })
  if ('refusal' in outcome) return outcome
  return (await store.findTwoStep(memberId)) ?? { refusal: 'not_found' }
}

/**
 * Turns on what was set up, by a code that shows that it works; all other sessions end. Gives the recovery codes, which
 * are shown once. Refusals: wrong_code, already_done, not_found where the set-up was left for too long.
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

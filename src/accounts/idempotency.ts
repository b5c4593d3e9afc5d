import type { TextIdempotency } from '../store/event-texts.ts'
import type { Idempotency } from '../store/types.ts'
import { canonicalJson } from '../core/json.ts'
import { type Refusal, refuseFields } from '../core/refusals.ts'

export const HEADER = 'Idempotency-Key'
export const MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
const KEY = new RegExp(`^[\\x20-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_CHARACTERS}}$`)

/** A 400 for an Idempotency-Key that cannot be one. */
export function findKeyFault(key: string): Refusal | null {
  if (KEY.test(key)) return null
  const message = 'Send 1 to 255 printable ASCII characters, a new random value for each write.'
  return refuseFields([{ field: HEADER, code: 'invalid', message }])
}

/** With the hash that tells the same request from another one, however its body is spelled. */
export function hashRequest({ target, ...rest }: TextIdempotency, body: Record<string, unknown>): Idempotency {
  const bodyHash = new Bun.CryptoHasher('sha256').update(`${target} ${canonicalJson(body)}`).digest('base64url')
  return { ...rest, bodyHash, part: null }
}

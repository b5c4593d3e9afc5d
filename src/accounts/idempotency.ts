/** Idempotency-Keys: their format, how requests are compared, and that a write runs once. */
import type { TextIdempotency } from '../store/event-texts.ts'
import {
  type KnownOutcomes,
  type NewOutcome,
  type OnceOutcome,
  type OnceRequest,
  outcomeKey,
  REQUEST_OF_PARTS,
  type StoredOutcome,
} from '../store/idempotency.ts'
import type { Idempotency, Refused } from '../store/types.ts'
import { canonicalJson } from '../core/json.ts'
import { type Refusal, refuseFields } from '../core/refusals.ts'

/** Requests stored before migration 0018 have an empty hash and match any body. */
export const isSameBody = (storedHash: string, bodyHash: string): boolean =>
  storedHash === '' || storedHash === bodyHash

export const HEADER = 'Idempotency-Key'
export const MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
const KEY = new RegExp(`^[\\x20-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_CHARACTERS}}$`)

/** 400 for a malformed Idempotency-Key. */
export function findKeyFault(key: string): Refusal | null {
  if (KEY.test(key)) return null
  const message = 'Send 1 to 255 printable ASCII characters, a new random value for each write.'
  return refuseFields([{ field: HEADER, code: 'invalid', message }])
}

/** With a hash that is the same for equal requests, however their JSON is written. */
export function hashRequest({ target, ...rest }: TextIdempotency, body: Record<string, unknown>): Idempotency {
  const bodyHash = new Bun.CryptoHasher('sha256').update(`${target} ${canonicalJson(body)}`).digest('base64url')
  return { ...rest, bodyHash, part: null }
}

/**
 * Runs a write unless its key has an outcome. A refusal is not stored, so the caller can fix the cause and reuse the key.
 * The first part of a request that runs also reserves the key for that request.
 */
export function planOnce<T extends OnceOutcome>(
  known: KnownOutcomes,
  idempotency: OnceRequest,
  run: () => T | Refused,
): T | Refused {
  const { keyId, key, bodyHash, part } = idempotency
  const id = outcomeKey(keyId, key)
  const [stored, added] = [known.stored.get(id), known.added.get(id)]
  const find = (one: number | null): StoredOutcome | undefined => added?.get(one) ?? stored?.get(one)
  const [request, earlier] = [find(null), find(part)]
  // records of later parts outlive the record of their request
  const records = part === null ? [...(stored?.values() ?? []), ...(added?.values() ?? [])] : [request, earlier]
  if (records.some((record) => record && !isSameBody(record.bodyHash, bodyHash))) {
    return { refusal: 'idempotency_mismatch' }
  }
  if (earlier) return { ...(JSON.parse(earlier.outcome) as T), replayed: true }
  const outcome = run()
  if ('refusal' in outcome) return outcome
  const outcomes = added ?? new Map<number | null, NewOutcome>()
  known.added.set(id, outcomes)
  outcomes.set(part, { ...idempotency, outcome: JSON.stringify(outcome), contactId: outcome.contactId })
  if (part !== null && !request) outcomes.set(null, { ...idempotency, part: null, ...REQUEST_OF_PARTS })
  return outcome
}

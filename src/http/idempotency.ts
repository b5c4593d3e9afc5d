import type { Store } from '../store/store.ts'
import { isSameBody } from '../store/idempotency.ts'
import type { Idempotency } from '../store/types.ts'
import { type Refusal, refuse, refuseFields } from '../core/refusals.ts'

export type { Idempotency }

/** What a request did when it came first: by part, `null` the request itself. Empty where it is new. */
export type Earlier = ReadonlyMap<number | null, string>

export const NOTHING_EARLIER: Earlier = new Map()

/**
 * What was done before under an Idempotency-Key, to be answered again and not counted. Refused with
 * idempotency_mismatch where that was another request. The write looks again in its own transaction.
 */
export async function findEarlier({ store }: { store: Store }, asked: Idempotency): Promise<Earlier | Refusal> {
  const stored = await store.listOutcomes(asked)
  if (stored.some(({ bodyHash }) => !isSameBody(bodyHash, asked.bodyHash))) return refuse('idempotency_mismatch')
  return new Map(stored.map(({ part, outcome }) => [part, outcome]))
}

/** The outcome of a request, or of one part of it, as it was the first time; null where there is none. */
export function replayOf<T extends object>(earlier: Earlier, part: number | null): (T & { replayed: true }) | null {
  const outcome = earlier.get(part)
  return outcome === undefined ? null : { ...(JSON.parse(outcome) as T), replayed: true }
}

export const HEADER = 'Idempotency-Key'
export const MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
const KEY = new RegExp(`^[\\x20-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_CHARACTERS}}$`)

/** Whether it may have been sent before: then the store is asked, before any limit is looked at. */
export const hasKey = (request: Request): boolean => request.headers.has(HEADER)

/** A 400 for an Idempotency-Key that cannot be one. DELETE has no use for it. */
export function findKeyFault(request: Request): Refusal | null {
  const key = request.headers.get(HEADER)
  if (key === null || KEY.test(key) || request.method === 'DELETE') return null
  const message = 'Send 1 to 255 printable ASCII characters, a new random value for each write.'
  return refuseFields([{ field: HEADER, code: 'invalid', message }])
}

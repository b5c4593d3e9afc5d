import type { WriteContext } from '../core/events.ts'
import type { Parts } from '../core/parts.ts'
import { type Refusal, refuse, refuseFields } from '../core/refusals.ts'
import type { TakenFor } from '../core/write-limits.ts'
import type { Call } from './call.ts'

const KEY = /^[\x20-\x7e]{1,255}$/

/**
 * Reads Idempotency-Key (api.md, Fields). The store keeps the record with the write itself; here only a second request
 * that comes while the first still runs is told so.
 */
export type Once = ReturnType<typeof createOnce>

export function createOnce() {
  const running = new Set<string>()
  return {
    /** `release` belongs in a `finally`. */
    begin(request: Request, { access, body }: Pick<Call<unknown>, 'access' | 'body'>): Begun | { refused: Refusal } {
      const key = request.headers.get('idempotency-key')
      if (key === null) return { idempotency: null, release: () => {} }
      if (!KEY.test(key)) {
        const message = 'Send 1 to 255 printable ASCII characters, a new random value for each write.'
        return { refused: refuseFields([{ field: 'Idempotency-Key', code: 'invalid', message }]) }
      }
      const id = `${access.key.id}:${key}`
      if (running.has(id)) return { refused: refuse('idempotency_in_progress') }
      running.add(id)
      const text = `${request.method} ${new URL(request.url).pathname} ${JSON.stringify(body)}`
      const bodyHash = new Bun.CryptoHasher('sha256').update(text).digest('base64url')
      return { idempotency: { keyId: access.key.id, key, bodyHash }, release: () => void running.delete(id) }
    },
  }
}

export type Begun = { idempotency: WriteContext['idempotency']; release: () => void }

export const REPLAYED = { 'Idempotency-Replayed': 'true' }

/** What was written before, or is refused as another request's key, uses up no limit. */
export function settleLimit({ limits }: Parts, { limit, taken, buckets }: TakenFor, outcome: object): void {
  const isFree = 'replayed' in outcome || ('refusal' in outcome && outcome.refusal === 'idempotency_mismatch')
  if (isFree) for (const bucket of buckets) limits.giveBack(bucket, limit, taken)
}

import type { WriteContext } from '../core/events.ts'
import { type Refusal, refuse, refuseFields } from '../core/refusals.ts'
import type { Call } from './call.ts'

const HEADER = 'Idempotency-Key'
export const MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
const KEY = new RegExp(`^[\\x20-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_CHARACTERS}}$`)

/** A 400 for an Idempotency-Key that cannot be one. DELETE has no use for it. */
export function findKeyFault(request: Request): Refusal | null {
  const key = request.headers.get(HEADER)
  if (key === null || KEY.test(key) || request.method === 'DELETE') return null
  const message = 'Send 1 to 255 printable ASCII characters, a new random value for each write.'
  return refuseFields([{ field: HEADER, code: 'invalid', message }])
}

/**
 * Lets a write with an Idempotency-Key run once (api.md, Fields). The store keeps the record with the write itself; here
 * only a second request that comes while the first still runs is told so.
 */
export type Once = ReturnType<typeof createOnce>

export function createOnce() {
  const running = new Set<string>()
  return {
    /** `release` belongs in a `finally`. Refused with idempotency_in_progress. */
    begin(request: Request, { access, body }: Pick<Call<unknown>, 'access' | 'body'>): Begun | { refused: Refusal } {
      const key = request.headers.get(HEADER)
      if (key === null) return WITHOUT_KEY
      const id = `${access.key.id}:${key}`
      if (running.has(id)) return { refused: refuse('idempotency_in_progress') }
      running.add(id)
      const text = `${request.method} ${new URL(request.url).pathname} ${JSON.stringify(body)}`
      const bodyHash = new Bun.CryptoHasher('sha256').update(text).digest('base64url')
      return { idempotency: { keyId: access.key.id, key, bodyHash }, release: () => void running.delete(id) }
    },
  }
}

const WITHOUT_KEY: Begun = { idempotency: null, release: () => {} }

export type Begun = { idempotency: WriteContext['idempotency']; release: () => void }

export const REPLAYED = { 'Idempotency-Replayed': 'true' }

import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import { type Earlier, findEarlier, type Idempotency, NOTHING_EARLIER, HEADER } from './idempotency.ts'
import { canonicalJson } from '../core/json.ts'
import { isRefusal, type Refusal, refuse } from '../core/refusals.ts'
import type { Call } from './call.ts'

/**
 * Lets a write with an Idempotency-Key run once. The store keeps the record with the write itself; here
 * a second request that comes while the first still runs is told so, and one that was done before is known in time to
 * be answered again, or refused, before any limit is looked at.
 */
export type Once = ReturnType<typeof createOnce>

export function createOnce({ store, clock }: { store: Store; clock: Clock }) {
  const running = new Set<string>()

  const look = async (idempotency: Idempotency): Promise<Beginning> => {
    const id = `${idempotency.keyId}:${idempotency.key}`
    if (running.has(id)) return { refused: refuse('idempotency_in_progress') }
    running.add(id)
    const release = (): void => void running.delete(id)
    try {
      const earlier = await findEarlier({ store }, idempotency)
      if (!isRefusal(earlier)) return { idempotency, earlier, release }
      release()
      return { refused: earlier }
    } catch (error) {
      release()
      throw error
    }
  }

  return {
    /**
     * `release` belongs in a `finally`. A promise only where there is such a key. Refused with idempotency_in_progress
     * and idempotency_mismatch.
     */
    begin(request: Request, { access, body }: Pick<Call<unknown>, 'access' | 'body'>): Beginning | Promise<Beginning> {
      const key = request.headers.get(HEADER)
      if (key === null) return WITHOUT_KEY
      const text = `${request.method} ${new URL(request.url).pathname} ${canonicalJson(body)}`
      const bodyHash = new Bun.CryptoHasher('sha256').update(text).digest('base64url')
      return look({ keyId: access.key.id, key, bodyHash, part: null, at: clock.steadyNow() })
    },
  }
}

export type Begun = { idempotency: Idempotency | null; earlier: Earlier; release: () => void }
type Beginning = Begun | { refused: Refusal }

const WITHOUT_KEY: Begun = { idempotency: null, earlier: NOTHING_EARLIER, release: () => {} }

export const REPLAYED = { 'Idempotency-Replayed': 'true' }

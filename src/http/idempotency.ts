import { findKeyFault, HEADER, hashRequest } from '../accounts/idempotency.ts'
import type { Access } from '../accounts/access.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { TextIdempotency } from '../store/event-texts.ts'
import { isSameBody } from '../store/idempotency.ts'
import type { Idempotency } from '../store/types.ts'
import { isRefusal, type Refusal, refuse } from '../core/refusals.ts'

/** What a request did when it came first: by part, `null` the request itself. Empty where it is new. */
type Earlier = ReadonlyMap<number | null, string>

export type Begun = { idempotency: Idempotency | null; earlier: Earlier; release: () => void }
/** `isInProgress`: an earlier request with this key has no answer yet. */
type BegunUnread = { idempotency?: TextIdempotency; isInProgress: boolean; release: () => void }

const WITHOUT_KEY: Begun = { idempotency: null, earlier: new Map(), release: () => {} }
const UNREAD_WITHOUT_KEY: BegunUnread = { isInProgress: false, release: () => {} }

export const REPLAYED = { 'Idempotency-Replayed': 'true' }

/**
 * Lets a write with an Idempotency-Key run once. The store keeps the record with the write itself; here a second request
 * that comes while the first is in progress is noticed. `release` of what was begun belongs in a `finally`.
 */
export type IdempotencyGuard = ReturnType<typeof createIdempotencyGuard>

export function createIdempotencyGuard({ store, clock }: { store: Store; clock: Clock }) {
  const inProgress = new Set<string>()

  /** null: another request holds the key. */
  const hold = ({ keyId, key }: TextIdempotency): (() => void) | null => {
    const id = `${keyId}:${key}`
    if (inProgress.has(id)) return null
    inProgress.add(id)
    return () => void inProgress.delete(id)
  }
  const readKey = (request: Request, { key: { id: keyId } }: Access): TextIdempotency | null => {
    const key = request.headers.get(HEADER)
    if (key === null) return null
    return { keyId, key, at: clock.steadyNow(), target: `${request.method} ${new URL(request.url).pathname}` }
  }

  return {
    /**
     * What was done before is known in time to be answered again, or refused, before any limit is looked at. Refused
     * with idempotency_in_progress and idempotency_mismatch.
     */
    async begin(
      request: Request,
      { access, body }: { access: Access; body: Record<string, unknown> },
    ): Promise<Begun | { refused: Refusal }> {
      const sent = readKey(request, access)
      if (!sent) return WITHOUT_KEY
      const release = hold(sent)
      if (!release) return { refused: refuse('idempotency_in_progress') }
      try {
        const idempotency = hashRequest(sent, body)
        const earlier = await findEarlier({ store }, idempotency)
        if (!isRefusal(earlier)) return { idempotency, earlier, release }
        release()
        return { refused: earlier }
      } catch (error) {
        release()
        throw error
      }
    },
    /** The same of a request whose body nobody has read yet: its write looks at what was done before. */
    beginUnread(request: Request, access: Access): BegunUnread {
      const idempotency = readKey(request, access)
      if (!idempotency) return UNREAD_WITHOUT_KEY
      const release = hold(idempotency)
      return { idempotency, isInProgress: release === null, release: release ?? (() => {}) }
    },
  }
}

/** What was done before under an Idempotency-Key. The write looks again in its own transaction. */
async function findEarlier({ store }: { store: Store }, asked: Idempotency): Promise<Earlier | Refusal> {
  const stored = await store.listOutcomes(asked)
  if (stored.some(({ bodyHash }) => !isSameBody(bodyHash, asked.bodyHash))) return refuse('idempotency_mismatch')
  return new Map(stored.map(({ part, outcome }) => [part, outcome]))
}

/** The outcome of a request, or of one part of it, as it was the first time; null where there is none. */
export function replayOf<T extends object>(earlier: Earlier, part: number | null): (T & { replayed: true }) | null {
  const outcome = earlier.get(part)
  return outcome === undefined ? null : { ...(JSON.parse(outcome) as T), replayed: true }
}

/** A 400 for an Idempotency-Key that cannot be one. DELETE has no use for it. */
export function findRequestKeyFault({ headers, method }: Request): Refusal | null {
  const key = headers.get(HEADER)
  return key === null || method === 'DELETE' ? null : findKeyFault(key)
}

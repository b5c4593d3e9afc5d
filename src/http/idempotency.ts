import { isSameBody, findKeyFault, HEADER, hashRequest } from '../accounts/idempotency.ts'
import type { Access } from '../accounts/access.ts'
import type { Clock } from '../core/clock.ts'
import type { Store } from '../store/store.ts'
import type { TextIdempotency } from '../store/event-texts.ts'
import type { Idempotency } from '../store/types.ts'
import { isRefusal, type Refusal, refuse } from '../core/refusals.ts'

/** `earlier`: the stored outcome of the same request, in JSON; null if it is new. */
export type Begun = { idempotency: Idempotency | null; earlier: string | null; release: () => void }
/** `isInProgress`: an earlier request with this key is still running. */
type BegunUnread = { idempotency?: TextIdempotency; isInProgress: boolean; release: () => void }

const WITHOUT_KEY: Begun = { idempotency: null, earlier: null, release: () => {} }
const UNREAD_WITHOUT_KEY: BegunUnread = { isInProgress: false, release: () => {} }

export const REPLAYED = { 'Idempotency-Replayed': 'true' }

/** Detects concurrent requests with one key; the store saves outcomes with the write. Call `release` in a `finally`. */
export type IdempotencyGuard = ReturnType<typeof createIdempotencyGuard>

export function createIdempotencyGuard({ store, clock }: { store: Store; clock: Clock }) {
  const inProgress = new Set<string>()

  /** null: the key is in use. */
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
    /** Before any limit is taken. Refusals: idempotency_in_progress, idempotency_mismatch. */
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
        const found = await findEarlier({ store }, idempotency)
        if (!isRefusal(found)) return { idempotency, ...found, release }
        release()
        return { refused: found }
      } catch (error) {
        release()
        throw error
      }
    },
    /** For an unparsed body; the write looks for earlier outcomes. */
    beginUnread(request: Request, access: Access): BegunUnread {
      const idempotency = readKey(request, access)
      if (!idempotency) return UNREAD_WITHOUT_KEY
      const release = hold(idempotency)
      return { idempotency, isInProgress: release === null, release: release ?? (() => {}) }
    },
  }
}

/** The write checks again in its transaction. */
async function findEarlier(
  { store }: { store: Store },
  asked: Idempotency,
): Promise<{ earlier: string | null } | Refusal> {
  const stored = await store.listOutcomes(asked)
  if (stored.some(({ bodyHash }) => !isSameBody(bodyHash, asked.bodyHash))) return refuse('idempotency_mismatch')
  return { earlier: stored.find(({ part }) => part === null)?.outcome ?? null }
}

/** The stored outcome of an earlier request; null if there is none. */
export const replayOf = <T extends object>({ earlier }: Begun): (T & { replayed: true }) | null =>
  earlier === null ? null : { ...(JSON.parse(earlier) as T), replayed: true }

/** A 400 for an invalid Idempotency-Key. DELETE ignores it. */
export function findRequestKeyFault({ headers, method }: Request): Refusal | null {
  const key = headers.get(HEADER)
  return key === null || method === 'DELETE' ? null : findKeyFault(key)
}

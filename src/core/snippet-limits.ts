import { addressBucket } from './addresses.ts'
import { MOST_ADDRESSES } from './flood.ts'
import { createLimits, type Limit, type MonotonicClock, type Taken, type TakenAgo } from './limits.ts'
import { type Refusal, refuse } from './refusals.ts'
import type { BatchSize } from '../store/snippet-types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './parts.ts'

/** What the browser script may send (snippet.md, POST /c): items of a person and a site, requests and bad signatures of an address. */
export const SNIPPET_LIMITS = {
  person: { max: 600, windowMs: 3_600_000 },
  site: { max: 60_000, windowMs: 3_600_000 },
  address: { max: 1_200, windowMs: 60_000 },
  badSignatures: { max: 30, windowMs: 60_000 },
} as const satisfies Record<string, Limit>

type Scope = keyof typeof SNIPPET_LIMITS
type Asked = { appId: number; email: string; items: number; address: string }

export type SnippetLimits = {
  /** A no for an address that sent too many signatures which were none. */
  checkSignatures(address: string): Refusal | null
  countBadSignature(address: string): void
  /** All of the items or none; `giveBack` for those that were stored before, or could not be stored. */
  take(asked: Asked): { refused: Refusal } | { giveBack(): void }
  /** At start: what was taken at `receivedAt`, oldest first, on the clock that says `now` (ms UTC). */
  restore(sizes: BatchSize[], now: number): void
  forgetIdle(): void
}

/**
 * Counts in the process, on the monotonic clock. What people and sites sent can be read off the stored batches, so that a
 * restart gives no tokens back and counting costs no write; addresses are stored nowhere and begin anew.
 */
export function createSnippetLimits({ clock }: { clock: MonotonicClock }): SnippetLimits {
  const senders = createLimits({ clock })
  const addresses = createLimits({ clock, mostBuckets: MOST_ADDRESSES })
  const namesOf = (appId: number, email: string) => ({ person: `${appId}:${email}`, site: `${appId}` })

  /** Takes all or nothing. */
  const takeItems = (scope: 'person' | 'site', name: string, items: number): Taken | Refusal => {
    const taken = senders.take(name, SNIPPET_LIMITS[scope], items)
    if (taken.allowed === items) return taken
    if (taken.allowed > 0) senders.giveBack(name, SNIPPET_LIMITS[scope], taken)
    return refuseLimited(scope, taken)
  }

  return {
    checkSignatures(address) {
      if (addresses.bucketCount() === 0) return null
      const left = addresses.peek(`bad:${addressBucket(address)}`, SNIPPET_LIMITS.badSignatures)
      return left.allowed > 0 ? null : refuseLimited('badSignatures', left)
    },
    countBadSignature: (address) => void addresses.take(`bad:${addressBucket(address)}`, SNIPPET_LIMITS.badSignatures),
    take({ appId, email, items, address }) {
      const requests = addresses.take(addressBucket(address), SNIPPET_LIMITS.address)
      if (requests.allowed === 0) return { refused: refuseLimited('address', requests) }
      const names = namesOf(appId, email)
      const ofPerson = takeItems('person', names.person, items)
      if ('refusal' in ofPerson) return { refused: ofPerson }
      const giveBackPerson = (): void => senders.giveBack(names.person, SNIPPET_LIMITS.person, ofPerson)
      const ofSite = takeItems('site', names.site, items)
      if ('refusal' in ofSite) {
        giveBackPerson()
        return { refused: ofSite }
      }
      const giveBack = (): void => {
        giveBackPerson()
        senders.giveBack(names.site, SNIPPET_LIMITS.site, ofSite)
      }
      return { giveBack }
    },
    restore(sizes, now) {
      const restoreBy = (scope: 'person' | 'site'): void => {
        const groups = Map.groupBy(sizes, ({ appId, email }) => namesOf(appId, email)[scope])
        for (const [name, batches] of groups) senders.restore(name, SNIPPET_LIMITS[scope], agesOf(batches, now))
      }
      restoreBy('person')
      restoreBy('site')
    },
    forgetIdle() {
      senders.forgetIdle()
      addresses.forgetIdle()
    },
  }
}

/** Fills the buckets with what the store holds of the last hour. */
export async function restoreSnippetLimits(
  limits: SnippetLimits,
  { store, clock }: { store: Store; clock: Clock },
): Promise<void> {
  const now = clock.now()
  limits.restore(await store.listBatchSizes(now - SNIPPET_LIMITS.person.windowMs), now)
}

const agesOf = (batches: BatchSize[], now: number): TakenAgo =>
  batches.map(({ receivedAt, items }) => [Math.max(0, now - receivedAt), items] as const)

const SCOPES = { person: 'person', site: 'site', address: 'ip', badSignatures: 'ip' } as const satisfies Record<
  Scope,
  string
>

const refuseLimited = (scope: Scope, { retryAfterSeconds }: Taken): Refusal =>
  refuse('rate_limited', {
    limited: { scope: SCOPES[scope], limit: SNIPPET_LIMITS[scope].max, retryAfter: retryAfterSeconds },
  })

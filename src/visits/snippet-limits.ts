import { addressBucket } from '../core/addresses.ts'
import { MOST_ADDRESSES, createLimits, type Limit, type Taken, type TakenAgo } from '../accounts/limits.ts'
import { type Refusal, refuse, retryTime, type ScriptLimitName } from '../core/refusals.ts'
import type { BatchSize } from '../store/visit-reports.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../core/clock.ts'

/** What the browser script may send: items of a person and a site, requests and bad signatures of an address. */
export const SNIPPET_LIMITS = {
  person: { max: 600, windowMs: 3_600_000 },
  site: { max: 60_000, windowMs: 3_600_000 },
  address: { max: 1_200, windowMs: 60_000 },
  badSignatures: { max: 30, windowMs: 60_000 },
} as const satisfies Record<string, Limit>

type Scope = keyof typeof SNIPPET_LIMITS
type Clocked = { clock: Pick<Clock, 'now' | 'monotonicMs'> }
/** Of an app, so that what is wrong with one site holds up no other behind the same address. */
type Guesser = { appId: number; address: string }

type AddressLimits = {
  /** Counts a request, whatever becomes of it; a no for an address that sends too many. */
  takeRequest(address: string): Refusal | null
  /** A no for an address that sent too many signatures which were none. */
  checkSignatures(guesser: Guesser): Refusal | null
  countBadSignature(guesser: Guesser): void
  forgetIdle(): void
}

type SenderLimits = {
  /** All of the items or none; `giveBack` for those that were stored before, or could not be stored. */
  take(asked: { appId: number; email: string; items: number }): { refused: Refusal } | { giveBack(): void }
  /** At start: what was taken at `receivedAt`, oldest first, on the clock that says `now` (ms UTC). */
  restore(sizes: BatchSize[], now: number): void
  forgetIdle(): void
}

export type SnippetLimits = AddressLimits & SenderLimits

/**
 * Counts in the process, on the monotonic clock. What people and sites sent can be read off the stored batches, so that a
 * restart gives no tokens back and counting costs no write; addresses are stored nowhere and begin anew.
 */
export function createSnippetLimits(clocked: Clocked): SnippetLimits {
  const [addresses, senders] = [limitAddresses(clocked), limitSenders(clocked)]
  const forgetIdle = (): void => {
    addresses.forgetIdle()
    senders.forgetIdle()
  }
  return { ...addresses, ...senders, forgetIdle }
}

function limitAddresses({ clock }: Clocked): AddressLimits {
  const requests = createLimits({ clock, mostBuckets: MOST_ADDRESSES })
  const guesses = createLimits({ clock, mostBuckets: MOST_ADDRESSES })
  const nameOf = ({ appId, address }: Guesser): string => `${appId}:${addressBucket(address)}`
  return {
    takeRequest(address) {
      const taken = requests.take(addressBucket(address), SNIPPET_LIMITS.address)
      return taken.allowed > 0 ? null : refuseLimited('address', taken, clock.now())
    },
    checkSignatures(guesser) {
      if (guesses.bucketCount() === 0) return null
      const left = guesses.peek(nameOf(guesser), SNIPPET_LIMITS.badSignatures)
      return left.allowed > 0 ? null : refuseLimited('badSignatures', left, clock.now())
    },
    countBadSignature: (guesser) => void guesses.take(nameOf(guesser), SNIPPET_LIMITS.badSignatures),
    forgetIdle() {
      requests.forgetIdle()
      guesses.forgetIdle()
    },
  }
}

function limitSenders({ clock }: Clocked): SenderLimits {
  const senders = createLimits({ clock })
  const namesOf = (appId: number, email: string) => ({ person: `${appId}:${email}`, site: `${appId}` })

  /** Takes all or nothing. */
  const takeItems = (scope: 'person' | 'site', name: string, items: number) => {
    const limit = SNIPPET_LIMITS[scope]
    const taken = senders.take(name, limit, items)
    const giveBack = (): void => senders.giveBack(name, taken)
    if (taken.allowed === items) return { giveBack }
    if (taken.allowed > 0) giveBack()
    return { refused: refuseLimited(scope, taken, clock.now()) }
  }

  return {
    take({ appId, email, items }) {
      const names = namesOf(appId, email)
      const ofPerson = takeItems('person', names.person, items)
      if ('refused' in ofPerson) return ofPerson
      const ofSite = takeItems('site', names.site, items)
      if ('refused' in ofSite) {
        ofPerson.giveBack()
        return ofSite
      }
      const giveBack = (): void => {
        ofPerson.giveBack()
        ofSite.giveBack()
      }
      return { giveBack }
    },
    restore(sizes, now) {
      for (const scope of ['person', 'site'] as const) {
        const groups = Map.groupBy(sizes, ({ appId, email }) => namesOf(appId, email)[scope])
        for (const [name, batches] of groups) senders.restore(name, SNIPPET_LIMITS[scope], agesOf(batches, now))
      }
    },
    forgetIdle: senders.forgetIdle,
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

type Words = { scope: 'person' | 'site' | 'ip'; limitName: ScriptLimitName; who: string; what: string }
const WORDS = {
  person: {
    scope: 'person',
    limitName: 'person_items_per_hour',
    who: 'this person',
    what: 'page views and actions per hour',
  },
  site: { scope: 'site', limitName: 'site_items_per_hour', who: 'this site', what: 'page views and actions per hour' },
  address: { scope: 'ip', limitName: 'reports_per_minute', who: 'this address', what: 'reports per minute' },
  badSignatures: {
    scope: 'ip',
    limitName: 'wrong_signatures_per_minute',
    who: 'this address',
    what: 'wrong signatures per minute',
  },
} as const satisfies Record<Scope, Words>

/** It is read in the console of a browser, whose script tries again by itself. */
function refuseLimited(name: Scope, { retryAfterSeconds: retryAfter }: Taken, at: number): Refusal {
  const { scope, limitName, who, what } = WORDS[name]
  const limit = SNIPPET_LIMITS[name].max
  const wait = retryAfter === 1 ? 'a second' : `${retryAfter.toLocaleString('en')} seconds`
  const message = `More than ${limit.toLocaleString('en')} ${what} came from ${who}. The page tries again in ${wait}, a few times.`
  return refuse('rate_limited', {
    message,
    limited: { scope, limitName, limit, retryAfter, retryAt: retryTime(at, retryAfter) },
  })
}

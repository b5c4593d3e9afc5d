import { formatCount, formatLimit } from '../core/count.ts'
import { addressBucket } from '../core/addresses.ts'
import { MOST_ADDRESSES, createLimits, type Limit, type Taken, type TakenAgo } from '../accounts/limits.ts'
import { type Refusal, refuse, retryTime, type ScriptLimitName } from '../core/refusals.ts'
import type { BatchSize } from '../store/visit-reports.ts'
import type { Store } from '../store/store.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '../core/clock.ts'

export const SNIPPET_LIMITS = {
  person: { max: 600, windowMs: HOUR_MS },
  site: { max: 60_000, windowMs: HOUR_MS },
  address: { max: 1_200, windowMs: MINUTE_MS },
  badSignatures: { max: 30, windowMs: MINUTE_MS },
} as const satisfies Record<string, Limit>

type Scope = keyof typeof SNIPPET_LIMITS
type Clocked = { clock: Pick<Clock, 'now' | 'monotonicMs'> }
/** Per app, so that one broken site doesn't block others behind an address. */
type SignatureSender = { appId: number; address: string }

type AddressLimits = {
  takeRequest(address: string): Refusal | null
  checkSignatures(guesser: SignatureSender): Refusal | null
  countBadSignature(guesser: SignatureSender): void
  forgetIdle(): void
}

type SenderLimits = {
  /** All or none. `giveBack`: already stored, or failed. */
  take(asked: { appId: number; email: string; items: number }): { refused: Refusal } | { giveBack(): void }
  restore(sizes: BatchSize[], now: number): void
  forgetIdle(): void
}

export type SnippetLimits = AddressLimits & SenderLimits

/**
 * On the monotonic clock. Counts of people and sites are restored from stored batches; addresses are stored nowhere.
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
  const nameOf = ({ appId, address }: SignatureSender): string => `${appId}:${addressBucket(address)}`
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

/** For a browser console; the script retries by itself. */
function refuseLimited(name: Scope, { retryAfterSeconds: retryAfter }: Taken, at: number): Refusal {
  const { scope, limitName, who, what } = WORDS[name]
  const limit = SNIPPET_LIMITS[name].max
  const wait = retryAfter === 1 ? 'a second' : `${formatCount(retryAfter)} seconds`
  const message = `More than ${formatLimit(limit)} ${what} came from ${who}. The page retries in ${wait}.`
  return refuse('rate_limited', {
    message,
    limited: { scope, limitName, limit, retryAfter, retryAt: retryTime(at, retryAfter) },
  })
}

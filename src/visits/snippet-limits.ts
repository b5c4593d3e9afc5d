import { formatCount, formatLimit } from '../core/count.ts'
import { addressBucket } from '../core/addresses.ts'
import {
  countedLimit,
  createLimits,
  type Limit,
  type Limits,
  MOST_ADDRESSES,
  type Taken,
  type TakenAgo,
} from '../accounts/limits.ts'
import { type Refusal, refuse, retryTime, type ScriptLimitName } from '../core/refusals.ts'
import type { CountedLimit } from '../store/types.ts'
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

type TakenItems = { refused: Refusal } | { giveBack(): void }
type AskedItems = { appId: number; email: string; items: number }

type SenderLimits = {
  /** All or none. `giveBack`: already stored, or failed. `counted`: with the report, by the store. */
  take(asked: AskedItems): { refused: Refusal } | { giveBack(): void; counted: CountedLimit[] }
  /** Of the limit that other instances used up before the commit. */
  refuseFull(asked: AskedItems, bucket: string): Refusal
  restore(sizes: BatchSize[], now: number): void
  forgetIdle(): void
}

export type SnippetLimits = AddressLimits & SenderLimits

/**
 * On the monotonic clock. Counts of people and sites are restored from stored batches; addresses are stored nowhere.
 */
export function createSnippetLimits({ shared, ...clocked }: Clocked & { shared?: SharedLimits }): SnippetLimits {
  const [addresses, senders] = [limitAddresses(clocked), limitSenders(clocked, shared)]
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

/** `addressKey`: the database gets a keyed hash of a person's address. */
type SharedLimits = { limits: Limits; addressKey: string }

const sharedNames = ({ addressKey }: SharedLimits, appId: number, email: string) => ({
  person: `person:${new Bun.CryptoHasher('sha256', addressKey).update(`${appId}:${email}`).digest('base64url')}`,
  site: `site:${appId}`,
})

function limitSenders({ clock }: Clocked, shared?: SharedLimits): SenderLimits {
  const senders = shared?.limits ?? createLimits({ clock })
  const namesOf = (appId: number, email: string) =>
    shared ? sharedNames(shared, appId, email) : { person: `${appId}:${email}`, site: `${appId}` }
  const countedBy = (names: ReturnType<typeof namesOf>): CountedLimit[] =>
    (['person', 'site'] as const).map((scope) => countedLimit({ bucket: names[scope], limit: SNIPPET_LIMITS[scope] }))

  const takeItems = (scope: 'person' | 'site', name: string, items: number): TakenItems => {
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
      return { giveBack, counted: shared ? countedBy(names) : [] }
    },
    refuseFull({ appId, email, items }, bucket) {
      const scope = bucket === namesOf(appId, email).person ? 'person' : 'site'
      const taken = senders.take(bucket, SNIPPET_LIMITS[scope], items)
      return refuseLimited(scope, { ...taken, retryAfterSeconds: Math.max(1, taken.retryAfterSeconds) }, clock.now())
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
  // several instances count in the database
  if (store.onLimitUse !== null) return
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

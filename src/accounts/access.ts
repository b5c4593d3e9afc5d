import { createSharedTurns } from '../core/in-order.ts'
import type { EventSender } from '../store/event-texts.ts'
import type { Store } from '../store/store.ts'
import type { Site, AppRow, KeyRow, Access as StoredAccess } from '../store/types.ts'
import { ownHosts } from './app-hosts.ts'
import { findApp } from './apps.ts'
import { hashApiKey, hasApiKeyShape } from './api-keys.ts'
import { PREVIOUS_SECRET_VALID_MS } from './identity.ts'
import { countedLimit } from './limits.ts'
import { type Clock, expiryNow } from '../core/clock.ts'
import { type KeyLimits, limitsOf } from './plans.ts'

export type { AppRow, EventSender, Site }

/** An account's key with its limits, and what it takes to read its events. */
export type Access = StoredAccess & { keyLimits: KeyLimits; sender: EventSender }

const KNOWN_KEYS = 10_000
const UNKNOWN_SITES = 1_000
const SITE_PREFIX = 'site_'
const MAX_SITE_ID_CHARACTERS = 64
const HOST_LABELS = 8

type Use = { lastUsedAt: number; seenInBrowserAt: number | null }

/**
 * Authenticates keys and site IDs from a cache. The cache is cleared here only, after each change of keys, secrets,
 * apps, settings or plans, when another process has written, and while the database doesn't say whether one has.
 */
export type KeyAccess = ReturnType<typeof createAccess>

export function createAccess({ store, clock }: { store: Store; clock: Clock }) {
  const keys = createCache(readAccess, KNOWN_KEYS)
  const sites = createCache(readSite, KNOWN_KEYS, UNKNOWN_SITES)
  const hosts = createCache(findAppsByHost(store), KNOWN_KEYS)
  const unlimited = new Set<string>()
  /** Of keys. A copy that was narrowed to some apps has none. */
  const hashes = new WeakMap<Access, string>()
  let uses = new Map<string, Use>()

  async function readAccess(keyHash: string): Promise<Access | null> {
    const access = await store.findAccess(keyHash)
    if (!access) return null
    const keyLimits = limitsOf(access)
    const read = { ...access, keyLimits, sender: senderOf(access, keyLimits) }
    hashes.set(read, keyHash)
    return read
  }

  async function readSite(siteId: string): Promise<Site | null> {
    const site = await store.findSite(siteId, expiryNow(clock) - PREVIOUS_SECRET_VALID_MS)
    if (site?.plan.snippetLimits === false) unlimited.add(siteId)
    else unlimited.delete(siteId)
    return site
  }

  const forget = (): void => {
    for (const cache of [keys, sites, hosts]) cache.forget()
  }
  const getKnown = <T>(cache: Cache<T>, key: string): T | null | undefined => {
    if (!store.isCurrent()) cache.drop()
    return cache.get(key)
  }

  return {
    /** A promise only when the store must be asked. */
    find(key: string | null): Access | null | Promise<Access | null> {
      if (key === null) return null
      const keyHash = hashApiKey(key)
      return getKnown(keys, keyHash) ?? (hasApiKeyShape(key) ? keys.load(keyHash) : null)
    },
    /**
     * With apps that another process has just created; null: there are none. Reads once for a request, which is refused
     * otherwise, and refused requests are limited (http/abuse-limits.ts).
     */
    async findWithNewApps(access: Access): Promise<Access | null> {
      const keyHash = hashes.get(access)
      if (keyHash === undefined) return null
      const known = keys.get(keyHash)
      const found = known && known !== access ? known : await keys.reload(keyHash)
      return found?.apps.some(({ publicId }) => findApp(access, publicId) === null) ? found : null
    },
    /** A key that no longer works. Not cached: it is looked up for a refusal only. */
    findRevoked: (key: string): null | Promise<KeyRow | null> =>
      hasApiKeyShape(key) ? store.findRevokedKey(hashApiKey(key)) : null,
    /** Like `find`, for site IDs. Unknown ones are cached too. */
    findSite(siteId: string): Site | null | Promise<Site | null> {
      const cached = getKnown(sites, siteId)
      if (cached !== undefined) return cached
      return siteId.startsWith(SITE_PREFIX) && siteId.length <= MAX_SITE_ID_CHARACTERS ? sites.load(siteId) : null
    },
    cachedSite: (siteId: string): Site | null => getKnown(sites, siteId) ?? null,
    isUnlimited: (siteId: string): boolean => unlimited.has(siteId),
    /** A parent domain of the host counts too. */
    async findAppsByHost(host: string): Promise<number[]> {
      return getKnown(hosts, host) ?? (await hosts.load(host)) ?? []
    },
    forget,
    /** A key that browsers send may be exposed; the API keys page shows this. */
    noteUse({ key }: Access, fromBrowser: boolean): void {
      const now = clock.now()
      const use = uses.get(key.id)
      if (!use) uses.set(key.id, { lastUsedAt: now, seenInBrowserAt: fromBrowser ? now : null })
      else {
        use.lastUsedAt = now
        if (fromBrowser) use.seenInBrowserAt = now
      }
    },
    withUse(key: KeyRow): KeyRow {
      const use = uses.get(key.id)
      return use ? { ...key, ...use, seenInBrowserAt: use.seenInBrowserAt ?? key.seenInBrowserAt } : key
    },
    saveUses: createSharedTurns(async () => {
      if (uses.size === 0) return
      const saved = uses
      uses = new Map()
      const outcome = await store.noteKeyUse(Array.from(saved, ([keyId, use]) => ({ keyId, ...use })))
      if (!('refusal' in outcome)) return
      for (const [keyId, use] of saved) {
        const since = uses.get(keyId)
        uses.set(keyId, { ...use, ...since, seenInBrowserAt: since?.seenInBrowserAt ?? use.seenInBrowserAt })
      }
    }),
  }
}

/** What it takes to read the events of a key (events/event-input.ts). */
const senderOf = ({ apps, plan }: StoredAccess, { events }: KeyLimits): EventSender => ({
  apps: apps.map(({ id, accountId, publicId, hosts }) => ({ id, accountId, publicId, hosts: ownHosts(hosts) })),
  newPeoplePerMonth: plan.newPeoplePerMonth,
  limits: [countedLimit(events)],
})

const findAppsByHost = (store: Store) => (host: string) => {
  const labels = host.split('.').slice(-HOST_LABELS)
  return store.findAppsByHost(labels.map((_, index) => labels.slice(index).join('.')))
}

type Cache<T> = {
  get(key: string): T | null | undefined
  /** What is known may be too old. Reads that are under way are not. */
  drop(): void
  load(key: string): Promise<T | null>
  /** Reads what may be known. */
  reload(key: string): Promise<T | null>
  forget(): void
}

/**
 * Holds at most `most` entries, oldest out first. Missing keys are cached apart (`mostMissing`), so that invented names
 * never evict real ones. Requests that come at the same time share one read.
 */
function createCache<T>(read: (key: string) => Promise<T | null>, most: number, mostMissing = 0): Cache<T> {
  const known = new Map<string, T>()
  const missing = new Map<string, null>()
  const reading = new Map<string, Promise<T | null>>()
  let generation = 0
  const readOne = async (key: string): Promise<T | null> => {
    const before = generation
    const found = await read(key)
    // a change during the read must not be hidden by the older value
    if (before !== generation) return found
    if (found === null) cacheEntry(missing, key, null, mostMissing)
    else cacheEntry(known, key, found, most)
    return found
  }
  const drop = (): void => {
    known.clear()
    missing.clear()
  }
  const load = (key: string): Promise<T | null> => {
    const underWay = reading.get(key)
    if (underWay) return underWay
    const found = readOne(key)
    reading.set(key, found)
    const end = (): void => {
      if (reading.get(key) === found) reading.delete(key)
    }
    found.then(end, end)
    return found
  }
  return {
    get: (key) => known.get(key) ?? missing.get(key),
    drop,
    load,
    reload(key) {
      known.delete(key)
      return load(key)
    },
    forget() {
      generation += 1
      reading.clear()
      drop()
    },
  }
}

function cacheEntry<V>(cache: Map<string, V>, key: string, value: V, most: number): void {
  if (most === 0) return
  if (cache.size >= most) cache.delete(cache.keys().next().value ?? '')
  cache.set(key, value)
}

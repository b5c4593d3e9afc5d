import type { EventSender } from '../store/event-texts.ts'
import type { Store } from '../store/store.ts'
import type { Site, AppRow, KeyRow, Access as StoredAccess } from '../store/types.ts'
import { ownHosts } from './app-hosts.ts'
import { hashApiKey, hasApiKeyShape } from './api-keys.ts'
import { PREVIOUS_SECRET_VALID_MS } from './identity.ts'
import { type Clock, expiryNow } from '../core/clock.ts'
import { type KeyLimits, limitsOf } from './plans.ts'

export type { AppRow, EventSender, Site }

/**
 * A key with what its account may do, and, worked out once for all of its calls, what they count towards and what it takes
 * to read its events (null: they are read where they come in).
 */
export type Access = StoredAccess & { keyLimits: KeyLimits; sender: EventSender | null }

/** Keys held in memory, and as many site IDs and hosts. */
const KNOWN_KEYS = 10_000
/** Site IDs that were asked for in vain and are held in memory. */
const UNKNOWN_SITES = 1_000
const SITE_PREFIX = 'site_'
/** What is longer is none, and is not held either. */
const MAX_SITE_ID_CHARACTERS = 64
/** A host of more labels is not looked for by all of them. */
const HOST_LABELS = 8

/** They cross with every batch, even of one event; of an account that has more, events are read where they come in. */
export const MAX_SENDER_APPS = 10

type Use = { lastUsedAt: number; seenInBrowserAt: number | null }

/**
 * Who a key or a site ID lets in. What the store answers is kept until something changes: this is the one place that
 * forgets it, called after each change of keys, secrets, apps, settings or plans here, and when another process has written.
 */
export type KeyAccess = ReturnType<typeof createAccess>

export function createAccess({ store, clock }: { store: Store; clock: Clock }) {
  const keys = createKept(readAccess, KNOWN_KEYS)
  const sites = createKept(readSite, KNOWN_KEYS, UNKNOWN_SITES)
  const hosts = createKept(findAppsByHost(store), KNOWN_KEYS)
  const unlimited = new Set<string>()
  let uses = new Map<string, Use>()

  async function readAccess(keyHash: string): Promise<Access | null> {
    const access = await store.findAccess(keyHash)
    if (!access) return null
    const keyLimits = limitsOf(access)
    return { ...access, keyLimits, sender: senderOf(access, keyLimits) }
  }

  async function readSite(siteId: string): Promise<Site | null> {
    const site = await store.findSite(siteId, expiryNow(clock) - PREVIOUS_SECRET_VALID_MS)
    if (site?.plan.snippetLimits === false) unlimited.add(siteId)
    else unlimited.delete(siteId)
    return site
  }

  return {
    /**
     * null for a missing, malformed, wrong or revoked key; one that cannot be a key does not reach the store. A promise
     * only where the store must be asked.
     */
    find(key: string | null): Access | null | Promise<Access | null> {
      if (key === null) return null
      const keyHash = hashApiKey(key)
      return keys.get(keyHash) ?? (hasApiKeyShape(key) ? keys.load(keyHash) : null)
    },
    /** What a site ID of the browser script stands for, found like a key; the last unknown ones are kept too. */
    findSite(siteId: string): Site | null | Promise<Site | null> {
      const kept = sites.get(siteId)
      if (kept !== undefined) return kept
      return siteId.startsWith(SITE_PREFIX) && siteId.length <= MAX_SITE_ID_CHARACTERS ? sites.load(siteId) : null
    },
    /** The same, where the store must not be asked. */
    keptSite: (siteId: string): Site | null => sites.get(siteId) ?? null,
    /** Whether the site's plan had no limits of the browser script when it was read last; the store is not asked. */
    isUnlimited: (siteId: string): boolean => unlimited.has(siteId),
    /** The numbers of the apps that call a host, or one above it, their own. */
    async findAppsByHost(host: string): Promise<number[]> {
      return hosts.get(host) ?? (await hosts.load(host)) ?? []
    },
    forget(): void {
      for (const kept of [keys, sites, hosts]) kept.forget()
    },
    /** A key with a browser's headers may be exposed; the API keys page says so. */
    noteUse({ key }: Access, fromBrowser: boolean): void {
      const now = clock.now()
      const use = uses.get(key.id)
      if (!use) uses.set(key.id, { lastUsedAt: now, seenInBrowserAt: fromBrowser ? now : null })
      else {
        use.lastUsedAt = now
        if (fromBrowser) use.seenInBrowserAt = now
      }
    },
    /** A key as it was read, with its use that is not written yet. */
    withUse(key: KeyRow): KeyRow {
      const use = uses.get(key.id)
      return use ? { ...key, ...use, seenInBrowserAt: use.seenInBrowserAt ?? key.seenInBrowserAt } : key
    },
    /** Writes `lastUsedAt` of the keys used since the last time; called every 30 seconds. */
    async saveUses(): Promise<void> {
      if (uses.size === 0) return
      const saved = uses
      uses = new Map()
      await store.noteKeyUse(Array.from(saved, ([keyId, use]) => ({ keyId, ...use })))
    },
  }
}

/** What it takes to read the events of a key (events/event-texts.ts). */
function senderOf({ apps, plan }: StoredAccess, { events }: KeyLimits): EventSender | null {
  if (apps.length > MAX_SENDER_APPS) return null
  return {
    apps: apps.map(({ id, accountId, publicId, hosts }) => ({ id, accountId, publicId, hosts: ownHosts(hosts) })),
    newPeoplePerMonth: plan.newPeoplePerMonth,
    buckets: [events.bucket],
  }
}

/** Asks for a host and all above it: `a.b.example` is part of `b.example`. */
const findAppsByHost = (store: Store) => (host: string) => {
  const labels = host.split('.').slice(-HOST_LABELS)
  return store.findAppsByHost(labels.map((_, index) => labels.slice(index).join('.')))
}

type Kept<T> = {
  /** What is kept, without asking; null is known not to exist. */
  get(key: string): T | null | undefined
  /** Asks the store and keeps what there is. */
  load(key: string): Promise<T | null>
  forget(): void
}

/**
 * Keeps at most `most`; beyond it the one that was looked up first is read again. What does not exist is kept apart, up to
 * `mostMissing`, so that names which somebody makes up drive out no real one.
 */
function createKept<T>(read: (key: string) => Promise<T | null>, most: number, mostMissing = 0): Kept<T> {
  const known = new Map<string, T>()
  const missing = new Map<string, null>()
  let generation = 0
  return {
    get: (key) => known.get(key) ?? missing.get(key),
    async load(key) {
      const before = generation
      const found = await read(key)
      // a change that came while the store was read must not be hidden by what it read
      if (before !== generation) return found
      if (found === null) keep(missing, key, null, mostMissing)
      else keep(known, key, found, most)
      return found
    },
    forget() {
      generation += 1
      known.clear()
      missing.clear()
    },
  }
}

function keep<V>(kept: Map<string, V>, key: string, value: V, most: number): void {
  if (most === 0) return
  if (kept.size >= most) kept.delete(kept.keys().next().value ?? '')
  kept.set(key, value)
}

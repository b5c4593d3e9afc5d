import type { Store } from '../store/store.ts'
import type { Access, AppRow } from '../store/types.ts'
import { hashApiKey, hasApiKeyShape } from './api-keys.ts'
import type { Clock } from './parts.ts'

export type { Access, AppRow }

/** Keys held in memory; beyond it the one that was looked up first is read again. */
const KNOWN_KEYS = 10_000

type Use = { lastUsedAt: number; seenInBrowserAt: number | null }

/**
 * Who a key lets in (spec 5). What the store answers is kept until something changes: this is the one place that
 * forgets it, called after each change of keys, apps or plans here, and when another process has written.
 */
export type KeyAccess = ReturnType<typeof createAccess>

export function createAccess({ store, clock }: { store: Store; clock: Clock }) {
  const known = new Map<string, Access>()
  let generation = 0
  let uses = new Map<string, Use>()

  const look = async (keyHash: string): Promise<Access | null> => {
    const before = generation
    const access = await store.findAccess(keyHash)
    // a change that came while the store was read must not be hidden by what it read
    if (!access || before !== generation) return access
    if (known.size >= KNOWN_KEYS) known.delete(known.keys().next().value ?? '')
    known.set(keyHash, access)
    return access
  }

  return {
    /**
     * null for a missing, malformed, wrong or revoked key; one that cannot be a key does not reach the store. A promise
     * only where the store must be asked.
     */
    find(key: string | null): Access | null | Promise<Access | null> {
      if (key === null) return null
      const keyHash = hashApiKey(key)
      return known.get(keyHash) ?? (hasApiKeyShape(key) ? look(keyHash) : null)
    },
    forget(): void {
      generation += 1
      known.clear()
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
    /** A use that is not written yet. */
    unsavedUse: (keyId: string): Use | null => uses.get(keyId) ?? null,
    /** Writes `lastUsedAt` of the keys used since the last time; called every 30 seconds (api.md, Keys). */
    async saveUses(): Promise<void> {
      if (uses.size === 0) return
      const saved = uses
      uses = new Map()
      await store.noteKeyUse(Array.from(saved, ([keyId, use]) => ({ keyId, ...use })))
    },
  }
}

/** The app with this public ID, if the key's account owns it; one of another account does not exist. */
export const findApp = (access: Access, publicId: string): AppRow | null =>
  access.apps.find((app) => app.publicId === publicId) ?? null

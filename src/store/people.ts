import type { Database } from 'bun:sqlite'
import { createPersonCache } from './person-cache.ts'

/** What the hot path must know of a person without reading the row. */
type Person = { id: number; lacksName: boolean }

/** Finds people. `forget` drops what was cached: another process has written. */
export type People = ReturnType<typeof createPeople>

export function createPeople(db: Database) {
  const select = db.prepare<{ id: number; lacksName: number }, [number, string]>(
    `SELECT id, first_name IS NULL OR last_name IS NULL AS lacksName FROM contacts WHERE app_id = ? AND email = ?`,
  )
  // one number says both: the id, negative where a name is missing
  const known = createPersonCache()
  type Found = { appId: number; email: string; value: number }
  /** of the transaction that is open */
  const found = new Map<string, Found>()
  const foundKey = (appId: number, email: string): string => `${appId}:${email}`
  const remember = (appId: number, email: string, { id, lacksName }: Person): void =>
    void found.set(foundKey(appId, email), { appId, email, value: lacksName ? -id : id })
  const recall = (appId: number, email: string): number | undefined =>
    (found.size > 0 ? found.get(foundKey(appId, email))?.value : undefined) ?? known.get(appId, email)

  return {
    find(appId: number, email: string): Person | null {
      const cached = recall(appId, email)
      if (cached !== undefined) return { id: Math.abs(cached), lacksName: cached < 0 }
      const row = select.get(appId, email)
      if (!row) return null
      const person = { id: row.id, lacksName: row.lacksName === 1 }
      remember(appId, email, person)
      return person
    },
    /** In this transaction, and from its commit on. */
    remember,
    drop(appId: number, email: string): void {
      known.delete(appId, email)
      found.delete(foundKey(appId, email))
    },
    /** After the commit. */
    settle(): void {
      if (found.size === 0) return
      for (const { appId, email, value } of found.values()) known.set(appId, email, value)
      found.clear()
    },
    /** After a rollback. */
    undo: (): void => found.clear(),
    forget(): void {
      known.clear()
      found.clear()
    },
  }
}

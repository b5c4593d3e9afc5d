import type { Database } from 'bun:sqlite'
import { createPersonCache } from './caches/person-cache.ts'

/** What the hot path needs without reading the whole row. */
type Person = { id: number; lacksName: boolean }

/** Finds people in the database each time. */
export function createPersonReads(db: Database) {
  const select = db.prepare<{ id: number; lacksName: number }, [number, string]>(
    `SELECT id, first_name IS NULL OR last_name IS NULL AS lacksName FROM contacts WHERE app_id = ? AND email = ?`,
  )
  return {
    find(appId: number, email: string): Person | null {
      const row = select.get(appId, email)
      return row && { id: row.id, lacksName: row.lacksName === 1 }
    },
  }
}

/** Cached lookup of people. Call `forget` after another process has written. */
export type People = ReturnType<typeof createPeople>

export function createPeople(db: Database) {
  const reads = createPersonReads(db)
  // one number holds both: the id, negative if a name is missing
  const cache = createPersonCache()
  type Changed = { appId: number; email: string; value: number }
  const changed = new Map<string, Changed>()
  const keyOf = (appId: number, email: string): string => `${appId}:${email}`
  const valueOf = ({ id, lacksName }: Person): number => (lacksName ? -id : id)
  const remember = (appId: number, email: string, person: Person): void =>
    void changed.set(keyOf(appId, email), { appId, email, value: valueOf(person) })
  const lookUp = (appId: number, email: string): number | undefined =>
    (changed.size > 0 ? changed.get(keyOf(appId, email))?.value : undefined) ?? cache.get(appId, email)

  return {
    find(appId: number, email: string): Person | null {
      const cached = lookUp(appId, email)
      if (cached !== undefined) return { id: Math.abs(cached), lacksName: cached < 0 }
      const person = reads.find(appId, email)
      if (!person) return null
      // safe to cache before the commit: people that this transaction created are in `changed`
      cache.set(appId, email, valueOf(person))
      return person
    },
    remember,
    drop(appId: number, email: string): void {
      cache.delete(appId, email)
      changed.delete(keyOf(appId, email))
    },
    settle(): void {
      if (changed.size === 0) return
      for (const { appId, email, value } of changed.values()) cache.set(appId, email, value)
      changed.clear()
    },
    undo: (): void => changed.clear(),
    forget(): void {
      cache.clear()
      changed.clear()
    },
  }
}

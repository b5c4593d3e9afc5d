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
  type Changed = { appId: number; email: string; value: number }
  /** by the transaction that is open */
  const changed = new Map<string, Changed>()
  const keyOf = (appId: number, email: string): string => `${appId}:${email}`
  const valueOf = ({ id, lacksName }: Person): number => (lacksName ? -id : id)
  const remember = (appId: number, email: string, person: Person): void =>
    void changed.set(keyOf(appId, email), { appId, email, value: valueOf(person) })
  const recall = (appId: number, email: string): number | undefined =>
    (changed.size > 0 ? changed.get(keyOf(appId, email))?.value : undefined) ?? known.get(appId, email)

  return {
    find(appId: number, email: string): Person | null {
      const cached = recall(appId, email)
      if (cached !== undefined) return { id: Math.abs(cached), lacksName: cached < 0 }
      const row = select.get(appId, email)
      if (!row) return null
      // nothing that this transaction has not remembered is of its making
      const person = { id: row.id, lacksName: row.lacksName === 1 }
      known.set(appId, email, valueOf(person))
      return person
    },
    /** In this transaction, and from its commit on. */
    remember,
    drop(appId: number, email: string): void {
      known.delete(appId, email)
      changed.delete(keyOf(appId, email))
    },
    /** After the commit. */
    settle(): void {
      if (changed.size === 0) return
      for (const { appId, email, value } of changed.values()) known.set(appId, email, value)
      changed.clear()
    },
    /** After a rollback. */
    undo: (): void => changed.clear(),
    forget(): void {
      known.clear()
      changed.clear()
    },
  }
}

import type { Database } from 'bun:sqlite'
import type { Maybe, Sql } from './engine/sql.ts'
import { createPersonCache } from './caches/person-cache.ts'

/**
 * What the hot path needs without reading the whole row. `unsureUntil`: as in live-messages.ts, from an engine whose other
 * instances defer emails; null: none waits.
 */
export type Person = { id: number; lacksName: boolean; unsureUntil?: number | null }

export type PersonKey = { appId: number; email: string }

/** `load` must be called with whom `find` is asked for. */
export type People = {
  load(keys: readonly PersonKey[]): Maybe<void>
  find(appId: number, email: string): Person | null
  /** Whether an address of the app may be suppressed; absent: not known without looking for each. */
  hasSuppressions?: (appId: number) => boolean
  remember(appId: number, email: string, person: Person): void
  drop(appId: number, email: string): void
  settle(): void
  undo(): void
  forget(): void
}

const SELECT_PERSON = `SELECT id, first_name IS NULL OR last_name IS NULL AS "lacksName" FROM contacts
  WHERE app_id = ? AND email = ?`

/** People as they are stored, without a cache. */
export function createPersonReads(db: Sql): Pick<People, 'load' | 'find'> {
  const select = db.prepare<{ id: number; lacksName: number }, [number, string]>(SELECT_PERSON)
  const found = new Map<string, Person | null>()
  return {
    async load(keys) {
      found.clear()
      for (const { appId, email } of keys) {
        const row = await select.get(appId, email)
        found.set(`${appId}:${email}`, row && { id: row.id, lacksName: row.lacksName === 1 })
      }
    },
    find: (appId, email) => found.get(`${appId}:${email}`) ?? null,
  }
}

/** Cached lookup of people. Call `forget` after another process has written. */
export function createPeople(db: Database): People {
  const select = db.prepare<{ id: number; lacksName: number }, [number, string]>(SELECT_PERSON)
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
    load: () => {},
    find(appId: number, email: string): Person | null {
      const cached = lookUp(appId, email)
      if (cached !== undefined) return { id: Math.abs(cached), lacksName: cached < 0 }
      const row = select.get(appId, email)
      if (!row) return null
      const person = { id: row.id, lacksName: row.lacksName === 1 }
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

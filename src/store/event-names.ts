import type { Database } from 'bun:sqlite'

/** Names are chosen by customers' code, so they are few; the bound is for one that puts an id into each name. */
const CACHED_NAMES = 10_000

/** Small numbers for event names, made on first use. */
export type EventNames = ReturnType<typeof createEventNames>

export function createEventNames(db: Database) {
  const select = db.prepare<{ id: number }, [number, string]>(
    'SELECT id FROM event_names WHERE app_id = ? AND name = ?',
  )
  const largest = db.prepare<{ id: number }, []>('SELECT ifnull(max(id), 0) AS id FROM event_names')
  const insert = db.prepare('INSERT INTO event_names (id, app_id, name) VALUES (?, ?, ?)')
  const known = new Map<string, number>()

  const add = (appId: number, name: string): number => {
    const id = (largest.get()?.id ?? 0) + 1
    insert.run(id, appId, name)
    return id
  }
  return {
    idOf(appId: number, name: string): number {
      const key = `${appId}:${name}`
      const cached = known.get(key)
      if (cached !== undefined) return cached
      const id = select.get(appId, name)?.id ?? add(appId, name)
      if (known.size >= CACHED_NAMES) known.clear()
      known.set(key, id)
      return id
    },
    forget: (): void => known.clear(),
  }
}

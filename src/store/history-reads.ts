import type { Database } from 'bun:sqlite'
import { idSince } from '../core/ids.ts'
import { selectIds, selectSomeIds } from './timeline/timeline-reads.ts'
import { EVENT_TYPES } from './types.ts'

/** More views than this within a message's wait are a machine's. */
const VIEWS_MAX = 10_000

export type ViewRow = { path: string; occurredAt: number }

/** What a person has done, as rules ask it: by when it happened, not by when it came. */
export function createHistoryReads(db: Database) {
  const [event, page, action] = EVENT_TYPES.map((_, code) => code)
  const happened = 'ifnull(occurred_at, received_at)'
  const views = db.prepare<ViewRow, [number, number, number]>(
    `SELECT path, ${happened} AS occurredAt FROM events
     WHERE id IN (${selectSomeIds('events', { contact: '?1', types: `= ${page}`, from: '?2', order: 'ASC', limit: `${VIEWS_MAX}` })})
       AND ${happened} >= ?3 AND path IS NOT NULL`,
  )
  const done = db.prepare<{ at: number | null }, [number, string, number, number, number, number]>(
    `SELECT max(${happened}) AS at FROM events
     WHERE id IN (${selectIds('events', { contact: '?3', types: `IN (${event}, ${action})`, from: '?4' })})
       AND name_id = (SELECT id FROM event_names WHERE app_id = ?1 AND name = ?2)
       AND ${happened} >= ?5 AND id <> ?6`,
  )
  const firstView = db.prepare<{ at: number | null }, [number]>(
    `SELECT min(${happened}) AS at FROM events
     WHERE id IN (${selectSomeIds('events', { contact: '?1', types: `= ${page}`, order: 'ASC', limit: '16' })})`,
  )

  return {
    /** Page views at `since` (ms UTC) or later. */
    listViews: (contactId: number, since: number): ViewRow[] => views.all(contactId, idSince(since), since),

    /** When a person first opened a page (ms UTC); null = the browser script never saw them. */
    firstViewAt: (contactId: number): number | null => firstView.get(contactId)?.at ?? null,

    /** When an event or action last happened, at `since` (ms UTC) or later; `exceptId` is not counted. */
    lastDoneAt(query: { appId: number; contactId: number; name: string; since: number; exceptId: number | null }) {
      const { appId, name, contactId, since, exceptId } = query
      return done.get(appId, name, contactId, idSince(since), since, exceptId ?? 0)?.at ?? null
    },
  }
}

import type { Database } from 'bun:sqlite'
import { createReportFilters, type IdRange, keyOf } from './report-filters.ts'
import { indexedUntil } from './timeline-reads.ts'

/** Reports from before the start that are read per call: 2 ms. */
const ROWS_PER_READ = 2_000
const FORGET_STEP = 4_096

/** `id`: a matching unindexed row. `indexed`: the index may have it in this range. */
export type KnownReport = { id: number | null; indexed: IdRange | null }

/**
 * Tells new visit reports from repeated ones without a random page read for each. Unindexed reports are known by id;
 * indexed ones by Bloom filters, for at least 48 hours. Reports from before the start are loaded gradually; until
 * then each lookup includes them.
 */
export type KnownReports = ReturnType<typeof createKnownReports>

export function createKnownReports(db: Database) {
  type Row = [id: number, contactId: number, batch: number, receivedAt: number]
  const columns = 'id, contact_id, batch, received_at'
  const later = db.prepare<Row, [number]>(`SELECT ${columns} FROM snippet_batches WHERE id > ? ORDER BY id`)
  const earlier = db.prepare<Row, [number]>(
    `SELECT ${columns} FROM snippet_batches WHERE id <= ? ORDER BY id DESC LIMIT ${ROWS_PER_READ}`,
  )
  const filters = createReportFilters()
  const waiting = new Map<number, number>()
  let forgetAt = FORGET_STEP
  let loadedAfter = indexedUntil(db)
  let [readUntil, lastAdded] = [loadedAfter, loadedAfter]

  const addOne = (id: number, contactId: number, batch: number, at: number): void => {
    filters.add(id, contactId, batch, at)
    waiting.set(keyOf(contactId, batch), id)
  }
  const readLater = (): void => {
    for (const [id, contactId, batch, at] of later.values(readUntil) as Row[]) {
      addOne(id, contactId, batch, at)
      readUntil = id
    }
    lastAdded = readUntil
  }
  readLater()

  return {
    find(contactId: number, batch: number): KnownReport {
      const indexed = filters.find(contactId, batch)
      const id = indexed && (waiting.get(keyOf(contactId, batch)) ?? null)
      return { id, indexed: loadedAfter === 0 ? indexed : { from: 0, upTo: Math.max(loadedAfter, indexed?.upTo ?? 0) } }
    },
    add(id: number, contactId: number, batch: number, at: number): void {
      addOne(id, contactId, batch, at)
      lastAdded = id
    },
    readEarlier(): void {
      if (loadedAfter === 0) return
      const rows = earlier.values(loadedAfter) as Row[]
      for (const [id, contactId, batch, at] of rows) filters.add(id, contactId, batch, at)
      loadedAfter = rows.length < ROWS_PER_READ ? 0 : (rows.at(-1)?.[0] ?? 0) - 1
    },
    settle(): void {
      readUntil = lastAdded
      if (waiting.size < forgetAt) return
      const until = indexedUntil(db)
      for (const [key, id] of waiting) {
        if (id > until) break
        waiting.delete(key)
      }
      forgetAt = waiting.size + FORGET_STEP
    },
    undo: (): void => void (lastAdded = readUntil),
    catchUp: readLater,
  }
}

import type { Database } from 'bun:sqlite'
import { createBatchFilters, type IdRange, keyOf } from './batch-filters.ts'
import { heldUntil } from './timeline-reads.ts'

/** So many are read at once of those that came before the start: 2 ms. */
const ROWS_A_LOOK = 2_000
/** So many that the timeline holds by now are forgotten at once. */
const HELD_ROWS = 4_096

/**
 * Where a batch may be stored: nowhere, where it is new. `id`: of those that wait for the timeline it is this one. `held`:
 * the timeline may hold it, in this range.
 */
export type Place = { id: number | null; held: IdRange | null }

/**
 * Tells new batches from repetitions without a look at the disk for each, whose page would be a random one. Those that wait
 * for the timeline are known by their ids; those that it holds by filters, for 48 hours at least. What came before the start
 * is read bit by bit; until then each one is looked up.
 */
export type KnownBatches = ReturnType<typeof createKnownBatches>

export function createKnownBatches(db: Database) {
  type Row = [id: number, contactId: number, batch: number, receivedAt: number]
  const columns = 'id, contact_id, batch, received_at'
  const later = db.prepare<Row, [number]>(`SELECT ${columns} FROM snippet_batches WHERE id > ? ORDER BY id`)
  const earlier = db.prepare<Row, [number]>(
    `SELECT ${columns} FROM snippet_batches WHERE id <= ? ORDER BY id DESC LIMIT ${ROWS_A_LOOK}`,
  )
  const filters = createBatchFilters()
  const waiting = new Map<number, number>()
  let forgetAt = HELD_ROWS
  /** The filters have all after it. */
  let heldAfter = heldUntil(db)
  let [readUntil, lastAdded] = [heldAfter, heldAfter]

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
    find(contactId: number, batch: number): Place {
      const held = filters.find(contactId, batch)
      const id = held && (waiting.get(keyOf(contactId, batch)) ?? null)
      return { id, held: heldAfter === 0 ? held : { from: 0, upTo: Math.max(heldAfter, held?.upTo ?? 0) } }
    },
    /** `at`: when it was received (ms UTC). */
    add(id: number, contactId: number, batch: number, at: number): void {
      addOne(id, contactId, batch, at)
      lastAdded = id
    },
    /** Called now and then: reads some of those that came before the start. */
    readEarlier(): void {
      if (heldAfter === 0) return
      const rows = earlier.values(heldAfter) as Row[]
      for (const [id, contactId, batch, at] of rows) filters.add(id, contactId, batch, at)
      heldAfter = rows.length < ROWS_A_LOOK ? 0 : (rows.at(-1)?.[0] ?? 0) - 1
    },
    /** After the commit. */
    settle(): void {
      readUntil = lastAdded
      if (waiting.size < forgetAt) return
      const until = heldUntil(db)
      for (const [key, id] of waiting) {
        if (id > until) break
        waiting.delete(key)
      }
      forgetAt = waiting.size + HELD_ROWS
    },
    /** After a rollback. */
    undo: (): void => void (lastAdded = readUntil),
    /** After another process wrote. */
    catchUp: readLater,
  }
}

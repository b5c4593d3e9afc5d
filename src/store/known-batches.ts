import type { Database } from 'bun:sqlite'
import { BATCH_MS } from './snippet-types.ts'
import { heldUntil } from './timeline-reads.ts'

/** Words of 32 bits, 1 MB for 48 hours; a power of two. Of half a million batches each 100th new one seems known (measured). */
const WORDS = 2 ** 18
/** So many are read at once of those that came before the start: 2 ms. */
const ROWS_A_LOOK = 2_000
/** So many that the timeline holds by now are forgotten at once. */
const HELD_ROWS = 4_096

/**
 * Where a batch may be stored: nowhere, where it is new. `id`: of those that wait for the timeline it is this one. `upTo`:
 * the timeline may hold it, up to this id; 0 = it does not.
 */
export type Place = { id: number | null; upTo: number }

/**
 * Tells new batches from repetitions without a look at the disk for each, whose page would be a random one. Those that wait
 * for the timeline are known by their ids; those that it holds by a Bloom filter for 48 hours or more, in which the bits of
 * a batch share a word. What came before the start is read bit by bit; until then it is looked up.
 */
export type KnownBatches = ReturnType<typeof createKnownBatches>

/** `startedAt`: ms UTC. */
export function createKnownBatches(db: Database, startedAt: number) {
  type Row = [id: number, contactId: number, batch: number]
  const later = db.prepare<Row, [number]>('SELECT id, contact_id, batch FROM snippet_batches WHERE id > ? ORDER BY id')
  const earlier = db.prepare<Row, [number]>(
    `SELECT id, contact_id, batch FROM snippet_batches WHERE id <= ? ORDER BY id DESC LIMIT ${ROWS_A_LOOK}`,
  )
  const waiting = new Map<number, number>()
  let forgetAt = HELD_ROWS
  let [young, old] = [new Uint32Array(WORDS), new Uint32Array(0)]
  let youngSince = startedAt
  /** The filter has all after it. */
  let heldAfter = heldUntil(db)
  let [readUntil, lastAdded] = [heldAfter, heldAfter]

  const set = (contactId: number, batch: number): void => {
    const word = wordOf(contactId, batch)
    young[word] = (young[word] ?? 0) | bitsOf(batch)
  }
  const readLater = (): void => {
    for (const [id, contactId, batch] of later.values(readUntil) as Row[]) {
      set(contactId, batch)
      waiting.set(keyOf(contactId, batch), id)
      readUntil = id
    }
    lastAdded = readUntil
  }
  const isIn = (words: Uint32Array, word: number, bits: number): boolean => ((words[word] ?? 0) & bits) === bits
  readLater()

  return {
    find(contactId: number, batch: number): Place {
      const [word, bits] = [wordOf(contactId, batch), bitsOf(batch)]
      if (!isIn(young, word, bits) && !isIn(old, word, bits)) return { id: null, upTo: heldAfter }
      return { id: waiting.get(keyOf(contactId, batch)) ?? null, upTo: Number.MAX_SAFE_INTEGER }
    },
    /** `at`: when it was received (ms UTC). */
    add(id: number, contactId: number, batch: number, at: number): void {
      if (at - youngSince >= BATCH_MS) {
        old = young
        young = new Uint32Array(WORDS)
        youngSince = at
      }
      set(contactId, batch)
      waiting.set(keyOf(contactId, batch), id)
      lastAdded = id
    },
    /** Called now and then: reads some of those that came before the start. */
    readEarlier(): void {
      if (heldAfter === 0) return
      const rows = earlier.values(heldAfter) as Row[]
      for (const [, contactId, batch] of rows) set(contactId, batch)
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

/** 32 bits of both. */
const mix = (contactId: number, batch: number): number =>
  Math.imul(batch ^ Math.imul(contactId, 0x9e3779b1), 0x85ebca6b) >>> 0

/** The upper 21 of its 53 bits. */
const upperOf = (batch: number): number => Math.floor(batch / 2 ** 32)

/** As good a hash as the batch's own, of the batch and whose it is. */
const keyOf = (contactId: number, batch: number): number => mix(contactId, batch) * 2 ** 21 + upperOf(batch)

const wordOf = (contactId: number, batch: number): number => mix(contactId, batch) % WORDS

/** Four places in a word, of which some may be one. */
function bitsOf(batch: number): number {
  const upper = upperOf(batch)
  return (1 << upper) | (1 << (upper >>> 5)) | (1 << (upper >>> 10)) | (1 << (upper >>> 15))
}

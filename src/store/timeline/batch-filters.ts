import { BATCH_MS } from '../visit-reports.ts'

/** Pairs of words of 32 bits in a filter, half a megabyte; a power of two. */
const PAIRS = 2 ** 16
/** So many batches go into one; of new ones then 1 in 2,500 seems known (measured). */
const BATCHES_EACH = 125_000
/** 16 MB, which is four million batches; of more, two filters become one, and more new ones seem known. */
const FILTERS_MOST = 32

/** `from`, `upTo`: of the ids of those in it. */
type Filter = { words: Uint32Array; count: number; from: number; upTo: number; lastAt: number }

/** Where a batch that seems known may be: ids, both included. */
export type IdRange = { from: number; upTo: number }

/** Bloom filters of batches, one after another as they come, in which the bits of a batch share a pair of words. */
export function createBatchFilters() {
  let filters: Filter[] = []

  const addOne = (): Filter => {
    const filter = { words: new Uint32Array(2 * PAIRS), count: 0, from: Number.MAX_SAFE_INTEGER, upTo: 0, lastAt: 0 }
    filters.push(filter)
    return filter
  }

  /** Makes room for one more: of those whose 48 hours are over, else two neighbours with the fewest in them become one. */
  const makeRoom = (at: number): void => {
    filters = filters.filter(({ lastAt }) => at - lastAt < BATCH_MS)
    if (filters.length < FILTERS_MOST) return
    const pairs = filters.slice(1).map((two, index) => ({ index, count: two.count + (filters[index]?.count ?? 0) }))
    const { index } = pairs.reduce((fewest, pair) => (pair.count < fewest.count ? pair : fewest))
    const [one, two] = filters.slice(index, index + 2)
    if (one && two) filters.splice(index, 2, unite(one, two))
  }

  return {
    /** `at`: when it was received (ms UTC). */
    add(id: number, contactId: number, batch: number, at: number): void {
      let last = filters.at(-1) ?? addOne()
      if (last.count >= BATCHES_EACH) {
        makeRoom(at)
        last = addOne()
      }
      const { at: place, bits, more } = placeOf(contactId, batch)
      last.words[place] = (last.words[place] ?? 0) | bits
      last.words[place + 1] = (last.words[place + 1] ?? 0) | more
      last.count += 1
      last.from = Math.min(last.from, id)
      last.upTo = Math.max(last.upTo, id)
      last.lastAt = Math.max(last.lastAt, at)
    },

    /** Null where it certainly was not added. */
    find(contactId: number, batch: number): IdRange | null {
      const { at, bits, more } = placeOf(contactId, batch)
      let found: IdRange | null = null
      for (const { words, from, upTo } of filters) {
        if (((words[at] ?? 0) & bits) !== bits || ((words[at + 1] ?? 0) & more) !== more) continue
        found = found ? { from: Math.min(from, found.from), upTo: Math.max(upTo, found.upTo) } : { from, upTo }
      }
      return found
    },
  }
}

function unite(one: Filter, two: Filter): Filter {
  for (const [index, word] of two.words.entries()) one.words[index] = (one.words[index] ?? 0) | word
  return {
    words: one.words,
    count: one.count + two.count,
    from: Math.min(one.from, two.from),
    upTo: Math.max(one.upTo, two.upTo),
    lastAt: Math.max(one.lastAt, two.lastAt),
  }
}

/** 32 bits of both. */
const mix = (contactId: number, batch: number): number =>
  Math.imul(batch ^ Math.imul(contactId, 0x9e3779b1), 0x85ebca6b) >>> 0

/** The upper 21 of its 53 bits. */
const upperOf = (batch: number): number => Math.floor(batch / 2 ** 32)

/** As good a hash as the batch's own, of the batch and whose it is. */
export const keyOf = (contactId: number, batch: number): number => mix(contactId, batch) * 2 ** 21 + upperOf(batch)

/** Where its pair is, and three places in each word of it, of which some may be one. */
function placeOf(contactId: number, batch: number): { at: number; bits: number; more: number } {
  const [mixed, upper] = [mix(contactId, batch), upperOf(batch)]
  return {
    // not %: of a number of 32 bits it is a fraction to the engine, and the look-up by it slow
    at: 2 * (mixed & (PAIRS - 1)),
    bits: (1 << upper) | (1 << (upper >>> 5)) | (1 << (upper >>> 10)),
    more: (1 << (upper >>> 15)) | (1 << (mixed >>> 17)) | (1 << (mixed >>> 22)),
  }
}

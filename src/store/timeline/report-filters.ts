import { VISIT_REPORT_MS } from '../visit-reports.ts'

/** 32-bit word pairs per filter: half a megabyte. Must be a power of two. */
const PAIRS = 2 ** 16
/** Reports per filter; then 1 in 2,500 new ones is a false positive (measured). */
const REPORTS_PER_FILTER = 125_000
/** 16 MB for four million reports; beyond that, filters are merged and false positives increase. */
const MAX_FILTERS = 32

type Filter = { words: Uint32Array; count: number; from: number; upTo: number; lastAt: number }

export type IdRange = { from: number; upTo: number }

/** Bloom filters of visit reports in order of arrival. All bits of a report are in one word pair. */
export function createReportFilters() {
  let filters: Filter[] = []

  const addOne = (): Filter => {
    const filter = { words: new Uint32Array(2 * PAIRS), count: 0, from: Number.MAX_SAFE_INTEGER, upTo: 0, lastAt: 0 }
    filters.push(filter)
    return filter
  }

  /** Drops filters older than 48 hours, else merges the two neighbours with the fewest entries. */
  const makeRoom = (at: number): void => {
    filters = filters.filter(({ lastAt }) => at - lastAt < VISIT_REPORT_MS)
    if (filters.length < MAX_FILTERS) return
    const pairs = filters.slice(1).map((two, index) => ({ index, count: two.count + (filters[index]?.count ?? 0) }))
    const { index } = pairs.reduce((fewest, pair) => (pair.count < fewest.count ? pair : fewest))
    const [one, two] = filters.slice(index, index + 2)
    if (one && two) filters.splice(index, 2, unite(one, two))
  }

  return {
    add(id: number, contactId: number, batch: number, at: number): void {
      let last = filters.at(-1) ?? addOne()
      if (last.count >= REPORTS_PER_FILTER) {
        makeRoom(at)
        last = addOne()
      }
      const { at: pair, bits, more } = bitsOf(contactId, batch)
      last.words[pair] = (last.words[pair] ?? 0) | bits
      last.words[pair + 1] = (last.words[pair + 1] ?? 0) | more
      last.count += 1
      last.from = Math.min(last.from, id)
      last.upTo = Math.max(last.upTo, id)
      last.lastAt = Math.max(last.lastAt, at)
    },

    find(contactId: number, batch: number): IdRange | null {
      const { at, bits, more } = bitsOf(contactId, batch)
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

const mix = (contactId: number, batch: number): number =>
  Math.imul(batch ^ Math.imul(contactId, 0x9e3779b1), 0x85ebca6b) >>> 0

/** `batch` is a 53-bit hash. */
const upperOf = (batch: number): number => Math.floor(batch / 2 ** 32)

/** As well distributed as the hash of the report's id. */
export const keyOf = (contactId: number, batch: number): number => mix(contactId, batch) * 2 ** 21 + upperOf(batch)

/** Word pair index, and three bits in each word; bits may coincide. */
function bitsOf(contactId: number, batch: number): { at: number; bits: number; more: number } {
  const [mixed, upper] = [mix(contactId, batch), upperOf(batch)]
  return {
    // not %: the engine treats a 32-bit result as a double, and indexing with it is slow
    at: 2 * (mixed & (PAIRS - 1)),
    bits: (1 << upper) | (1 << (upper >>> 5)) | (1 << (upper >>> 10)),
    more: (1 << (upper >>> 15)) | (1 << (mixed >>> 17)) | (1 << (mixed >>> 22)),
  }
}

/**
 * Counts in parts: each of the transactions that can be open at once adds to its own, so none waits for another one. What
 * is read is their sum. Those of earlier days become one, so that pages sum few (counters.test.ts).
 */
import { DAY_MS } from '../../core/clock.ts'
import { LAST_INSTANCE } from '../../core/ids.ts'
import { COUNTERS, type CounterTable, partsOf } from '../engine/counter-tables.ts'
import type { Run } from './connection.ts'

/** Of merged counts, and of those that were moved here. */
const MERGED = 0

export const partOf = ({ number, lane }: { number: number; lane: number }): number =>
  MERGED + 1 + lane * (LAST_INSTANCE + 1) + number

const LATER_DAYS = 1
const MERGED_PER_RUN = 5_000

/** Parts that a transaction holds are left for the next time. */
function mergeText([name, { key, counts }]: [string, CounterTable]): string {
  const [table, keys] = [partsOf(name), key.join(', ')]
  const sums = counts.map((count) => `sum(${count})`).join(', ')
  return `WITH taken AS (DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table} WHERE part > ${MERGED} AND day < $1 ORDER BY day LIMIT ${MERGED_PER_RUN} FOR UPDATE SKIP LOCKED))
      RETURNING *)
    INSERT INTO ${table} AS old (${keys}, part, ${counts.join(', ')})
    SELECT ${keys}, ${MERGED}, ${sums} FROM taken GROUP BY ${keys}
    ON CONFLICT (${keys}, part) DO UPDATE SET ${counts.map((count) => `${count} = old.${count} + excluded.${count}`).join(', ')}`
}

const MERGES = Object.entries(COUNTERS).map(mergeText)

export const createCounterMerge =
  (run: Run) =>
  async (at: number): Promise<void> => {
    const before = Math.floor(at / DAY_MS) - LATER_DAYS
    for (const text of MERGES) await run(text, [before])
  }

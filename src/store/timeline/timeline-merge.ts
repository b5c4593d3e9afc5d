import type { Database } from 'bun:sqlite'

/** So many rows of a run are copied at once, all beside each other; of one person as many as there are. */
const ROWS_OF_ONE = 32
/** What a statement costs, in rows. */
const ROWS_A_STATEMENT = 2
/** Beyond every person. */
const NOBODY = Number.MAX_SAFE_INTEGER

/** How far a merge of these runs has come: all people before `from` are taken up. */
export type MergePlace = { runs: readonly number[]; from: number }

/**
 * Merges runs into the timeline, all at once, from the first person to the last, so that a page of it changes once for
 * many rows. A step copies of one run what it holds of the next few people; which people, the runs decide that hold them,
 * and runs that hold none of them cost nothing.
 */
export function createTimelineMerge(db: Database, { runs, from }: MergePlace) {
  const headOf = db.prepare<{ contactId: number }, [number, number]>(
    'SELECT contact_id AS contactId FROM timeline_run_rows WHERE run = ? AND contact_id >= ? ORDER BY contact_id LIMIT 1',
  )
  const after = db.prepare<{ contactId: number }, [number, number]>(
    `SELECT contact_id AS contactId FROM timeline_run_rows WHERE run = ? AND contact_id > ?
     ORDER BY contact_id LIMIT 1 OFFSET ${ROWS_OF_ONE}`,
  )
  const isInside = 'run = ? AND contact_id >= ? AND contact_id < ?'
  const copy = db.prepare(
    `INSERT OR IGNORE INTO timeline SELECT contact_id, type, id FROM timeline_run_rows WHERE ${isInside}`,
  )
  const countInside = db.prepare<{ rows: number }, [number, number, number]>(
    `SELECT count(*) AS rows FROM timeline_run_rows WHERE ${isInside}`,
  )

  const findHead = (run: number, contactId: number): number => headOf.get(run, contactId)?.contactId ?? NOBODY
  /** Of each run the next person in it who is not taken up. */
  const heads = new Map(runs.map((run) => [run, findHead(run, from)]))
  /** Of these runs the people from `first` on and before `end` are to be copied. */
  let range: { first: number; end: number; left: number[] } = { first: from, end: from, left: [] }

  const headOfRun = (run: number): number => heads.get(run) ?? NOBODY
  const holders = (end: number): number[] => runs.filter((run) => headOfRun(run) < end)

  /** Whoever holds the first person says how far it goes, and whoever holds anybody up to there. @returns what it cost */
  const beginRange = (): number => {
    const first = Math.min(...heads.values())
    const nearest = runs.findIndex((run) => headOfRun(run) === first)
    let [end, looks] = [NOBODY, 0]
    for (const run of [...runs.slice(nearest), ...runs.slice(0, nearest)]) {
      if (headOfRun(run) >= end) continue
      end = Math.min(end, after.get(run, first)?.contactId ?? NOBODY)
      looks += 1
    }
    range = { first, end, left: holders(end) }
    return ROWS_A_STATEMENT * looks
  }

  /** Where a merge goes on after a restart, rows are there already; to find that costs as much. @returns what it cost */
  const copyOf = (run: number): number => {
    const { first, end } = range
    const { changes } = copy.run(run, first, end)
    heads.set(run, findHead(run, end))
    return 2 * ROWS_A_STATEMENT + (changes || (countInside.get(run, first, end)?.rows ?? 0))
  }

  return {
    runs,
    isOver: (): boolean => range.left.length === 0 && holders(NOBODY).length === 0,
    /** @returns what it cost, in rows */
    step(): number {
      const run = range.left.shift()
      return run === undefined ? beginRange() : copyOf(run)
    },
    place: (): MergePlace => ({ runs, from: range.first }),
  }
}

import type { Database } from 'bun:sqlite'

/** Adjacent rows copied per statement; one person's rows are never split. */
const ROWS_PER_COPY = 32
const STATEMENT_COST = 2
const MAX_CONTACT_ID = Number.MAX_SAFE_INTEGER

/** All people before `from` are merged. */
export type MergeProgress = { runs: readonly number[]; from: number }

/**
 * Merges runs into the timeline in order of person id, so that each page changes once for many rows. Each step copies
 * one run's rows of the next few people; runs without rows for them cost nothing.
 */
export function createTimelineMerge(db: Database, { runs, from }: MergeProgress) {
  const headOf = db.prepare<{ contactId: number }, [number, number]>(
    'SELECT contact_id AS contactId FROM timeline_run_rows WHERE run = ? AND contact_id >= ? ORDER BY contact_id LIMIT 1',
  )
  const after = db.prepare<{ contactId: number }, [number, number]>(
    `SELECT contact_id AS contactId FROM timeline_run_rows WHERE run = ? AND contact_id > ?
     ORDER BY contact_id LIMIT 1 OFFSET ${ROWS_PER_COPY}`,
  )
  const isInRange = 'run = ? AND contact_id >= ? AND contact_id < ?'
  const copy = db.prepare(
    `INSERT OR IGNORE INTO timeline SELECT contact_id, type, id FROM timeline_run_rows WHERE ${isInRange}`,
  )
  const countInRange = db.prepare<{ rows: number }, [number, number, number]>(
    `SELECT count(*) AS rows FROM timeline_run_rows WHERE ${isInRange}`,
  )

  const findHead = (run: number, contactId: number): number => headOf.get(run, contactId)?.contactId ?? MAX_CONTACT_ID
  const heads = new Map(runs.map((run) => [run, findHead(run, from)]))
  /** The runs in `left` still have to copy their people from `first` to before `end`. */
  let range: { first: number; end: number; left: number[] } = { first: from, end: from, left: [] }

  const headOfRun = (run: number): number => heads.get(run) ?? MAX_CONTACT_ID
  const holders = (end: number): number[] => runs.filter((run) => headOfRun(run) < end)

  /** Chooses the next range, starting with the run that has the first person. @returns the cost in rows */
  const beginRange = (): number => {
    const first = Math.min(...heads.values())
    const nearest = runs.findIndex((run) => headOfRun(run) === first)
    let [end, lookups] = [MAX_CONTACT_ID, 0]
    for (const run of [...runs.slice(nearest), ...runs.slice(0, nearest)]) {
      if (headOfRun(run) >= end) continue
      end = Math.min(end, after.get(run, first)?.contactId ?? MAX_CONTACT_ID)
      lookups += 1
    }
    range = { first, end, left: holders(end) }
    return STATEMENT_COST * lookups
  }

  /** After a restart some rows exist already; skipping them costs as much as copying. @returns the cost in rows */
  const copyOf = (run: number): number => {
    const { first, end } = range
    const { changes } = copy.run(run, first, end)
    heads.set(run, findHead(run, end))
    return 2 * STATEMENT_COST + (changes || (countInRange.get(run, first, end)?.rows ?? 0))
  }

  return {
    runs,
    isOver: (): boolean => range.left.length === 0 && holders(MAX_CONTACT_ID).length === 0,
    step(): number {
      const run = range.left.shift()
      return run === undefined ? beginRange() : copyOf(run)
    },
    progress: (): MergeProgress => ({ runs, from: range.first }),
  }
}

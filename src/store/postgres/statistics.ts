/**
 * What PostgreSQL knows about the rows of a table. Until it has analyzed the table, it expects many rows of an id and may
 * read the whole table instead: for the minute until autovacuum finds a table that has just been filled, and for longer
 * after a database was restored, which comes without it.
 */
import type { Postgres } from './connection.ts'
import { isConflict, isPassingFault } from './faults.ts'

/** Some hundred rows. Smaller tables are read as quickly without it. */
const LARGE_BYTES = 65_536
const CHECK_MS = 5_000
/** A table without rows, or that VACUUM holds, stays unknown: it is tried less and less often. */
const LAST_WAIT_MS = 3_600_000

/** Only own ones: PostgreSQL warns about others. A table in parts is as large as its largest part. */
const UNKNOWN = `SELECT pg_class.oid::regclass::text AS name FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND pg_has_role(relowner, 'USAGE')
    AND (pg_relation_size(pg_class.oid) > ${LARGE_BYTES} OR EXISTS (
      SELECT 1 FROM pg_inherits WHERE inhparent = pg_class.oid AND pg_relation_size(inhrelid) > ${LARGE_BYTES}))
    AND NOT EXISTS (SELECT 1 FROM pg_stats WHERE schemaname = current_schema() AND tablename = relname)`

type Connected = Pick<Postgres, 'run' | 'runScript' | 'transaction'>

/** @returns to be called again and again: lets PostgreSQL analyze what it doesn't know, but for what was just tried */
export function createAnalysis({ run, runScript, transaction }: Connected): () => Promise<void> {
  const tried = new Map<string, { againMs: number; waitMs: number }>()
  return async () => {
    const now = performance.now()
    const found = (await run(UNKNOWN, [])).map(({ name }) => String(name))
    const tables = found.filter((name) => now >= (tried.get(name)?.againMs ?? 0))
    for (const name of tried.keys()) if (!found.includes(name)) tried.delete(name)
    if (tables.length === 0) return
    for (const name of tables) {
      const waitMs = Math.min(2 * (tried.get(name)?.waitMs ?? CHECK_MS), LAST_WAIT_MS)
      tried.set(name, { againMs: now + waitMs, waitMs })
    }
    // leaves out what autovacuum analyzes at the time
    const analyze = `SET LOCAL statement_timeout = 0; ANALYZE (SKIP_LOCKED) ${tables.join(', ')}`
    try {
      await transaction(() => runScript(analyze))
    } catch (error) {
      if (!isConflict(error) && !isPassingFault(error)) throw error
    }
  }
}

/** It only affects speed. @returns ends it */
export function keepAnalyzed(postgres: Connected, everyMs = CHECK_MS): () => void {
  const analyze = createAnalysis(postgres)
  let isOpen = false
  const check = async (): Promise<void> => {
    // of a restored database, it may take a minute
    if (isOpen) return
    isOpen = true
    await analyze().catch(() => {})
    isOpen = false
  }
  void check()
  const timer = setInterval(() => void check(), everyMs)
  return () => clearInterval(timer)
}

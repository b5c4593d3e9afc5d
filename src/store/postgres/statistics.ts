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

/** A month of events is analyzed with all months. */
const UNKNOWN = `SELECT DISTINCT coalesce(inhparent, oid)::regclass::text AS name
  FROM pg_class LEFT JOIN pg_inherits ON inhrelid = oid
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > ${LARGE_BYTES}
    AND NOT EXISTS (SELECT 1 FROM pg_stats WHERE schemaname = current_schema() AND tablename = relname)`

/** It only affects speed. @returns ends it */
export function keepAnalyzed(
  postgres: Pick<Postgres, 'run' | 'runScript' | 'transaction'>,
  everyMs = CHECK_MS,
): () => void {
  let isOpen = false
  const check = async (): Promise<void> => {
    // of a restored database, it may take a minute
    if (isOpen) return
    isOpen = true
    await analyzeUnknown(postgres).catch(() => {})
    isOpen = false
  }
  void check()
  const timer = setInterval(() => void check(), everyMs)
  return () => clearInterval(timer)
}

/** Leaves out what autovacuum analyzes at the time. */
export async function analyzeUnknown({
  run,
  runScript,
  transaction,
}: Pick<Postgres, 'run' | 'runScript' | 'transaction'>): Promise<void> {
  const tables = (await run(UNKNOWN, [])).map(({ name }) => String(name))
  if (tables.length === 0) return
  const analyze = `SET LOCAL statement_timeout = 0; ANALYZE (SKIP_LOCKED) ${tables.join(', ')}`
  try {
    await transaction(() => runScript(analyze))
  } catch (error) {
    if (!isConflict(error) && !isPassingFault(error)) throw error
  }
}

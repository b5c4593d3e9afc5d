/** Whether and when this database was restored from a backup. */
import type { Sql } from './engine/sql.ts'
import { type InstallReads, createInstallWrites } from './install.ts'

const RESTORE = 'restore'

/** The last one. `at`: ms UTC. `paused`: messages. `ended`: emails that waited. */
export type RestoreFacts = { at: number; paused: number; ended: number }

export async function noteRestore(db: Sql, facts: RestoreFacts): Promise<void> {
  await createInstallWrites(db).setInstallValue({ name: RESTORE, value: JSON.stringify(facts) })
}

export async function readRestore({ installValue }: Pick<InstallReads, 'installValue'>): Promise<RestoreFacts | null> {
  const value = await installValue(RESTORE)
  return value === null ? null : (JSON.parse(value) as RestoreFacts)
}

import type { Database } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { sentForms } from './schema.ts'

/** Knows forms again that were sent before. */
export function createSentForms(db: Database) {
  const orm = drizzle(db)
  return {
    /** False for one that was taken already. */
    take: (form: string, at: number): boolean =>
      orm.insert(sentForms).values({ form, sentAt: at }).onConflictDoNothing().returning().all().length > 0,
  }
}

import type { Database } from 'bun:sqlite'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { domainChecks } from './schema.ts'

/** `sender` and `checks`: JSON, of `accounts/sender-checks.ts`. */
export type DomainCheck = typeof domainChecks.$inferSelect

export function createDomainCheckReads(db: Database) {
  const orm = drizzle(db)
  return {
    findDomainCheck: (appId: number): DomainCheck | null =>
      orm.select().from(domainChecks).where(eq(domainChecks.appId, appId)).get() ?? null,
  }
}

export function createDomainCheckWrites(db: Database) {
  const orm = drizzle(db)
  return {
    saveDomainCheck(check: DomainCheck): { done: true } {
      orm.insert(domainChecks).values(check).onConflictDoUpdate({ target: domainChecks.appId, set: check }).run()
      return { done: true }
    },
  }
}

import type { Database } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { makeTextId } from './ids.ts'
import { auditEntries } from './schema.ts'

export type Done = { done: true }
export const DONE: Done = { done: true }

/** Who changes what. `actor` is "cli", "link" (whoever holds it), a member id or a key id. */
export type Change = { accountId: string; actor: string; at: number }

/** Adds a line to the audit list, in the transaction of what it tells. */
export function createAudit(db: Database) {
  const orm = drizzle(db)
  return ({ accountId, actor, at }: Change, action: string, subject: string): void => {
    orm
      .insert(auditEntries)
      .values({ id: makeTextId('aud', at), accountId, actor, action, subject, createdAt: at })
      .run()
  }
}

import type { Database } from 'bun:sqlite'
import { and, eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Done, DONE } from './audit.ts'
import { domainChecks, receivedMails } from './schema.ts'

/** `sender` and `checks`: JSON, of `accounts/sender-checks.ts`. */
export type DomainCheck = typeof domainChecks.$inferSelect

/** `seen`: JSON, of `accounts/received-mail.ts`. */
export type StoredReceived = typeof receivedMails.$inferSelect

export function createDomainCheckReads(db: Database) {
  const orm = drizzle(db)
  return {
    findDomainCheck: (appId: number, domain: string): DomainCheck | null =>
      orm
        .select()
        .from(domainChecks)
        .where(and(eq(domainChecks.appId, appId), eq(domainChecks.domain, domain)))
        .get() ?? null,

    listReceivedMails: (appId: number): StoredReceived[] =>
      orm.select().from(receivedMails).where(eq(receivedMails.appId, appId)).all(),
  }
}

export function createDomainCheckWrites(db: Database) {
  const orm = drizzle(db)
  return {
    saveDomainCheck(check: DomainCheck): Done {
      const target = [domainChecks.appId, domainChecks.domain]
      orm.insert(domainChecks).values(check).onConflictDoUpdate({ target, set: check }).run()
      return DONE
    },

    saveReceivedMail(received: StoredReceived): Done {
      const target = [receivedMails.appId, receivedMails.domain]
      orm.insert(receivedMails).values(received).onConflictDoUpdate({ target, set: received }).run()
      return DONE
    },
  }
}

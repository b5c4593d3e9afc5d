import type { Sql } from './engine/sql.ts'
import { and, eq } from 'drizzle-orm'
import { type Done, DONE } from './audit.ts'
import { domainChecks, receivedMails } from './schema.ts'

/** `sender` and `checks`: JSON, of `accounts/sender-checks.ts`. */
export type DomainCheck = typeof domainChecks.$inferSelect

/** `seen`: JSON, of `accounts/received-mail.ts`. */
export type StoredReceived = typeof receivedMails.$inferSelect

export function createDomainCheckReads(db: Sql) {
  const { orm } = db
  return {
    findDomainCheck: async (appId: number, domain: string): Promise<DomainCheck | null> =>
      (await orm
        .select()
        .from(domainChecks)
        .where(and(eq(domainChecks.appId, appId), eq(domainChecks.domain, domain)))
        .get()) ?? null,

    listReceivedMails: async (appId: number): Promise<StoredReceived[]> =>
      await orm.select().from(receivedMails).where(eq(receivedMails.appId, appId)).all(),
  }
}

export function createDomainCheckWrites(db: Sql) {
  const { orm } = db
  return {
    async saveDomainCheck(check: DomainCheck): Promise<Done> {
      const target = [domainChecks.appId, domainChecks.domain]
      await orm.insert(domainChecks).values(check).onConflictDoUpdate({ target, set: check }).run()
      return DONE
    },

    async saveReceivedMail(received: StoredReceived): Promise<Done> {
      const target = [receivedMails.appId, receivedMails.domain]
      await orm.insert(receivedMails).values(received).onConflictDoUpdate({ target, set: received }).run()
      return DONE
    },
  }
}

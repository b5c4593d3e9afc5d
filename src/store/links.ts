import type { Sql } from './engine/sql.ts'
import { and, eq, isNotNull } from 'drizzle-orm'
import type { AccountRules, Link } from './account-rules.ts'
import { oneTimeLinks } from './schema.ts'
import { type Done, DONE } from './audit.ts'
import type { NewLink } from './types.ts'

/** Both ids are null for the set-up link. `accountId`, `endsTwoStep`: see the migrations. */
type LinkOwner = { memberId: string | null; accountId: string | null; endsTwoStep?: boolean }

/** One-time links; each step runs inside the caller's transaction. */
export function createLinks(db: Sql) {
  const { orm } = db
  const purposeIs = (purpose: NewLink['purpose']) => eq(oneTimeLinks.purpose, purpose)
  return {
    async addLink(link: NewLink, owner: LinkOwner, at: number): Promise<void> {
      await orm
        .insert(oneTimeLinks)
        .values({ ...link, ...owner, createdAt: at })
        .run()
    },
    /** Also if it has expired. */
    findLink: async (tokenHash: string): Promise<Link | null> =>
      (await orm.select().from(oneTimeLinks).where(eq(oneTimeLinks.tokenHash, tokenHash)).get()) ?? null,
    async dropLink(tokenHash: string): Promise<void> {
      await orm.delete(oneTimeLinks).where(eq(oneTimeLinks.tokenHash, tokenHash)).run()
    },
    async dropPasswordLinks(memberId: string): Promise<void> {
      await orm
        .delete(oneTimeLinks)
        .where(and(eq(oneTimeLinks.memberId, memberId), purposeIs('password')))
        .run()
    },
    /** Its invitation, and its owners' password links. */
    async dropLinksOfAccount(accountId: string, memberId: string): Promise<void> {
      await orm
        .delete(oneTimeLinks)
        .where(and(eq(oneTimeLinks.memberId, memberId), eq(oneTimeLinks.accountId, accountId)))
        .run()
    },
    async dropOwnersLinks(): Promise<void> {
      await orm
        .delete(oneTimeLinks)
        .where(and(purposeIs('password'), isNotNull(oneTimeLinks.accountId)))
        .run()
    },
    async dropLinksOf(memberId: string): Promise<void> {
      await orm.delete(oneTimeLinks).where(eq(oneTimeLinks.memberId, memberId)).run()
    },
  }
}

export function createLinkReads(db: Sql, { isLinkOpen }: Pick<AccountRules, 'isLinkOpen'>) {
  const { findLink } = createLinks(db)
  return {
    async hasLink(tokenHash: string, purpose: NewLink['purpose'], now: number): Promise<boolean> {
      const link = await findLink(tokenHash)
      return link?.purpose === purpose && isLinkOpen(link, now)
    },
  }
}

export function createLinkWrites(db: Sql) {
  const { orm } = db
  const { addLink } = createLinks(db)
  return {
    async makeSetupLink({ link, at }: { link: NewLink; at: number }): Promise<Done> {
      await orm.delete(oneTimeLinks).where(eq(oneTimeLinks.purpose, 'setup')).run()
      await addLink(link, { memberId: null, accountId: null }, at)
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, eq, isNotNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import type { AccountRules, Link } from './account-rules.ts'
import { oneTimeLinks } from './schema.ts'
import { type Done, DONE } from './audit.ts'
import type { NewLink } from './types.ts'

/** Both ids are null for the set-up link. `accountId`, `endsTwoStep`: see the migrations. */
type LinkOwner = { memberId: string | null; accountId: string | null; endsTwoStep?: boolean }

/** One-time links; each step runs inside the caller's transaction. */
export function createLinks(db: Database) {
  const orm = drizzle(db)
  const purposeIs = (purpose: NewLink['purpose']) => eq(oneTimeLinks.purpose, purpose)
  return {
    addLink(link: NewLink, owner: LinkOwner, at: number): void {
      orm
        .insert(oneTimeLinks)
        .values({ ...link, ...owner, createdAt: at })
        .run()
    },
    /** Also if it has expired. */
    findLink: (tokenHash: string): Link | null =>
      orm.select().from(oneTimeLinks).where(eq(oneTimeLinks.tokenHash, tokenHash)).get() ?? null,
    dropLink(tokenHash: string): void {
      orm.delete(oneTimeLinks).where(eq(oneTimeLinks.tokenHash, tokenHash)).run()
    },
    dropPasswordLinks(memberId: string): void {
      orm
        .delete(oneTimeLinks)
        .where(and(eq(oneTimeLinks.memberId, memberId), purposeIs('password')))
        .run()
    },
    /** Its invitation, and its owners' password links. */
    dropLinksOfAccount(accountId: string, memberId: string): void {
      orm
        .delete(oneTimeLinks)
        .where(and(eq(oneTimeLinks.memberId, memberId), eq(oneTimeLinks.accountId, accountId)))
        .run()
    },
    dropOwnersLinks(): void {
      orm
        .delete(oneTimeLinks)
        .where(and(purposeIs('password'), isNotNull(oneTimeLinks.accountId)))
        .run()
    },
    dropLinksOf(memberId: string): void {
      orm.delete(oneTimeLinks).where(eq(oneTimeLinks.memberId, memberId)).run()
    },
  }
}

export function createLinkReads(db: Database, { isLinkOpen }: Pick<AccountRules, 'isLinkOpen'>) {
  const { findLink } = createLinks(db)
  return {
    hasLink(tokenHash: string, purpose: NewLink['purpose'], now: number): boolean {
      const link = findLink(tokenHash)
      return link?.purpose === purpose && isLinkOpen(link, now)
    },
  }
}

export function createLinkWrites(db: Database) {
  const orm = drizzle(db)
  const { addLink } = createLinks(db)
  return {
    makeSetupLink({ link, at }: { link: NewLink; at: number }): Done {
      orm.delete(oneTimeLinks).where(eq(oneTimeLinks.purpose, 'setup')).run()
      addLink(link, { memberId: null, accountId: null }, at)
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, eq, gt, isNotNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
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
    findLink: (tokenHash: string, at: number) =>
      orm
        .select()
        .from(oneTimeLinks)
        .where(and(eq(oneTimeLinks.tokenHash, tokenHash), gt(oneTimeLinks.expiresAt, at)))
        .get(),
    useLink(tokenHash: string, purpose: NewLink['purpose'], at: number) {
      const isLink = and(eq(oneTimeLinks.tokenHash, tokenHash), purposeIs(purpose))
      const link = orm.delete(oneTimeLinks).where(isLink).returning().get()
      return link && link.expiresAt > at ? link : null
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

export function createLinkReads(db: Database) {
  const orm = drizzle(db)
  return {
    hasLink: (tokenHash: string, purpose: NewLink['purpose'], now: number): boolean =>
      orm
        .select({ purpose: oneTimeLinks.purpose })
        .from(oneTimeLinks)
        .where(
          and(
            eq(oneTimeLinks.tokenHash, tokenHash),
            eq(oneTimeLinks.purpose, purpose),
            gt(oneTimeLinks.expiresAt, now),
          ),
        )
        .get() !== undefined,
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

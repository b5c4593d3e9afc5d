import type { Database } from 'bun:sqlite'
import { and, eq, gt, isNotNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { oneTimeLinks } from './schema.ts'
import { type Done, DONE } from './audit.ts'
import type { NewLink } from './types.ts'

/** `accountId`, `endsTwoStep`: see the migrations; both ids are null for the set-up link. */
type Whose = { memberId: string | null; accountId: string | null; endsTwoStep?: boolean }

/** Links that work once and until their time: the steps that several writes share, in the transaction of each. */
export function createLinks(db: Database) {
  const orm = drizzle(db)
  const purposeIs = (purpose: NewLink['purpose']) => eq(oneTimeLinks.purpose, purpose)
  return {
    addLink(link: NewLink, whose: Whose, at: number): void {
      orm
        .insert(oneTimeLinks)
        .values({ ...link, ...whose, createdAt: at })
        .run()
    },
    /** The link, which goes on working. */
    findLink: (tokenHash: string, at: number) =>
      orm
        .select()
        .from(oneTimeLinks)
        .where(and(eq(oneTimeLinks.tokenHash, tokenHash), gt(oneTimeLinks.expiresAt, at)))
        .get(),
    /** The link, which does not work any more; null where it did not before. */
    useLink(tokenHash: string, purpose: NewLink['purpose'], at: number) {
      const wanted = and(eq(oneTimeLinks.tokenHash, tokenHash), purposeIs(purpose))
      const link = orm.delete(oneTimeLinks).where(wanted).returning().get()
      return link && link.expiresAt > at ? link : null
    },
    /** Takes back the links for a new password that a member has not used. */
    dropPasswordLinks(memberId: string): void {
      orm
        .delete(oneTimeLinks)
        .where(and(eq(oneTimeLinks.memberId, memberId), purposeIs('password')))
        .run()
    },
    /** Takes back what an account gave a member: its invitation, and its owners' links for a new password. */
    dropLinksOfAccount(accountId: string, memberId: string): void {
      orm
        .delete(oneTimeLinks)
        .where(and(eq(oneTimeLinks.memberId, memberId), eq(oneTimeLinks.accountId, accountId)))
        .run()
    },
    /** Takes back all links for a new password that owners made. */
    dropOwnersLinks(): void {
      orm
        .delete(oneTimeLinks)
        .where(and(purposeIs('password'), isNotNull(oneTimeLinks.accountId)))
        .run()
    },
    /** Takes back all links of a member. */
    dropLinksOf(memberId: string): void {
      orm.delete(oneTimeLinks).where(eq(oneTimeLinks.memberId, memberId)).run()
    },
  }
}

export function createLinkReads(db: Database) {
  const orm = drizzle(db)
  return {
    /** Whether a one-time link can still be used. */
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
    /** Replaces the set-up link: only the one printed last works. */
    makeSetupLink({ link, at }: { link: NewLink; at: number }): Done {
      orm.delete(oneTimeLinks).where(eq(oneTimeLinks.purpose, 'setup')).run()
      addLink(link, { memberId: null, accountId: null }, at)
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, eq, gt, isNotNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { oneTimeLinks } from './schema.ts'
import type { NewLink } from './types.ts'

/** `accountId`, `endsTwoStep`: see the migrations; both ids are null for the set-up link. */
type Whose = { memberId: string | null; accountId: string | null; endsTwoStep?: boolean }

/** Links that work once and until their time. */
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

import type { Database } from 'bun:sqlite'
import { and, eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { oneTimeLinks } from './schema.ts'
import type { NewLink } from './types.ts'

/** Links that work once and until their time. */
export function createLinks(db: Database) {
  const orm = drizzle(db)
  return {
    addLink(link: NewLink, memberId: string | null, at: number): void {
      orm
        .insert(oneTimeLinks)
        .values({ ...link, memberId, createdAt: at })
        .run()
    },
    /** The link, which does not work any more; null where it did not before. */
    useLink(tokenHash: string, purpose: NewLink['purpose'], at: number) {
      const wanted = and(eq(oneTimeLinks.tokenHash, tokenHash), eq(oneTimeLinks.purpose, purpose))
      const link = orm.delete(oneTimeLinks).where(wanted).returning().get()
      return link && link.expiresAt > at ? link : null
    },
    /** Takes back the links that a member has not used. */
    dropLinksOf(memberId: string): void {
      orm.delete(oneTimeLinks).where(eq(oneTimeLinks.memberId, memberId)).run()
    },
  }
}

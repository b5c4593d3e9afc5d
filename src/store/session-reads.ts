import type { Database } from 'bun:sqlite'
import { asc, desc, eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { accounts, members, sessions } from './schema.ts'
import type { SessionRow, SignedIn } from './session-types.ts'
import type { MemberEntry } from './session-types.ts'
import type { MemberRow } from './types.ts'

/** Quiet reads about members and where they are signed in. Which sessions have ended by themselves, core judges. */
export function createSessionReads(db: Database) {
  const orm = drizzle(db)
  const toSession = ({ tokenHash: _, ...session }: typeof sessions.$inferSelect): SessionRow => session
  const toMember = ({ createdAt: _, ...member }: typeof members.$inferSelect): MemberRow => member

  return {
    /** The member with this email, which is normalised. */
    findMember(email: string): MemberRow | null {
      const member = orm.select().from(members).where(eq(members.email, email)).get()
      return member ? toMember(member) : null
    },

    /** The first one first. */
    listMembers: (accountId: string): MemberEntry[] =>
      orm
        .select()
        .from(members)
        .where(eq(members.accountId, accountId))
        .orderBy(asc(members.createdAt), asc(members.email))
        .all()
        .map(({ id, email, role, passwordHash, createdAt }) => ({
          id,
          email,
          role,
          isInvited: passwordHash === null,
          createdAt,
        })),

    /** The session of a cookie's token, with whose it is. */
    findSession(tokenHash: string): SignedIn | null {
      const found = orm
        .select()
        .from(sessions)
        .innerJoin(members, eq(members.id, sessions.memberId))
        .innerJoin(accounts, eq(accounts.id, members.accountId))
        .where(eq(sessions.tokenHash, tokenHash))
        .get()
      return found
        ? { session: toSession(found.sessions), member: toMember(found.members), accountName: found.accounts.name }
        : null
    },

    /** Newest first. */
    listSessions: (memberId: string): SessionRow[] =>
      orm
        .select()
        .from(sessions)
        .where(eq(sessions.memberId, memberId))
        .orderBy(desc(sessions.createdAt), desc(sessions.id))
        .all()
        .map(toSession),
  }
}

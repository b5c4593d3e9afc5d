import type { Database } from 'bun:sqlite'
import { and, asc, desc, eq, gt } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import * as tables from './schema.ts'
import type { MemberEntry, MemberLink, Place, SessionRow, SignedIn } from './session-types.ts'
import type { MemberRow } from './types.ts'

/** Every page asks for them, and somebody may be in a hundred accounts: one statement, prepared once. */
const PLACES = `
  SELECT accounts.id AS accountId, accounts.name AS accountName, role, requires_two_step AS requiresTwoStep,
    public_id AS appId, apps.name AS appName
  FROM memberships JOIN accounts ON accounts.id = memberships.account_id JOIN apps ON apps.account_id = accounts.id
  WHERE member_id = ? AND accepted_at IS NOT NULL
  ORDER BY accepted_at, accounts.id, apps.id`

/** Quiet reads about members, which accounts they are in, and where they are signed in. Which sessions have ended by themselves, core judges. */
export function createSessionReads(db: Database) {
  const orm = drizzle(db)
  const { members, memberships, sessions } = tables
  const places = db.prepare<Omit<Place, 'requiresTwoStep'> & { requiresTwoStep: number }, [string]>(PLACES)
  const toSession = ({ tokenHash: _, ...session }: typeof sessions.$inferSelect): SessionRow => session
  const toMember = ({ createdAt: _, ...member }: typeof members.$inferSelect): MemberRow => member

  return {
    /** The member with this email, which is normalised. */
    findMember(email: string): MemberRow | null {
      const member = orm.select().from(members).where(eq(members.email, email)).get()
      return member ? toMember(member) : null
    },

    /** Who belongs to an account or is invited to it, the first one first. */
    listMembers: (accountId: string): MemberEntry[] =>
      orm
        .select()
        .from(memberships)
        .innerJoin(members, eq(members.id, memberships.memberId))
        .where(eq(memberships.accountId, accountId))
        .orderBy(asc(memberships.createdAt), asc(members.email))
        .all()
        .map(({ memberships: { id, role, acceptedAt, createdAt }, members: { id: personId, email } }) => ({
          id,
          personId,
          email,
          role,
          isInvited: acceptedAt === null,
          createdAt,
        })),

    /** All apps that a person may open, those of one account together, the first joined and made first. */
    listPlaces: (memberId: string): Place[] =>
      places.all(memberId).map((place) => ({ ...place, requiresTwoStep: place.requiresTwoStep === 1 })),

    /** What a one-time link of a member leads to. */
    findMemberLink(tokenHash: string, now: number): MemberLink | null {
      const { oneTimeLinks: links, accounts } = tables
      const found = orm
        .select()
        .from(links)
        .innerJoin(members, eq(members.id, links.memberId))
        .leftJoin(memberships, and(eq(memberships.memberId, members.id), eq(memberships.accountId, links.accountId)))
        .leftJoin(accounts, eq(accounts.id, memberships.accountId))
        .where(and(eq(links.tokenHash, tokenHash), gt(links.expiresAt, now)))
        .get()
      if (!found) return null
      const { memberships: membership, accounts: account } = found
      const isInvite = found.one_time_links.purpose === 'invite' && membership !== null && account !== null
      return {
        member: toMember(found.members),
        endsTwoStep: found.one_time_links.endsTwoStep,
        invited: isInvite ? { accountId: account.id, accountName: account.name, role: membership.role } : null,
      }
    },

    /** The session of a cookie's token, with whose it is. */
    findSession(tokenHash: string): SignedIn | null {
      const found = orm
        .select()
        .from(sessions)
        .innerJoin(members, eq(members.id, sessions.memberId))
        .where(eq(sessions.tokenHash, tokenHash))
        .get()
      return found ? { session: toSession(found.sessions), member: toMember(found.members) } : null
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

import type { Database } from 'bun:sqlite'
import { and, asc, eq, gt, isNotNull, isNull, ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { createLinks } from './links.ts'
import { accounts, apps, members, memberships, oneTimeLinks, sessions } from './schema.ts'
import type { MemberRow, NewLink, Refused, Role } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

/** `id` differs per account; `personId` does not, and is never shown. `isInvited`: has not accepted yet. */
export type MemberEntry = {
  id: string
  personId: string
  email: string
  role: Role
  isInvited: boolean
  createdAt: number
}

export type AppAccess = {
  accountId: string
  accountName: string
  role: Role
  requiresTwoStep: boolean
  appId: string
  appName: string
}

/** `endsTwoStep`: setting the password turns two-step sign-in off. */
export type MemberLink = {
  member: MemberRow
  endsTwoStep: boolean
  invited: { accountId: string; accountName: string; role: Role } | null
}

type Person = { id: string; email: string; passwordHash: string | null }
type NewMembership = { id: string; accountId: string; memberId: string; role: Role; isAccepted: boolean; at: number }

export function createMemberships(db: Database) {
  const orm = drizzle(db)
  const { dropLinksOfAccount } = createLinks(db)
  const isMembership = (accountId: string, memberId: string) =>
    and(eq(memberships.accountId, accountId), eq(memberships.memberId, memberId))
  const accountsWhere = (memberId: string, condition?: ReturnType<typeof isNull>): string[] =>
    orm
      .select({ accountId: memberships.accountId })
      .from(memberships)
      .where(and(eq(memberships.memberId, memberId), condition))
      .all()
      .map(({ accountId }) => accountId)

  return {
    isMembership,
    find: (accountId: string, memberId: string) =>
      orm.select().from(memberships).where(isMembership(accountId, memberId)).get(),

    findById: (accountId: string, id: string) =>
      orm
        .select()
        .from(memberships)
        .where(and(eq(memberships.id, id), eq(memberships.accountId, accountId)))
        .get(),

    ensurePerson({ id, email, passwordHash }: Person, at: number): string {
      const known = orm.select({ id: members.id }).from(members).where(eq(members.email, email)).get()
      if (known) return known.id
      orm.insert(members).values({ id, email, passwordHash, createdAt: at }).run()
      return id
    },

    add({ isAccepted, at, ...membership }: NewMembership): void {
      orm
        .insert(memberships)
        .values({ ...membership, createdAt: at, acceptedAt: isAccepted ? at : null })
        .run()
    },

    accept(accountId: string, memberId: string, at: number): void {
      orm.update(memberships).set({ acceptedAt: at }).where(isMembership(accountId, memberId)).run()
      dropLinksOfAccount(accountId, memberId)
    },

    listJoined: (memberId: string): string[] => accountsWhere(memberId, isNotNull(memberships.acceptedAt)),
    listInvited: (memberId: string): string[] => accountsWhere(memberId, isNull(memberships.acceptedAt)),
    listAll: (memberId: string): string[] => accountsWhere(memberId),

    needsTwoStep: (memberId: string): boolean =>
      orm
        .select({ id: accounts.id })
        .from(memberships)
        .innerJoin(accounts, eq(accounts.id, memberships.accountId))
        .where(
          and(
            eq(memberships.memberId, memberId),
            isNotNull(memberships.acceptedAt),
            eq(accounts.requiresTwoStep, true),
          ),
        )
        .limit(1)
        .get() !== undefined,

    /** An account must keep an owner who has joined. */
    hasOtherOwner: (accountId: string, memberId: string): boolean =>
      orm
        .select({ memberId: memberships.memberId })
        .from(memberships)
        .where(
          and(
            eq(memberships.accountId, accountId),
            eq(memberships.role, 'owner'),
            isNotNull(memberships.acceptedAt),
            ne(memberships.memberId, memberId),
          ),
        )
        .get() !== undefined,
  }
}

export const toMember = ({ createdAt: _, ...member }: typeof members.$inferSelect): MemberRow => member

export function createMemberReads(db: Database) {
  const orm = drizzle(db)
  const byEmail = prepareLazily(() =>
    orm
      .select()
      .from(members)
      .where(eq(members.email, sql.placeholder('email')))
      .prepare(),
  )
  // prepared because every page runs it, and a person may be in a hundred accounts
  const appAccess = prepareLazily(() =>
    orm
      .select({
        accountId: accounts.id,
        accountName: accounts.name,
        role: memberships.role,
        requiresTwoStep: accounts.requiresTwoStep,
        appId: apps.publicId,
        appName: apps.name,
      })
      .from(memberships)
      .innerJoin(accounts, eq(accounts.id, memberships.accountId))
      .innerJoin(apps, eq(apps.accountId, accounts.id))
      .where(and(eq(memberships.memberId, sql.placeholder('memberId')), isNotNull(memberships.acceptedAt)))
      .orderBy(asc(memberships.acceptedAt), asc(accounts.id), asc(apps.id))
      .prepare(),
  )

  return {
    findMember(email: string): MemberRow | null {
      const member = byEmail.get({ email })
      return member ? toMember(member) : null
    },

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

    listAppAccess: (memberId: string): AppAccess[] => appAccess.all({ memberId }),

    findMemberLink(tokenHash: string, now: number): MemberLink | null {
      const found = orm
        .select()
        .from(oneTimeLinks)
        .innerJoin(members, eq(members.id, oneTimeLinks.memberId))
        .leftJoin(
          memberships,
          and(eq(memberships.memberId, members.id), eq(memberships.accountId, oneTimeLinks.accountId)),
        )
        .leftJoin(accounts, eq(accounts.id, memberships.accountId))
        .where(and(eq(oneTimeLinks.tokenHash, tokenHash), gt(oneTimeLinks.expiresAt, now)))
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
  }
}

/** `id` is used if the email is unknown. A null `role` keeps the current one, or "editor" for new invitations. */
type Invited = { id: string; membershipId: string; email: string; role: Role | null }
type InviteOutcome = (Done & { membershipId: string }) | Refused
/** `passwordHash`: the hash that the password was verified against. */
type Acceptance = { tokenHash: string; memberId: string; passwordHash: string; at: number }

export function createMemberWrites(db: Database) {
  const orm = drizzle(db)
  const audit = createAudit(db)
  const { addLink, findLink, dropLinksOf, dropLinksOfAccount } = createLinks(db)
  const { isMembership, find, findById, ensurePerson, add, accept, listAll, hasOtherOwner } = createMemberships(db)

  /** A person without accounts cannot sign in; deleting them frees the email. */
  const removePerson = (memberId: string): void => {
    orm.delete(sessions).where(eq(sessions.memberId, memberId)).run()
    dropLinksOf(memberId)
    orm.delete(members).where(eq(members.id, memberId)).run()
  }

  const replaceLink = ({ memberId, link, ...change }: Change & { memberId: string; link: NewLink }): void => {
    dropLinksOfAccount(change.accountId, memberId)
    addLink(link, { memberId, accountId: change.accountId }, change.at)
    audit(change, 'member.invite', memberId)
  }

  const changeRole = ({ memberId, role, ...change }: Change & { memberId: string; role: Role }): Done | Refused => {
    if (role !== 'owner' && !hasOtherOwner(change.accountId, memberId)) return { refusal: 'last_owner' }
    orm.update(memberships).set({ role }).where(isMembership(change.accountId, memberId)).run()
    audit(change, `member.set_role.${role}`, memberId)
    return DONE
  }

  return {
    /** Someone already invited gets a new link. */
    inviteMember({ member, link, ...change }: Change & { member: Invited; link: NewLink }): InviteOutcome {
      const { accountId, at } = change
      const memberId = ensurePerson({ ...member, passwordHash: null }, at)
      const known = find(accountId, memberId)
      if (known && known.acceptedAt !== null) return { refusal: 'email_taken' }
      const { id, role } = known ?? { id: member.membershipId, role: member.role ?? 'editor' }
      if (!known) add({ id, accountId, memberId, role, isAccepted: false, at })
      const wantedRole = member.role ?? role
      const changed = wantedRole === role ? DONE : changeRole({ ...change, memberId, role: wantedRole })
      if ('refusal' in changed) return changed
      replaceLink({ ...change, memberId, link })
      return { ...DONE, membershipId: id }
    },

    inviteAgain({ membershipId, link, ...change }: Change & { membershipId: string; link: NewLink }): Done | Refused {
      const invited = findById(change.accountId, membershipId)
      if (!invited || invited.acceptedAt !== null) return { refusal: 'not_found' }
      replaceLink({ ...change, memberId: invited.memberId, link })
      return DONE
    },

    /** For people with a password; others set one by the link (`setPasswordByLink`). */
    acceptInvitation({ tokenHash, memberId, passwordHash, at }: Acceptance): Done | Refused {
      const link = findLink(tokenHash, at)
      const own = and(eq(members.id, memberId), eq(members.passwordHash, passwordHash))
      const person = orm.select({ id: members.id }).from(members).where(own).get()
      if (!link?.accountId || link.purpose !== 'invite' || link.memberId !== memberId || !person) {
        return { refusal: 'not_found' }
      }
      accept(link.accountId, memberId, at)
      audit({ accountId: link.accountId, actor: memberId, at }, 'member.accept', memberId)
      return DONE
    },

    /** Records that someone used an invitation link to set a password for a person who already has one. */
    noteRefusedPassword({ tokenHash, at }: { tokenHash: string; at: number }): Done | Refused {
      const { accountId, memberId } = findLink(tokenHash, at) ?? {}
      if (!accountId || !memberId) return { refusal: 'not_found' }
      audit({ accountId, actor: 'link', at }, 'member.refuse_password', memberId)
      return DONE
    },

    setRole({ membershipId, role, ...change }: Change & { membershipId: string; role: Role }): Done | Refused {
      const found = findById(change.accountId, membershipId)
      return found ? changeRole({ ...change, memberId: found.memberId, role }) : { refusal: 'not_found' }
    },

    removeMember({ membershipId, ...change }: Change & { membershipId: string }): Done | Refused {
      const { memberId } = findById(change.accountId, membershipId) ?? {}
      if (memberId === undefined) return { refusal: 'not_found' }
      if (!hasOtherOwner(change.accountId, memberId)) return { refusal: 'last_owner' }
      orm.delete(memberships).where(isMembership(change.accountId, memberId)).run()
      dropLinksOfAccount(change.accountId, memberId)
      if (listAll(memberId).length === 0) removePerson(memberId)
      audit(change, 'member.remove', memberId)
      return DONE
    },
  }
}

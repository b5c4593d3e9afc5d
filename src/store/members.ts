import type { Sql } from './engine/sql.ts'
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import type { AccountMember, AccountRules } from './account-rules.ts'
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
  /** the first account operates the installation */
  isFirst: boolean
  appId: string
  appName: string
  /** an event or a page view of the app was stored, even if its person was erased since */
  isActivated: boolean
}

/** `endsTwoStep`: setting the password turns two-step sign-in off. `isFirst`: an owner of an account that nobody has joined yet. */
export type MemberLink = {
  member: MemberRow
  endsTwoStep: boolean
  invited: { accountId: string; accountName: string; role: Role; isFirst: boolean } | null
}

type Person = { id: string; email: string; passwordHash: string | null }
type NewMembership = { id: string; accountId: string; memberId: string; role: Role; isAccepted: boolean; at: number }

export function createMemberships(db: Sql) {
  const { orm } = db
  const { dropLinksOfAccount } = createLinks(db)
  const isMembership = (accountId: string, memberId: string) =>
    and(eq(memberships.accountId, accountId), eq(memberships.memberId, memberId))
  const accountsWhere = async (memberId: string, condition?: ReturnType<typeof isNull>): Promise<string[]> =>
    (
      await orm
        .select({ accountId: memberships.accountId })
        .from(memberships)
        .where(and(eq(memberships.memberId, memberId), condition))
        .all()
    ).map(({ accountId }) => accountId)

  return {
    isMembership,
    find: async (accountId: string, memberId: string) =>
      await orm.select().from(memberships).where(isMembership(accountId, memberId)).get(),

    findById: async (accountId: string, id: string) =>
      await orm
        .select()
        .from(memberships)
        .where(and(eq(memberships.id, id), eq(memberships.accountId, accountId)))
        .get(),

    async ensurePerson({ id, email, passwordHash }: Person, at: number): Promise<string> {
      const known = await orm.select({ id: members.id }).from(members).where(eq(members.email, email)).get()
      if (known) return known.id
      await orm.insert(members).values({ id, email, passwordHash, createdAt: at }).run()
      return id
    },

    async add({ isAccepted, at, ...membership }: NewMembership): Promise<void> {
      await orm
        .insert(memberships)
        .values({ ...membership, createdAt: at, acceptedAt: isAccepted ? at : null })
        .run()
    },

    async accept(accountId: string, memberId: string, at: number): Promise<void> {
      await orm.update(memberships).set({ acceptedAt: at }).where(isMembership(accountId, memberId)).run()
      await dropLinksOfAccount(accountId, memberId)
    },

    listJoined: (memberId: string): Promise<string[]> => accountsWhere(memberId, isNotNull(memberships.acceptedAt)),
    listInvited: (memberId: string): Promise<string[]> => accountsWhere(memberId, isNull(memberships.acceptedAt)),
    listAll: (memberId: string): Promise<string[]> => accountsWhere(memberId),

    listJoinedAccounts: async (memberId: string): Promise<{ requiresTwoStep: boolean }[]> =>
      await orm
        .select({ requiresTwoStep: accounts.requiresTwoStep })
        .from(memberships)
        .innerJoin(accounts, eq(accounts.id, memberships.accountId))
        .where(and(eq(memberships.memberId, memberId), isNotNull(memberships.acceptedAt)))
        .all(),

    listOf: async (accountId: string): Promise<AccountMember[]> =>
      (await orm.select().from(memberships).where(eq(memberships.accountId, accountId)).all()).map(
        ({ memberId, role, acceptedAt }) => ({ memberId, role, isJoined: acceptedAt !== null }),
      ),
  }
}

export const toMember = ({ createdAt: _, ...member }: typeof members.$inferSelect): MemberRow => member

export function createMemberReads(db: Sql, { isLinkOpen }: Pick<AccountRules, 'isLinkOpen'>) {
  const { orm } = db
  const { listOf } = createMemberships(db)
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
        isFirst: sql<boolean>`${accounts.id} = (SELECT id FROM accounts ORDER BY created_at, id LIMIT 1)`.mapWith(
          Boolean,
        ),
        appId: apps.publicId,
        appName: apps.name,
        isActivated: sql<boolean>`EXISTS (SELECT 1 FROM daily_rollups WHERE app_id = ${apps.id})`.mapWith(Boolean),
      })
      .from(memberships)
      .innerJoin(accounts, eq(accounts.id, memberships.accountId))
      .innerJoin(apps, eq(apps.accountId, accounts.id))
      .where(and(eq(memberships.memberId, sql.placeholder('memberId')), isNotNull(memberships.acceptedAt)))
      .orderBy(asc(memberships.acceptedAt), asc(accounts.id), asc(apps.id))
      .prepare(),
  )

  return {
    async findMember(email: string): Promise<MemberRow | null> {
      const member = await byEmail.get({ email })
      return member ? toMember(member) : null
    },

    listMembers: async (accountId: string): Promise<MemberEntry[]> =>
      (
        await orm
          .select()
          .from(memberships)
          .innerJoin(members, eq(members.id, memberships.memberId))
          .where(eq(memberships.accountId, accountId))
          .orderBy(asc(memberships.createdAt), asc(members.email))
          .all()
      ).map(({ memberships: { id, role, acceptedAt, createdAt }, members: { id: personId, email } }) => ({
        id,
        personId,
        email,
        role,
        isInvited: acceptedAt === null,
        createdAt,
      })),

    listAppAccess: async (memberId: string): Promise<AppAccess[]> => await appAccess.all({ memberId }),

    async findMemberLink(tokenHash: string, now: number): Promise<MemberLink | null> {
      const found = await orm
        .select()
        .from(oneTimeLinks)
        .innerJoin(members, eq(members.id, oneTimeLinks.memberId))
        .leftJoin(
          memberships,
          and(eq(memberships.memberId, members.id), eq(memberships.accountId, oneTimeLinks.accountId)),
        )
        .leftJoin(accounts, eq(accounts.id, memberships.accountId))
        .where(eq(oneTimeLinks.tokenHash, tokenHash))
        .get()
      if (!found || !isLinkOpen(found.one_time_links, now)) return null
      const { memberships: membership, accounts: account } = found
      const isInvite = found.one_time_links.purpose === 'invite' && membership !== null && account !== null
      const invited = isInvite
        ? {
            accountId: account.id,
            accountName: account.name,
            role: membership.role,
            isFirst: membership.role === 'owner' && (await listOf(account.id)).every(({ isJoined }) => !isJoined),
          }
        : null
      return { member: toMember(found.members), endsTwoStep: found.one_time_links.endsTwoStep, invited }
    },
  }
}

/** `id` is used if the email is unknown. A null `role` keeps the current one, or "editor" for new invitations. */
type Invited = { id: string; membershipId: string; email: string; role: Role | null }
type InviteOutcome = (Done & { membershipId: string }) | Refused
/** `passwordHash`: the hash that the password was verified against. */
type Acceptance = { tokenHash: string; memberId: string; passwordHash: string; at: number }

type MemberRules = Pick<AccountRules, 'isLinkOpen' | 'planInvite' | 'refuseAcceptance' | 'refuseRole'>

export function createMemberWrites(db: Sql, rules: MemberRules) {
  const { orm } = db
  const audit = createAudit(db)
  const { addLink, findLink, dropLinksOf, dropLinksOfAccount } = createLinks(db)
  const { isMembership, find, findById, ensurePerson, add, accept, listAll, listOf } = createMemberships(db)

  /** A person without accounts cannot sign in; deleting them frees the email. */
  const removePerson = async (memberId: string): Promise<void> => {
    await orm.delete(sessions).where(eq(sessions.memberId, memberId)).run()
    await dropLinksOf(memberId)
    await orm.delete(members).where(eq(members.id, memberId)).run()
  }

  const replaceLink = async ({
    memberId,
    link,
    ...change
  }: Change & { memberId: string; link: NewLink }): Promise<void> => {
    await dropLinksOfAccount(change.accountId, memberId)
    await addLink(link, { memberId, accountId: change.accountId }, change.at)
    await audit(change, 'member.invite', memberId)
  }

  const changeRole = async ({
    memberId,
    role,
    ...change
  }: Change & { memberId: string; role: Role }): Promise<void> => {
    await orm.update(memberships).set({ role }).where(isMembership(change.accountId, memberId)).run()
    await audit(change, `member.set_role.${role}`, memberId)
  }

  return {
    /** Someone already invited gets a new link. */
    async inviteMember({
      member,
      link,
      ...change
    }: Change & { member: Invited; link: NewLink }): Promise<InviteOutcome> {
      const { accountId, at } = change
      const memberId = await ensurePerson({ ...member, passwordHash: null }, at)
      const planned = rules.planInvite(await listOf(accountId), { memberId, role: member.role })
      if ('refusal' in planned) return planned
      const membershipId = (await find(accountId, memberId))?.id ?? member.membershipId
      const { role } = planned
      if (planned.change === 'add') await add({ id: membershipId, accountId, memberId, role, isAccepted: false, at })
      if (planned.change === 'setRole') await changeRole({ ...change, memberId, role })
      await replaceLink({ ...change, memberId, link })
      return { ...DONE, membershipId }
    },

    async inviteAgain({
      membershipId,
      link,
      ...change
    }: Change & { membershipId: string; link: NewLink }): Promise<Done | Refused> {
      const invited = await findById(change.accountId, membershipId)
      if (!invited || invited.acceptedAt !== null) return { refusal: 'not_found' }
      await replaceLink({ ...change, memberId: invited.memberId, link })
      return DONE
    },

    /** For people with a password; others set one by the link (`setPasswordByLink`). */
    async acceptInvitation({ tokenHash, memberId, passwordHash, at }: Acceptance): Promise<Done | Refused> {
      const link = await findLink(tokenHash)
      const own = and(eq(members.id, memberId), eq(members.passwordHash, passwordHash))
      const isProven = (await orm.select({ id: members.id }).from(members).where(own).get()) !== undefined
      const refused = rules.refuseAcceptance({ link, at, memberId, isProven })
      const accountId = link?.accountId
      if (refused || !accountId) return refused ?? { refusal: 'not_found' }
      await accept(accountId, memberId, at)
      await audit({ accountId, actor: memberId, at }, 'member.accept', memberId)
      return DONE
    },

    /** Records that someone used an invitation link to set a password for a person who already has one. */
    async noteRefusedPassword({ tokenHash, at }: { tokenHash: string; at: number }): Promise<Done | Refused> {
      const link = await findLink(tokenHash)
      if (!link?.accountId || !link.memberId || !rules.isLinkOpen(link, at)) return { refusal: 'not_found' }
      const { accountId, memberId } = link
      await audit({ accountId, actor: 'link', at }, 'member.refuse_password', memberId)
      return DONE
    },

    async setRole({
      membershipId,
      role,
      ...change
    }: Change & { membershipId: string; role: Role }): Promise<Done | Refused> {
      const { memberId } = (await findById(change.accountId, membershipId)) ?? {}
      if (memberId === undefined) return { refusal: 'not_found' }
      const refused = rules.refuseRole(await listOf(change.accountId), { memberId, role })
      if (refused) return refused
      await changeRole({ ...change, memberId, role })
      return DONE
    },

    async removeMember({ membershipId, ...change }: Change & { membershipId: string }): Promise<Done | Refused> {
      const { memberId } = (await findById(change.accountId, membershipId)) ?? {}
      if (memberId === undefined) return { refusal: 'not_found' }
      const refused = rules.refuseRole(await listOf(change.accountId), { memberId, role: null })
      if (refused) return refused
      await orm.delete(memberships).where(isMembership(change.accountId, memberId)).run()
      await dropLinksOfAccount(change.accountId, memberId)
      if ((await listAll(memberId)).length === 0) await removePerson(memberId)
      await audit(change, 'member.remove', memberId)
      return DONE
    },
  }
}

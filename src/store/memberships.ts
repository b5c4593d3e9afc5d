import type { Database } from 'bun:sqlite'
import { and, eq, isNotNull, isNull, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { createLinks } from './links.ts'
import { accounts, members, memberships } from './schema.ts'
import type { Role } from './types.ts'

type Person = { id: string; email: string; passwordHash: string | null }
type NewMembership = { id: string; accountId: string; memberId: string; role: Role; isAccepted: boolean; at: number }

/** Who belongs to which account: the steps that several writes share, in the transaction of each. */
export function createMemberships(db: Database) {
  const orm = drizzle(db)
  const { dropLinksOfAccount } = createLinks(db)
  const isOne = (accountId: string, memberId: string) =>
    and(eq(memberships.accountId, accountId), eq(memberships.memberId, memberId))
  const accountsWhere = (memberId: string, condition?: ReturnType<typeof isNull>): string[] =>
    orm
      .select({ accountId: memberships.accountId })
      .from(memberships)
      .where(and(eq(memberships.memberId, memberId), condition))
      .all()
      .map(({ accountId }) => accountId)

  return {
    isOne,
    find: (accountId: string, memberId: string) =>
      orm.select().from(memberships).where(isOne(accountId, memberId)).get(),

    /** By the id that the account knows them by; that of another account finds nobody. */
    findById: (accountId: string, id: string) =>
      orm
        .select()
        .from(memberships)
        .where(and(eq(memberships.id, id), eq(memberships.accountId, accountId)))
        .get(),

    /** The person with this email, who is made where nobody has it. @returns their id */
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

    /** An invitation becomes access, and its link is of no more use. */
    accept(accountId: string, memberId: string, at: number): void {
      orm.update(memberships).set({ acceptedAt: at }).where(isOne(accountId, memberId)).run()
      dropLinksOfAccount(accountId, memberId)
    },

    /** The accounts that a person is in. */
    listJoined: (memberId: string): string[] => accountsWhere(memberId, isNotNull(memberships.acceptedAt)),
    /** The accounts that a person is invited to. */
    listInvited: (memberId: string): string[] => accountsWhere(memberId, isNull(memberships.acceptedAt)),
    listAll: (memberId: string): string[] => accountsWhere(memberId),

    /** Whether an account that the person is in asks for two-step sign-in. */
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

    /** Whether somebody else could go on: without an owner nobody could ever invite one. */
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

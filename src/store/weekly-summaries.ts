/** Who gets the weekly summary of an account. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import { type Done, DONE } from './audit.ts'
import { members, memberships } from './schema.ts'
import type { Refused } from './types.ts'

/** `id`: of the membership. `summarizedAt`: for when the last summary was sent; null: none was. */
export type Owner = {
  id: string
  memberId: string
  email: string
  acceptedAt: number
  weeklySummary: boolean
  summarizedAt: number | null
}

const owner = {
  id: memberships.id,
  memberId: memberships.memberId,
  email: members.email,
  acceptedAt: sql<number>`${memberships.acceptedAt}`,
  weeklySummary: memberships.weeklySummary,
  summarizedAt: memberships.summarizedAt,
}

export function createOwnerReads(db: Sql) {
  const { orm } = db
  return {
    /** Without those who have not accepted. */
    listOwners: async (accountId: string): Promise<Owner[]> =>
      await orm
        .select(owner)
        .from(memberships)
        .innerJoin(members, eq(members.id, memberships.memberId))
        .where(
          and(eq(memberships.accountId, accountId), eq(memberships.role, 'owner'), isNotNull(memberships.acceptedAt)),
        )
        .orderBy(asc(memberships.acceptedAt), asc(members.email))
        .all(),

    /** Those who have not accepted. */
    listInvitedOwners: async (accountId: string): Promise<Pick<Owner, 'memberId' | 'email'>[]> =>
      await orm
        .select({ memberId: members.id, email: members.email })
        .from(memberships)
        .innerJoin(members, eq(members.id, memberships.memberId))
        .where(and(eq(memberships.accountId, accountId), eq(memberships.role, 'owner'), isNull(memberships.acceptedAt)))
        .orderBy(asc(memberships.createdAt), asc(members.email))
        .all(),

    /** Whether a membership's summary is on; null: there is no such membership. */
    async findWeeklySummary(membershipId: string): Promise<{ isOn: boolean; accountId: string } | null> {
      const found = await orm.select().from(memberships).where(eq(memberships.id, membershipId)).get()
      return found ? { isOn: found.weeklySummary, accountId: found.accountId } : null
    },
  }
}

export function createSummaryWrites(db: Sql) {
  const { orm } = db
  return {
    async setWeeklySummary({ membershipId, isOn }: { membershipId: string; isOn: boolean }): Promise<Done | Refused> {
      const set = { weeklySummary: isOn }
      const changed = await orm.update(memberships).set(set).where(eq(memberships.id, membershipId)).returning().all()
      return changed.length === 0 ? { refusal: 'not_found' } : DONE
    },

    /** Before it is sent, so that it is sent once. `from`: what was stored. Refusals: already_done. */
    async claimSummary({ membershipId, from, to }: { membershipId: string; from: number | null; to: number | null }) {
      const isAsRead = sql`${memberships.summarizedAt} IS NOT DISTINCT FROM ${from}`
      const claimed = await orm
        .update(memberships)
        .set({ summarizedAt: to })
        .where(and(eq(memberships.id, membershipId), isAsRead))
        .returning()
        .all()
      return claimed.length === 0 ? ({ refusal: 'already_done' } satisfies Refused) : DONE
    },
  }
}

import type { Sql } from './engine/sql.ts'
import { eq, ne } from 'drizzle-orm'
import type { AccountRules } from './account-rules.ts'
import { createAudit, type Done, DONE } from './audit.ts'
import { createLinks } from './links.ts'
import { createMemberships } from './members.ts'
import { accounts, members, sessions } from './schema.ts'
import { createSetUpEnd, createTwoStepEnd } from './two-step.ts'
import type { NewLink, Refused } from './types.ts'

/** `accountId`: null if the operator resets. `endsTwoStep`: setting the password turns two-step sign-in off. */
type Reset = {
  email: string
  link: NewLink
  accountId: string | null
  endsTwoStep?: boolean
  actor: string
  at: number
}

export function createPasswordWrites(db: Sql, rules: Pick<AccountRules, 'planPassword' | 'refuseReset'>) {
  const { orm } = db
  const audit = createAudit(db)
  const { addLink, findLink, dropLink, dropPasswordLinks } = createLinks(db)
  const { find, accept, listAll, listInvited, listJoined } = createMemberships(db)
  const endTwoStep = createTwoStepEnd(db)
  const removeTwoStepSetUp = createSetUpEnd(db)

  const isOnlyAccount = async (accountId: string): Promise<boolean> =>
    (await orm.select({ id: accounts.id }).from(accounts).where(ne(accounts.id, accountId)).limit(1).get()) ===
    undefined

  return {
    /** Refusals: not_found, reset_elsewhere. */
    async makePasswordLink({ email, link, accountId, endsTwoStep, actor, at }: Reset): Promise<Done | Refused> {
      const member = await orm.select({ id: members.id }).from(members).where(eq(members.email, email)).get()
      if (!member) return { refusal: 'not_found' }
      const isOnly = accountId !== null && (await isOnlyAccount(accountId))
      const refused = rules.refuseReset({
        isByOwner: accountId !== null,
        isJoined: accountId !== null && Boolean((await find(accountId, member.id))?.acceptedAt),
        isOnlyAccount: () => isOnly,
      })
      if (refused) return refused
      await dropPasswordLinks(member.id)
      await addLink(link, { memberId: member.id, accountId, endsTwoStep }, at)
      for (const one of await listAll(member.id))
        await audit({ accountId: one, actor, at }, 'member.reset_password', member.id)
      return DONE
    },

    /** Uses up the link and ends all sessions. Refusals: not_found. */
    async setPasswordByLink({ tokenHash, passwordHash, at }: { tokenHash: string; passwordHash: string; at: number }) {
      const link = await findLink(tokenHash)
      const member = await orm
        .select()
        .from(members)
        .where(eq(members.id, link?.memberId ?? ''))
        .get()
      if (!member) return { refusal: 'not_found' } satisfies Refused
      const invitedTo = await listInvited(member.id)
      const planned = rules.planPassword({ link, at, member, invitedTo: () => invitedTo })
      if ('refusal' in planned) return planned
      await dropLink(tokenHash)
      for (const accountId of planned.accepts) await accept(accountId, member.id, at)
      await orm.update(members).set({ passwordHash }).where(eq(members.id, member.id)).run()
      await orm.delete(sessions).where(eq(sessions.memberId, member.id)).run()
      for (const accountId of await listJoined(member.id)) {
        await audit({ accountId, actor: member.id, at }, 'member.set_password', member.id)
      }
      await removeTwoStepSetUp(member.id)
      if (planned.endsTwoStep) await endTwoStep({ memberId: member.id, at })
      return DONE
    },
  }
}

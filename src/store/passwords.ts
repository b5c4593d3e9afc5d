import type { Database } from 'bun:sqlite'
import { eq, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
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

export function createPasswordWrites(db: Database, rules: Pick<AccountRules, 'planPassword' | 'refuseReset'>) {
  const orm = drizzle(db)
  const audit = createAudit(db)
  const { addLink, findLink, dropLink, dropPasswordLinks } = createLinks(db)
  const { find, accept, listAll, listInvited, listJoined } = createMemberships(db)
  const endTwoStep = createTwoStepEnd(db)
  const removeTwoStepSetUp = createSetUpEnd(db)

  const isOnlyAccount = (accountId: string): boolean =>
    orm.select({ id: accounts.id }).from(accounts).where(ne(accounts.id, accountId)).limit(1).get() === undefined

  return {
    /** Refusals: not_found, reset_elsewhere. */
    makePasswordLink({ email, link, accountId, endsTwoStep, actor, at }: Reset): Done | Refused {
      const member = orm.select({ id: members.id }).from(members).where(eq(members.email, email)).get()
      if (!member) return { refusal: 'not_found' }
      const refused = rules.refuseReset({
        isByOwner: accountId !== null,
        isJoined: accountId !== null && Boolean(find(accountId, member.id)?.acceptedAt),
        isOnlyAccount: () => accountId !== null && isOnlyAccount(accountId),
      })
      if (refused) return refused
      dropPasswordLinks(member.id)
      addLink(link, { memberId: member.id, accountId, endsTwoStep }, at)
      for (const one of listAll(member.id)) audit({ accountId: one, actor, at }, 'member.reset_password', member.id)
      return DONE
    },

    /** Uses up the link and ends all sessions. Refusals: not_found. */
    setPasswordByLink({ tokenHash, passwordHash, at }: { tokenHash: string; passwordHash: string; at: number }) {
      const link = findLink(tokenHash)
      const member = orm
        .select()
        .from(members)
        .where(eq(members.id, link?.memberId ?? ''))
        .get()
      if (!member) return { refusal: 'not_found' } satisfies Refused
      const planned = rules.planPassword({ link, at, member, invitedTo: () => listInvited(member.id) })
      if ('refusal' in planned) return planned
      dropLink(tokenHash)
      for (const accountId of planned.accepts) accept(accountId, member.id, at)
      orm.update(members).set({ passwordHash }).where(eq(members.id, member.id)).run()
      orm.delete(sessions).where(eq(sessions.memberId, member.id)).run()
      for (const accountId of listJoined(member.id)) {
        audit({ accountId, actor: member.id, at }, 'member.set_password', member.id)
      }
      removeTwoStepSetUp(member.id)
      if (planned.endsTwoStep) endTwoStep({ memberId: member.id, at })
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { eq, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
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

export function createPasswordWrites(db: Database) {
  const orm = drizzle(db)
  const audit = createAudit(db)
  const { addLink, findLink, useLink, dropPasswordLinks } = createLinks(db)
  const { find, accept, listAll, listInvited, listJoined } = createMemberships(db)
  const endTwoStep = createTwoStepEnd(db)
  const removeTwoStepSetUp = createSetUpEnd(db)

  const isOneOfSeveral = (accountId: string): boolean =>
    orm.select({ id: accounts.id }).from(accounts).where(ne(accounts.id, accountId)).limit(1).get() !== undefined

  return {
    /**
     * Owners may do this only if the server has one account, because it would open the member's other accounts to
     * them.
     */
    makePasswordLink({ email, link, accountId, endsTwoStep, actor, at }: Reset): Done | Refused {
      const member = orm.select({ id: members.id }).from(members).where(eq(members.email, email)).get()
      if (!member) return { refusal: 'not_found' }
      if (accountId !== null && !find(accountId, member.id)?.acceptedAt) return { refusal: 'not_found' }
      if (accountId !== null && isOneOfSeveral(accountId)) return { refusal: 'reset_elsewhere' }
      dropPasswordLinks(member.id)
      addLink(link, { memberId: member.id, accountId, endsTwoStep }, at)
      for (const one of listAll(member.id)) audit({ accountId: one, actor, at }, 'member.reset_password', member.id)
      return DONE
    },

    /**
     * A first password accepts the link's invitation, or all invitations if the operator made the link. An invitation
     * can only set a first password.
     */
    setPasswordByLink({ tokenHash, passwordHash, at }: { tokenHash: string; passwordHash: string; at: number }) {
      const link = findLink(tokenHash, at)
      const member = orm
        .select()
        .from(members)
        .where(eq(members.id, link?.memberId ?? ''))
        .get()
      const isFirst = member?.passwordHash === null
      if (!link || !member || (link.purpose === 'invite' && !isFirst)) return { refusal: 'not_found' } satisfies Refused
      useLink(tokenHash, link.purpose, at)
      const invited = link.accountId === null ? listInvited(member.id) : [link.accountId]
      if (isFirst) for (const accountId of invited) accept(accountId, member.id, at)
      orm.update(members).set({ passwordHash }).where(eq(members.id, member.id)).run()
      orm.delete(sessions).where(eq(sessions.memberId, member.id)).run()
      for (const accountId of listJoined(member.id)) {
        audit({ accountId, actor: member.id, at }, 'member.set_password', member.id)
      }
      removeTwoStepSetUp(member.id)
      if (link.endsTwoStep) endTwoStep({ memberId: member.id, at })
      return DONE
    },
  }
}

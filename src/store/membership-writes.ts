import type { Database } from 'bun:sqlite'
import { and, eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { createLinks } from './links.ts'
import { createMemberships } from './memberships.ts'
import { members, memberships, sessions } from './schema.ts'
import type { NewLink, Refused, Role } from './types.ts'

/**
 * `id` is that of a person whom nobody knew, `membershipId` the one by which the account will know them. `role`: null
 * leaves it as they were invited, at first as an editor.
 */
type Invited = { id: string; membershipId: string; email: string; role: Role | null }
type InviteOutcome = (Done & { membershipId: string }) | Refused
/** By the person themselves, whose password was compared with `passwordHash`. */
type Acceptance = { tokenHash: string; memberId: string; passwordHash: string; at: number }

/** Who belongs to an account. Nothing here tells one account of another. */
export function createMembershipWrites(db: Database) {
  const orm = drizzle(db)
  const audit = createAudit(db)
  const { addLink, findLink, dropLinksOf, dropLinksOfAccount } = createLinks(db)
  const { isOne, find, findById, ensurePerson, add, accept, listAll, hasOtherOwner } = createMemberships(db)

  /** Whoever belongs to no account signs in nowhere: with all sessions and links, and their email is free again. */
  const removePerson = (memberId: string): void => {
    orm.delete(sessions).where(eq(sessions.memberId, memberId)).run()
    dropLinksOf(memberId)
    orm.delete(members).where(eq(members.id, memberId)).run()
  }

  /** The one link of an invitation: an earlier one stops working. */
  const replaceLink = ({ memberId, link, ...change }: Change & { memberId: string; link: NewLink }): void => {
    dropLinksOfAccount(change.accountId, memberId)
    addLink(link, { memberId, accountId: change.accountId }, change.at)
    audit(change, 'member.invite', memberId)
  }

  const changeRole = ({ memberId, role, ...change }: Change & { memberId: string; role: Role }): Done | Refused => {
    if (role !== 'owner' && !hasOtherOwner(change.accountId, memberId)) return { refusal: 'last_owner' }
    orm.update(memberships).set({ role }).where(isOne(change.accountId, memberId)).run()
    audit(change, `member.set_role.${role}`, memberId)
    return DONE
  }

  return {
    /** Invites a person, known to the server or not; the link accepts. Whoever is still invited gets another one. */
    inviteMember({ member, link, ...change }: Change & { member: Invited; link: NewLink }): InviteOutcome {
      const { accountId, at } = change
      const memberId = ensurePerson({ ...member, passwordHash: null }, at)
      const known = find(accountId, memberId)
      if (known && known.acceptedAt !== null) return { refusal: 'email_taken' }
      const { id, role } = known ?? { id: member.membershipId, role: member.role ?? 'editor' }
      if (!known) add({ id, accountId, memberId, role, isAccepted: false, at })
      const wanted = member.role ?? role
      const changed = wanted === role ? DONE : changeRole({ ...change, memberId, role: wanted })
      if ('refusal' in changed) return changed
      replaceLink({ ...change, memberId, link })
      return { ...DONE, membershipId: id }
    },

    /** Another link for somebody who has not accepted; the earlier one stops working. */
    inviteAgain({ membershipId, link, ...change }: Change & { membershipId: string; link: NewLink }): Done | Refused {
      const invited = findById(change.accountId, membershipId)
      if (!invited || invited.acceptedAt !== null) return { refusal: 'not_found' }
      replaceLink({ ...change, memberId: invited.memberId, link })
      return DONE
    },

    /** Of somebody who has a password; whoever has none chooses one by the link (`setPasswordByLink`). */
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

    /** The account is told that by the link of its invitation a password was chosen for somebody who has one. */
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

    /** Takes them out of this account. */
    removeMember({ membershipId, ...change }: Change & { membershipId: string }): Done | Refused {
      const { memberId } = findById(change.accountId, membershipId) ?? {}
      if (memberId === undefined) return { refusal: 'not_found' }
      if (!hasOtherOwner(change.accountId, memberId)) return { refusal: 'last_owner' }
      orm.delete(memberships).where(isOne(change.accountId, memberId)).run()
      dropLinksOfAccount(change.accountId, memberId)
      if (listAll(memberId).length === 0) removePerson(memberId)
      audit(change, 'member.remove', memberId)
      return DONE
    },
  }
}

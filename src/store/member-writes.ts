import type { Database } from 'bun:sqlite'
import { and, eq, isNotNull, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { createLinks } from './links.ts'
import { members, sessions } from './schema.ts'
import type { NewLink, Refused, Role } from './types.ts'

type Invited = { id: string; email: string; role: Role }

/** Members and the links that set their passwords. */
export function createMemberWrites(db: Database) {
  const orm = drizzle(db)
  const audit = createAudit(db)
  const { addLink, useLink, dropLinksOf } = createLinks(db)

  const findOwn = (accountId: string, memberId: string) =>
    orm
      .select({ id: members.id })
      .from(members)
      .where(and(eq(members.id, memberId), eq(members.accountId, accountId)))
      .get()

  /** Whether somebody else could go on: without an owner nobody could ever invite one. */
  const hasOtherOwner = (accountId: string, memberId: string): boolean =>
    orm
      .select({ id: members.id })
      .from(members)
      .where(
        and(
          eq(members.accountId, accountId),
          eq(members.role, 'owner'),
          isNotNull(members.passwordHash),
          ne(members.id, memberId),
        ),
      )
      .get() !== undefined

  return {
    /** A further member, who has no password until the link has set one. */
    inviteMember({ member, link, ...change }: Change & { member: Invited; link: NewLink }): Done | Refused {
      const taken = orm.select({ id: members.id }).from(members).where(eq(members.email, member.email)).get()
      if (taken) return { refusal: 'email_taken' }
      orm
        .insert(members)
        .values({ ...member, accountId: change.accountId, createdAt: change.at })
        .run()
      addLink(link, member.id, change.at)
      audit(change, 'member.invite', member.id)
      return DONE
    },

    setRole({ memberId, role, ...change }: Change & { memberId: string; role: Role }): Done | Refused {
      if (!findOwn(change.accountId, memberId)) return { refusal: 'not_found' }
      if (role !== 'owner' && !hasOtherOwner(change.accountId, memberId)) return { refusal: 'last_owner' }
      orm.update(members).set({ role }).where(eq(members.id, memberId)).run()
      audit(change, `member.set_role.${role}`, memberId)
      return DONE
    },

    /** With all sessions and links; their email is free again. */
    removeMember({ memberId, ...change }: Change & { memberId: string }): Done | Refused {
      if (!findOwn(change.accountId, memberId)) return { refusal: 'not_found' }
      if (!hasOtherOwner(change.accountId, memberId)) return { refusal: 'last_owner' }
      orm.delete(sessions).where(eq(sessions.memberId, memberId)).run()
      dropLinksOf(memberId)
      orm.delete(members).where(eq(members.id, memberId)).run()
      audit(change, 'member.remove', memberId)
      return DONE
    },

    /** A link that sets a new password. The old one works until then; earlier links do not. */
    makePasswordLink({ email, link, actor, at }: { email: string; link: NewLink; actor: string; at: number }) {
      const member = orm.select().from(members).where(eq(members.email, email)).get()
      if (!member) return { refusal: 'not_found' } satisfies Refused
      dropLinksOf(member.id)
      addLink(link, member.id, at)
      audit({ accountId: member.accountId, actor, at }, 'member.reset_password', member.id)
      return DONE
    },

    /** Sets a password through a one-time link, which is used up; whoever was signed in with the old one is out. */
    setPasswordByLink({ tokenHash, passwordHash, at }: { tokenHash: string; passwordHash: string; at: number }) {
      const memberId = useLink(tokenHash, 'password', at)?.memberId
      if (!memberId) return { refusal: 'not_found' } satisfies Refused
      const [member] = orm.update(members).set({ passwordHash }).where(eq(members.id, memberId)).returning().all()
      orm.delete(sessions).where(eq(sessions.memberId, memberId)).run()
      if (member) audit({ accountId: member.accountId, actor: memberId, at }, 'member.set_password', memberId)
      return DONE
    },
  }
}

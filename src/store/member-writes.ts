import type { Database } from 'bun:sqlite'
import { eq } from 'drizzle-orm'
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

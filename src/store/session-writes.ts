import type { Database } from 'bun:sqlite'
import { and, eq, isNotNull, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { createAudit, type Done, DONE } from './audit.ts'
import { createMemberships } from './memberships.ts'
import { members, sessions, twoSteps } from './schema.ts'
import type { NewSession } from './session-types.ts'
import { createSetUpEnd } from './two-step-writes.ts'
import type { Refused } from './types.ts'

type Own = { memberId: string; sessionId: string; at: number }
type Start = {
  session: NewSession
  passwordHash: string
  isSecondStepDone?: boolean
  replaces: string | null
  at: number
}

/**
 * Where members are signed in. What follows from a password carries the hash it was compared with: when that is not the
 * member's any more, because it was changed in between, nothing is done.
 */
export function createSessionWrites(db: Database) {
  const orm = drizzle(db)
  const audit = createAudit(db)

  const { listJoined } = createMemberships(db)
  const forgetSetUp = createSetUpEnd(db)

  const isHashOf = (memberId: string, passwordHash: string): boolean =>
    orm
      .select({ id: members.id })
      .from(members)
      .where(and(eq(members.id, memberId), eq(members.passwordHash, passwordHash)))
      .get() !== undefined

  /** Each account is told of its own member. */
  const auditEverywhere = (memberId: string, at: number, action: string, subject: string): void => {
    for (const accountId of listJoined(memberId)) audit({ accountId, actor: memberId, at }, action, subject)
  }

  const hasTwoStep = (memberId: string): boolean =>
    orm
      .select({ memberId: twoSteps.memberId })
      .from(twoSteps)
      .where(and(eq(twoSteps.memberId, memberId), isNotNull(twoSteps.turnedOnAt)))
      .get() !== undefined

  const isOwn = ({ memberId, sessionId }: Pick<Own, 'memberId' | 'sessionId'>) =>
    and(eq(sessions.id, sessionId), eq(sessions.memberId, memberId))

  return {
    /**
     * `replaces` is the token of the session that the same browser had, which ends. `isSecondStepDone`: where a second
     * step is on, which it may be only since the password was compared, there is no session without.
     */
    startSession(start: Start) {
      const { session, passwordHash, replaces, at } = start
      const isStepMissing = !start.isSecondStepDone && hasTwoStep(session.memberId)
      if (isStepMissing || !isHashOf(session.memberId, passwordHash)) return { refusal: 'not_found' } satisfies Refused
      if (replaces !== null) orm.delete(sessions).where(eq(sessions.tokenHash, replaces)).run()
      orm
        .insert(sessions)
        .values({ ...session, createdAt: at, lastSeenAt: at, confirmedAt: at })
        .run()
      auditEverywhere(session.memberId, at, 'session.start', session.id)
      return DONE
    },

    touchSession({ sessionId, at }: Omit<Own, 'memberId'>): Done {
      orm.update(sessions).set({ lastSeenAt: at }).where(eq(sessions.id, sessionId)).run()
      return DONE
    },

    /** The password was typed again: the session goes on under a new token. `already_done` where none is stored. */
    confirmSession(confirmation: Own & { passwordHash: string; tokenHash: string }): Done | Refused {
      const { memberId, passwordHash, tokenHash, at } = confirmation
      if (!isHashOf(memberId, passwordHash)) return { refusal: 'not_found' }
      const set = { confirmedAt: at, tokenHash }
      const confirmed = orm.update(sessions).set(set).where(isOwn(confirmation)).returning().get()
      return confirmed ? DONE : { refusal: 'already_done' }
    },

    /** One that has ended already stays so; another member's does not exist. */
    endSession(own: Own): Done {
      orm.delete(sessions).where(isOwn(own)).run()
      return DONE
    },

    /** Ends all sessions of a member but this one. */
    endOtherSessions({ memberId, sessionId }: Own): Done {
      orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      return DONE
    },

    /** Ends all other sessions; this one goes on under a new token. A second step that is being set up is forgotten. */
    changePassword(change: Own & { oldHash: string; passwordHash: string; tokenHash: string }): Done | Refused {
      const { memberId, sessionId, at, oldHash, passwordHash, tokenHash } = change
      if (!isHashOf(memberId, oldHash)) return { refusal: 'not_found' }
      orm.update(members).set({ passwordHash }).where(eq(members.id, memberId)).run()
      orm.update(sessions).set({ tokenHash, confirmedAt: at }).where(isOwn(change)).run()
      orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      forgetSetUp(memberId)
      auditEverywhere(memberId, at, 'member.change_password', memberId)
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, isNotNull, isNull, ne, notInArray, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Change, createAudit, type Done, DONE, type SignInMark } from './audit.ts'
import { createMemberships, toMember } from './members.ts'
import { auditEntries, members, sessions, twoSteps } from './schema.ts'
import { createSetUpEnd } from './two-step.ts'
import type { MemberRow, Refused } from './types.ts'

export type SessionRow = {
  id: string
  memberId: string
  /** in words of our own */
  browser: string
  createdAt: number
  lastSeenAt: number
  /** when the password was last typed */
  confirmedAt: number
}

/** A session with whose it is. */
export type SignedIn = { session: SessionRow; member: MemberRow }

export type NewSession = { id: string; tokenHash: string; memberId: string; browser: string }

/** Failed sign-ins of a member that are alike. `address` is a keyed hash, or 'several'. */
export type FailedSignIns = { memberId: string; action: string; address: string; count: number; at: number }

/** Which sessions have ended by themselves, accounts/sessions.ts knows. */
export function createSessionReads(db: Database) {
  const orm = drizzle(db)
  const toSession = ({ tokenHash: _, ...session }: typeof sessions.$inferSelect): SessionRow => session
  const byToken = orm
    .select()
    .from(sessions)
    .innerJoin(members, eq(members.id, sessions.memberId))
    .where(eq(sessions.tokenHash, sql.placeholder('tokenHash')))
    .prepare()

  return {
    /** The session of a cookie's token, with whose it is. */
    findSession(tokenHash: string): SignedIn | null {
      const found = byToken.get({ tokenHash })
      return found ? { session: toSession(found.sessions), member: toMember(found.members) } : null
    },

    /** Newest first. */
    listSessions: (memberId: string): SessionRow[] =>
      orm
        .select()
        .from(sessions)
        .where(eq(sessions.memberId, memberId))
        .orderBy(desc(sessions.createdAt), desc(sessions.id))
        .all()
        .map(toSession),
  }
}

type Own = { memberId: string; sessionId: string; at: number }
/** `address` is a keyed hash. */
type Start = {
  session: NewSession
  passwordHash: string
  address: string
  isSecondStepDone?: boolean
  replaces: string | null
  at: number
}

/** Sessions of a member at once; a further one ends those that were used longest ago. */
export const MOST_SESSIONS = 20

/** So often at most a member gets the same notice. */
const NOTICE_EVERY_MS = 24 * 3_600_000

/**
 * Where members are signed in. What follows from a password carries the hash it was compared with: when that is not the
 * member's any more, because it was changed in between, nothing is done.
 */
export function createSessionWrites(db: Database) {
  const orm = drizzle(db)
  const audit = createAudit(db)

  const { listJoined, findById } = createMemberships(db)
  const forgetSetUp = createSetUpEnd(db)

  const isHashOf = (memberId: string, passwordHash: string): boolean =>
    orm
      .select({ id: members.id })
      .from(members)
      .where(and(eq(members.id, memberId), eq(members.passwordHash, passwordHash)))
      .get() !== undefined

  /** In each account that the member is in. */
  const auditEverywhere = (
    { memberId, at, actor = memberId }: { memberId: string; at: number; actor?: string },
    action: string,
    subject: string,
    mark?: SignInMark,
  ): void => {
    for (const accountId of listJoined(memberId)) audit({ accountId, actor, at }, action, subject, mark)
  }

  const dropOldest = ({ id, memberId }: NewSession): void => {
    const others = and(eq(sessions.memberId, memberId), ne(sessions.id, id))
    const kept = orm
      .select({ id: sessions.id })
      .from(sessions)
      .where(others)
      .orderBy(desc(sessions.lastSeenAt), desc(sessions.id))
      .limit(MOST_SESSIONS - 1)
      .all()
    const keptIds = kept.map((one) => one.id)
    orm
      .delete(sessions)
      .where(and(others, notInArray(sessions.id, keptIds)))
      .run()
  }

  const hasTwoStep = (memberId: string): boolean =>
    orm
      .select({ memberId: twoSteps.memberId })
      .from(twoSteps)
      .where(and(eq(twoSteps.memberId, memberId), isNotNull(twoSteps.turnedOnAt)))
      .get() !== undefined

  const seen = orm
    .update(sessions)
    .set({ lastSeenAt: sql`${sql.placeholder('at')}` })
    .where(eq(sessions.id, sql.placeholder('sessionId')))
    .prepare()

  const isOwn = ({ memberId, sessionId }: Pick<Own, 'memberId' | 'sessionId'>) =>
    and(eq(sessions.id, sessionId), eq(sessions.memberId, memberId))

  return {
    /**
     * `replaces` is the token of the session that the same browser had, which ends. `isSecondStepDone`: where a second
     * step is on, which it may be only since the password was compared, there is no session without.
     */
    startSession(start: Start) {
      const { session, passwordHash, address, replaces, at } = start
      const isStepMissing = !start.isSecondStepDone && hasTwoStep(session.memberId)
      if (isStepMissing || !isHashOf(session.memberId, passwordHash)) return { refusal: 'not_found' } satisfies Refused
      if (replaces !== null) orm.delete(sessions).where(eq(sessions.tokenHash, replaces)).run()
      orm
        .insert(sessions)
        .values({ ...session, createdAt: at, lastSeenAt: at, confirmedAt: at })
        .run()
      dropOldest(session)
      auditEverywhere({ memberId: session.memberId, at }, 'session.start', session.id, { address })
      return DONE
    },

    /** Wrong passwords and codes, gathered before they are written. */
    noteFailedSignIns(failures: FailedSignIns[]): Done {
      for (const { memberId, action, address, count, at } of failures) {
        auditEverywhere({ memberId, at, actor: 'stranger' }, action, memberId, { address, count })
      }
      return DONE
    },

    /** Takes the right to send a member a notice, once a day for each. Refusals: already_done. */
    claimNotice({ memberId, action, at }: { memberId: string; action: string; at: number }): Done | Refused {
      const joined = listJoined(memberId)
      const wanted = and(
        eq(auditEntries.accountId, joined[0] ?? ''),
        gt(auditEntries.createdAt, at - NOTICE_EVERY_MS),
        isNull(auditEntries.address),
        eq(auditEntries.action, action),
        eq(auditEntries.subject, memberId),
      )
      const isSent = orm.select({ id: auditEntries.id }).from(auditEntries).where(wanted).limit(1).get() !== undefined
      if (isSent || joined.length === 0) return { refusal: 'already_done' }
      auditEverywhere({ memberId, at, actor: 'eventpost' }, action, memberId)
      return DONE
    },

    touchSession({ sessionId, at }: Omit<Own, 'memberId'>): Done {
      seen.run({ sessionId, at })
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
      const ended = orm.delete(sessions).where(isOwn(own)).returning().get()
      if (ended) auditEverywhere(own, 'session.end', ended.id)
      return DONE
    },

    /** Ends all sessions of a member, by an owner of an account that they are in. Refusals: not_found. */
    endMemberSessions({ membershipId, ...change }: Change & { membershipId: string }): Done | Refused {
      const membership = findById(change.accountId, membershipId)
      if (!membership?.acceptedAt) return { refusal: 'not_found' }
      orm.delete(sessions).where(eq(sessions.memberId, membership.memberId)).run()
      audit(change, 'member.end_sessions', membership.memberId)
      return DONE
    },

    /** Ends all sessions of a member but this one. */
    endOtherSessions({ memberId, sessionId, at }: Own): Done {
      orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      auditEverywhere({ memberId, at }, 'session.end_others', memberId)
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
      auditEverywhere({ memberId, at }, 'member.change_password', memberId)
      return DONE
    },
  }
}

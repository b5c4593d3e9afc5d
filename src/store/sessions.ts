import type { Sql } from './engine/sql.ts'
import { and, desc, eq, gt, inArray, isNotNull, isNull, ne, sql } from 'drizzle-orm'
import type { AccountRules } from './account-rules.ts'
import { type Change, createAudit, type Done, DONE, type SignInMark } from './audit.ts'
import { createMemberships, toMember } from './members.ts'
import { auditEntries, members, sessions, twoSteps } from './schema.ts'
import { createSetUpEnd } from './two-step.ts'
import type { MemberRow, Refused } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

export type SessionRow = {
  id: string
  memberId: string
  browser: string
  createdAt: number
  lastSeenAt: number
  /** when the password was last entered */
  confirmedAt: number
}

export type SignedIn = { session: SessionRow; member: MemberRow }

export type NewSession = { id: string; tokenHash: string; memberId: string; browser: string }

/** Identical failures of a member, counted. `address`: keyed hash, or 'several'. */
export type FailedSignIns = { memberId: string; action: string; address: string; count: number; at: number }

/** accounts/sessions.ts decides which sessions have expired. */
export function createSessionReads(db: Sql) {
  const { orm } = db
  const toSession = ({ tokenHash: _, ...session }: typeof sessions.$inferSelect): SessionRow => session
  const byToken = prepareLazily(() =>
    orm
      .select()
      .from(sessions)
      .innerJoin(members, eq(members.id, sessions.memberId))
      .where(eq(sessions.tokenHash, sql.placeholder('tokenHash')))
      .prepare(),
  )

  return {
    async findSession(tokenHash: string): Promise<SignedIn | null> {
      const found = await byToken.get({ tokenHash })
      return found ? { session: toSession(found.sessions), member: toMember(found.members) } : null
    },

    listSessions: async (memberId: string): Promise<SessionRow[]> =>
      (
        await orm
          .select()
          .from(sessions)
          .where(eq(sessions.memberId, memberId))
          .orderBy(desc(sessions.createdAt), desc(sessions.id))
          .all()
      ).map(toSession),
  }
}

type Own = { memberId: string; sessionId: string; at: number }
type Start = {
  session: NewSession
  passwordHash: string
  address: string
  isSecondStepDone?: boolean
  replaces: string | null
  at: number
}

/** Refused if the same notice was claimed after `since` (ms UTC). */
type Notice = { memberId: string; action: string; since: number; at: number }

type SessionRules = Pick<AccountRules, 'isSignInProven' | 'listEndedSessions'>

/** Steps that depend on a password are refused if it changed since it was verified (`passwordHash`). */
export function createSessionWrites(db: Sql, rules: SessionRules) {
  const { orm } = db
  const audit = createAudit(db)

  const { listJoined, findById } = createMemberships(db)
  const removeTwoStepSetUp = createSetUpEnd(db)

  const isHashOf = async (memberId: string, passwordHash: string): Promise<boolean> =>
    (await orm
      .select({ id: members.id })
      .from(members)
      .where(and(eq(members.id, memberId), eq(members.passwordHash, passwordHash)))
      .get()) !== undefined

  const auditEverywhere = async (
    { memberId, at, actor = memberId }: { memberId: string; at: number; actor?: string },
    action: string,
    subject: string,
    mark?: SignInMark,
  ): Promise<void> => {
    for (const accountId of await listJoined(memberId)) await audit({ accountId, actor, at }, action, subject, mark)
  }

  const dropEnded = async ({ id, memberId }: NewSession): Promise<void> => {
    const others = await orm
      .select({ id: sessions.id, lastSeenAt: sessions.lastSeenAt })
      .from(sessions)
      .where(and(eq(sessions.memberId, memberId), ne(sessions.id, id)))
      .all()
    const ended = rules.listEndedSessions(others)
    if (ended.length > 0) await orm.delete(sessions).where(inArray(sessions.id, ended)).run()
  }

  const hasTwoStep = async (memberId: string): Promise<boolean> =>
    (await orm
      .select({ memberId: twoSteps.memberId })
      .from(twoSteps)
      .where(and(eq(twoSteps.memberId, memberId), isNotNull(twoSteps.turnedOnAt)))
      .get()) !== undefined

  const setLastSeen = prepareLazily(() =>
    orm
      .update(sessions)
      .set({ lastSeenAt: sql`${sql.placeholder('at')}` })
      .where(eq(sessions.id, sql.placeholder('sessionId')))
      .prepare(),
  )

  const isOwn = ({ memberId, sessionId }: Pick<Own, 'memberId' | 'sessionId'>) =>
    and(eq(sessions.id, sessionId), eq(sessions.memberId, memberId))

  return {
    /** Checks two-step sign-in again: it may have been turned on since the password was verified. */
    async startSession(start: Start) {
      const { session, passwordHash, address, replaces, at } = start
      const { memberId } = session
      const isProven = rules.isSignInProven({
        isPasswordCurrent: await isHashOf(memberId, passwordHash),
        isStepDone: start.isSecondStepDone === true,
        hasTwoStep: await hasTwoStep(memberId),
      })
      if (!isProven) return { refusal: 'not_found' } satisfies Refused
      if (replaces !== null) await orm.delete(sessions).where(eq(sessions.tokenHash, replaces)).run()
      await orm
        .insert(sessions)
        .values({ ...session, createdAt: at, lastSeenAt: at, confirmedAt: at })
        .run()
      await dropEnded(session)
      await auditEverywhere({ memberId, at }, 'session.start', session.id, { address })
      return DONE
    },

    async noteFailedSignIns(failures: FailedSignIns[]): Promise<Done> {
      for (const { memberId, action, address, count, at } of failures) {
        await auditEverywhere({ memberId, at, actor: 'stranger' }, action, memberId, { address, count })
      }
      return DONE
    },

    async claimNotice({ memberId, action, since, at }: Notice): Promise<Done | Refused> {
      const joined = await listJoined(memberId)
      const isSameNotice = and(
        eq(auditEntries.accountId, joined[0] ?? ''),
        gt(auditEntries.createdAt, since),
        isNull(auditEntries.address),
        eq(auditEntries.action, action),
        eq(auditEntries.subject, memberId),
      )
      const isSent =
        (await orm.select({ id: auditEntries.id }).from(auditEntries).where(isSameNotice).limit(1).get()) !== undefined
      if (isSent || joined.length === 0) return { refusal: 'already_done' }
      await auditEverywhere({ memberId, at, actor: 'eventpost' }, action, memberId)
      return DONE
    },

    async touchSession({ sessionId, at }: Omit<Own, 'memberId'>): Promise<Done> {
      await setLastSeen.run({ sessionId, at })
      return DONE
    },

    /** The session gets a new token. Refuses already_done if the session is gone. */
    async confirmSession(confirmation: Own & { passwordHash: string; tokenHash: string }): Promise<Done | Refused> {
      const { memberId, passwordHash, tokenHash, at } = confirmation
      if (!(await isHashOf(memberId, passwordHash))) return { refusal: 'not_found' }
      const set = { confirmedAt: at, tokenHash }
      const confirmed = await orm.update(sessions).set(set).where(isOwn(confirmation)).returning().get()
      return confirmed ? DONE : { refusal: 'already_done' }
    },

    async endSession(own: Own): Promise<Done> {
      const ended = await orm.delete(sessions).where(isOwn(own)).returning().get()
      if (ended) await auditEverywhere(own, 'session.end', ended.id)
      return DONE
    },

    async endMemberSessions({ membershipId, ...change }: Change & { membershipId: string }): Promise<Done | Refused> {
      const membership = await findById(change.accountId, membershipId)
      if (!membership?.acceptedAt) return { refusal: 'not_found' }
      await orm.delete(sessions).where(eq(sessions.memberId, membership.memberId)).run()
      await audit(change, 'member.end_sessions', membership.memberId)
      return DONE
    },

    async endOtherSessions({ memberId, sessionId, at }: Own): Promise<Done> {
      await orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      await auditEverywhere({ memberId, at }, 'session.end_others', memberId)
      return DONE
    },

    /** Also ends any unfinished two-step set-up; this session gets a new token. */
    async changePassword(
      change: Own & { oldHash: string; passwordHash: string; tokenHash: string },
    ): Promise<Done | Refused> {
      const { memberId, sessionId, at, oldHash, passwordHash, tokenHash } = change
      if (!(await isHashOf(memberId, oldHash))) return { refusal: 'not_found' }
      await orm.update(members).set({ passwordHash }).where(eq(members.id, memberId)).run()
      await orm.update(sessions).set({ tokenHash, confirmedAt: at }).where(isOwn(change)).run()
      await orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      await removeTwoStepSetUp(memberId)
      await auditEverywhere({ memberId, at }, 'member.change_password', memberId)
      return DONE
    },
  }
}

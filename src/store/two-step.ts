import type { Sql } from './engine/sql.ts'
import { and, count, eq, inArray, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm'
import type { AccountRules } from './account-rules.ts'
import { createAudit, type Done, DONE } from './audit.ts'
import { twoStepContext } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import { createMemberships } from './members.ts'
import { recoveryCodes, sessions, twoSteps } from './schema.ts'
import type { Refused } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

/** `startedAt`: when the secret was created; identifies the secret. */
export type TwoStepRow = {
  memberId: string
  secret: string
  startedAt: number
  /** null during set-up; sign-in ignores it until then */
  turnedOnAt: number | null
  /** 30-second step (since 1970) of the last accepted code */
  lastStep: number
  codesMadeAt: number
  codesLeft: number
}

export function createTwoStepReads(db: Sql, sealer: Sealer) {
  const { orm } = db
  const memberId = sql.placeholder('memberId')
  const ofMember = prepareLazily(() => orm.select().from(twoSteps).where(eq(twoSteps.memberId, memberId)).prepare())
  const codesLeft = prepareLazily(() =>
    orm.select({ codes: count() }).from(recoveryCodes).where(eq(recoveryCodes.memberId, memberId)).prepare(),
  )

  return {
    async findTwoStep(member: string): Promise<TwoStepRow | null> {
      const row = await ofMember.get({ memberId: member })
      if (!row) return null
      const left = await codesLeft.get({ memberId: member })
      return { ...row, secret: sealer.unseal(row.secret, twoStepContext(member)), codesLeft: left?.codes ?? 0 }
    },

    listTwoStepOn: async (memberIds: string[]): Promise<string[]> =>
      (
        await orm
          .select({ memberId: twoSteps.memberId })
          .from(twoSteps)
          .where(and(inArray(twoSteps.memberId, memberIds), isNotNull(twoSteps.turnedOnAt)))
          .all()
      ).map(({ memberId }) => memberId),
  }
}

type Own = { memberId: string; at: number }
/** `startedAt` identifies the secret that the code was checked against; refused if the secret has changed. */
type Code = { memberId: string; startedAt: number; step: number }

function createMemberAudit(db: Sql) {
  const audit = createAudit(db)
  const { listJoined } = createMemberships(db)
  return async (action: string, { memberId, at }: Own): Promise<void> => {
    for (const accountId of await listJoined(memberId))
      await audit({ accountId, actor: memberId, at }, action, memberId)
  }
}

export function createTwoStepEnd(db: Sql) {
  const { orm } = db
  const auditMember = createMemberAudit(db)
  return async (own: Own): Promise<void> => {
    const ended = await orm.delete(twoSteps).where(eq(twoSteps.memberId, own.memberId)).returning().get()
    if (ended && ended.turnedOnAt !== null) await auditMember('two_step.turn_off', own)
  }
}

/** Removes an unfinished set-up when the password changes: someone with the old password may have seen its secret. */
export function createSetUpEnd(db: Sql) {
  const { orm } = db
  return async (memberId: string): Promise<void> => {
    await orm
      .delete(twoSteps)
      .where(and(eq(twoSteps.memberId, memberId), isNull(twoSteps.turnedOnAt)))
      .run()
  }
}

type Parts = { db: Sql; sealer: Sealer; rules: Pick<AccountRules, 'refuseOneStep'> }

/** Callers verify codes; the store prevents their reuse. */
export function createTwoStepWrites({ db, sealer, rules }: Parts) {
  const { orm } = db
  const auditMember = createMemberAudit(db)
  const endTwoStep = createTwoStepEnd(db)
  const { listJoinedAccounts } = createMemberships(db)

  const putCodes = async (memberId: string, codeHashes: string[]): Promise<void> => {
    await orm.delete(recoveryCodes).where(eq(recoveryCodes.memberId, memberId)).run()
    await orm
      .insert(recoveryCodes)
      .values(codeHashes.map((codeHash) => ({ memberId, codeHash })))
      .run()
  }

  return {
    /** Keeps an unfinished set-up. Refuses already_done if two-step sign-in is on. */
    async startTwoStep({ memberId, secret, at }: Own & { secret: string }): Promise<Done | Refused> {
      const own = await orm.select().from(twoSteps).where(eq(twoSteps.memberId, memberId)).get()
      if (own) return own.turnedOnAt === null ? DONE : { refusal: 'already_done' }
      const sealed = sealer.seal(secret, twoStepContext(memberId))
      await orm.insert(twoSteps).values({ memberId, secret: sealed, startedAt: at, lastStep: 0, codesMadeAt: at }).run()
      return DONE
    },

    async turnOnTwoStep(on: Own & Code & { sessionId: string; codeHashes: string[] }): Promise<Done | Refused> {
      const { memberId, startedAt, step, sessionId, codeHashes, at } = on
      const waiting = and(
        eq(twoSteps.memberId, memberId),
        eq(twoSteps.startedAt, startedAt),
        isNull(twoSteps.turnedOnAt),
      )
      const set = { turnedOnAt: at, lastStep: step, codesMadeAt: at }
      if (!(await orm.update(twoSteps).set(set).where(waiting).returning().get())) return { refusal: 'already_done' }
      await putCodes(memberId, codeHashes)
      await orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      await auditMember('two_step.turn_on', on)
      return DONE
    },

    /** Accepts each step once. Refuses already_done if this or a later step was used. */
    async takeCode({ memberId, startedAt, step }: Code): Promise<Done | Refused> {
      const unused = and(
        eq(twoSteps.memberId, memberId),
        eq(twoSteps.startedAt, startedAt),
        isNotNull(twoSteps.turnedOnAt),
        lt(twoSteps.lastStep, step),
      )
      const used = await orm.update(twoSteps).set({ lastStep: step }).where(unused).returning().get()
      return used ? DONE : { refusal: 'already_done' }
    },

    async takeRecoveryCode({ codeHash, ...own }: Own & { codeHash: string }): Promise<Done | Refused> {
      const isRequested = and(eq(recoveryCodes.memberId, own.memberId), eq(recoveryCodes.codeHash, codeHash))
      if (!(await orm.delete(recoveryCodes).where(isRequested).returning().get())) return { refusal: 'not_found' }
      await auditMember('two_step.use_recovery_code', own)
      return DONE
    },

    /** `replaces`: `codesMadeAt` of the codes to replace, so that a repeated request renews once. */
    async renewRecoveryCodes(renewal: Own & { codeHashes: string[]; replaces: number }): Promise<Done | Refused> {
      const { memberId, codeHashes, replaces, at } = renewal
      const isRequested = and(
        eq(twoSteps.memberId, memberId),
        eq(twoSteps.codesMadeAt, replaces),
        isNotNull(twoSteps.turnedOnAt),
      )
      const renewed = await orm.update(twoSteps).set({ codesMadeAt: at }).where(isRequested).returning().get()
      if (!renewed) return { refusal: 'already_done' }
      await putCodes(memberId, codeHashes)
      await auditMember('two_step.renew_recovery_codes', renewal)
      return DONE
    },

    /** Also ends an unfinished set-up. Does nothing if there is none. Refusals: two_step_required. */
    async turnOffTwoStep(own: Own): Promise<Done | Refused> {
      const refused = rules.refuseOneStep(await listJoinedAccounts(own.memberId))
      if (refused) return refused
      await endTwoStep(own)
      return DONE
    },
  }
}

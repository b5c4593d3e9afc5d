import type { Database } from 'bun:sqlite'
import { and, count, eq, inArray, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { createAudit, type Done, DONE } from './audit.ts'
import { twoStepPlace } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import { createMemberships } from './members.ts'
import { recoveryCodes, sessions, twoSteps } from './schema.ts'
import type { Refused } from './types.ts'

/** A member's second step of signing in. `startedAt` is when its secret was made, and tells it from one before. */
export type TwoStepRow = {
  memberId: string
  /** base32 */
  secret: string
  startedAt: number
  /** null while it is being set up, and asked of nobody */
  turnedOnAt: number | null
  /** the last 30 seconds, counted from 1970, of which a code was taken */
  lastStep: number
  codesMadeAt: number
  /** recovery codes that were not used yet */
  codesLeft: number
}

export function createTwoStepReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  const memberId = sql.placeholder('memberId')
  const ofMember = orm.select().from(twoSteps).where(eq(twoSteps.memberId, memberId)).prepare()
  const codesLeft = orm
    .select({ codes: count() })
    .from(recoveryCodes)
    .where(eq(recoveryCodes.memberId, memberId))
    .prepare()

  return {
    /** That of a member, on or being set up; null where there is none. */
    findTwoStep(member: string): TwoStepRow | null {
      const row = ofMember.get({ memberId: member })
      if (!row) return null
      const left = codesLeft.get({ memberId: member })
      return { ...row, secret: sealer.unseal(row.secret, twoStepPlace(member)), codesLeft: left?.codes ?? 0 }
    },

    /** Which of these members have it on. */
    listTwoStepOn: (memberIds: string[]): string[] =>
      orm
        .select({ memberId: twoSteps.memberId })
        .from(twoSteps)
        .where(and(inArray(twoSteps.memberId, memberIds), isNotNull(twoSteps.turnedOnAt)))
        .all()
        .map(({ memberId }) => memberId),
  }
}

type Own = { memberId: string; at: number }
/** `startedAt` names the secret that a code was compared with: when that is not the member's any more, nothing is done. */
type Code = { memberId: string; startedAt: number; step: number }

/** Tells each account of a member what they did. */
function createTelling(db: Database) {
  const audit = createAudit(db)
  const { listJoined } = createMemberships(db)
  return (action: string, { memberId, at }: Own): void => {
    for (const accountId of listJoined(memberId)) audit({ accountId, actor: memberId, at }, action, memberId)
  }
}

/** Turns the second step of a member off, on or not, in the transaction of what it is a part of. */
export function createTwoStepEnd(db: Database) {
  const orm = drizzle(db)
  const tell = createTelling(db)
  return (own: Own): void => {
    const ended = orm.delete(twoSteps).where(eq(twoSteps.memberId, own.memberId)).returning().get()
    if (ended && ended.turnedOnAt !== null) tell('two_step.turn_off', own)
  }
}

/**
 * Forgets a set-up that waits, in the transaction of what sets another password: whoever had the old one may have seen its
 * secret.
 */
export function createSetUpEnd(db: Database) {
  const orm = drizzle(db)
  return (memberId: string): void => {
    orm
      .delete(twoSteps)
      .where(and(eq(twoSteps.memberId, memberId), isNull(twoSteps.turnedOnAt)))
      .run()
  }
}

/** The second step of signing in. Whether a code is right, core knows; whether it was used before is decided here. */
export function createTwoStepWrites({ db, sealer }: { db: Database; sealer: Sealer }) {
  const orm = drizzle(db)
  const tell = createTelling(db)
  const endTwoStep = createTwoStepEnd(db)
  const { needsTwoStep } = createMemberships(db)

  const putCodes = (memberId: string, codeHashes: string[]): void => {
    orm.delete(recoveryCodes).where(eq(recoveryCodes.memberId, memberId)).run()
    orm
      .insert(recoveryCodes)
      .values(codeHashes.map((codeHash) => ({ memberId, codeHash })))
      .run()
  }

  return {
    /** Keeps a secret to be set up with; one that waits already stays, and one that is on is `already_done`. */
    startTwoStep({ memberId, secret, at }: Own & { secret: string }): Done | Refused {
      const own = orm.select().from(twoSteps).where(eq(twoSteps.memberId, memberId)).get()
      if (own) return own.turnedOnAt === null ? DONE : { refusal: 'already_done' }
      const sealed = sealer.seal(secret, twoStepPlace(memberId))
      orm.insert(twoSteps).values({ memberId, secret: sealed, startedAt: at, lastStep: 0, codesMadeAt: at }).run()
      return DONE
    },

    /** With its first recovery codes. All other sessions of the member end. */
    turnOnTwoStep(on: Own & Code & { sessionId: string; codeHashes: string[] }): Done | Refused {
      const { memberId, startedAt, step, sessionId, codeHashes, at } = on
      const waiting = and(
        eq(twoSteps.memberId, memberId),
        eq(twoSteps.startedAt, startedAt),
        isNull(twoSteps.turnedOnAt),
      )
      const set = { turnedOnAt: at, lastStep: step, codesMadeAt: at }
      if (!orm.update(twoSteps).set(set).where(waiting).returning().get()) return { refusal: 'already_done' }
      putCodes(memberId, codeHashes)
      orm
        .delete(sessions)
        .where(and(eq(sessions.memberId, memberId), ne(sessions.id, sessionId)))
        .run()
      tell('two_step.turn_on', on)
      return DONE
    },

    /** Uses up the code of a step, and with it all before; `already_done` where one of it or after it was used. */
    takeCode({ memberId, startedAt, step }: Code): Done | Refused {
      const unused = and(
        eq(twoSteps.memberId, memberId),
        eq(twoSteps.startedAt, startedAt),
        isNotNull(twoSteps.turnedOnAt),
        lt(twoSteps.lastStep, step),
      )
      const used = orm.update(twoSteps).set({ lastStep: step }).where(unused).returning().get()
      return used ? DONE : { refusal: 'already_done' }
    },

    takeRecoveryCode({ codeHash, ...own }: Own & { codeHash: string }): Done | Refused {
      const wanted = and(eq(recoveryCodes.memberId, own.memberId), eq(recoveryCodes.codeHash, codeHash))
      if (!orm.delete(recoveryCodes).where(wanted).returning().get()) return { refusal: 'not_found' }
      tell('two_step.use_recovery_code', own)
      return DONE
    },

    /** `replaces` is when those were made that go, so that asking twice renews once. */
    renewRecoveryCodes(renewal: Own & { codeHashes: string[]; replaces: number }): Done | Refused {
      const { memberId, codeHashes, replaces, at } = renewal
      const wanted = and(
        eq(twoSteps.memberId, memberId),
        eq(twoSteps.codesMadeAt, replaces),
        isNotNull(twoSteps.turnedOnAt),
      )
      const renewed = orm.update(twoSteps).set({ codesMadeAt: at }).where(wanted).returning().get()
      if (!renewed) return { refusal: 'already_done' }
      putCodes(memberId, codeHashes)
      tell('two_step.renew_recovery_codes', renewal)
      return DONE
    },

    /** Also one that is only being set up; without any, nothing is done. Refusals: two_step_required. */
    turnOffTwoStep(own: Own): Done | Refused {
      if (needsTwoStep(own.memberId)) return { refusal: 'two_step_required' }
      endTwoStep(own)
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, count, eq, inArray, isNotNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { recoveryCodes, twoSteps } from './schema.ts'
import { twoStepPlace } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import type { TwoStepRow } from './session-types.ts'

/** Quiet reads about the second step of signing in. */
export function createTwoStepReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  return {
    /** That of a member, on or being set up; null where there is none. */
    findTwoStep(memberId: string): TwoStepRow | null {
      const row = orm.select().from(twoSteps).where(eq(twoSteps.memberId, memberId)).get()
      if (!row) return null
      const left = orm.select({ codes: count() }).from(recoveryCodes).where(eq(recoveryCodes.memberId, memberId)).get()
      return { ...row, secret: sealer.unseal(row.secret, twoStepPlace(memberId)), codesLeft: left?.codes ?? 0 }
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

import type { Sql } from './engine/sql.ts'
import { and, eq, inArray, sql } from 'drizzle-orm'
import { type Done, DONE } from './audit.ts'
import { activationNotes, apps } from './schema.ts'
import type { NoteKind, NoteRow } from './types.ts'

export function createActivationReads(db: Sql) {
  const { orm } = db
  return {
    listNotes: async (appId: number): Promise<NoteRow[]> =>
      await orm.select().from(activationNotes).where(eq(activationNotes.appId, appId)).all(),
  }
}

/** Runs inside the caller's transaction. */
export function createNoteRemoval(db: Sql) {
  const { orm } = db
  return async (accountId: string, kind: NoteKind): Promise<void> => {
    const own = orm.select({ id: apps.id }).from(apps).where(eq(apps.accountId, accountId))
    await orm
      .delete(activationNotes)
      .where(and(eq(activationNotes.kind, kind), inArray(activationNotes.appId, own)))
      .run()
  }
}

export function createActivationWrites(db: Sql) {
  const { orm } = db
  const { count, lastAt, reason, origin } = activationNotes

  const latestOf = (column: typeof reason | typeof origin) =>
    sql`CASE WHEN excluded.last_at >= ${lastAt} THEN excluded.${sql.identifier(column.name)} ELSE ${column} END`

  return {
    async addNotes(notes: NoteRow[]): Promise<Done> {
      // in one order, so that instances don't wait for each other in a circle
      for (const note of notes.toSorted((a, b) => a.appId - b.appId || (a.kind < b.kind ? -1 : 1))) {
        await orm
          .insert(activationNotes)
          .values(note)
          .onConflictDoUpdate({
            target: [activationNotes.appId, activationNotes.kind],
            set: {
              count: sql`${count} + excluded.count`,
              reason: latestOf(reason),
              origin: latestOf(origin),
              lastAt: sql`CASE WHEN excluded.last_at >= ${lastAt} THEN excluded.last_at ELSE ${lastAt} END`,
            },
          })
          .run()
      }
      return DONE
    },
  }
}

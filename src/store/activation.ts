import type { Database } from 'bun:sqlite'
import { and, eq, inArray, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Done, DONE } from './audit.ts'
import { activationNotes, apps } from './schema.ts'
import type { NoteKind, NoteRow } from './types.ts'

export function createActivationReads(db: Database) {
  const orm = drizzle(db)
  return {
    listNotes: async (appId: number): Promise<NoteRow[]> =>
      await orm.select().from(activationNotes).where(eq(activationNotes.appId, appId)).all(),
  }
}

/** Runs inside the caller's transaction. */
export function createNoteRemoval(db: Database) {
  const orm = drizzle(db)
  return async (accountId: string, kind: NoteKind): Promise<void> => {
    const own = orm.select({ id: apps.id }).from(apps).where(eq(apps.accountId, accountId))
    await orm
      .delete(activationNotes)
      .where(and(eq(activationNotes.kind, kind), inArray(activationNotes.appId, own)))
      .run()
  }
}

export function createActivationWrites(db: Database) {
  const orm = drizzle(db)
  const { count, lastAt, reason, origin } = activationNotes

  const latestOf = (column: typeof reason | typeof origin) =>
    sql`iif(excluded.last_at >= ${lastAt}, excluded.${sql.identifier(column.name)}, ${column})`

  return {
    async addNotes(notes: NoteRow[]): Promise<Done> {
      for (const note of notes) {
        await orm
          .insert(activationNotes)
          .values(note)
          .onConflictDoUpdate({
            target: [activationNotes.appId, activationNotes.kind],
            set: {
              count: sql`${count} + excluded.count`,
              reason: latestOf(reason),
              origin: latestOf(origin),
              lastAt: sql`max(${lastAt}, excluded.last_at)`,
            },
          })
          .run()
      }
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, eq, inArray, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { type Done, DONE } from './audit.ts'
import { activationNotes, apps } from './schema.ts'
import type { NoteKind, NoteRow } from './types.ts'

/** What the Activation screen counts of requests of the browser script. */
export function createActivationReads(db: Database) {
  const orm = drizzle(db)
  return {
    listNotes: (appId: number): NoteRow[] =>
      orm.select().from(activationNotes).where(eq(activationNotes.appId, appId)).all(),
  }
}

/** Forgets what was counted of a kind in all apps of an account, in the transaction of what it follows from. */
export function createNoteRemoval(db: Database) {
  const orm = drizzle(db)
  return (accountId: string, kind: NoteKind): void => {
    const own = orm.select({ id: apps.id }).from(apps).where(eq(apps.accountId, accountId))
    orm
      .delete(activationNotes)
      .where(and(eq(activationNotes.kind, kind), inArray(activationNotes.appId, own)))
      .run()
  }
}

export function createActivationWrites(db: Database) {
  const orm = drizzle(db)
  const { count, lastAt, reason, origin } = activationNotes

  /** The later one of what is stored and what comes. */
  const ofLater = (column: typeof reason | typeof origin) =>
    sql`iif(excluded.last_at >= ${lastAt}, excluded.${sql.identifier(column.name)}, ${column})`

  return {
    /** Adds to what was counted before. */
    addNotes(notes: NoteRow[]): Done {
      for (const note of notes) {
        orm
          .insert(activationNotes)
          .values(note)
          .onConflictDoUpdate({
            target: [activationNotes.appId, activationNotes.kind],
            set: {
              count: sql`${count} + excluded.count`,
              reason: ofLater(reason),
              origin: ofLater(origin),
              lastAt: sql`max(${lastAt}, excluded.last_at)`,
            },
          })
          .run()
      }
      return DONE
    },
  }
}

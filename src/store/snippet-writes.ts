import type { Database } from 'bun:sqlite'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { activationNotes, snippetSettings } from './schema.ts'
import type { NoteRow } from './snippet-types.ts'
import type { SnippetSettings } from './types.ts'

/** The quiet writes about the browser script: an app's settings, and what the Activation screen counts. */
export function createSnippetWrites(db: Database) {
  const orm = drizzle(db)
  const { count, lastAt, reason, origin } = activationNotes

  /** The later one of what is stored and what comes. */
  const ofLater = (column: typeof reason | typeof origin) =>
    sql`iif(excluded.last_at >= ${lastAt}, excluded.${sql.identifier(column.name)}, ${column})`

  return {
    setSnippet(appId: number, { hosts, addsPeople }: SnippetSettings): void {
      const row = { hosts: hosts.length === 0 ? null : hosts, addsPeople }
      orm
        .insert(snippetSettings)
        .values({ appId, ...row })
        .onConflictDoUpdate({ target: snippetSettings.appId, set: row })
        .run()
    },

    /** Adds to what was counted before. */
    addNotes(notes: NoteRow[]): { done: true } {
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
      return { done: true }
    },
  }
}

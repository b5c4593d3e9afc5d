import type { Sql } from './engine/sql.ts'
import { eq, sql } from 'drizzle-orm'
import { type Done, DONE } from './audit.ts'
import { install } from './schema.ts'
import { prepareLazily } from './engine/statements.ts'

/** What the server stores about itself and its machine. */
export const SERVER_FACTS = 'server_facts'

export type InstallReads = ReturnType<typeof createInstallReads>

export function createInstallReads(db: Sql) {
  const { orm } = db
  return {
    installValue: async (name: string): Promise<string | null> =>
      (await orm.select().from(install).where(eq(install.name, name)).get())?.value ?? null,
  }
}

export function createInstallWrites(db: Sql) {
  const { orm } = db
  const touch = prepareLazily(() =>
    orm
      .insert(install)
      .values({ name: 'touched', value: '1' })
      .onConflictDoUpdate({ target: install.name, set: { value: sql`CAST(${install.value} AS INTEGER) % 1000 + 1` } })
      .prepare(),
  )

  return {
    async keepInstallValue({ name, value }: { name: string; value: string }): Promise<Done> {
      await orm.insert(install).values({ name, value }).onConflictDoNothing().run()
      return DONE
    },
    async setInstallValue({ name, value }: { name: string; value: string }): Promise<Done> {
      await orm
        .insert(install)
        .values({ name, value })
        .onConflictDoUpdate({ target: install.name, set: { value } })
        .run()
      return DONE
    },
    /** The smallest possible write: shows that a commit reaches the disk. */
    async touch(_: Record<string, never>): Promise<Done> {
      await touch.run()
      return DONE
    },
  }
}

import type { Sql } from './engine/sql.ts'
import { and, desc, eq, gt, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { createNoteRemoval } from './activation.ts'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { secretContext } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import { apiKeys, identitySecrets, sentForms } from './schema.ts'
import type { KeyRow, NewKey, Refused, SecretRow } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

type Secret = { id: string; secret: string }
type Rotation = Change & { secret: Secret; replaces: string | null }

const toKey = ({ keyHash: _, ...key }: typeof apiKeys.$inferSelect): KeyRow => key

export function createKeyReads(db: Sql, sealer: Sealer) {
  const { orm } = db
  const byHash = prepareLazily(() =>
    orm
      .select()
      .from(apiKeys)
      .where(and(eq(apiKeys.keyHash, sql.placeholder('keyHash')), isNull(apiKeys.revokedAt)))
      .prepare(),
  )
  const isRecentlyRetired = gt(identitySecrets.retiredAt, sql.placeholder('retiredAfter'))
  const secrets = prepareLazily(() =>
    orm
      .select()
      .from(identitySecrets)
      .where(
        and(
          eq(identitySecrets.accountId, sql.placeholder('accountId')),
          or(isNull(identitySecrets.retiredAt), isRecentlyRetired),
        ),
      )
      .orderBy(desc(identitySecrets.createdAt))
      .prepare(),
  )

  return {
    async findKey(keyHash: string): Promise<KeyRow | null> {
      const key = await byHash.get({ keyHash })
      return key ? toKey(key) : null
    },

    findRevokedKey: async (keyHash: string): Promise<KeyRow | null> => {
      const ofHash = and(eq(apiKeys.keyHash, keyHash), isNotNull(apiKeys.revokedAt))
      const key = await orm.select().from(apiKeys).where(ofHash).get()
      return key ? toKey(key) : null
    },

    listKeys: async (accountId: string): Promise<KeyRow[]> =>
      (
        await orm
          .select()
          .from(apiKeys)
          .where(eq(apiKeys.accountId, accountId))
          .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
          .all()
      ).map(toKey),

    listSecrets: async (accountId: string, retiredAfter: number): Promise<SecretRow[]> =>
      (await secrets.all({ accountId, retiredAfter })).map(({ accountId: _, ...row }) => ({
        ...row,
        secret: sealer.unseal(row.secret, secretContext(row.id)),
      })),
  }
}

export function createKeySteps(db: Sql, sealer: Sealer) {
  const { orm } = db
  return {
    async addKey(accountId: string, key: NewKey, at: number): Promise<void> {
      await orm
        .insert(apiKeys)
        .values({ ...key, accountId, createdAt: at })
        .run()
    },
    async addSecret(accountId: string, { id, secret }: Secret, at: number): Promise<void> {
      await orm
        .insert(identitySecrets)
        .values({ id, secret: sealer.seal(secret, secretContext(id)), accountId, createdAt: at })
        .run()
    },
  }
}

export function createKeyWrites({ db, sealer }: { db: Sql; sealer: Sealer }) {
  const { orm } = db
  const audit = createAudit(db)
  const { addKey, addSecret } = createKeySteps(db, sealer)
  const removeNotes = createNoteRemoval(db)

  const takeForm = async (form: string, at: number): Promise<boolean> =>
    (await orm.insert(sentForms).values({ form, sentAt: at }).onConflictDoNothing().returning().all()).length > 0

  return {
    /** `form` identifies the submitted form, so that sending it twice creates one key. */
    async createKey({ key, form, ...change }: Change & { key: NewKey; form: string | null }): Promise<Done | Refused> {
      if (form !== null && !(await takeForm(form, change.at))) return { refusal: 'already_done' }
      await addKey(change.accountId, key, change.at)
      await audit(change, 'key.create', key.id)
      return DONE
    },

    /** Revoking twice keeps the first time. */
    async revokeKey({ keyId, ...change }: Change & { keyId: string }): Promise<Done | Refused> {
      const keys = apiKeys
      const own = and(eq(keys.id, keyId), eq(keys.accountId, change.accountId))
      if (!(await orm.select({ id: keys.id }).from(keys).where(own).get())) return { refusal: 'not_found' }
      await orm
        .update(keys)
        .set({ revokedAt: change.at })
        .where(and(own, isNull(keys.revokedAt)))
        .run()
      await audit(change, 'key.revoke', keyId)
      return DONE
    },

    async noteKeyUse(uses: { keyId: string; lastUsedAt: number; seenInBrowserAt: number | null }[]): Promise<Done> {
      // in one order, so that instances don't wait for each other in a circle
      for (const { keyId, lastUsedAt, seenInBrowserAt } of uses.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))) {
        await orm
          .update(apiKeys)
          .set({ lastUsedAt, ...(seenInBrowserAt === null ? {} : { seenInBrowserAt }) })
          .where(eq(apiKeys.id, keyId))
          .run()
      }
      return DONE
    },

    /** A repeated request with the same `replaces` rotates once; null replaces the current secret. */
    async rotateSecret({ secret, replaces, ...change }: Rotation): Promise<Done | Refused> {
      const secrets = identitySecrets
      const own = and(eq(secrets.accountId, change.accountId), isNull(secrets.retiredAt))
      const replaced = replaces === null ? own : and(own, eq(secrets.id, replaces))
      if ((await orm.update(secrets).set({ retiredAt: change.at }).where(replaced).returning().all()).length === 0) {
        return { refusal: 'already_done' }
      }
      await addSecret(change.accountId, secret, change.at)
      // the counter must only show signatures made with the secret that is now the previous one
      await removeNotes(change.accountId, 'old_secret')
      await audit(change, 'secret.rotate', secret.id)
      return DONE
    },

    async revokeOldSecrets(change: Change): Promise<Done> {
      const secrets = identitySecrets
      const old = await orm
        .delete(secrets)
        .where(and(eq(secrets.accountId, change.accountId), isNotNull(secrets.retiredAt)))
        .returning({ id: secrets.id })
        .all()
      for (const { id } of old) await audit(change, 'secret.revoke', id)
      return DONE
    },
  }
}

import type { Database } from 'bun:sqlite'
import { and, asc, desc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { readLocale, readTimezone } from './local-time.ts'
import { secretPlace } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import * as tables from './schema.ts'
import type { Access, AppRow, KeyRow, NewLink, Plan, SecretRow } from './types.ts'

type AccountRow = typeof tables.accounts.$inferSelect
type FoundApp = {
  app: typeof tables.apps.$inferSelect
  /** as JSON */
  hosts: string
  timezone: string | null
  locale: string | null
}

/** What an app is read from; its settings for emails are joined to it. */
export const APP_FIELDS = {
  app: tables.apps,
  hosts: sql<string>`(SELECT json_group_array(host ORDER BY host) FROM app_hosts WHERE app_id = ${tables.apps.id})`,
  timezone: tables.appMailSettings.timezone,
  locale: tables.appMailSettings.locale,
}

export const toApp = ({ app, hosts, timezone, locale }: FoundApp): AppRow => ({
  ...app,
  hosts: JSON.parse(hosts),
  timezone: readTimezone(timezone),
  locale: readLocale(locale),
})

/** Quiet reads about accounts and what they own. */
export function createAccountReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  const { accounts, apps, apiKeys, identitySecrets, oneTimeLinks, limitUsage, install } = tables

  const selectApps = () =>
    orm.select(APP_FIELDS).from(apps).leftJoin(tables.appMailSettings, eq(tables.appMailSettings.appId, apps.id))
  const oneApp = selectApps()
    .where(eq(apps.id, sql.placeholder('id')))
    .prepare()
  const appOfPublicId = selectApps()
    .where(eq(apps.publicId, sql.placeholder('publicId')))
    .prepare()

  const listApps = (accountId: string): AppRow[] =>
    selectApps().where(eq(apps.accountId, accountId)).orderBy(asc(apps.id)).all().map(toApp)

  const findApp = (appId: number): AppRow | null => {
    const found = oneApp.get({ id: appId })
    return found ? toApp(found) : null
  }

  const accessOf = ({ keyHash: _, ...key }: typeof apiKeys.$inferSelect): Access | null => {
    const account = orm.select().from(accounts).where(eq(accounts.id, key.accountId)).get()
    return account ? { key, plan: toPlan(account), apps: listApps(account.id) } : null
  }

  return {
    listApps,
    findApp,
    findAppByPublicId(publicId: string): AppRow | null {
      const found = appOfPublicId.get({ publicId })
      return found ? toApp(found) : null
    },
    isSetUp: (): boolean => orm.select({ id: accounts.id }).from(accounts).limit(1).get() !== undefined,

    /** The first made first. */
    listAccounts: (): { id: string; name: string; createdAt: number }[] =>
      orm
        .select({ id: accounts.id, name: accounts.name, createdAt: accounts.createdAt })
        .from(accounts)
        .orderBy(asc(accounts.createdAt), asc(accounts.id))
        .all(),

    /** The account with this id, or without one the first that was made. */
    findAccount(id: string | null): { id: string; name: string; plan: Plan } | null {
      const query = orm.select().from(accounts).orderBy(asc(accounts.createdAt), asc(accounts.id)).limit(1).$dynamic()
      const account = (id === null ? query : query.where(eq(accounts.id, id))).get()
      return account ? { id: account.id, name: account.name, plan: toPlan(account) } : null
    },

    /** What a key that is not revoked may do; null for a wrong or a revoked one. */
    findAccess(keyHash: string): Access | null {
      const live = and(eq(apiKeys.keyHash, keyHash), isNull(apiKeys.revokedAt))
      const key = orm.select().from(apiKeys).where(live).get()
      return key ? accessOf(key) : null
    },

    listKeys: (accountId: string): KeyRow[] =>
      orm
        .select()
        .from(apiKeys)
        .where(eq(apiKeys.accountId, accountId))
        .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
        .all()
        .map(({ keyHash: _, ...key }) => key),

    /** The current identity secret and those rotated out after `retiredAfter` (ms UTC), newest first. */
    listSecrets: (accountId: string, retiredAfter: number): SecretRow[] =>
      orm
        .select()
        .from(identitySecrets)
        .where(
          and(
            eq(identitySecrets.accountId, accountId),
            or(isNull(identitySecrets.retiredAt), gt(identitySecrets.retiredAt, retiredAfter)),
          ),
        )
        .orderBy(desc(identitySecrets.createdAt))
        .all()
        .map(({ accountId: _, ...row }) => ({ ...row, secret: sealer.unseal(row.secret, secretPlace(row.id)) })),

    /** Whether a one-time link can still be used. */
    hasLink: (tokenHash: string, purpose: NewLink['purpose'], now: number): boolean =>
      orm
        .select({ purpose: oneTimeLinks.purpose })
        .from(oneTimeLinks)
        .where(
          and(
            eq(oneTimeLinks.tokenHash, tokenHash),
            eq(oneTimeLinks.purpose, purpose),
            gt(oneTimeLinks.expiresAt, now),
          ),
        )
        .get() !== undefined,

    /** What limits have counted since a second (UTC), to fill the buckets at start. */
    listUsage: (sinceSecond: number): { bucket: string; second: number; count: number }[] =>
      orm.select().from(limitUsage).where(gt(limitUsage.second, sinceSecond)).orderBy(asc(limitUsage.second)).all(),

    installValue: (name: string): string | null =>
      orm.select().from(install).where(eq(install.name, name)).get()?.value ?? null,
  }
}

const toPlan = (account: AccountRow): Plan => ({
  newPeoplePerMonth: account.newPeoplePerMonth,
  eventsPerHour: account.eventsPerHour,
  addsPerHour: account.addsPerHour,
  updatesPerHour: account.updatesPerHour,
  mcpCallsPerMinute: account.mcpCallsPerMinute,
  snippetLimits: account.snippetLimits,
})

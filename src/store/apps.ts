import type { Sql } from './engine/sql.ts'
import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { AccountRules } from './account-rules.ts'
import { type Change, createAudit, type Done, DONE } from './audit.ts'
import { createOutcomeExpiry } from './idempotency.ts'
import type { LiveMessages } from './live-messages.ts'
import { readLocale, readTimezone } from '../core/local-time.ts'
import type { MailSettingsWrites } from './mail-settings.ts'
import type { MessageContent } from './message-types.ts'
import type { MessageWrites } from './messages.ts'
import { createRetentionReads, createRetentionSettings } from './retention.ts'
import { accounts, appHosts, appMailSettings, apps, snippetSettings } from './schema.ts'
import type { AppRow, AppSettings, Refused, Retention, SnippetSettings } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

export type NewApp = Pick<AppRow, 'publicId' | 'siteId' | 'name' | 'homeUrl' | 'hosts'> & {
  snippet?: SnippetSettings
  /** created as drafts */
  messages?: { name: string; content: MessageContent }[]
}

type FoundApp = {
  app: typeof apps.$inferSelect
  hosts: string
  timezone: string | null
  locale: string | null
}
/** `expiryAt`: the time for what has expired, if the clock may be wrong. */
type AppChange = Change & { appId: number; settings: AppSettings; basedOn?: AppSettings; expiryAt?: number }
type Parts = {
  db: Sql
  live: LiveMessages
  messages: MessageWrites
  mailSettings: MailSettingsWrites
  rules: Pick<AccountRules, 'perPersonDay' | 'defaultRetention' | 'defaultResponseDays'>
}

const NO_SNIPPET: SnippetSettings = { hosts: [], addsPeople: false }

export const toApp = ({ app, hosts, timezone, locale }: FoundApp): AppRow => ({
  ...app,
  hosts: JSON.parse(hosts),
  timezone: readTimezone(timezone),
  locale: readLocale(locale),
})

export const pickSettings = (
  { name, homeUrl, hosts, timezone, locale }: AppRow,
  snippet: SnippetSettings,
  retention: Retention,
): AppSettings => ({ name, homeUrl, hosts, timezone, locale, snippet, retention })

export function createAppReads(db: Sql) {
  const { orm, dialect } = db
  const hostsInOrder = sql.raw(dialect.jsonArrayOf('host', 'host'))
  const select = () =>
    orm
      .select({
        app: apps,
        hosts: sql<string>`(SELECT ${hostsInOrder} FROM app_hosts WHERE app_id = ${apps.id})`,
        timezone: appMailSettings.timezone,
        locale: appMailSettings.locale,
      })
      .from(apps)
      .leftJoin(appMailSettings, eq(appMailSettings.appId, apps.id))
  const byId = prepareLazily(() =>
    select()
      .where(eq(apps.id, sql.placeholder('id')))
      .prepare(),
  )
  const byPublicId = prepareLazily(() =>
    select()
      .where(eq(apps.publicId, sql.placeholder('publicId')))
      .prepare(),
  )
  const bySiteId = prepareLazily(() =>
    select()
      .where(eq(apps.siteId, sql.placeholder('siteId')))
      .prepare(),
  )
  const ofAccount = prepareLazily(() =>
    select()
      .where(eq(apps.accountId, sql.placeholder('accountId')))
      .orderBy(asc(apps.id))
      .prepare(),
  )
  const ofAll = prepareLazily(() =>
    select()
      .innerJoin(accounts, eq(accounts.id, apps.accountId))
      .orderBy(asc(accounts.createdAt), asc(accounts.id), asc(apps.id))
      .prepare(),
  )
  const snippetOf = prepareLazily(() =>
    orm
      .select()
      .from(snippetSettings)
      .where(eq(snippetSettings.appId, sql.placeholder('appId')))
      .prepare(),
  )
  const one = (found: FoundApp | undefined): AppRow | null => (found ? toApp(found) : null)

  return {
    listApps: async (accountId: string): Promise<AppRow[]> => (await ofAccount.all({ accountId })).map(toApp),
    listAllApps: async (): Promise<AppRow[]> => (await ofAll.all()).map(toApp),
    findApp: async (appId: number): Promise<AppRow | null> => one(await byId.get({ id: appId })),
    findAppByPublicId: async (publicId: string): Promise<AppRow | null> => one(await byPublicId.get({ publicId })),
    findAppBySiteId: async (siteId: string): Promise<AppRow | null> => one(await bySiteId.get({ siteId })),

    async snippetSettings(appId: number): Promise<SnippetSettings> {
      const row = await snippetOf.get({ appId })
      return row ? { hosts: row.hosts ?? [], addsPeople: row.addsPeople } : NO_SNIPPET
    },

    findAppsByHost: async (hosts: string[]): Promise<number[]> =>
      (
        await orm.selectDistinct({ appId: appHosts.appId }).from(appHosts).where(inArray(appHosts.host, hosts)).all()
      ).map((row) => row.appId),
  }
}

export type AppWrites = ReturnType<typeof createAppWrites>

/** Apps of other accounts are treated as missing. */
export function createAppWrites({ db, live, messages, mailSettings, rules }: Parts) {
  const { orm } = db
  const audit = createAudit(db)
  const reads = createAppReads(db)
  const { findRetention } = createRetentionReads(db, rules)
  const saveRetention = createRetentionSettings(db)
  const expireOutcomes = createOutcomeExpiry(db, rules)

  const saveSnippet = async (appId: number, { hosts, addsPeople }: SnippetSettings): Promise<void> => {
    const row = { hosts: hosts.length === 0 ? null : hosts, addsPeople }
    await orm
      .insert(snippetSettings)
      .values({ appId, ...row })
      .onConflictDoUpdate({ target: snippetSettings.appId, set: row })
      .run()
  }

  const findOwn = async (accountId: string, appId: number) =>
    await orm
      .select({ publicId: apps.publicId })
      .from(apps)
      .where(and(eq(apps.id, appId), eq(apps.accountId, accountId)))
      .get()

  const isOutdated = async (appId: number, basedOn: AppSettings): Promise<boolean> => {
    const app = await reads.findApp(appId)
    if (!app) return true
    const stored = pickSettings(app, await reads.snippetSettings(appId), await findRetention(appId))
    return !Bun.deepEquals(basedOn, stored, true)
  }

  const findLocale = async (appId: number) =>
    await orm
      .select({ timezone: appMailSettings.timezone, locale: appMailSettings.locale })
      .from(appMailSettings)
      .where(eq(appMailSettings.appId, appId))
      .get()

  const addHosts = async (appId: number, hosts: string[]): Promise<void> => {
    for (const host of hosts) await orm.insert(appHosts).values({ appId, host }).onConflictDoNothing().run()
  }

  const addApp = async (change: Change, app: NewApp): Promise<void> => {
    const { accountId, at } = change
    const largest = await orm
      .select({ id: sql<number>`coalesce(max(${apps.id}), 0)` })
      .from(apps)
      .get()
    const { hosts, snippet, messages: drafts = [], ...row } = app
    const id = (largest?.id ?? 0) + 1
    await orm
      .insert(apps)
      .values({ ...row, id, accountId, createdAt: at })
      .run()
    await addHosts(id, hosts)
    if (snippet) await saveSnippet(id, snippet)
    await orm.insert(appMailSettings).values({ appId: id, perPersonDay: rules.perPersonDay }).run()
    await audit(change, 'app.create', app.publicId)
    await messages.saveMessages({
      ...change,
      appId: id,
      drafts: drafts.map((draft) => ({
        ...draft,
        id: null,
        status: null,
      })),
    })
  }

  return {
    addApp,
    writes: {
      async createApp({ app, ...change }: Change & { app: NewApp }): Promise<Done> {
        await addApp(change, app)
        return DONE
      },

      /** `basedOn`: must still be the settings, else settings_changed. */
      async updateApp({ appId, settings, basedOn, expiryAt, ...change }: AppChange): Promise<Done | Refused> {
        const app = await findOwn(change.accountId, appId)
        if (!app) return { refusal: 'app_not_found' }
        if (basedOn && (await isOutdated(appId, basedOn))) return { refusal: 'settings_changed' }
        const { name, homeUrl, hosts, timezone, locale, snippet, retention } = settings
        await orm.update(apps).set({ name, homeUrl }).where(eq(apps.id, appId)).run()
        await orm.delete(appHosts).where(eq(appHosts.appId, appId)).run()
        await addHosts(appId, hosts)
        await saveSnippet(appId, snippet)
        // else they would be valid again if they are kept for longer
        await expireOutcomes(appId, expiryAt ?? change.at)
        await saveRetention(appId, retention)
        const stored = await findLocale(appId)
        const changed = {
          ...(timezone === readTimezone(stored?.timezone) ? {} : { timezone }),
          ...(locale === readLocale(stored?.locale) ? {} : { locale }),
        }
        await mailSettings.setMailSettings({ ...change, appId, settings: changed })
        await audit(change, 'app.update', app.publicId)
        live.drop(appId)
        return DONE
      },
    },
  }
}

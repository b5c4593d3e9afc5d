import type { Sql } from './engine/sql.ts'
import { eq, isNotNull, sql } from 'drizzle-orm'
import { createAudit, type Done, DONE } from './audit.ts'
import type { DeliveryRetries } from './delivery-retries.ts'
import { sealMail, unsealMail } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import type { LiveMessages } from './live-messages.ts'
import type { Brakes } from './brakes.ts'
import type { MessageSchedules } from './schedules.ts'
import type { MailSettings } from './message-types.ts'
import type { MessageChange } from './messages.ts'
import { appMailSettings, apps } from './schema.ts'
import type { Refused } from './types.ts'
import { prepareLazily } from './engine/statements.ts'

export const NO_SETTINGS: MailSettings = {
  fromName: null,
  fromEmail: null,
  otherFromEmails: null,
  replyTo: null,
  postalAddress: null,
  logoUrl: null,
  colour: null,
  layout: null,
  texts: null,
  smtpUrl: null,
  dkimDomain: null,
  dkimSelector: null,
  dkimKey: null,
  bounceSecret: null,
  hookSecrets: null,
  perSecond: null,
  connections: null,
  perPersonDay: null,
  perPersonWeek: null,
  sendWindow: null,
  timezone: null,
  locale: null,
  giveUpHours: null,
  optIn: null,
  complaintLimit: null,
  bounceLimit: null,
}

const toMailSettings = (
  sealer: Sealer,
  appId: number,
  found: typeof appMailSettings.$inferSelect | null,
): MailSettings => {
  const { appId: _, ...settings } = found ?? { appId, ...NO_SETTINGS }
  return unsealMail(sealer, appId, settings)
}

export function createMailSettingsReads(db: Sql, sealer: Sealer) {
  const { orm } = db
  const oneSettings = prepareLazily(() =>
    orm
      .select()
      .from(appMailSettings)
      .where(eq(appMailSettings.appId, sql.placeholder('appId')))
      .prepare(),
  )

  const allSettings = prepareLazily(() => orm.select().from(appMailSettings).prepare())

  return {
    mailSettings: async (appId: number): Promise<MailSettings> =>
      toMailSettings(sealer, appId, (await oneSettings.get({ appId })) ?? null),

    /** Apps without settings are missing. */
    listMailSettings: async (): Promise<Map<number, MailSettings>> =>
      new Map(
        (await allSettings.all()).map(
          (found) => [found.appId, toMailSettings(sealer, found.appId, found)] satisfies [number, MailSettings],
        ),
      ),

    /** Apps with a mail server of their own. */
    listOwnServers: async (): Promise<
      { appId: number; publicId: string; name: string; accountId: string; smtpUrl: string }[]
    > =>
      (
        await orm
          .select({
            appId: apps.id,
            publicId: apps.publicId,
            name: apps.name,
            accountId: apps.accountId,
            smtpUrl: appMailSettings.smtpUrl,
          })
          .from(appMailSettings)
          .innerJoin(apps, eq(apps.id, appMailSettings.appId))
          .where(isNotNull(appMailSettings.smtpUrl))
          .orderBy(apps.id)
          .all()
      ).flatMap((app) => {
        const { smtpUrl } = unsealMail(sealer, app.appId, { smtpUrl: app.smtpUrl })
        return smtpUrl === null ? [] : [{ ...app, smtpUrl }]
      }),

    listSmtpUrls: async (): Promise<string[]> =>
      (
        await orm
          .select({ appId: appMailSettings.appId, smtpUrl: appMailSettings.smtpUrl })
          .from(appMailSettings)
          .where(isNotNull(appMailSettings.smtpUrl))
          .all()
      ).flatMap(({ appId, smtpUrl }) => unsealMail(sealer, appId, { smtpUrl }).smtpUrl ?? []),
  }
}

/** What lifecycle emails wait for. */
const LIMITS = ['perPersonDay', 'perPersonWeek', 'sendWindow', 'timezone'] as const satisfies (keyof MailSettings)[]

type MailChange = MessageChange & { settings: Partial<MailSettings>; basedOn?: Partial<MailSettings> }

type Parts = {
  db: Sql
  live: LiveMessages
  schedules: MessageSchedules
  sealer: Sealer
  retries: DeliveryRetries
  brakes: Brakes
}
export type MailSettingsWrites = ReturnType<typeof createMailSettingsWrites>

export function createMailSettingsWrites({ db, live, schedules, sealer, retries, brakes }: Parts) {
  const { orm } = db
  const audit = createAudit(db)
  const reads = createMailSettingsReads(db, sealer)

  return {
    /**
     * Null clears. A new sender or mail server makes deferred deliveries due at once and resets their attempts, and so
     * do other hours or limits per person for those that wait for them.
     * `basedOn`: settings that must not have changed, else settings_changed.
     */
    async setMailSettings({ settings, basedOn = {}, ...by }: MailChange): Promise<Done | Refused> {
      if (Object.keys(settings).length === 0) return DONE
      const old = await reads.mailSettings(by.appId)
      if (!Bun.deepEquals({ ...old, ...basedOn }, old, true)) return { refusal: 'settings_changed' }
      const set = sealMail(sealer, by.appId, settings)
      await orm
        .insert(appMailSettings)
        .values({ appId: by.appId, ...set })
        .onConflictDoUpdate({ target: appMailSettings.appId, set })
        .run()
      const names = Object.keys(settings) as (keyof MailSettings)[]
      // an empty list is none
      const changed = names.filter((name) => !Bun.deepEquals(settings[name] ?? [], old[name] ?? []))
      const isChanged = (name: keyof MailSettings) => changed.includes(name)
      const isSenderChanged = isChanged('fromEmail') || isChanged('otherFromEmails')
      if (isChanged('smtpUrl')) await retries.tryAgain(by.appId, 'server', by.at)
      else if (isSenderChanged) await retries.tryAgain(by.appId, 'sender', by.at)
      if (LIMITS.some(isChanged)) await retries.tryAgain(by.appId, 'limits', by.at)
      if (isChanged('complaintLimit') || isChanged('bounceLimit')) await brakes.check(by.appId, by.at)
      if (changed.length > 0) await audit(by, 'mail.set', changed.join(', '))
      live.drop(by.appId)
      if (isChanged('timezone')) await schedules.settle(by.appId, by.at)
      return DONE
    },
  }
}

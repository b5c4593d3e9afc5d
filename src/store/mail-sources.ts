import type { Dialect, Sql } from './engine/sql.ts'
import { toApp } from './apps.ts'
import { unsealMail } from './engine/sealed-columns.ts'
import type { Sealer } from './engine/sealing.ts'
import { NO_SETTINGS } from './mail-settings.ts'
import type { FindMailSource, MailSettings, MailSource, MessageRow } from './message-types.ts'
import type { AppRow } from './types.ts'

const messageFields = ({ jsonOf }: Dialect) =>
  ({
    id: 'messages.id',
    accountId: 'messages.account_id',
    appId: 'messages.app_id',
    name: 'messages.name',
    status: 'messages.status',
    version: 'message_versions.version',
    createdAt: 'messages.created_at',
    updatedAt: 'messages.updated_at',
    content: jsonOf('message_versions.content'),
  }) satisfies Record<keyof MessageRow, string>

const APP_FIELDS = {
  id: 'apps.id',
  accountId: 'apps.account_id',
  publicId: 'apps.public_id',
  siteId: 'apps.site_id',
  name: 'apps.name',
  homeUrl: 'apps.home_url',
  createdAt: 'apps.created_at',
} satisfies Record<keyof StoredApp, string>

const settingsFields = ({ jsonOf }: Dialect) =>
  ({
    fromName: 'from_name',
    fromEmail: 'from_email',
    otherFromEmails: jsonOf('other_from_emails'),
    replyTo: 'reply_to',
    postalAddress: 'postal_address',
    logoUrl: 'logo_url',
    colour: 'colour',
    layout: 'layout',
    texts: jsonOf('texts'),
    smtpUrl: 'smtp_url',
    dkimDomain: 'dkim_domain',
    dkimSelector: 'dkim_selector',
    dkimKey: 'dkim_key',
    bounceSecret: 'bounce_secret',
    hookSecrets: 'hook_secrets',
    perSecond: 'per_second',
    connections: 'connections',
    perPersonDay: 'per_person_day',
    perPersonWeek: 'per_person_week',
    sendWindow: jsonOf('send_window'),
    timezone: 'timezone',
    locale: 'locale',
    giveUpHours: 'give_up_hours',
    optIn: jsonOf('opt_in'),
    complaintLimit: 'complaint_limit',
    bounceLimit: 'bounce_limit',
  }) satisfies Record<keyof MailSettings, string>

type StoredApp = Omit<AppRow, 'hosts' | 'timezone' | 'locale'>
type StoredSource = { message: string; app: string; hosts: string; settings: string | null }

const sourceOf = (dialect: Dialect): string => `
  SELECT ${dialect.jsonObject(messageFields(dialect))} AS message,
    ${dialect.jsonObject(APP_FIELDS)} AS app,
    (SELECT ${dialect.jsonArrayOf('host', 'host')} FROM app_hosts WHERE app_id = apps.id) AS hosts,
    CASE WHEN settings.app_id IS NOT NULL THEN ${dialect.jsonObject(settingsFields(dialect))} END AS settings
  FROM message_versions
  JOIN messages ON messages.id = message_versions.message_id
  JOIN apps ON apps.id = messages.app_id
  LEFT JOIN app_mail_settings AS settings ON settings.app_id = apps.id
  WHERE message_versions.message_id = ? AND message_versions.version = ?`

export function createMailSources(db: Sql, sealer: Sealer): FindMailSource {
  const select = db.prepare<StoredSource, [number, number]>(sourceOf(db.dialect))
  return async (messageId, version) => {
    const found = await select.get(messageId, version)
    if (!found) return null
    const message = JSON.parse(found.message) as MessageRow
    const stored = found.settings === null ? NO_SETTINGS : (JSON.parse(found.settings) as MailSettings)
    const { timezone, locale } = stored
    const app = toApp({ app: JSON.parse(found.app) as StoredApp, hosts: found.hosts, timezone, locale })
    const settings = unsealMail(sealer, app.id, stored)
    return { message, app, settings, sourceHash: hashOf({ message, app, settings }) }
  }
}

export function createMailLanguageReads(db: Sql) {
  const select = db.prepare<{ language: string }, [number]>(
    `SELECT DISTINCT variants.key AS language
     FROM messages JOIN message_versions AS current
       ON current.message_id = messages.id AND current.version = messages.version
       CROSS JOIN ${db.dialect.membersOf('content', 'mail.variants', 'variants')}
     WHERE messages.app_id = ? AND status <> 'draft'`,
  )
  return {
    /** Of the texts of its messages, apart from their own. Drafts don't count. Reads all messages of the app. */
    listMailLanguages: async (appId: number): Promise<string[]> =>
      (await select.all(appId)).map(({ language }) => language),
  }
}

/** Covers everything that affects rendering; the message's name and status don't. */
function hashOf({ message, app, settings }: Omit<MailSource, 'sourceHash'>): string {
  const { name, homeUrl, hosts, timezone } = app
  return String(Bun.hash(JSON.stringify([message.version, name, homeUrl, hosts, timezone, settings])))
}

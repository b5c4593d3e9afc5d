/**
 * Drizzle tables, for everything outside the hot path. The migrations create the tables and document the columns; a
 * test compares both.
 */
import { isNotNull, isNull } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import {
  MESSAGE_STATUSES,
  type MessageContent,
  type OptIn,
  SENDER_PROOFS,
  type AppTexts,
  type SendWindow,
} from './message-types.ts'
import { NOTE_KINDS } from './types.ts'

export const accounts = sqliteTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  newPeoplePerMonth: integer('new_people_per_month'),
  eventsPerHour: integer('events_per_hour'),
  addsPerHour: integer('adds_per_hour'),
  updatesPerHour: integer('updates_per_hour'),
  mcpCallsPerMinute: integer('mcp_calls_per_minute'),
  snippetLimits: integer('snippet_limits', { mode: 'boolean' }).notNull(),
  createdAt: integer('created_at').notNull(),
  requiresTwoStep: integer('requires_two_step', { mode: 'boolean' }).notNull().default(false),
})

export const members = sqliteTable('members', {
  id: text('id').primaryKey(),
  email: text('email').notNull().unique(),
  passwordHash: text('password_hash'),
  createdAt: integer('created_at').notNull(),
})

export const memberships = sqliteTable(
  'memberships',
  {
    id: text('id').notNull().unique(),
    accountId: text('account_id').notNull(),
    memberId: text('member_id').notNull(),
    role: text('role', { enum: ['owner', 'editor', 'viewer'] }).notNull(),
    createdAt: integer('created_at').notNull(),
    acceptedAt: integer('accepted_at'),
    weeklySummary: integer('weekly_summary', { mode: 'boolean' }).notNull().default(true),
    summarizedAt: integer('summarized_at'),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.memberId] }), index('memberships_by_member').on(t.memberId)],
)

export const oneTimeLinks = sqliteTable('one_time_links', {
  tokenHash: text('token_hash').primaryKey(),
  purpose: text('purpose', { enum: ['setup', 'password', 'invite'] }).notNull(),
  memberId: text('member_id'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  accountId: text('account_id'),
  endsTwoStep: integer('ends_two_step', { mode: 'boolean' }).notNull().default(false),
})

export const twoSteps = sqliteTable('two_steps', {
  memberId: text('member_id').primaryKey(),
  secret: text('secret').notNull(),
  startedAt: integer('started_at').notNull(),
  turnedOnAt: integer('turned_on_at'),
  lastStep: integer('last_step').notNull(),
  codesMadeAt: integer('codes_made_at').notNull(),
})

export const recoveryCodes = sqliteTable(
  'recovery_codes',
  { memberId: text('member_id').notNull(), codeHash: text('code_hash').notNull() },
  (t) => [primaryKey({ columns: [t.memberId, t.codeHash] })],
)

export const apps = sqliteTable(
  'apps',
  {
    id: integer('id').primaryKey(),
    accountId: text('account_id').notNull(),
    publicId: text('public_id').notNull().unique(),
    siteId: text('site_id').notNull().unique(),
    name: text('name').notNull(),
    homeUrl: text('home_url'),
    createdAt: integer('created_at').notNull(),
  },
  (t) => [index('apps_by_account').on(t.accountId)],
)

export const appHosts = sqliteTable(
  'app_hosts',
  { appId: integer('app_id').notNull(), host: text('host').notNull() },
  (t) => [primaryKey({ columns: [t.appId, t.host] }), index('app_hosts_by_host').on(t.host)],
)

export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    name: text('name').notNull(),
    scope: text('scope', { enum: ['standard', 'ingest', 'manage'] }).notNull(),
    keyHash: text('key_hash').notNull().unique(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
    revokedAt: integer('revoked_at'),
    seenInBrowserAt: integer('seen_in_browser_at'),
    ending: text('ending'),
  },
  (t) => [index('api_keys_by_account').on(t.accountId)],
)

export const identitySecrets = sqliteTable(
  'identity_secrets',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    secret: text('secret').notNull(),
    createdAt: integer('created_at').notNull(),
    retiredAt: integer('retired_at'),
  },
  (t) => [index('identity_secrets_by_account').on(t.accountId)],
)

export const auditEntries = sqliteTable(
  'audit_entries',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    subject: text('subject'),
    createdAt: integer('created_at').notNull(),
    address: text('address'),
    count: integer('count').notNull().default(1),
  },
  (t) => [
    index('audit_entries_by_account').on(t.accountId, t.createdAt),
    index('audit_entries_of_sign_ins').on(t.createdAt).where(isNotNull(t.address)),
    index('audit_entries_of_changes').on(t.accountId, t.createdAt).where(isNull(t.address)),
  ],
)

export const sessions = sqliteTable(
  'sessions',
  {
    tokenHash: text('token_hash').primaryKey(),
    id: text('id').notNull().unique(),
    memberId: text('member_id').notNull(),
    browser: text('browser').notNull(),
    createdAt: integer('created_at').notNull(),
    lastSeenAt: integer('last_seen_at').notNull(),
    confirmedAt: integer('confirmed_at').notNull(),
  },
  (t) => [index('sessions_by_member').on(t.memberId)],
)

export const sentForms = sqliteTable('sent_forms', {
  form: text('form').primaryKey(),
  sentAt: integer('sent_at').notNull(),
})

export const install = sqliteTable('install', { name: text('name').primaryKey(), value: text('value').notNull() })

export const snippetSettings = sqliteTable('snippet_settings', {
  appId: integer('app_id').primaryKey(),
  hosts: text('hosts', { mode: 'json' }).$type<string[]>(),
  addsPeople: integer('adds_people', { mode: 'boolean' }).notNull(),
})

export const activationNotes = sqliteTable(
  'activation_notes',
  {
    appId: integer('app_id').notNull(),
    kind: text('kind', { enum: NOTE_KINDS }).notNull(),
    count: integer('count').notNull(),
    lastAt: integer('last_at').notNull(),
    reason: text('reason'),
    origin: text('origin'),
  },
  (t) => [primaryKey({ columns: [t.appId, t.kind] })],
)

export const messages = sqliteTable(
  'messages',
  {
    id: integer('id').primaryKey(),
    accountId: text('account_id').notNull(),
    appId: integer('app_id').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: MESSAGE_STATUSES }).notNull(),
    version: integer('version').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [uniqueIndex('messages_by_name').on(t.appId, t.name)],
)

export const messageVersions = sqliteTable(
  'message_versions',
  {
    messageId: integer('message_id').notNull(),
    version: integer('version').notNull(),
    content: text('content', { mode: 'json' }).$type<MessageContent>().notNull(),
    createdAt: integer('created_at').notNull(),
    actor: text('actor'),
    appId: integer('app_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.version] })],
)

export const appMailSettings = sqliteTable('app_mail_settings', {
  appId: integer('app_id').primaryKey(),
  fromName: text('from_name'),
  fromEmail: text('from_email'),
  replyTo: text('reply_to'),
  postalAddress: text('postal_address'),
  logoUrl: text('logo_url'),
  colour: text('colour'),
  smtpUrl: text('smtp_url'),
  dkimDomain: text('dkim_domain'),
  dkimSelector: text('dkim_selector'),
  dkimKey: text('dkim_key'),
  bounceSecret: text('bounce_secret'),
  perSecond: integer('per_second'),
  perPersonDay: integer('per_person_day'),
  perPersonWeek: integer('per_person_week'),
  sendWindow: text('send_window', { mode: 'json' }).$type<SendWindow>(),
  timezone: text('timezone'),
  giveUpHours: integer('give_up_hours'),
  otherFromEmails: text('other_from_emails', { mode: 'json' }).$type<string[]>(),
  locale: text('locale'),
  hookSecrets: text('hook_secrets'),
  connections: integer('connections'),
  optIn: text('opt_in', { mode: 'json' }).$type<OptIn>(),
  layout: text('layout'),
  texts: text('texts', { mode: 'json' }).$type<AppTexts>(),
  complaintLimit: real('complaint_limit'),
  bounceLimit: real('bounce_limit'),
})

export const senderDomains = sqliteTable(
  'sender_domains',
  {
    accountId: text('account_id').notNull(),
    domain: text('domain').notNull(),
    proof: text('proof', { enum: SENDER_PROOFS }).notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.domain] }), index('sender_domains_by_domain').on(t.domain)],
)

export const domainChecks = sqliteTable(
  'domain_checks',
  {
    appId: integer('app_id').notNull(),
    domain: text('domain').notNull(),
    sender: text('sender').notNull(),
    checks: text('checks').notNull(),
    checkedAt: integer('checked_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.domain] })],
)

export const receivedMails = sqliteTable(
  'received_mails',
  {
    appId: integer('app_id').notNull(),
    domain: text('domain').notNull(),
    seen: text('seen').notNull(),
    seenAt: integer('seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.domain] })],
)

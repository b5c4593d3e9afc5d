/**
 * Drizzle tables, for everything outside the hot path. The migrations create the tables and document the columns; a
 * test compares both.
 */
import { isNotNull, isNull } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, unique, uniqueIndex } from 'drizzle-orm/sqlite-core'
import {
  DELIVERY_STATES,
  MESSAGE_STATUSES,
  type MessageContent,
  SENDER_PROOFS,
  type SendWindow,
  SUPPRESSION_REASONS,
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

export const contacts = sqliteTable(
  'contacts',
  {
    id: integer('id').primaryKey(),
    appId: integer('app_id').notNull(),
    email: text('email').notNull(),
    shownEmail: text('shown_email'),
    firstName: text('first_name'),
    lastName: text('last_name'),
    source: text('source'),
    status: text('status', { enum: ['subscribed', 'unsubscribed', 'bounced', 'complained'] }).notNull(),
    tags: text('tags', { mode: 'json' }).$type<string[]>(),
    fields: text('fields', { mode: 'json' }).$type<Record<string, string | number | boolean>>(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (t) => [
    unique('contacts_by_email').on(t.appId, t.email),
    index('contacts_by_app').on(t.appId),
    index('contacts_by_update').on(t.appId, t.updatedAt),
  ],
)

export const contactTags = sqliteTable(
  'contact_tags',
  {
    appId: integer('app_id').notNull(),
    tag: text('tag').notNull(),
    contactId: integer('contact_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.tag, t.contactId] })],
)

export const eventNames = sqliteTable(
  'event_names',
  { id: integer('id').primaryKey(), appId: integer('app_id').notNull(), name: text('name').notNull() },
  (t) => [unique().on(t.appId, t.name)],
)

export const events = sqliteTable(
  'events',
  {
    id: integer('id').primaryKey(),
    appId: integer('app_id').notNull(),
    contactId: integer('contact_id').notNull(),
    nameId: integer('name_id').notNull(),
    type: integer('type').notNull(),
    via: integer('via').notNull(),
    properties: text('properties'),
    path: text('path'),
    receivedAt: integer('received_at').notNull(),
    occurredAt: integer('occurred_at'),
  },
  (t) => [index('events_by_app').on(t.appId)],
)

export const timeline = sqliteTable(
  'timeline',
  {
    contactId: integer('contact_id').notNull(),
    type: integer('type').notNull(),
    id: integer('id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.contactId, t.type, t.id] })],
)

export const timelineRuns = sqliteTable('timeline_runs', {
  last: integer('last').primaryKey(),
  isWhole: integer('is_whole', { mode: 'boolean' }).notNull(),
})

export const timelineRunRows = sqliteTable(
  'timeline_run_rows',
  {
    run: integer('run').notNull(),
    contactId: integer('contact_id').notNull(),
    type: integer('type').notNull(),
    id: integer('id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.run, t.contactId, t.type, t.id] })],
)

export const rollups = sqliteTable(
  'rollups',
  {
    appId: integer('app_id').notNull(),
    nameId: integer('name_id').notNull(),
    hour: integer('hour').notNull(),
    count: integer('count').notNull(),
    firstEventId: integer('first_event_id').notNull(),
    lastEventId: integer('last_event_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.nameId, t.hour] })],
)

export const dailyRollups = sqliteTable(
  'daily_rollups',
  {
    appId: integer('app_id').notNull(),
    day: integer('day').notNull(),
    nameId: integer('name_id').notNull(),
    count: integer('count').notNull(),
  },
  (t) => [primaryKey({ columns: [t.appId, t.day, t.nameId] })],
)

export const newPeople = sqliteTable(
  'new_people',
  {
    accountId: text('account_id').notNull(),
    month: text('month').notNull(),
    count: integer('count').notNull(),
  },
  (t) => [primaryKey({ columns: [t.accountId, t.month] })],
)

export const limitUsage = sqliteTable(
  'limit_usage',
  {
    bucket: text('bucket').notNull(),
    second: integer('second').notNull(),
    count: integer('count').notNull(),
  },
  (t) => [primaryKey({ columns: [t.bucket, t.second] }), index('limit_usage_by_second').on(t.second)],
)

export const idempotencyRecords = sqliteTable(
  'idempotency_records',
  {
    keyId: text('key_id').notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    bodyHash: text('body_hash').notNull(),
    outcome: text('outcome').notNull(),
    contactId: integer('contact_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.keyId, t.idempotencyKey] }),
    index('idempotency_records_by_contact').on(t.contactId),
    index('idempotency_records_by_age').on(t.createdAt),
  ],
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

export const snippetBatches = sqliteTable('snippet_batches', {
  id: integer('id').primaryKey(),
  appId: integer('app_id').notNull(),
  contactId: integer('contact_id').notNull(),
  batch: integer('batch').notNull(),
  receivedAt: integer('received_at').notNull(),
  items: integer('items').notNull(),
  pageLoad: integer('page_load'),
  batchNumber: integer('batch_number'),
  age: integer('age'),
  path: text('path'),
  isHere: integer('is_here'),
})

export const mcpCalls = sqliteTable(
  'mcp_calls',
  {
    id: integer('id').primaryKey(),
    accountId: text('account_id').notNull(),
    keyId: text('key_id').notNull(),
    tool: text('tool').notNull(),
    outcome: text('outcome').notNull(),
    ms: integer('ms').notNull(),
    client: text('client'),
    calledAt: integer('called_at').notNull(),
  },
  (t) => [index('mcp_calls_by_account').on(t.accountId, t.calledAt)],
)

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
  },
  (t) => [primaryKey({ columns: [t.messageId, t.version] })],
)

export const deliveries = sqliteTable(
  'deliveries',
  {
    id: integer('id').primaryKey(),
    appId: integer('app_id').notNull(),
    contactId: integer('contact_id').notNull(),
    messageId: integer('message_id').notNull(),
    version: integer('version').notNull(),
    eventId: integer('event_id'),
    dedupeKey: text('once_key'),
    state: text('state', { enum: DELIVERY_STATES }).notNull(),
    triggeredAt: integer('triggered_at').notNull(),
    plannedAt: integer('planned_at').notNull(),
    dueAt: integer('due_at').notNull(),
    attempt: integer('attempt').notNull(),
    claimedBy: text('claimed_by'),
    claimedUntil: integer('claimed_until'),
    handedAt: integer('handed_at'),
    sentAt: integer('sent_at'),
    resent: integer('resent', { mode: 'boolean' }).notNull(),
    byHand: integer('by_hand', { mode: 'boolean' }).notNull(),
    reason: text('reason'),
    record: text('record'),
    cameBackAt: integer('came_back_at'),
    openedAt: integer('opened_at'),
    updatedAt: integer('updated_at').notNull(),
    joinedTo: integer('joined_to'),
  },
  (t) => [
    uniqueIndex('deliveries_once').on(t.appId, t.contactId, t.messageId, t.dedupeKey),
    index('deliveries_ended').on(t.contactId),
    index('deliveries_due').on(t.appId, t.dueAt),
    index('deliveries_claimed').on(t.claimedUntil),
    index('deliveries_by_message').on(t.messageId, t.state),
    index('deliveries_came_back').on(t.messageId, t.cameBackAt),
    index('deliveries_opened').on(t.messageId, t.openedAt),
    index('deliveries_joined').on(t.joinedTo),
  ],
)

export const capturedMails = sqliteTable(
  'captured_mails',
  {
    deliveryId: integer('delivery_id').primaryKey(),
    appId: integer('app_id').notNull(),
    raw: text('raw').notNull(),
    createdAt: integer('created_at').notNull(),
    from: text('sender'),
    to: text('recipient'),
    subject: text('subject'),
    html: text('html'),
    text: text('text'),
  },
  (t) => [index('captured_mails_by_app').on(t.appId)],
)

export const suppressions = sqliteTable(
  'suppressions',
  {
    appId: integer('app_id').notNull(),
    emailHash: text('email_hash').notNull(),
    reason: text('reason', { enum: SUPPRESSION_REASONS }).notNull(),
    createdAt: integer('created_at').notNull(),
    email: text('email'),
  },
  (t) => [
    primaryKey({ columns: [t.appId, t.emailHash] }),
    index('suppressions_by_email').on(t.appId, t.email),
    index('suppressions_by_time').on(t.appId, t.createdAt, t.emailHash),
    index('suppressions_by_reason').on(t.appId, t.reason, t.createdAt, t.emailHash),
  ],
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

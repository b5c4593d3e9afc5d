/** Times are ms UTC. */

export const EVENT_TYPES = ['event', 'page', 'action'] as const
export type EventType = (typeof EVENT_TYPES)[number]

export const VIAS = ['api', 'browser', 'mcp', 'import'] as const
export type Via = (typeof VIAS)[number]

/** `pending`: has not confirmed the address yet. */
export const CONTACT_STATUSES = ['subscribed', 'pending', 'unsubscribed', 'bounced', 'complained'] as const
export type ContactStatus = (typeof CONTACT_STATUSES)[number]
export type KeyScope = 'standard' | 'ingest' | 'manage'

/** Permissions: see accounts/members.ts. */
export type Role = 'owner' | 'editor' | 'viewer'

/** Nothing was saved, except that with `commit_unconfirmed` this is unknown. */
export type WriteRefusal =
  | 'app_not_found'
  | 'contact_not_found'
  | 'plan_limit_reached'
  | 'idempotency_mismatch'
  | 'already_set_up'
  | 'email_taken'
  | 'already_done'
  | 'last_owner'
  | 'reset_elsewhere'
  | 'two_step_required'
  | 'not_found'
  | 'message_not_found'
  | 'message_name_taken'
  | 'message_in_use'
  | 'message_changed'
  | 'message_not_live'
  | 'settings_changed'
  | 'delivery_not_found'
  | 'delivery_in_use'
  | 'message_on_its_way'
  | 'event_deleted'
  | 'tags_full'
  | 'fields_full'
  | 'rate_limited'
  | 'unavailable'
  | 'commit_unconfirmed'
  | 'internal_error'

/** `bucket`: of the limit that is used up. */
export type Refused = { refusal: WriteRefusal; reason?: string; bucket?: string }

/** A limit that counts a write, in `bucket`: at most `max` in any window of this length; null: any number. */
export type CountedLimit = { bucket: string; max: number | null; windowMs: number }

/**
 * What all instances used of a limit. `nextMs`: until the first of it is returned; `roomMs`: until there is room for one
 * more.
 */
export type LimitUse = { bucket: string; used: number; nextMs: number; roomMs: number }

/**
 * `bodyHash` tells a repeated request from a different one with the same key. `part`: index in a batch. `at` is
 * monotonic, so clock changes don't affect the record's age.
 */
export type Idempotency = { keyId: string; key: string; bodyHash: string; part: number | null; at: number }

export type PersonWrite = {
  accountId: string
  appId: number
  /** normalised; identifies the person */
  email: string
  shownEmail: string | null
  newPeoplePerMonth: number | null
  at: number
  /** stored, so that a restart does not refill them, and checked if several instances share them */
  limits: CountedLimit[]
  idempotency: Idempotency | null
}

export type EventWrite = PersonWrite & {
  createContact: boolean
  firstName: string | null
  lastName: string | null
  type: EventType
  name: string
  properties: string | null
  path: string | null
  via: Via
  occurredAt: number | null
}

export type FieldValue = string | number | boolean

/** For names, fields and source: absent = unchanged, null = clear. */
export type ContactWrite = PersonWrite & {
  firstName?: string | null
  lastName?: string | null
  source?: string | null
  tags: string[]
  removeTags: string[]
  fields: Record<string, FieldValue | null> | null
  /** a member's id */
  actor?: string
  /** who asks a person who is new or pending to confirm the address */
  asksConsent?: ConsentSource
  /** starts no messages. `isPending`: a new person hasn't confirmed the address, and nobody asks them to */
  imported?: { isPending: boolean }
}

/** Where a request to confirm came from; `page`: the person, after a link expired. */
export type ConsentSource = 'api' | 'mcp' | 'dashboard' | 'page'

/** `address`: of the client; null: the app doesn't store it. */
export type ConsentWrite = PersonWrite & { consentId: number; address: string | null }

/** Without seen times, which cost three index lookups. */
export type StoredContact = {
  id: number
  appId: number
  email: string
  shownEmail: string | null
  firstName: string | null
  lastName: string | null
  source: string | null
  status: ContactStatus
  tags: string[] | null
  fields: Record<string, FieldValue> | null
  createdAt: number
  updatedAt: number
}

export type ContactRow = StoredContact & {
  firstSeenAt: number | null
  lastSeenAt: number | null
  lastEventAt: number | null
}

/** When events happened: the first or last to arrive, and the last begin with the newest. */
export type SeenTimes = { firstViews: number[]; lastViews: number[]; lastEvents: number[] }

export type EventRow = {
  id: number
  contactId: number
  email: string
  type: EventType
  name: string
  properties: string | null
  path: string | null
  via: Via
  receivedAt: number
  occurredAt: number
}

/** `replayed`: the stored outcome of an earlier request with the same Idempotency-Key. */
export type RecordedEvent = {
  contactId: number
  eventId: number
  created: boolean
  /** names that were ignored because the person already has others; absent if none */
  keptNames?: NameField[]
  replayed?: true
}
export type NameField = 'firstName' | 'lastName'
/**
 * `isAsked`: they get an email that asks them to confirm the address. `wrongDates`: sent fields that are no dates, although
 * a live message is triggered by their date; absent if there are none.
 */
export type SavedContact = {
  contactId: number
  created: boolean
  contact: ContactRow
  wrongDates?: string[]
  isAsked?: true
  replayed?: true
}
/** `status`: after the confirmation, which changes only `pending`. */
export type ConfirmedConsent = { contactId: number; status: ContactStatus }

export type Plan = {
  newPeoplePerMonth: number | null
  /** null = default limit */
  eventsPerHour: number | null
  addsPerHour: number | null
  updatesPerHour: number | null
  mcpCallsPerMinute: number | null
  snippetLimits: boolean
}

export type AppRow = {
  id: number
  publicId: string
  siteId: string
  name: string
  homeUrl: string | null
  hosts: string[]
  accountId: string
  createdAt: number
  timezone: string
  locale: string
}

export type KeyRow = {
  id: string
  accountId: string
  name: string
  scope: KeyScope
  createdAt: number
  lastUsedAt: number | null
  revokedAt: number | null
  seenInBrowserAt: number | null
  /** the last characters of the key; null if an earlier version created it */
  ending: string | null
}

export type SecretRow = { id: string; secret: string; createdAt: number; retiredAt: number | null }

export type Access = { key: KeyRow; plan: Plan; apps: AppRow[] }

export type NewKey = { id: string; name: string; scope: KeyScope; keyHash: string; ending: string }
/**
 * Days that an app keeps data. Null: until the person is erased, or the default for requests (the request log) and
 * responses (those stored for Idempotency-Keys).
 */
export type Retention = {
  eventDays: number | null
  pageViewDays: number | null
  capturedDays: number | null
  requestDays: number | null
  responseDays: number | null
}

export type AppSettings = Pick<AppRow, 'name' | 'homeUrl' | 'hosts' | 'timezone' | 'locale'> & {
  snippet: SnippetSettings
  retention: Retention
}
export type NewLink = { tokenHash: string; purpose: 'setup' | 'password' | 'invite'; expiresAt: number }

/** `passwordHash` is null until they set a password by link. */
export type MemberRow = { id: string; email: string; passwordHash: string | null }

/** Empty `hosts`: pages of any host may report. */
export type SnippetSettings = { hosts: string[]; addsPeople: boolean }

export type Site = { app: AppRow; plan: Plan; secrets: SecretRow[]; settings: SnippetSettings }

/** `identified`: a valid signature, even if the request was refused afterwards. */
export const NOTE_KINDS = [
  'identified',
  'without_email',
  'failed_signature',
  'old_secret',
  'unknown_person',
  'script_loaded',
  'refused',
  'foreign_host',
  'limited',
  'refused_call',
] as const
export type NoteKind = (typeof NOTE_KINDS)[number]

/** `lastAt`, `reason` and `origin` describe the latest occurrence. */
export type NoteRow = {
  appId: number
  kind: NoteKind
  count: number
  lastAt: number
  reason: string | null
  origin: string | null
}

/** What goes into the store and what comes back. Times are milliseconds UTC. */

export const EVENT_TYPES = ['event', 'page', 'action'] as const
export type EventType = (typeof EVENT_TYPES)[number]

export const VIAS = ['api', 'browser', 'mcp', 'import'] as const
export type Via = (typeof VIAS)[number]

export type ContactStatus = 'subscribed' | 'unsubscribed' | 'bounced' | 'complained'
export type KeyScope = 'standard' | 'ingest' | 'manage'

/** What a member may do in an account: see accounts/members.ts. */
export type Role = 'owner' | 'editor' | 'viewer'

/** Why a write was not done; nothing of it was saved, but with `commit_unconfirmed` that is not known. */
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
  | 'delivery_not_found'
  | 'delivery_in_use'
  | 'message_on_its_way'
  | 'tags_full'
  | 'fields_full'
  | 'rate_limited'
  | 'unavailable'
  | 'commit_unconfirmed'
  | 'internal_error'

/** `reason`, with `unavailable`: what the disk said, for the log. */
export type Refused = { refusal: WriteRefusal; reason?: string }

/**
 * `key` is the caller's Idempotency-Key; `bodyHash` tells the same request from another one; `part` is the number of an
 * item of a batch. `at` is by a clock that no step of the wall clock moves, and tells the age of the record.
 */
export type Idempotency = { keyId: string; key: string; bodyHash: string; part: number | null; at: number }

/** What every write about a person carries. */
export type PersonWrite = {
  accountId: string
  appId: number
  /** normalised: the identity */
  email: string
  /** as sent, where it differs */
  shownEmail: string | null
  /** the plan; null = unlimited */
  newPeoplePerMonth: number | null
  at: number
  /** the limits this write was counted in, kept so that a restart gives no tokens back */
  buckets: string[]
  idempotency: Idempotency | null
}

export type EventWrite = PersonWrite & {
  createContact: boolean
  firstName: string | null
  lastName: string | null
  type: EventType
  name: string
  /** compact JSON */
  properties: string | null
  path: string | null
  via: Via
  occurredAt: number | null
}

export type FieldValue = string | number | boolean

/** For names and fields: absent = unchanged, null = clear. */
export type ContactWrite = PersonWrite & {
  firstName?: string | null
  lastName?: string | null
  tags: string[]
  removeTags: string[]
  fields: Record<string, FieldValue | null> | null
  source: string | null
}

/** A person without when they were seen, which is a look at three places of an index. */
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

/** `replayed`: this is the outcome of an earlier request with the same Idempotency-Key. */
export type RecordedEvent = {
  contactId: number
  eventId: number
  created: boolean
  /** names that came with the event and were not taken: the person has others. Absent where there are none. */
  keptNames?: NameField[]
  replayed?: true
}
export type NameField = 'firstName' | 'lastName'
export type SavedContact = { contactId: number; created: boolean; contact: ContactRow; replayed?: true }

export type Plan = {
  /** null = unlimited */
  newPeoplePerMonth: number | null
  /** null = the specification's limit */
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
  /** IANA name: its pages tell times by it, and its mails go out by it */
  timezone: string
  /** BCP 47: its emails write numbers, money and dates by it */
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
}

export type SecretRow = { id: string; secret: string; createdAt: number; retiredAt: number | null }

/** A key with what its account may do: all that a request needs to be let in. */
export type Access = { key: KeyRow; plan: Plan; apps: AppRow[] }

export type NewKey = { id: string; name: string; scope: KeyScope; keyHash: string }
/** What an app's owner can set. */
export type AppSettings = Pick<AppRow, 'name' | 'homeUrl' | 'hosts' | 'timezone' | 'locale'> & {
  snippet: SnippetSettings
}
export type NewLink = { tokenHash: string; purpose: 'setup' | 'password' | 'invite'; expiresAt: number }

/** A person who signs in, to any number of accounts; without a password until their link has set one. */
export type MemberRow = { id: string; email: string; passwordHash: string | null }

/** `hosts` empty = pages of any host may report. */
export type SnippetSettings = { hosts: string[]; addsPeople: boolean }

/** What a site ID stands for: all that a request of the browser script needs to be let in. */
export type Site = { app: AppRow; plan: Plan; secrets: SecretRow[]; settings: SnippetSettings }

/** `identified`: a signature that proved somebody, whatever came of it. */
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

/** Things of a kind that happened to an app: how many, and of the last one when, why and on which site's pages. */
export type NoteRow = {
  appId: number
  kind: NoteKind
  count: number
  lastAt: number
  reason: string | null
  origin: string | null
}

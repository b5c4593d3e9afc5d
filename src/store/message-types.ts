import type { Mailbox } from '../core/mail-addresses.ts'
import type { Brake } from './brake-rules.ts'
import type { AppRow, ContactStatus, EventRow, NameField, PersonWrite, StoredContact } from './types.ts'

export const MESSAGE_STATUSES = ['draft', 'live', 'paused'] as const
export type MessageStatus = (typeof MESSAGE_STATUSES)[number]

export const DELIVERY_STATES = [
  'waiting',
  'claimed',
  'handed',
  'sent',
  // captured in the outbox instead of sent
  'kept',
  'skipped',
  // listed in the email of another delivery
  'joined',
  'deferred',
  'failed',
  'unknown',
  'bounced',
  'complained',
] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export const SUPPRESSION_REASONS = ['unsubscribed', 'bounced', 'complained'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]
/** Why a person may not get an email. */
export type UnwantedReason = SuppressionReason | 'pending' | 'topic'

export const COMPARISONS = [
  'equal',
  'notEqual',
  'in',
  'contains',
  'startsWith',
  'above',
  'below',
  'present',
  'absent',
] as const
export type Comparison = (typeof COMPARISONS)[number]
/** `to`: a list only for `in`. */
export type Compared = { is: Comparison; to?: string | number | boolean | (string | number)[] }
/** With the condition before it, one of them is enough. */
export type Alternative = { or?: true }
export type Condition = Compared & Alternative & { property: string }

export type Trigger =
  | { event: string; where?: Condition[] }
  /** an exact path, or a prefix that ends with `*` */
  | { page: string }
  | { contact: 'created' }
  | { tag: string }
  /** POST /send */
  | { api: 'send' }
  /** another message, by name: when its email was sent */
  | { message: string }
  | DateTrigger
  | InactiveTrigger

/** Days before or after the date in a field of the person. */
export type DateTrigger = { date: string; days: number; when: 'before' | 'after' }

/** So many days without an event or page view. */
export type InactiveTrigger = { inactiveDays: number }

/** `until`: local time such as "09:00" in the timezone of the person, else of the app. */
export type Wait = { minutes: number } | { until: string }
/** While an email waits, later events of the same person and message join it if they are at most this far apart. */
type Collect = { minutes: number }
/** `trigger`: for each email of another message, each date or each inactivity that triggers it. `property`: the first present property of a list counts. */
export type Again =
  | { once: 'person' | 'trigger'; collect?: Collect }
  | { once: 'property'; property: string | string[]; collect?: Collect }
  | { everyHours: number }
type IfUnknown = { ifUnknown?: 'send' | 'skip' }
export type Since = 'trigger' | 'ever' | { days: number }

/** `same`: only if both events have the same value of this property. */
type DoneEvent = { event: string; since?: Since; same?: string }

export type Rule =
  /** Away for `minutes`, now or at the trigger. `quietMinutes` without activity count as away. */
  | ({ rule: 'away'; minutes?: number; at?: 'sending' | 'trigger'; quietMinutes?: number } & IfUnknown)
  | ({ rule: 'seen' } & IfUnknown)
  | ({ rule: 'notSeen' } & IfUnknown)
  | ({ rule: 'done' } & DoneEvent)
  | ({ rule: 'notDone' } & DoneEvent)
  | { rule: 'tag'; has: string }
  | { rule: 'tag'; lacks: string }
  | ({ rule: 'field'; field: string } & Compared & Alternative)
  | { rule: 'status'; is: ContactStatus }

export const MAIL_CATEGORIES = ['lifecycle', 'transactional'] as const
export type MailCategory = (typeof MAIL_CATEGORIES)[number]

export type MailText = {
  subject: string
  preheader?: string
  /** Markdown; with `html`, the plain text, which is derived if empty */
  body: string
  /** a whole email, without the layout */
  html?: string
}

/** `variants`: in other languages, by language tag. */
export type Mail = MailText & {
  variants?: Record<string, MailText>
  fromName?: string
  fromEmail?: string
  replyTo?: string
  /** Transactional emails ignore unsubscribing. */
  category?: MailCategory
}

/** An event within `days` after the email. */
export type Goal = { event: string; days: number }

export type MessageContent = {
  trigger: Trigger
  wait?: Wait
  onlyIf?: Rule[]
  again?: Again
  goal?: Goal
  /** percent of people who get no email, for comparison */
  holdback?: number
  /** name of the topic that the message is about */
  topic?: string
  /** What to do if nobody knows whether the email was sent. */
  ifUnconfirmed?: 'resend' | 'leave'
  mail: Mail
  /** the one message of an app whose emails each have the text of their call; no member sees it */
  isOwnText?: true
  /** asks the person to confirm the address; such a text is stored with its delivery */
  asksConsent?: true
}

export type MessageRow = {
  id: number
  accountId: string
  appId: number
  name: string
  status: MessageStatus
  version: number
  createdAt: number
  updatedAt: number
  content: MessageContent
}

/** Returns, opened results and goals of emails that were sent. */
export type MessageCounts = Record<DeliveryState, number> & {
  cameBack: number
  opened: number
  reachedGoal: number
  heldBack: number
}

export const NO_COUNTS = {
  ...(Object.fromEntries(DELIVERY_STATES.map((state) => [state, 0])) as Record<DeliveryState, number>),
  cameBack: 0,
  opened: 0,
  reachedGoal: 0,
  heldBack: 0,
} satisfies MessageCounts

/**
 * `days`: 0 is Sunday. `from`, `until`: local times such as "09:00"; the window spans midnight if `until` is smaller.
 */
export type SendWindow = { days: number[]; from: string; until: string }

/**
 * Double opt-in. `days`: how long a link works. Texts: null is the default. `others`: by language. `storesIp`: of who
 * confirmed.
 */
export type OptIn = {
  isOn: boolean
  days: number | null
  storesIp: boolean
  others?: Record<string, OwnOptInText>
} & OwnOptInText

export type OwnOptInText = { [text in keyof OptInText]: OptInText[text] | null }

/** The email that asks, and the button in it. */
export type OptInText = { subject: string; body: string; button: string }

/**
 * `txt`, `dkim`: found in DNS. `operator`: bound by a command. `existing`: in use before a second account was added.
 */
export const SENDER_PROOFS = ['txt', 'dkim', 'operator', 'existing'] as const
export type SenderProof = (typeof SENDER_PROOFS)[number]

/** What apps use that have no sender or mail server of their own. */
export type Installation = { from: Mailbox | null; hasServer: boolean }

/** What readers of an app's emails are told. `lang`: of its own texts, if set. `others`: by language. */
export type AppTexts = {
  lang: string | null
  own: Record<string, string>
  others: Record<string, Record<string, string>>
}

export type MailSettings = {
  fromName: string | null
  fromEmail: string | null
  otherFromEmails: string[] | null
  replyTo: string | null
  postalAddress: string | null
  logoUrl: string | null
  colour: string | null
  /** of emails, in Liquid and HTML; null: the default */
  layout: string | null
  texts: AppTexts | null
  smtpUrl: string | null
  dkimDomain: string | null
  dkimSelector: string | null
  dkimKey: string | null
  /** authenticates the customer's own bounce reports */
  bounceSecret: string | null
  /** JSON: by provider, what authenticates its webhooks */
  hookSecrets: string | null
  perSecond: number | null
  connections: number | null
  perPersonDay: number | null
  perPersonWeek: number | null
  sendWindow: SendWindow | null
  timezone: string | null
  locale: string | null
  giveUpHours: number | null
  optIn: OptIn | null
  /** percent of emails at which lifecycle emails wait, like the next one; null: the default */
  complaintLimit: number | null
  bounceLimit: number | null
}

/** The result of one rule. `isUnknown`: the rule's `ifUnknown` decided. */
export type Verdict = {
  rule: string
  about: string | null
  value: string | number | boolean | null
  verdict: 'pass' | 'fail'
  /** the rule's place in `onlyIf`, if the message has several rules of this kind */
  index?: number
  isUnknown?: true
  /** rule "away" without a reported leave, but also without activity; `value` is the last activity */
  isSilent?: true
  /** a simulation that knows page views only */
  isEstimated?: true
  /** rule "away": when the person came back after leaving before the event (ms UTC); null: time not known */
  cameBackAt?: number | null
  /** rule "away": left, but too recently; `value` is when */
  isTooSoon?: true
  /** for a further event in the email: when it happened (ms UTC) */
  eventAt?: number
  /** when the result will be known (ms UTC) */
  until?: number
  /** rule "away" with `until`: the page that is open */
  openPath?: string
  /** rules "done" and "notDone" with `same`: the value; null: the event has none that can be compared */
  same?: string | number | boolean | null
  /** sending hours: the person's own timezone, if it counts */
  zone?: string
}

/** `hard`: for good. `soft`: the address may work later. `blocked`: for what the email is. */
export type Bounce = 'hard' | 'soft' | 'blocked'

export type DeliveryRow = {
  id: number
  appId: number
  contactId: number
  messageId: number
  version: number
  eventId: number | null
  dedupeKey: string | null
  state: DeliveryState
  triggeredAt: number
  plannedAt: number
  dueAt: number
  attempt: number
  claimedBy: string | null
  claimedUntil: number | null
  handedAt: number | null
  /** not sent, because the person is in the message's holdback group */
  heldBackAt: number | null
  sentAt: number | null
  resent: boolean
  /** a member sent it, bypassing the rules */
  byHand: boolean
  reason: string | null
  record: string | null
  cameBackAt: number | null
  openedAt: number | null
  goalAt: number | null
  /** reported by the email provider, like the next three */
  deliveredAt: number | null
  delayedAt: number | null
  bounce: Bounce | null
  bouncedAt: number | null
  updatedAt: number
  joinedTo: number | null
}

/** What was sent at once. `keyId` null: it asks for consent. `properties`: JSON. `mail` null: that of the message. */
export type StoredSend = { keyId: string | null; properties: string | null; mail: OwnMail | null }

/** `shownSubject`: the subject with its values, if it has any. */
export type OwnMail = Mail & { shownSubject?: string }

/** `messageId` null: the email has a text of its own. */
export type SendWrite = PersonWrite & {
  keyId: string
  createContact: boolean
  firstName: string | null
  lastName: string | null
  messageId: number | null
  /** JSON */
  properties: string | null
  mail: OwnMail | null
  /** URLs of the properties that the email doesn't link to */
  unlinked: number
}

export type SentMail = {
  contactId: number
  deliveryId: number
  created: boolean
  unlinked?: number
  keptNames?: NameField[]
  replayed?: true
}

/** Events listed in one email; further events that join it count as sent, but are not listed. */
export const LISTED_EVENTS = 50

/** `id` and `triggeredAt` are those of the event's own delivery. */
export type JoinedEvent = { id: number; triggeredAt: number; event: EventRow }

/** An event removed from an email. `id`: its own delivery. `record`: JSON of a DecisionRecord. */
export type UnfitEvent = { id: number; reason: string; record: string }

/** What all emails of a message version share. `sourceHash` is equal if the emails would be the same. */
export type MailSource = { message: MessageRow; app: AppRow; settings: MailSettings; sourceHash: string }

export type FindMailSource = (messageId: number, version: number) => Promise<MailSource | null>

export type DeliveryWork = MailSource & {
  delivery: DeliveryRow
  contact: StoredContact
  event: EventRow | null
  joined: JoinedEvent[]
  /** for a joined event: the delivery of the email that lists it */
  lead: DeliveryRow | null
  /** `event` then has its values, and `message` its text */
  send: StoredSend | null
  /** how long it waited for a limit of the mail server */
  limitedMs: number
  /** how long the brake was on */
  brakedMs: number
  /** of the app; null: it is off */
  brake: Brake | null
}

export type CapturedMail = { from: string; to: string; subject: string; html: string; text: string }

/** `content` is null for emails captured before the content was stored. */
export type FoundCapture = { raw: string; createdAt: number; content: CapturedMail | null }
export type ListedCapture = { deliveryId: number; createdAt: number; to: string | null; subject: string | null }

export type Claim = { id: number; claimedBy: string; attempt: number; at: number }
/**
 * `because`: `lost` (claimed by another process, or cancelled), `outdated` (must be rendered again), or the reason
 * why the final check skipped or deferred it.
 */
export type Marked = { isMarked: true } | { isMarked: false; because: string }

/** Found about an email itself; they stop nothing. */
export const EMAIL_FINDINGS: readonly string[] = ['link', 'language']

/** Reasons of deliveries that a rule cancelled. If the rule's facts were unknown, see reasonOfRule. */
export const CANCELLATION_REASONS = {
  away: 'not_away',
  seen: 'not_seen',
  notSeen: 'seen',
  done: 'not_done',
  notDone: 'done',
  tag: 'tag',
  field: 'field',
  status: 'status',
} as const satisfies Record<Rule['rule'], string>

/** Messages and deliveries as the store keeps them. Times are milliseconds UTC. */
import type { AppRow, EventRow, StoredContact } from './types.ts'

export const MESSAGE_STATUSES = ['draft', 'live', 'paused'] as const
export type MessageStatus = (typeof MESSAGE_STATUSES)[number]

export const DELIVERY_STATES = [
  'waiting',
  'claimed',
  'handed',
  'sent',
  // in the outbox, and not sent
  'kept',
  'skipped',
  // its event is listed in the email of another delivery
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

export const COMPARISONS = ['equal', 'notEqual', 'contains', 'above', 'below', 'present', 'absent'] as const
export type Comparison = (typeof COMPARISONS)[number]
export type Compared = { is: Comparison; to?: string | number | boolean }
export type Condition = Compared & { property: string }

export type Trigger =
  | { event: string; where?: Condition[] }
  /** a path, or with `*` at its end all paths that begin so */
  | { page: string }
  | { contact: 'created' }
  | { tag: string }

/** `until` is a local time such as "09:00", in the app's timezone. */
export type Wait = { minutes: number } | { until: string }
/** While an email waits, events of the same person and message join it if they are at most so far apart. */
type Collect = { minutes: number }
/** Of several properties, the first that is present counts. */
export type Again =
  | { once: 'person'; collect?: Collect }
  | { once: 'property'; property: string | string[]; collect?: Collect }
  | { everyHours: number }
type IfUnknown = { ifUnknown?: 'send' | 'skip' }
/** Since what triggered the delivery, ever, or within so many days. */
export type Since = 'trigger' | 'ever' | { days: number }

export type Rule =
  /** Gone for `minutes`, now or when it was triggered; `quietMinutes` without a sign count as gone. */
  | ({ rule: 'away'; minutes?: number; at?: 'sending' | 'trigger'; quietMinutes?: number } & IfUnknown)
  | ({ rule: 'seen' } & IfUnknown)
  | ({ rule: 'notSeen' } & IfUnknown)
  | { rule: 'done'; event: string; since?: Since }
  | { rule: 'notDone'; event: string; since?: Since }
  | { rule: 'tag'; has: string }
  | { rule: 'tag'; lacks: string }
  | ({ rule: 'field'; field: string } & Compared)
  | { rule: 'status'; is: 'subscribed' | 'unsubscribed' | 'bounced' | 'complained' }

export type Mail = {
  subject: string
  preheader?: string
  body: string
  fromName?: string
  fromEmail?: string
  replyTo?: string
  /** To transactional mail unsubscribing does not apply. */
  category?: 'lifecycle' | 'transactional'
}

export type MessageContent = {
  trigger: Trigger
  wait?: Wait
  onlyIf?: Rule[]
  again?: Again
  /** When nobody knows whether the mail went out: send it once more, or leave it to a person. */
  ifUnconfirmed?: 'resend' | 'leave'
  mail: Mail
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

/** How many deliveries of a message are in each state, and what became of those that were sent. */
export type MessageCounts = Record<DeliveryState, number> & { cameBack: number; opened: number }

/** Of a message that has no deliveries. */
export const NO_COUNTS = {
  ...(Object.fromEntries(DELIVERY_STATES.map((state) => [state, 0])) as Record<DeliveryState, number>),
  cameBack: 0,
  opened: 0,
} satisfies MessageCounts

/** `days`: 0 is Sunday. From `from` until `until`, local times such as "09:00"; over midnight when `until` is less. */
export type SendWindow = { days: number[]; from: string; until: string }

/**
 * How a domain was verified for an account. `txt`, `dkim`: found in DNS. `operator`: bound by a command. `existing`: in
 * use before several accounts shared the installation's mail server.
 */
export const SENDER_PROOFS = ['txt', 'dkim', 'operator', 'existing'] as const
export type SenderProof = (typeof SENDER_PROOFS)[number]

export type MailSettings = {
  fromName: string | null
  /** the default sender address */
  fromEmail: string | null
  /** further ones that messages may choose */
  otherFromEmails: string[] | null
  replyTo: string | null
  postalAddress: string | null
  logoUrl: string | null
  colour: string | null
  smtpUrl: string | null
  dkimDomain: string | null
  dkimSelector: string | null
  /** PEM */
  dkimKey: string | null
  /** signs what a mail provider reports later */
  bounceSecret: string | null
  perSecond: number | null
  perPersonDay: number | null
  perPersonWeek: number | null
  sendWindow: SendWindow | null
  timezone: string | null
  /** BCP 47 */
  locale: string | null
  giveUpHours: number | null
}

/** One rule with what it looked at: `unknown` is decided by the rule's `ifUnknown`. */
export type Verdict = {
  rule: string
  /** what the rule asks about, such as an event's name or a path */
  about: string | null
  value: string | number | boolean | null
  verdict: 'pass' | 'fail'
  isUnknown?: true
  /** of "away": no leave was reported, but nothing else either for long; `value` is when anything last was */
  isSilent?: true
  /** by page views alone, in a simulation */
  isEstimated?: true
  /** of a further event that the email lists: when it happened (ms UTC) */
  eventAt?: number
  /** not final: decide again at this time (ms UTC) */
  until?: number
}

export type DeliveryRow = {
  id: number
  appId: number
  contactId: number
  messageId: number
  version: number
  eventId: number | null
  onceKey: string | null
  state: DeliveryState
  triggeredAt: number
  plannedAt: number
  dueAt: number
  attempt: number
  claimedBy: string | null
  claimedUntil: number | null
  handedAt: number | null
  sentAt: number | null
  /** an unknown outcome was sent again already */
  resent: boolean
  /** a member sent it on, whatever the rules say */
  byHand: boolean
  reason: string | null
  /** JSON of a DecisionRecord (decision-records.ts) */
  record: string | null
  cameBackAt: number | null
  openedAt: number | null
  updatedAt: number
  /** the delivery whose email lists the event of this one */
  joinedTo: number | null
}

/** An email lists at most so many events; more that join it count as mailed. */
export const LISTED_EVENTS = 50

/** An event that joined a waiting email. `id` and `triggeredAt` are those of its own delivery. */
export type JoinedEvent = { id: number; triggeredAt: number; event: EventRow }

/** Of an event that is taken out of an email: why, and a JSON DecisionRecord. `id` is that of its own delivery. */
export type UnfitEvent = { id: number; reason: string; record: string }

/**
 * What all emails of a version of a message are made of; `message` holds the content of that version. `sourceHash`: equal
 * where an email would be the same.
 */
export type MailSource = { message: MessageRow; app: AppRow; settings: MailSettings; sourceHash: string }

/** Null where there is no such version of a message. */
export type FindMailSource = (messageId: number, version: number) => MailSource | null

/** A delivery with all that judging and rendering it takes. */
export type DeliveryWork = MailSource & {
  delivery: DeliveryRow
  contact: StoredContact
  event: EventRow | null
  /** further events that the email lists, oldest first */
  joined: JoinedEvent[]
  /** of an event that joined an email: the delivery of that email */
  lead: DeliveryRow | null
}

/** What an email says, with the mailboxes as a reader sees them. */
export type CapturedMail = { from: string; to: string; subject: string; html: string; text: string }

/** `content`: null where only the source was kept, as it was once. */
export type FoundCapture = { raw: string; createdAt: number; content: CapturedMail | null }
export type ListedCapture = { deliveryId: number; createdAt: number; to: string | null; subject: string | null }

/** What holds a delivery: the process that claimed it and which attempt that was. */
export type Claim = { id: number; claimedBy: string; attempt: number; at: number }
/**
 * `because`: `lost` to someone else or stopped; `outdated`, to be written anew; or the reason why the final check skipped or
 * deferred it.
 */
export type Marked = { held: true } | { held: false; because: string }

/** The reason of a delivery that a rule stopped by what it found. Where nothing was known, see reasonOfRule. */
export const STOP_REASONS = {
  away: 'not_away',
  seen: 'not_seen',
  notSeen: 'seen',
  done: 'not_done',
  notDone: 'done',
  tag: 'tag',
  field: 'field',
  status: 'status',
} as const satisfies Record<Rule['rule'], string>

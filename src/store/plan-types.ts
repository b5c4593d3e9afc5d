/**
 * How writes about people are done: the store loads facts by key, a pure function of a domain module plans what they
 * change, and the store applies that in the same transaction. Times are ms UTC.
 */
import type { Arrival, DeliveryRules } from './delivery-rules.ts'
import type { StoredOutcome } from './idempotency.ts'
import type { AppRules, LiveMessage } from './live-messages.ts'
import type { DeliveryState, MessageContent, SuppressionReason } from './message-types.ts'
import type {
  ContactRow,
  ContactWrite,
  EventWrite,
  FieldValue,
  Idempotency,
  NameField,
  PersonWrite,
  RecordedEvent,
  Refused,
  SavedContact,
} from './types.ts'
import type { BatchWrite, StoredBatch } from './visit-reports.ts'

export type PlannedWrite =
  /** `isRefused`: nothing is recorded, unless its Idempotency-Key has an outcome already */
  | { name: 'recordEvent'; input: EventWrite; isRefused?: boolean }
  | { name: 'recordBatch'; input: BatchWrite }
  | { name: 'addContact' | 'updateContact'; input: ContactWrite }
export const isRefused = (write: PlannedWrite): boolean => write.name === 'recordEvent' && write.isRefused === true

export type PlannedOutcome = RecordedEvent | StoredBatch | SavedContact | Refused

export type Names = { [name in NameField]: string | null }

/** `hasDeliveries`: the app has emails that something may cancel, or whose people may come back. */
export type AppFacts = { id: number; rules: AppRules; hasDeliveries: boolean }

/** `id`: null where nobody has the email. All from `names` on is read only where it was asked for. */
export type PersonFacts = {
  app: AppFacts
  /** only one write of the batch is about them */
  isAlone: boolean
  id: number | null
  lacksName: boolean
  names: Names | null
  /** read where a write is about the contact itself */
  contact: ContactRow | null
  /** why nothing is sent to an address that is new */
  suppression: SuppressionReason | null
  emails: EmailFacts | null
}

export type KnownPerson = PersonFacts & { id: number }

/** Whom each write of a batch is about, the same for writes about the same person; null where nothing is recorded. */
export type BatchPeople = readonly (PersonFacts | null)[]

/** An event that joined the email of another. `properties` are JSON. */
export type JoinedFacts = {
  id: number
  eventId: number | null
  onceKey: string | null
  triggeredAt: number
  properties: string | null
}

/** An email that waits. `joined`: how many further events it lists; `parts`: those events, where they were asked for. */
export type WaitingFacts = JoinedFacts & {
  messageId: number
  version: number
  content: MessageContent
  state: DeliveryState
  reason: string | null
  dueAt: number
  handedAt: number | null
  joined: number
  parts: JoinedFacts[]
}

/** An email that was sent. `properties`: JSON of the events that it lists. */
export type SentFacts = {
  id: number
  handedAt: number
  cameBackAt: number | null
  openedAt: number | null
  properties: (string | null)[]
}

/** What one person has had of one message: keys of "once", how many emails, and when any were sent. */
export type UsedFacts = { keys: Set<string>; count: number; handed: { id: number; at: number }[] }

export type EmailFacts = { waiting: WaitingFacts[]; sent: SentFacts[]; used: Map<number, UsedFacts> }

/** What an arrival means for an app: the messages that it triggers, what it may cancel, and the page that was seen. */
export type Matched = {
  starts: LiveMessage[]
  properties: () => Record<string, unknown>
  cancels: Arrival | null
  seen: { path: string; occurredAt: number } | null
}
/** By what arrived; there is none of what means nothing. */
export type Matches = Map<object, Matched>

/** What has to be loaded of a message for one person. */
export type MessageQuery = {
  message: LiveMessage
  keys: Set<string>
  needsCount: boolean
  needsHanded: boolean
  /** emails of events within these times may be joined, where fewer than `room` joined already */
  near: { from: number; until: number }[]
  room: number
  /** since when an email may wait only because the person had enough */
  limitedSince: number | null
}

/** What has to be loaded of a known person's emails. */
export type EmailQuery = {
  person: KnownPerson
  messages: Map<number, MessageQuery>
  /** all that wait, because something may cancel them; with the properties of their events where a page may */
  waiting: 'none' | 'bare' | 'withProperties'
  sentSince: number | null
}

export type Newcomer = { email: string; person: PersonFacts }
export type AccountMonth = { accountId: string; month: string }

/** Whether the person sent a visit report before, which is loaded; `batch` tells it from others. */
export type ReportQuery = { person: PersonFacts; batch: number; at: number; isRepeated: boolean }
/** By the places of their writes in the batch. */
export type ReportQueries = (ReportQuery | undefined)[]

export type FactQuery = {
  names: KnownPerson[]
  contacts: KnownPerson[]
  reports: ReportQueries
  newcomers: Newcomer[]
  months: AccountMonth[]
  outcomes: Idempotency[]
  emails: EmailQuery[]
  matches: Matches
}

/** By `outcomeKey`, then by the part of the request; null is the request itself. */
export type KeyedOutcomes = ReadonlyMap<string, ReadonlyMap<number | null, StoredOutcome>>

export type Facts = {
  people: BatchPeople
  /** no id of the batch is below it */
  firstId: number
  /** how many people were new, by `monthKey` */
  newPeople: ReadonlyMap<string, number>
  outcomes: KeyedOutcomes
  reports: Readonly<ReportQueries>
  matches: Matches
}

export const monthKey = ({ accountId, month }: AccountMonth): string => `${accountId} ${month}`
export const outcomeKey = (keyId: string, key: string): string => `${keyId} ${key}`

export type NewContact = Pick<EventWrite, 'appId' | 'email' | 'shownEmail' | 'at'> &
  Names & { id: number; source: string | null; status: SuppressionReason | 'subscribed' }
export type FilledNames = Names & { appId: number; email: string; id: number; at: number }
export type NewEvent = {
  id: number
  contactId: number
  event: Pick<EventWrite, 'appId' | 'type' | 'name' | 'via' | 'properties' | 'path' | 'at' | 'occurredAt'>
}
/** `isWhole`: it stands for all of a visit report, and not for one of its items. */
export type NewReport = {
  id: number
  appId: number
  contactId: number
  batch: number
  at: number
  items: number
  pageLoad: number | null
  batchNumber: number | null
  age: number | null
  path: string | null
  code: number | null
  isWhole: boolean
}
export type ContactChange = Names & {
  appId: number
  email: string
  id: number
  source: string | null
  tags: string[]
  fields: Record<string, FieldValue>
  addTags: string[]
  removeTags: string[]
  at: number
}
export type NewDelivery = {
  change: 'start' | 'join'
  id: number
  appId: number
  contactId: number
  messageId: number
  version: number
  eventId: number | null
  onceKey: string | null
  triggeredAt: number
  dueAt: number
  joinedTo: number | null
  at: number
}
export type DeliveryChange =
  | NewDelivery
  | { change: 'cancel'; id: number; at: number; reason: string; record: string; isOfEvent: boolean }
  | { change: 'cameBack'; id: number; at: number; isResult: boolean }
export type NewOutcome = Idempotency & { outcome: string; contactId: number }

/** The rows to write, each list in the order in which they came about, and one outcome for each write. */
export type Plan = {
  outcomes: PlannedOutcome[]
  /** no id beyond it was given */
  lastId: number
  contacts: NewContact[]
  newPeople: (AccountMonth & { count: number })[]
  filledNames: FilledNames[]
  contactChanges: ContactChange[]
  events: NewEvent[]
  reports: NewReport[]
  deliveries: DeliveryChange[]
  requests: NewOutcome[]
  /** the writes that count towards the limits of their senders */
  counted: Pick<PersonWrite, 'buckets' | 'at'>[]
}

export type Planner = {
  /** What planning the batch takes besides the rules and who is known. */
  queryFacts: (batch: readonly PlannedWrite[], people: BatchPeople) => FactQuery
  planWrites: (batch: readonly PlannedWrite[], facts: Facts) => Plan
}

/** The rules that the store applies and does not contain. */
export type Rules = DeliveryRules & Planner

const missing = (): never => {
  throw new Error('this store was opened without rules')
}

/** Of a command that neither sends nor records anything of people. */
export const NO_RULES: Rules = {
  decide: missing,
  queryEnd: missing,
  planEnd: missing,
  isResendable: missing,
  isResent: missing,
  refusedBy: missing,
  queryFacts: missing,
  planWrites: missing,
}

/**
 * Writes about people: the store loads facts, a pure planner returns rows to write, and the store applies them in the
 * same transaction. Times are ms UTC.
 */
import type { AccountRules } from './account-rules.ts'
import type { Confirmation, NewConsent } from './consents.ts'
import type { ReportRules } from './delivery-reports.ts'
import type { Arrival, DeliveryRules, EndPlan, Finish } from './delivery-rules.ts'
import type { KeyedOutcomes, NewOutcome, PlanOnce } from './idempotency.ts'
import type { AppRules, LiveMessage } from './live-messages.ts'
import type { BrakeRules } from './brake-rules.ts'
import type { PaceRules } from './pace-rules.ts'
import type { DeliveryState, Goal, MessageContent, SendWrite, SentMail, SuppressionReason } from './message-types.ts'
import type { UsedFacts } from './message-uses.ts'
import type { MessageRules } from './messages.ts'
import type { ScheduleChange, ScheduleRules } from './schedules.ts'
import type { NewOwnText, NewSend } from './sends.ts'
import type { StartWrite } from './start-writes.ts'
import type { SuppressionRules } from './suppressions.ts'
import type { TopicRules } from './topics.ts'
import type {
  ConfirmedConsent,
  ConsentWrite,
  ContactStatus,
  ContactWrite,
  CountedLimit,
  EventWrite,
  FieldValue,
  Idempotency,
  NameField,
  RecordedEvent,
  Refused,
  SavedContact,
  SeenTimes,
  StoredContact,
} from './types.ts'
import type { VisitReportWrite, StoredVisitReport } from './visit-reports.ts'

export type PlannedWrite =
  /** `isRefused`: records nothing, but replays an existing outcome of its Idempotency-Key */
  | { name: 'recordEvent'; input: EventWrite; isRefused?: boolean }
  | { name: 'recordVisitReport'; input: VisitReportWrite }
  | { name: 'addContact' | 'updateContact'; input: ContactWrite }
  | { name: 'sendMail'; input: SendWrite }
  | { name: 'confirmConsent'; input: ConsentWrite }
  | { name: 'startMessages'; input: StartWrite }
export const isRefused = (write: PlannedWrite): boolean => write.name === 'recordEvent' && write.isRefused === true

export type StartedMessages = { contactId: number }

export type PlannedOutcome =
  RecordedEvent | StoredVisitReport | SavedContact | SentMail | ConfirmedConsent | StartedMessages | Refused

export type Names = { [name in NameField]: string | null }

export type AppFacts = { id: number; rules: AppRules; hasDeliveries: boolean }

/** `id` is null for an unknown email. Fields from `names` on are loaded only if queried. */
export type PersonFacts = {
  app: AppFacts
  isAlone: boolean
  /** an email waits to know whether they left */
  isUnsure: boolean
  id: number | null
  lacksName: boolean
  names: Names | null
  contact: { row: StoredContact; seen: SeenTimes } | null
  /** why a new address is suppressed */
  suppression: SuppressionReason | null
  /** when they were asked to confirm the address (ms UTC) */
  asked: number[] | null
  emails: EmailFacts | null
}

export type KnownPerson = PersonFacts & { id: number }

export type BatchPeople = readonly (PersonFacts | null)[]

export type JoinedFacts = {
  id: number
  eventId: number | null
  dedupeKey: string | null
  triggeredAt: number
  properties: string | null
}

/** A waiting email. `joined`: number of further events that it lists. `parts`: those events, if queried. */
export type WaitingFacts = JoinedFacts & {
  messageId: number
  version: number
  content: MessageContent
  state: DeliveryState
  reason: string | null
  plannedAt: number
  dueAt: number
  handedAt: number | null
  joined: number
  parts: JoinedFacts[]
}

/** Of the delivery itself, or of the comparison of its person with those who are held back. */
export type ReachedBy = 'email' | 'comparison'

/** Sent or held back, at `decidedAt`. */
export type SentFacts = {
  of: ReachedBy
  id: number
  decidedAt: number
  cameBackAt: number | null
  openedAt: number | null
  properties: (string | null)[]
}

/** Sent or held back at `decidedAt`, without the goal reached yet. */
export type AwaitedGoal = Goal & { of: ReachedBy; id: number; decidedAt: number }

/** `timezone`: what the person's field has; read only if a message waits for a time of day. */
export type EmailFacts = {
  timezone: FieldValue | null
  waiting: WaitingFacts[]
  sent: SentFacts[]
  goals: AwaitedGoal[]
  used: Map<number, UsedFacts>
}

export type Matched = {
  starts: LiveMessage[]
  properties: () => Record<string, unknown>
  cancels: Arrival | null
  seen: { path: string; occurredAt: number } | null
  /** `withinMs`: the longest time in which it counts as the goal of a message */
  goal: { event: string; occurredAt: number; withinMs: number } | null
  isLeave?: true
  /** tells one trigger from another, where that is no event */
  trigger?: string
}
export type Matches = Map<object, Matched>

export type MessageQuery = {
  message: LiveMessage
  keys: Set<string>
  /** all that are used, not only `keys` */
  needsKeys: boolean
  needsCount: boolean
  needsHanded: boolean
  /** waiting emails with events in these ranges can be joined if fewer than `room` events have joined */
  near: { from: number; until: number }[]
  room: number
  /** only emails triggered since then can be waiting for the person's limit */
  limitedSince: number | null
}

export type EmailQuery = {
  person: KnownPerson
  needsTimezone: boolean
  messages: Map<number, MessageQuery>
  /** page views also need the properties of the events */
  waiting: 'none' | 'bare' | 'withProperties'
  sentSince: number | null
  goalsSince: number | null
}

export type Newcomer = { email: string; person: PersonFacts }
export type AccountMonth = { accountId: string; month: string }

/** `batch`: hash of the visit report's id. `isRepeated` is filled in by loading. */
export type ReportQuery = { person: PersonFacts; batch: number; at: number; isRepeated: boolean }
export type ReportQueries = (ReportQuery | undefined)[]

export type FactQuery = {
  names: KnownPerson[]
  contacts: KnownPerson[]
  reports: ReportQueries
  newcomers: Newcomer[]
  /** asked to confirm, or maybe to be asked */
  asked: KnownPerson[]
  months: AccountMonth[]
  outcomes: Idempotency[]
  emails: EmailQuery[]
  matches: Matches
}

export type Facts = {
  people: BatchPeople
  firstId: number
  newPeople: ReadonlyMap<string, number>
  /** what all instances used of a limit, by bucket; without limits that this process alone counts, before the write */
  used: ReadonlyMap<string, number>
  outcomes: KeyedOutcomes
  reports: Readonly<ReportQueries>
  matches: Matches
}

export const monthKey = ({ accountId, month }: AccountMonth): string => `${accountId} ${month}`

export type NewContact = Pick<EventWrite, 'appId' | 'email' | 'shownEmail' | 'at'> &
  Names & { id: number; source: string | null; status: ContactStatus }
export type FilledNames = Names & { change: 'names'; appId: number; email: string; id: number; at: number }
export type NewEvent = {
  id: number
  contactId: number
  event: Pick<EventWrite, 'appId' | 'type' | 'name' | 'via' | 'properties' | 'path' | 'at' | 'occurredAt'>
}
/** `isWhole`: the row stands for the whole visit report, not for one of its items. */
export type NewReport = {
  id: number
  appId: number
  contactId: number
  batch: number
  at: number
  items: number
  pageLoad: number | null
  reportNumber: number | null
  age: number | null
  path: string | null
  code: number | null
  isWhole: boolean
}
export type ContactChange = Names & {
  change: 'contact'
  appId: number
  email: string
  id: number
  source: string | null
  tags: string[]
  fields: Record<string, FieldValue>
  addTags: string[]
  removeTags: string[]
  at: number
  /** a member's id */
  actor?: string
}
export type PersonChange = FilledNames | ContactChange
/** What a member did with a person. `changed`: names of what changed. */
export type MemberNote = {
  accountId: string
  appId: number
  contactId: number
  actor: string
  at: number
  action: 'contact.add' | 'contact.change' | 'contact.ask'
  changed: string[]
}
export type NewDelivery = {
  change: 'start' | 'join'
  id: number
  appId: number
  contactId: number
  messageId: number
  version: number
  eventId: number | null
  dedupeKey: string | null
  triggeredAt: number
  dueAt: number
  joinedTo: number | null
  at: number
}
export type DeliveryChange =
  | NewDelivery
  | { change: 'cancel'; id: number; at: number; finish: Finish; plan: EndPlan }
  | { change: 'checkEarlier'; id: number; at: number; dueAt: number }
  | { change: 'cameBack'; of: ReachedBy; id: number; at: number; isResult: boolean }
  | { change: 'goal'; of: ReachedBy; id: number; at: number }

export type Plan = {
  outcomes: PlannedOutcome[]
  lastId: number
  contacts: NewContact[]
  newPeople: (AccountMonth & { count: number })[]
  /** in order */
  personChanges: PersonChange[]
  memberNotes: MemberNote[]
  events: NewEvent[]
  reports: NewReport[]
  deliveries: DeliveryChange[]
  schedules: ScheduleChange[]
  ownTexts: NewOwnText[]
  sends: NewSend[]
  consents: NewConsent[]
  confirmations: Confirmation[]
  requests: NewOutcome[]
  counted: { limits: readonly CountedLimit[]; count: number; at: number }[]
}

export type Planner = {
  queryFacts: (batch: readonly PlannedWrite[], people: BatchPeople) => FactQuery
  planWrites: (batch: readonly PlannedWrite[], facts: Facts) => Plan
}

/** Domain rules that the store calls but does not contain. */
export type Rules = DeliveryRules &
  ReportRules &
  Planner &
  MessageRules &
  SuppressionRules &
  TopicRules &
  ScheduleRules &
  BrakeRules &
  PaceRules &
  AccountRules & {
    planOnce: PlanOnce
  }

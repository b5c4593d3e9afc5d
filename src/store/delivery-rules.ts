/** The store applies these rules, but does not contain them (deliveries/decide.ts). Times are ms UTC. */
import type { DecisionRecord } from './decision-records.ts'
import type { createDeliveryReads } from './deliveries.ts'
import type { createHistoryReads } from './events.ts'
import type {
  DeliveryRow,
  DeliveryWork,
  MessageContent,
  SuppressionReason,
  UnfitEvent,
  Verdict,
} from './message-types.ts'
import type { createReportReads } from './visit-reports.ts'
import type { FieldValue, Refused } from './types.ts'

export type DeliveryRules = {
  decide: DecideDelivery
  decideFinally: DecideFinally
  queryEnd: QueryEnd
  planEnd: PlanEnd
  /** Whether an email deferred for this reason is due at once when the app's sender or mail server changes, or its brake ends. */
  isRetried: (reason: string, changed: RetryCause) => boolean
  /** Whether nothing says that the email was sent or captured before, so that it may trigger other messages. */
  isFirstSend: (sent: Pick<DeliveryRow, 'byHand' | 'record'>) => boolean
  planResend: PlanResend
  planCancel: PlanCancel
  /** Whether a member may have it decided before it is due. */
  isSendableEarly: (waiting: WaitingDelivery, at: number) => boolean
  /** When an email with an unknown outcome is sent again; null for never. `resent`: it was before. */
  planUnconfirmed: (
    unconfirmed: { content: MessageContent; resent: boolean; record: string | null },
    at: number,
  ) => number | null
  cancelBySuppression: CancelBySuppression
  cancelByTopic: CancelByTopic
}

/**
 * `reason`: a code. `dueAt`: when to decide again. `unfit`: joined events to remove from the email. `isOfEvent`: the
 * reason concerns only the first event. `isCompared`: it counts in the comparison of emailed and held-back people.
 */
export type DeliveryDecision = { record: DecisionRecord; unfit: UnfitEvent[]; isCompared: boolean } & (
  | { outcome: 'send' }
  | { outcome: 'skip'; reason: string; isOfEvent: boolean }
  | { outcome: 'wait'; reason: string; dueAt: number }
)

export type DecisionReads = Pick<ReturnType<typeof createDeliveryReads>, 'lastHandedAt' | 'listHanded'> & {
  findSuppression: (appId: number, email: string) => Promise<SuppressionReason | null>
  /** when the person ended the topic (ms UTC) */
  findTopicEnd: (appId: number, email: string, topic: string) => Promise<number | null>
} & ReturnType<typeof createHistoryReads> &
  Pick<ReturnType<typeof createReportReads>, 'listReports'>

/** `known`: verdicts of the message's rules that are still valid. */
export type DecideDelivery = (
  reads: DecisionReads,
  work: DeliveryWork,
  at: number,
  known?: readonly Verdict[],
) => Promise<DeliveryDecision>

/** `record`: of the decision when the delivery was claimed. `isUnchanged`: nothing about the person arrived since. */
export type DecideFinally = (
  reads: DecisionReads,
  work: DeliveryWork,
  last: { at: number; record: DecisionRecord; isUnchanged: () => Promise<boolean> },
) => Promise<DeliveryDecision>

/** Null: the email is not affected. */
export type CancelBySuppression = (
  waiting: { content: MessageContent; record: string | null },
  reason: SuppressionReason,
  at: number,
) => Finish | null

/** `topics`: names of those that the person ended. Null: the email is not affected. */
export type CancelByTopic = (
  waiting: { content: MessageContent; record: string | null },
  topics: readonly string[],
  at: number,
) => Finish | null

/** Something that may cancel a person's waiting emails: by their rules, or because another date is due. */
export type Arrival = RuleArrival | DateArrival

/** `date` (ms UTC) of the person's field. */
export type DateArrival = { field: string; date: number }

/** A page view, an event, or a contact change. */
export type RuleArrival =
  | { path: string; occurredAt: number }
  | { event: string; occurredAt: number; properties: () => Record<string, unknown> }
  | {
      addedTags: string[]
      removedTags: string[]
      fieldsBefore: Record<string, FieldValue>
      fieldsAfter: Record<string, FieldValue>
    }

/** The event of a waiting email. `isJoined`: it is not the email's first event, which decides. */
export type WaitingEvent = {
  triggeredAt: number
  dueAt: number
  resultPath: () => string | null
  properties: () => Record<string, unknown>
  isJoined: boolean
}

export type Cancelled = { reason: string; verdict: Verdict; isOfEvent: boolean }

export type Cancellable = Pick<MessageContent, 'trigger' | 'onlyIf'>

export type FindCancelled = (content: Cancellable, waiting: WaitingEvent, arrival: Arrival) => Cancelled | null

export type Lead = { id: number; dueAt: number; joined: number }

export type StartFacts<L extends Lead = Lead> = {
  at: number
  occurredAt: number
  timezone: string
  properties: () => Record<string, unknown>
  /** tells one trigger from another, where that is no event */
  trigger?: string
  /**
   * `near`: with events within `withinMs`. `limited`: waiting only for the person's limit. Oldest first; null if the
   * event cannot join an email.
   */
  leads: { near: (withinMs: number) => L[]; limited: () => L[] } | null
  /** whether the deduplication key is used; false if only the database can tell */
  isUsedUp: (key: string) => boolean
  /** in any version of the message */
  hasAny: () => boolean
  lastHandedAt: () => number | null
}

export type Start<L extends Lead = Lead> =
  | { outcome: 'start'; key: string; dueAt: number }
  | { outcome: 'join'; lead: L; key: string | null; dueAt: number }
  | { outcome: 'none'; reason: 'too_old' | 'again' }

export type DecideStart = <L extends Lead>(
  content: Pick<MessageContent, 'trigger' | 'wait' | 'again'>,
  facts: StartFacts<L>,
) => Start<L>

/**
 * Absent fields stay unchanged. `isOfEvent`: the email continues with its other events. `isRefused`: no server has
 * accepted the email. `isCapturing`: the app has no mail server or no sender address.
 */
export type Finish = {
  state: string
  reason?: string
  record?: string | null
  dueAt?: number
  sentAt?: number
  isOfEvent?: boolean
  isRefused?: boolean
  isCapturing?: boolean
}

/** Only what `QueryEnd` returns is loaded. */
export type EndFacts = {
  delivery: {
    dedupeKey: string | null
    plannedAt: number
    dueAt: number
  } | null
  /** the attempt that was refused */
  attempt: { handedAt: number | null; resent: boolean; record: string | null } | null
  joined: { id: number; triggeredAt: number; dedupeKey: string | null }[]
}

export type QueryEnd = (finish: Finish) => { [fact in keyof EndFacts]: boolean }

/**
 * `key`: what happens to the deduplication key. `handedAt`: undefined = unchanged. `heir`: the event that takes over
 * the email; if `isUnsent` without an heir, all its events end too.
 */
export type EndPlan = {
  key: 'keep' | 'releaseTimed' | 'release'
  handedAt: number | null | undefined
  isUnsent: boolean
  heir: { id: number; dedupeKey: string | null; plannedAt: number; dueAt: number } | null
  dropsCaptured: boolean
  /** it is held back, which uses up the message's frequency like a hand-over */
  isHeldBack: boolean
}

/** `reached`: the mail server can be reached again. */
export type RetryCause = 'server' | 'sender' | 'limits' | 'brake' | 'reached'

export type ResendFacts = Pick<DeliveryRow, 'state' | 'reason' | 'handedAt' | 'record' | 'dedupeKey' | 'joinedTo'> & {
  isEventDeleted: boolean
}

/**
 * `isUnconfirmed`: it and the events that it lists may have been delivered. `takesNewest`: it is sent with the newest
 * version of its message.
 */
export type ResendPlan = {
  handedAt: number | null
  dedupeKey: string
  record: DecisionRecord
  isUnconfirmed: boolean
  takesNewest: boolean
}

/** `actor`: the member. `inBulk`: with others. */
export type PlanResend = (
  ended: ResendFacts,
  by: { at: number; actor?: string | undefined; inBulk: boolean },
) => ResendPlan | Refused

export type PlanCancel = (
  waiting: Pick<DeliveryRow, 'state' | 'record'>,
  by: { at: number; actor: string },
) => Finish | Refused

export type WaitingDelivery = Pick<DeliveryRow, 'state' | 'dueAt'>

export type PlanEnd = (finish: Finish, facts: EndFacts) => EndPlan

/** The rules for sending: the store applies them and contains none (deliveries/decide.ts). Times are ms UTC. */
import type { DecisionRecord } from './decision-records.ts'
import type { createDeliveryReads } from './deliveries.ts'
import type { createHistoryReads } from './events.ts'
import type {
  DeliveryState,
  DeliveryWork,
  MessageContent,
  MessageRow,
  SuppressionReason,
  UnfitEvent,
  Verdict,
} from './message-types.ts'
import type { createReportReads } from './visit-reports.ts'
import type { ContactRow, FieldValue } from './types.ts'

export type DeliveryRules = {
  decide: DecideDelivery
  queryEnd: QueryEnd
  planEnd: PlanEnd
  isResendable: (state: DeliveryState) => boolean
  isResent: (content: MessageContent) => boolean
  refusedBy: RefusedBy
}

/**
 * What to do with a delivery that is due; `reason` is a code, `dueAt` when to look again (ms UTC). `unfit`: events that
 * joined the email and are not to be listed. `isOfEvent`: the reason is about the first event alone.
 */
export type DeliveryDecision = { record: DecisionRecord; unfit: UnfitEvent[] } & (
  | { outcome: 'send' }
  | { outcome: 'skip'; reason: string; isOfEvent: boolean }
  | { outcome: 'wait'; reason: string; dueAt: number }
)

/** What deciding about a delivery reads besides the delivery itself. */
export type DecisionReads = Pick<ReturnType<typeof createDeliveryReads>, 'lastHandedAt' | 'listHanded'> & {
  findSuppression: (appId: number, email: string) => SuppressionReason | null
} & ReturnType<typeof createHistoryReads> &
  Pick<ReturnType<typeof createReportReads>, 'listReports'>

/** Decides about a delivery. `known`: what the message's own rules found, where nothing they ask about has changed since. */
export type DecideDelivery = (
  reads: DecisionReads,
  work: DeliveryWork,
  at: number,
  known?: readonly Verdict[],
) => DeliveryDecision

/** Why an email must not go to its person; null where it may. `suppression`: that of the address. */
export type RefusedBy = (
  about: { contact: Pick<ContactRow, 'status'>; message: Pick<MessageRow, 'content'> },
  suppression: SuppressionReason | null,
) => SuppressionReason | null

/** What came about a person, and may cancel what waits for them: a page that they are on, an event, a change by name. */
export type Arrival =
  | { path: string; occurredAt: number }
  | { event: string; occurredAt: number }
  | {
      addedTags: string[]
      removedTags: string[]
      fieldsBefore: Record<string, FieldValue>
      fieldsAfter: Record<string, FieldValue>
    }

/** The event of an email that waits. `isJoined`: it is not the one by which the email is decided. */
export type WaitingEvent = {
  triggeredAt: number
  dueAt: number
  resultPath: () => string | null
  isJoined: boolean
}

/** `isOfEvent`: it is about this event alone. */
export type Cancelled = { reason: string; verdict: Verdict; isOfEvent: boolean }

/** What an arrival cancels of an email that waits, for good; null: nothing. */
export type FindCancelled = (
  content: Pick<MessageContent, 'onlyIf'>,
  waiting: WaitingEvent,
  arrival: Arrival,
) => Cancelled | null

/** An email that waits and takes further events; `joined`: how many it has taken. */
export type Lead = { id: number; dueAt: number; joined: number }

/** What whether an event starts an email rests on. `at`: when it came; `timezone`: that of the app (IANA name). */
export type StartFacts<L extends Lead = Lead> = {
  at: number
  occurredAt: number
  timezone: string
  properties: () => Record<string, unknown>
  /**
   * The emails of this version that take events, the oldest first: of events that are so near, and that wait only because
   * the person had enough emails. Null where there is no event that could join one.
   */
  leads: { near: (withinMs: number) => L[]; limited: () => L[] } | null
  /** whether "once" is used up; where only the key in the database tells, it is not */
  isUsedUp: (key: string) => boolean
  /** whether the person has, or waits for, any email of this message, of whatever version */
  hasAny: () => boolean
  lastHandedAt: () => number | null
}

/** `key`: of "once", null where that is the lead's. `dueAt`: when the email is due. */
export type Start<L extends Lead = Lead> =
  | { outcome: 'start'; key: string; dueAt: number }
  | { outcome: 'join'; lead: L; key: string | null; dueAt: number }
  | { outcome: 'none'; reason: 'too_old' | 'again' }

/** Whether an event that fits a message starts an email of it, joins one that waits, or neither. */
export type DecideStart = <L extends Lead>(
  content: Pick<MessageContent, 'wait' | 'again'>,
  facts: StartFacts<L>,
) => Start<L>

/**
 * What becomes of a delivery; what is left out stays as it is. Times are ms UTC, `record` is JSON. `isOfEvent`: it was
 * about the first event alone, so the email goes on with the others that it lists. `isRefused`: no server has taken it.
 */
export type Finish = {
  state: string
  reason?: string
  record?: string | null
  dueAt?: number
  sentAt?: number
  isOfEvent?: boolean
  isRefused?: boolean
}

/** `joined`: the events that wait with the email. Only what `QueryEnd` asks for is loaded. */
export type EndFacts = {
  delivery: {
    onceKey: string | null
    plannedAt: number
    dueAt: number
    handedAt: number | null
    resent: boolean
    record: string | null
  } | null
  joined: { id: number; triggeredAt: number; onceKey: string | null }[]
}

export type QueryEnd = (finish: Finish) => { delivery: boolean; joined: boolean }

/**
 * `key`: what the delivery keeps of its key of "once". `handedAt`: undefined where it stays. `heir`: the event that takes
 * over the email; with `isUnsent` and no heir, all its events end with it.
 */
export type EndPlan = {
  key: 'kept' | 'releasedByTime' | 'released'
  handedAt: number | null | undefined
  isUnsent: boolean
  heir: { id: number; onceKey: string | null; plannedAt: number; dueAt: number } | null
  dropsCaptured: boolean
}

export type PlanEnd = (finish: Finish, facts: EndFacts) => EndPlan

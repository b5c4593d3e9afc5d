/** What happens to an email, its captured copy, its events and its deduplication key when it ends or keeps waiting. */
import { MINUTE_MS } from '../core/clock.ts'
import { type DecisionRecord, parseRecord, type StoppedBy } from '../store/decision-records.ts'
import type {
  CancelBySuppression,
  CancelByTopic,
  RetryCause,
  DeliveryRules,
  EndFacts,
  EndPlan,
  Finish,
  WaitingDelivery,
  PlanCancel,
  PlanEnd,
  PlanResend,
  QueryEnd,
  ResendFacts,
} from '../store/delivery-rules.ts'
import type { TemplateReason } from '../messages/template-faults.ts'
import { TIMED_KEY } from '../store/delivery-states.ts'
import {
  type DeliveryRow,
  type DeliveryState,
  type MessageContent,
  SUPPRESSION_REASONS,
  type Verdict,
} from '../store/message-types.ts'
import { BRAKE } from './brake.ts'
import { NO_ANSWER } from './describe-reason.ts'
import { HELD_BACK, refusedBy, suppressionVerdict, WAIT_REASONS } from './decide.ts'

const WAITING: readonly string[] = ['waiting', 'deferred']
/** After these the person gets no more email, so the captured copy is deleted, too. */
const FINAL_REASONS: readonly string[] = [...SUPPRESSION_REASONS, 'topic', 'gone']

const RESENDABLE: readonly DeliveryState[] = ['skipped', 'failed', 'unknown', 'deferred', 'kept']

/** Whether a member may resend a delivery in this state. */
export const isResendable = (state: DeliveryState): boolean => RESENDABLE.includes(state)

/** Whether an email is sent once more when its outcome is unknown. A result that arrives twice beats one that is lost. */
export const isResent = ({ trigger, ifUnconfirmed }: MessageContent): boolean =>
  (ifUnconfirmed ?? ('event' in trigger && trigger.event === 'results_ready' ? 'resend' : 'leave')) === 'resend'

/** An email that waits when its person is suppressed. */
export const cancelBySuppression: CancelBySuppression = ({ content, record }, reason, at) => {
  const suppressed = { suppression: reason, topicEndedAt: null }
  if (refusedBy({ contact: { status: reason }, message: { content } }, suppressed) === null) return null
  const decided = addVerdict(parseRecord(record), suppressionVerdict(reason), at)
  return { state: 'skipped', reason, record: JSON.stringify(decided) }
}

/** An email that waits when its person ends its topic. */
export const cancelByTopic: CancelByTopic = ({ content, record }, topics, at) => {
  const { topic } = content
  if (topic === undefined || !topics.includes(topic)) return null
  const decided = addVerdict(parseRecord(record), suppressionVerdict('topic'), at)
  return { state: 'skipped', reason: 'topic', record: JSON.stringify(decided) }
}

/** Replaces the verdict of one rule. The other verdicts keep their values and time (`rulesAt`). */
export function addVerdict(earlier: DecisionRecord | null, verdict: Verdict, at: number): DecisionRecord {
  const { verdicts = [], at: decidedAt = at, rulesAt = decidedAt, ...others } = earlier ?? {}
  const index = verdicts.findIndex(({ rule }) => rule === verdict.rule)
  const all = index < 0 ? [verdict, ...verdicts] : verdicts.with(index, verdict)
  return { ...others, at, ...(all.length > 1 && rulesAt !== at ? { rulesAt } : {}), verdicts: all }
}

export type Repeatable = NonNullable<DecisionRecord['repeatable']>

const REPEAT_AFTER_MS = MINUTE_MS

/**
 * Once only; then it is left to a member. A provider that recognizes repeated emails makes it safe, but only in time, and
 * then as often as needed.
 */
export const planUnconfirmed: DeliveryRules['planUnconfirmed'] = ({ content, resent, record }, at) => {
  const { repeatable } = parseRecord(record) ?? {}
  if (repeatable === undefined) return !resent && isResent(content) ? at : null
  const dueAt = resent ? at + REPEAT_AFTER_MS : at
  return isRepeatable(repeatable, dueAt) ? dueAt : null
}

/** The clocks of the provider and of this machine may differ, and a request takes time. */
const REPEAT_MARGIN_MS = 5 * MINUTE_MS

/** Whether the account still recognizes the email, so that it doesn't arrive twice. */
export const isRepeatable = ({ until }: Repeatable, at: number): boolean => at < until - REPEAT_MARGIN_MS

/**
 * Takes back a time-based deduplication key that was released. A captured email was not delivered; one with an unknown
 * outcome may have been. Resending restarts the retry delays.
 */
export const planResend: PlanResend = (ended, { at, actor, inBulk }) => {
  const { state, reason, handedAt, record, dedupeKey, joinedTo, isEventDeleted } = ended
  if (!isResendable(state)) return { refusal: 'delivery_in_use' }
  if (isEventDeleted) return { refusal: 'event_deleted' }
  const [isKept, isUnconfirmed] = [state === 'kept', state === 'unknown']
  return {
    handedAt: isKept ? null : handedAt,
    dedupeKey: dedupeKey ?? (joinedTo === null ? TIMED_KEY : ''),
    record: {
      ...(parseRecord(record) ?? { at, verdicts: [] }),
      ...(isKept && handedAt !== null ? { keptAt: handedAt } : {}),
      ...(isUnconfirmed && handedAt !== null ? { unconfirmedAt: handedAt } : {}),
      sentOn: {
        at,
        ...(inBulk ? { inBulk } : {}),
        ...(actor === undefined ? {} : { actor }),
        ...findStopped(ended, at),
      },
      tries: 0,
    },
    isUnconfirmed,
    takesNewest: isUnwritable({ state, reason }),
  }
}

/**
 * What stopped it. Sending checks some of it again, and replaces what was found. Rules decide only once: a decision that
 * a member overrode stays, however often the email is resent.
 */
function findStopped({ state, reason, record }: ResendFacts, at: number): { stopped?: StoppedBy } {
  const { at: decidedAt = at, verdicts = [], sentOn, cancelled } = parseRecord(record) ?? {}
  const isSkipped = state === 'skipped' && reason !== null
  const isHeld = state === 'deferred' && reason !== null && isDelay(reason)
  if (sentOn?.stopped && (!isSkipped || sentOn.stopped.reason !== CANCELLED)) {
    const { at: overriddenAt, actor, stopped } = sentOn
    return { stopped: { overridden: { at: overriddenAt, ...(actor === undefined ? {} : { actor }) }, ...stopped } }
  }
  if (!isSkipped && !isHeld) return {}
  if (reason === CANCELLED) return { stopped: { at: cancelled?.at ?? decidedAt, reason, verdicts: [] } }
  return { stopped: { at: decidedAt, reason, verdicts: verdicts.filter(({ verdict }) => verdict !== 'pass') } }
}

/** An email that a member resends may have been captured, or handed over with an unknown outcome. */
export const isFirstSend: DeliveryRules['isFirstSend'] = ({ byHand, record }) => {
  if (!byHand) return true
  const { keptAt, unconfirmedAt } = parseRecord(record) ?? {}
  return keptAt === undefined && unconfirmedAt === undefined
}

const CANCELLABLE: readonly DeliveryState[] = ['waiting', 'deferred', 'claimed']

export const isCancellable = (state: DeliveryState): boolean => CANCELLABLE.includes(state)

/** The reason of an email that a member or an API key cancelled. */
export const CANCELLED = 'cancelled'

/** It keeps the verdicts of its rules. */
export const planCancel: PlanCancel = ({ state, record }, { at, actor }) => {
  if (!isCancellable(state)) return { refusal: 'delivery_in_use' }
  const decided = parseRecord(record) ?? { at, verdicts: [] }
  return { state: 'skipped', reason: CANCELLED, record: JSON.stringify({ ...decided, cancelled: { at, actor } }) }
}

/** Whether the rules or limits only delayed it. */
export const isDelay = (reason: string): boolean => WAIT_REASONS.some((one) => one === reason)

/** It waits for its time, for a limit or for its next attempt. */
export const isSendableEarly = ({ state, dueAt }: WaitingDelivery, at: number): boolean =>
  (state === 'waiting' || state === 'deferred') && dueAt > at

const UNWRITABLE: Readonly<Record<TemplateReason, true>> = {
  missing_value: true,
  broken_template: true,
  empty_mail: true,
  template_too_slow: true,
}

/** Its version can't be rendered, so it is sent with the newest one. */
export const isUnwritable = ({ state, reason }: Pick<DeliveryRow, 'state' | 'reason'>): boolean =>
  state === 'skipped' && Object.hasOwn(UNWRITABLE, reason ?? '')

/**
 * A mail server failed, was paused, or asked for a retry. Network error codes start with "e", and so does our own
 * "error", where an early retry does no harm.
 */
const isOfServer = (reason: string): boolean =>
  ['server_paused', 'server_limited', 'unknown'].includes(reason) || /^(?:smtp_|api_|e)/.test(reason)

/** Waits for the mail server to be reached. */
const UNREACHED: readonly string[] = ['server_paused', ...NO_ANSWER]

/** The sender address was refused or is not allowed. */
const isOfSender = (reason: string): boolean => reason.startsWith('sender_') || reason.startsWith('from_')

/**
 * Another mail server may also accept the sender address. A reason names one check only, so that all emails that wait
 * for one are decided again when a limit changed.
 */
export const isRetried = (reason: string, cause: RetryCause): boolean => {
  if (cause === 'brake') return reason === BRAKE
  if (cause === 'reached') return UNREACHED.includes(reason)
  if (cause === 'limits') return reason !== BRAKE && isDelay(reason)
  return isOfSender(reason) || (cause === 'server' && isOfServer(reason))
}

const isUnsent = ({ state }: Finish): boolean => state === 'skipped' || state === 'failed'

/** The joined events are needed when only the first event ends, the attempt after a refusal. */
export const queryEnd: QueryEnd = (finish) => ({
  delivery: isPassing(finish),
  attempt: finish.isRefused === true,
  joined: isPassing(finish),
})

const isPassing = (finish: Finish): boolean => isUnsent(finish) && finish.isOfEvent === true

/**
 * A key by time is released when the email is over; any other stays with it. When only the first event ends, the oldest
 * of the others takes over the email, and its key if it has none.
 */
export const planEnd: PlanEnd = (finish, facts) => {
  const { state, reason } = finish
  const { delivery } = facts
  const heir = delivery && isPassing(finish) ? findHeir(facts.joined) : null
  return {
    key: keyAfter(finish, heir),
    handedAt: finish.isRefused ? earlierHandOver(finish, facts.attempt) : undefined,
    isUnsent: isUnsent(finish),
    heir: delivery && heir && inherit(delivery, heir),
    dropsCaptured: state === 'skipped' && FINAL_REASONS.includes(reason ?? ''),
    isHeldBack: state === 'skipped' && reason === HELD_BACK,
  }
}

type Joined = EndFacts['joined'][number]

function keyAfter({ state, reason }: Finish, heir: Joined | null): EndPlan['key'] {
  if (WAITING.includes(state)) return 'keep'
  return reason === 'gone' || heir?.dedupeKey === null ? 'release' : 'releaseTimed'
}

const inherit = ({ dedupeKey, plannedAt, dueAt }: NonNullable<EndFacts['delivery']>, heir: Joined) => ({
  id: heir.id,
  dedupeKey: heir.dedupeKey ?? keyToPass(dedupeKey),
  plannedAt,
  dueAt,
})

/** The event that takes over an email from its first one: the one that happened first. */
const findHeir = <J extends { id: number; triggeredAt: number }>(joined: readonly J[]): J | null =>
  joined.toSorted((a, b) => a.triggeredAt - b.triggeredAt || a.id - b.id)[0] ?? null

/** A key by time belongs to one email and is never passed on. */
const keyToPass = (dedupeKey: string | null): string | null => (dedupeKey === TIMED_KEY ? null : dedupeKey)

/** A refused attempt doesn't count as handed over, but an earlier one with an unknown outcome does (ms UTC). */
function earlierHandOver({ record }: Finish, attempt: EndFacts['attempt']): number | null {
  if (!attempt) return null
  const { unconfirmedAt } = parseRecord(record ?? attempt.record) ?? {}
  return unconfirmedAt ?? (attempt.resent ? attempt.handedAt : null)
}

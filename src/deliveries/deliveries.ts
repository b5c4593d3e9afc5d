import { publicId, timeOfId } from '../core/ids.ts'
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryWork,
  type Marked,
  type StoredSend,
  CANCELLATION_REASONS,
  EMAIL_FINDINGS,
  type UnfitEvent,
  type Verdict,
} from '../store/message-types.ts'
import { forgetReply, type DecisionRecord, parseRecord } from '../store/decision-records.ts'
import type { DecideDelivery, DecideFinally } from '../store/delivery-rules.ts'
import type { Basis, Decided } from '../store/final-check.ts'
import type { Rules } from '../store/plan-types.ts'
import { ACCOUNT_RULES } from '../accounts/account-rules.ts'
import { planOnce } from '../accounts/idempotency.ts'
import { MESSAGE_RULES } from '../messages/message-changes.ts'
import { mayResubscribe, outweighs } from '../people/suppressions.ts'
import { mayResume } from '../people/topics.ts'
import { PACE_RULES } from './pace.ts'
import { BRAKE, BRAKE_RULES } from './brake.ts'
import { decide, type Decision, giveUpTime, HELD_BACK } from './decide.ts'
import {
  addVerdict,
  cancelBySuppression,
  cancelByTopic,
  isDelay,
  isSendableEarly,
  isFirstSend,
  isRetried,
  planUnconfirmed,
  planCancel,
  planEnd,
  planResend,
  queryEnd,
} from './ends.ts'
import { isBounce } from './describe-reason.ts'
import { limitedMsOf, readFacts } from './facts.ts'
import { queryFacts, planWrites } from './plan.ts'
import { SCHEDULE_RULES } from './schedules.ts'
import { planReport } from './reports.ts'

export type { Basis, Decided, DeliveryRow, DeliveryWork, DecisionRecord, Marked, UnfitEvent }
export { DELIVERY_STATES, forgetReply }

const decideDelivery: DecideDelivery = async (reads, work, at, known) => {
  const { delivery, message, settings } = work
  const decided = decide({ ...message, settings }, await readFacts(reads, work, at, known))
  const { verdicts, unfit, ...outcome } = decided
  const record = delivery.byHand ? addByHand(delivery, verdicts, at) : { ...lastTryOf(work), at, verdicts }
  const isCompared = verdicts.some(({ rule }) => rule === HELD_BACK)
  return { ...outcome, record, isCompared, unfit: unfit.flatMap((one) => toUnfitEvent(one, work, at)) }
}

/** The message's own rules run again only if something about the person arrived since the email was claimed. */
const decideFinally: DecideFinally = async (reads, work, { at, record, isUnchanged }) => {
  const hasRules = !work.delivery.byHand && (work.message.content.onlyIf ?? []).length > 0
  const known = !hasRules || (await isUnchanged()) ? record.verdicts.filter(isOwnRule) : undefined
  const decided = await decideDelivery(reads, work, at, known)
  if (decided.outcome !== 'send') return decided
  const { isCompared } = decided
  if (known) return { outcome: 'send', record, isCompared, unfit: [] }
  // the email is not rendered again
  const found = record.verdicts.filter(({ rule }) => EMAIL_FINDINGS.includes(rule))
  const verdicts = [...decided.record.verdicts, ...found]
  const { repeatable } = record
  const rest = forgetReply({ ...decided.record, verdicts, repeatable })
  return { outcome: 'send', isCompared, unfit: decided.unfit, record: rest }
}

const isOwnRule = ({ rule }: Verdict): boolean => Object.hasOwn(CANCELLATION_REASONS, rule)

export const STORE_RULES: Rules = {
  decide: decideDelivery,
  decideFinally,
  queryEnd,
  planEnd,
  isRetried,
  planUnconfirmed,
  isFirstSend,
  planResend,
  planCancel,
  isSendableEarly,
  cancelBySuppression,
  cancelByTopic,
  queryFacts,
  planWrites,
  ...MESSAGE_RULES,
  ...ACCOUNT_RULES,
  ...SCHEDULE_RULES,
  planOnce,
  outweighs,
  mayResubscribe,
  mayResume,
  planReport,
  ...BRAKE_RULES,
  ...PACE_RULES,
  isBounce,
}

function toUnfitEvent(
  { index, reason, verdicts }: Decision['unfit'][number],
  { joined }: DeliveryWork,
  at: number,
): UnfitEvent[] {
  const event = joined[index]
  return event ? [{ id: event.id, reason, record: JSON.stringify({ at, verdicts }) }] : []
}

export const readRecord = ({ record }: Pick<DeliveryRow, 'record'>): DecisionRecord | null => parseRecord(record)

/**
 * When a hand-over with unknown outcome was tried again (ms UTC; null: time not known). A provider that recognized the
 * email has confirmed it.
 */
export function findUnconfirmed(delivery: DeliveryRow): { at: number | null } | null {
  const { unconfirmedAt, repeatable } = readRecord(delivery) ?? {}
  if (repeatable !== undefined && isConfirmed(delivery.state)) return null
  return delivery.resent || unconfirmedAt !== undefined ? { at: unconfirmedAt ?? null } : null
}

const isConfirmed = (state: DeliveryState): boolean => CONFIRMED_STATES.some((one) => one === state)

/** It was sent again after an unknown outcome, to a server that doesn't recognize repeated emails. */
export const mayHaveArrivedTwice = (delivery: DeliveryRow): boolean =>
  findUnconfirmed(delivery) !== null &&
  readRecord(delivery)?.repeatable === undefined &&
  SENT_STATES.some((state) => state === delivery.state)

/** It waits because of its rules or the app's limits, not because a mail server refused it. */
export const isHeld = ({ state, reason }: Pick<DeliveryRow, 'state' | 'reason'>): boolean =>
  state === 'deferred' && reason !== null && isDelay(reason)

/** Names of states in the dashboard; `docs/states.md` has them beside those of the API. */
export const STATE_LABELS: Record<DeliveryState, string> = {
  waiting: 'Waiting',
  claimed: 'Sending',
  handed: 'Handed over',
  sent: 'Sent',
  kept: 'Captured',
  skipped: 'Not sent',
  joined: 'Joined',
  deferred: 'Deferred',
  failed: 'Failed',
  unknown: 'Unknown',
  bounced: 'Bounced',
  complained: 'Complained',
}

/** Deferred emails count as waiting, unless a mail server deferred them. */
export const labelOf = (delivery: Pick<DeliveryRow, 'state' | 'reason'>): string =>
  STATE_LABELS[isHeld(delivery) ? 'waiting' : delivery.state]

/** How often the mail server or the sender deferred it, since a member last resent it. */
export const countDeferrals = (delivery: DeliveryRow): number => readRecord(delivery)?.tries ?? 0

const CONFIRMED_STATES = ['sent', 'bounced', 'complained'] as const satisfies DeliveryState[]

/** Handed to a mail server, whatever happened afterwards. Captured emails were not. */
export const SENT_STATES = ['handed', 'sent', 'unknown', 'bounced', 'complained'] as const satisfies DeliveryState[]

/** A rule or pause may defer it again: keep the last try's result. */
function lastTryOf({
  delivery,
}: DeliveryWork): Pick<DecisionRecord, 'tries' | 'reply' | 'unconfirmedAt' | 'isSlow' | 'repeatable'> {
  const { tries, reply, unconfirmedAt, isSlow, repeatable } = readRecord(delivery) ?? {}
  return {
    ...(repeatable === undefined ? {} : { repeatable }),
    ...(tries === undefined ? {} : { tries }),
    ...(reply === undefined ? {} : { reply }),
    ...(unconfirmedAt === undefined ? {} : { unconfirmedAt }),
    ...(isSlow === undefined ? {} : { isSlow }),
  }
}

/** Keeps the verdicts of the rules, and replaces those about the email itself. */
function addByHand(delivery: DeliveryRow, found: readonly Verdict[], at: number): DecisionRecord {
  const earlier = readRecord(delivery)
  const replaced = [...EMAIL_FINDINGS, 'template', 'giveUp', ...(earlier?.sentOn?.inBulk ? [BRAKE] : [])]
  const verdicts = earlier?.verdicts.filter(({ rule }) => !replaced.includes(rule)) ?? []
  return (
    found.reduce<DecisionRecord | null>(
      (record, verdict) => addVerdict(record, verdict, at),
      earlier && { ...earlier, verdicts: verdicts },
    ) ?? { at, verdicts: [] }
  )
}

/** Also for an email that can't be decided, for example because its send window is invalid. */
export function whenToGiveUp(work: DeliveryWork): number {
  const { delivery, message, contact, settings } = work
  const { content } = message
  const facts = { plannedAt: delivery.plannedAt, isByHand: delivery.byHand, limitedMs: limitedMsOf(work), contact }
  try {
    return giveUpTime({ content, settings }, facts)
  } catch {
    return giveUpTime({ content, settings: { ...settings, sendWindow: null } }, facts)
  }
}

const iso = (at: number): string => new Date(at).toISOString()
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

/**
 * `triggeredAt`: when the event happened; `createdAt`: when it was received; `dueAt`: when the rules are decided;
 * `joinedTo`: the delivery whose email lists the event. `messageId` null: the email has the text of a call of the API,
 * with this `subject`. `keyId` null: no call sent it.
 */
export const deliveryView = (row: DeliveryRow, send: StoredSend | null) => ({
  id: publicId('dlv', row.id),
  messageId: send?.mail ? null : publicId('msg', row.messageId),
  version: send?.mail ? null : row.version,
  contactId: publicId('con', row.contactId),
  state: row.state,
  reason: row.reason,
  createdAt: iso(timeOfId(row.id)),
  triggeredAt: iso(row.triggeredAt),
  dueAt: iso(row.dueAt),
  sentAt: isoOrNull(row.sentAt),
  deliveredAt: isoOrNull(row.deliveredAt),
  cameBackAt: isoOrNull(row.cameBackAt),
  openedAt: isoOrNull(row.openedAt),
  mayHaveArrivedTwice: mayHaveArrivedTwice(row),
  joinedTo: row.joinedTo === null ? null : publicId('dlv', row.joinedTo),
  keyId: send?.keyId ?? null,
  subject: send?.mail?.subject ?? null,
})

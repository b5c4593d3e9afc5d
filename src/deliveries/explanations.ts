import {
  CANCELLATION_REASONS,
  type DeliveryRow,
  type DeliveryWork,
  type MessageContent,
  type UnwantedReason,
  type Verdict,
} from '../store/message-types.ts'
import { BRAKE } from './brake.ts'
import { findUnconfirmed, isHeld, mayHaveArrivedTwice, readRecord } from './deliveries.ts'
import { isDelay } from './ends.ts'
import { reasonOfRule } from './rules.ts'
import { type Check, NOT_LOOKED_UP, refusedBy } from './decide.ts'
import type { SimulationLine } from './simulation/simulate.ts'
import { describeReply, describeReason, enhancedOf, lacksMailbox } from './describe-reason.ts'
import { formatTimeInZone } from '../core/format-time.ts'
import { displayName, type DescribedSubject, formatValue } from '../messages/describe-message.ts'
import { describeHours, describeVerdicts, openPathOf } from './describe-verdict.ts'
import { ownTimezone } from '../people/timezone.ts'

export type ExplainedRule = Verdict & { sentence: string; isToday?: true }

/**
 * `why` answers in one sentence; `rules` are all checks at `decidedAt` (ms UTC). `rulesAt`: when the rules ran, if only
 * one was checked again at `decidedAt`.
 */
export type Explanation = {
  why: string
  serverReply?: string
  decidedAt: number | null
  rulesAt?: number
  rules: ExplainedRule[]
}

/** As the API and MCP show it. */
export const explanationView = ({ why, serverReply, decidedAt, rules }: Explanation) => ({
  why,
  ...(serverReply === undefined ? {} : { serverReply }),
  decidedAt: decidedAt === null ? null : new Date(decidedAt).toISOString(),
  rules: rules.map(ruleView),
})

export const ruleView = ({ rule, verdict, sentence, isToday, isEstimated }: ExplainedRule) => ({
  rule,
  verdict,
  sentence,
  ...(isToday ? { isToday } : {}),
  ...(isEstimated ? { isEstimated } : {}),
})

export type ExplanationInput = {
  delivery: DeliveryRow
  person: DescribedSubject['person']
  content: MessageContent
  zone: string
  /** the person's own timezone */
  ownZone?: string | null
  lead?: DeliveryRow | null
  /** why the person may not get it today */
  refusedBy?: UnwantedReason | null
  /** the member who sent it although it was blocked */
  overriddenBy?: string | null
}

export const toExplained = ({
  delivery,
  contact,
  message,
  app,
  lead,
}: Pick<DeliveryWork, 'delivery' | 'lead'> & {
  message: Pick<DeliveryWork['message'], 'content'>
  app: Pick<DeliveryWork['app'], 'timezone'>
  contact: DescribedSubject['person'] & Pick<DeliveryWork['contact'], 'status' | 'fields'>
}): ExplanationInput => ({
  delivery,
  lead,
  refusedBy: refusedBy({ contact, message }, NOT_LOOKED_UP),
  person: contact,
  content: message.content,
  zone: app.timezone,
  ownZone: ownTimezone(contact.fields),
})

export function explainDelivery({
  delivery,
  lead = null,
  refusedBy = null,
  overriddenBy = null,
  ...about
}: ExplanationInput): Explanation {
  const record = readRecord(delivery)
  const at = record?.rulesAt ?? record?.at ?? delivery.dueAt
  const isOver = delivery.state !== 'waiting' && delivery.state !== 'deferred'
  const subject = { ...about, triggeredAt: delivery.triggeredAt, at, isOver }
  const verdicts = record?.verdicts ?? []
  return {
    why: [
      delivery.state === 'joined' ? describeJoined(lead, about) : describeState(delivery, subject, verdicts),
      ...(delivery.state === 'waiting' && refusedBy !== null ? [describeRefusal(refusedBy, subject)] : []),
      ...(isLeftOut(delivery) ? [LEFT_OUT] : []),
      ...describeOverridden(delivery, subject, overriddenBy),
      ...(delivery.state === 'joined' ? [] : describeDoubt(delivery, subject)),
      ...describeLinks(delivery, subject, verdicts),
    ].join(' '),
    serverReply:
      record?.reply !== undefined && NOT_GONE.includes(delivery.state) ? describeReply(record.reply) : undefined,
    // a manual resend has no decision
    decidedAt: record && verdicts.length > 0 ? record.at : null,
    rulesAt: record?.rulesAt,
    rules: explainVerdicts(verdicts, subject),
  }
}

/** The decision against an email that a member sent anyway. */
function describeOverridden(delivery: DeliveryRow, subject: DescribedSubject, by: string | null): string[] {
  const { at, stopped } = readRecord(delivery)?.sentOn ?? {}
  if (at === undefined || stopped === undefined || delivery.state === 'skipped') return []
  const [then, later] = [stopped.at, stopped.overridden?.at ?? at].map((time) => formatTimeInZone(time, subject.zone))
  const cause = describeCause({ reason: stopped.reason, state: 'skipped' }, subject, stopped.verdicts)
  const what = isDelay(stopped.reason) ? 'delayed' : 'blocked'
  return [`It was ${what} on ${then}: ${cause} ${by ?? 'A member'} sent it anyway on ${later}.`]
}

const REFUSALS: Record<UnwantedReason, string> = {
  unsubscribed: 'is unsubscribed',
  pending: "hasn't confirmed their email address",
  topic: 'unsubscribed from its topic',
  bounced: 'has an address that bounced',
  complained: 'reported an email as spam',
}

export const describeRefusal = (reason: UnwantedReason, { person }: Pick<DescribedSubject, 'person'>): string =>
  `${displayName(person)} ${REFUSALS[reason]}, so this email won't be sent unless that changes.`

export const LEFT_OUT = 'This event was left out of the email that was sent for several events.'

/** An email's end gives its events no verdicts of their own. */
const isLeftOut = (delivery: DeliveryRow): boolean =>
  delivery.state === 'skipped' && delivery.joinedTo !== null && (readRecord(delivery)?.verdicts ?? []).length > 0

const IT_WAS = 'It was '

function describeJoined(lead: DeliveryRow | null, about: Omit<ExplanationInput, 'delivery' | 'lead'>): string {
  if (lead === null) return 'Added to another email.'
  const { why } = explainDelivery({ ...about, delivery: lead })
  return why.startsWith(IT_WAS)
    ? `Added to another email, ${why.slice(IT_WAS.length)}`
    : `Added to another email. ${why}`
}

/** Described by the last try, until it is on its way again. */
const NOT_GONE: readonly DeliveryRow['state'][] = ['deferred', 'failed', 'skipped']

function explainVerdicts<V extends Verdict & { isToday?: true }>(
  verdicts: readonly V[],
  subject: DescribedSubject,
): (V & { sentence: string })[] {
  const sentences = describeVerdicts(verdicts, subject)
  return verdicts.map((verdict, index) => ({ ...verdict, sentence: sentences[index] ?? '' }))
}

/** Stays for good once an email was resent after an unknown outcome. */
function describeDoubt(delivery: DeliveryRow, { zone }: DescribedSubject): string[] {
  const unconfirmed = findUnconfirmed(delivery)
  if (unconfirmed === null) return []
  const what = mayHaveArrivedTwice(delivery) ? 'It may have arrived twice' : 'It may already have arrived'
  const when =
    unconfirmed.at === null ? 'an earlier attempt' : `the attempt on ${formatTimeInZone(unconfirmed.at, zone)}`
  return [`${what}: the mail server didn't confirm ${when}.`]
}

/** Refused links, for emails that were or would be sent. */
const describeLinks = ({ state }: DeliveryRow, subject: DescribedSubject, verdicts: readonly Verdict[]): string[] =>
  state === 'sent' || state === 'kept'
    ? describeVerdicts(
        verdicts.filter(({ rule }) => rule === 'link'),
        subject,
      )
    : []

type Subject = DescribedSubject & Pick<ExplanationInput, 'ownZone'>

function describeState(delivery: DeliveryRow, subject: Subject, verdicts: readonly Verdict[]): string {
  const { state, dueAt, sentAt, handedAt, updatedAt, reason } = delivery
  const ended = { reason, state, reply: readRecord(delivery)?.reply }
  const [name, time] = [displayName(subject.person), (at: number) => formatTimeInZone(at, subject.zone)]
  switch (state) {
    case 'waiting':
      return delivery.byHand
        ? `${isOverridden(delivery) ? '' : `${describeChoice(verdicts)} `}It will be sent next.`
        : `It is waiting. Its rules are checked on ${describeDue(dueAt, subject)}.`
    case 'claimed':
      return 'It is being sent right now.'
    case 'handed':
      return "It was handed to the mail server, which hasn't replied yet."
    case 'sent':
      return `It was sent on ${time(sentAt ?? handedAt ?? updatedAt)}.`
    case 'kept':
      return `It was captured on ${time(handedAt ?? updatedAt)}, because no mail server was set up.`
    case 'joined':
      return 'Added to another email.'
    case 'skipped':
      return describeCause(ended, subject, verdicts)
    case 'deferred':
      return isHeld(delivery)
        ? `${describeHold(delivery, subject, verdicts)} The next check is on ${time(dueAt)}.`
        : `${describeCause(ended, subject, verdicts)} It will be retried on ${time(dueAt)}.`
    case 'failed':
      return `${describeCause(ended, subject, verdicts)} ${lacksMailbox(enhancedOf(ended.reply ?? '')) ? 'The address was suppressed.' : "It won't be retried."}`
    case 'unknown':
      return `${describeReason(reason ?? 'unknown', name, state)} It's unknown whether ${name} got it.`
    case 'bounced':
      return `The email bounced.${describeReport(delivery, name)}`
    case 'complained':
      return `${name} reported the email as spam.${describeReport(delivery, name)}`
  }
}

/** Nothing if the report says no more than the state. */
const describeReport = ({ reason, state }: DeliveryRow, name: string): string =>
  reason === null || reason === state ? '' : ` ${describeReason(reason, name, state)}`

/** A time of day is one of the person's own timezone. */
function describeDue(dueAt: number, { content: { wait }, zone, ownZone, person }: Subject): string {
  const isOwn = ownZone && wait !== undefined && 'until' in wait
  return isOwn
    ? `${formatTimeInZone(dueAt, ownZone)}, ${displayName(person)}'s timezone`
    : formatTimeInZone(dueAt, zone)
}

/** In one sentence; the rules say more. */
function describeHold({ reason, state }: DeliveryRow, subject: DescribedSubject, verdicts: readonly Verdict[]): string {
  const name = displayName(subject.person)
  const cause = verdicts.find((verdict) => isCauseOf(verdict, reason))
  if (cause === undefined || reason === BRAKE) return describeCause({ reason, state }, subject, verdicts)
  if (cause.until !== undefined) {
    const path = openPathOf(cause)
    return `At the last check, ${name} may still have been on ${path === null ? 'your site' : formatValue(path)}.`
  }
  const { about, value } = cause
  if (reason === 'window') return `It's outside the app's sending hours (${describeHours(cause, subject)}).`
  const emails = value === 1 ? '1 email' : `${String(value)} emails`
  return `${name} already got ${emails} in the previous ${reason === 'perDay' ? '24 hours' : '7 days'} (limit: ${about}).`
}

/** The page then says what stopped it, and who sent it anyway. */
const isOverridden = (delivery: DeliveryRow): boolean => readRecord(delivery)?.sentOn?.stopped !== undefined

const describeChoice = (verdicts: readonly Verdict[]): string =>
  verdicts.some(({ verdict, rule }) => verdict === 'fail' && rule !== 'link')
    ? 'A member chose to send it despite the rules.'
    : 'A member or an API key chose to send it.'

/** The record's sentence is more precise than the code's. */
function describeCause(
  { reason, state, reply }: Pick<DeliveryRow, 'reason' | 'state'> & { reply?: string | undefined },
  subject: DescribedSubject,
  verdicts: readonly Verdict[],
): string {
  const index = verdicts.findIndex((verdict) => isCauseOf(verdict, reason))
  return (
    describeVerdicts(verdicts, subject)[index] ??
    describeReason(reason ?? 'error', displayName(subject.person), state, reply)
  )
}

const REASONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    consent: ['not_pending'],
    message: ['message_paused'],
    date: ['date_changed'],
    inactive: ['active_again'],
    brake: ['brake'],
    again: ['again'],
    window: ['window'],
    perDay: ['perDay'],
    perWeek: ['perWeek'],
    giveUp: ['gave_up'],
    holdback: ['holdback'],
    template: ['missing_value', 'broken_template', 'empty_mail', 'template_too_slow'],
  } satisfies Record<Exclude<Check, 'suppression'> | 'template', readonly string[]>),
)

/** The email may have ended for another reason since the decision. */
function isCauseOf(checked: Verdict, reason: string | null): boolean {
  const { rule, value, verdict, until } = checked
  if (verdict === 'pass' || reason === null) return false
  if (until !== undefined) return reason === 'unsure'
  if (rule === 'suppression') return value === reason
  // older records don't tell returns apart
  if (rule === 'away' && reason === CANCELLATION_REASONS.away) return true
  return reasonOfRule(checked) === reason || REASONS.get(rule)?.includes(reason) === true
}

export function explainSimulation(
  line: SimulationLine,
  about: Pick<DescribedSubject, 'person' | 'content' | 'zone'>,
): Explanation {
  const subject = { ...about, triggeredAt: line.triggeredAt, at: line.dueAt, isOver: line.outcome !== 'waiting' }
  const rules = explainVerdicts(line.verdicts, subject)
  return { why: describeOutcome(line, subject), decidedAt: line.outcome === 'waiting' ? null : line.dueAt, rules }
}

function describeOutcome({ outcome, dueAt, verdicts, ownZone }: SimulationLine, subject: DescribedSubject): string {
  if (outcome === 'send') return `It would have been sent on ${formatTimeInZone(dueAt, subject.zone)}.`
  if (outcome === 'waiting') return `It would wait until ${describeDue(dueAt, { ...subject, ownZone })}.`
  if (outcome === 'joined') return 'It would have been added to another email.'
  return describeCause({ reason: outcome, state: 'skipped' }, subject, verdicts)
}

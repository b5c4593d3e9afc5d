/** Explains why a person got an email or not. */
import type { DeliveryRow, DeliveryWork, MessageContent, Verdict } from '../store/message-types.ts'
import { findUnconfirmed, mayHaveArrivedTwice, readRecord } from './deliveries.ts'
import { reasonOfRule } from './rules.ts'
import type { SimulationLine } from './simulation/simulate.ts'
import { describeReply, sayReason } from './reason-words.ts'
import { sayTime } from '../core/time-words.ts'
import { sayName, type Told } from '../messages/told.ts'
import { sayVerdicts } from './verdict-words.ts'

/** `isToday`: decided by current data. */
export type ExplainedRule = Verdict & { sentence: string; isToday?: true }

/**
 * `why` answers in one sentence; `rules` are all checks at `decidedAt` (ms UTC). `rulesAt`: when the rules ran, if only
 * one was checked again at `decidedAt`.
 */
export type Explanation = {
  why: string
  serverReply?: string
  judgedAt: number | null
  rulesAt?: number
  rules: ExplainedRule[]
}

/** `content` is of the delivery's own version. */
export type Explained = {
  delivery: DeliveryRow
  person: Told['person']
  content: MessageContent
  /** the app's (IANA name) */
  zone: string
  /** the email that the event joined */
  lead?: DeliveryRow | null
}

export const toExplained = ({
  delivery,
  contact,
  message,
  app,
  lead,
}: Pick<DeliveryWork, 'delivery' | 'message' | 'app' | 'lead'> & { contact: Told['person'] }): Explained => ({
  delivery,
  lead,
  person: contact,
  content: message.content,
  zone: app.timezone,
})

export function explainDelivery({ delivery, lead = null, ...about }: Explained): Explanation {
  const record = readRecord(delivery)
  const at = record?.rulesAt ?? record?.at ?? delivery.dueAt
  const told = { ...about, triggeredAt: delivery.triggeredAt, at }
  const verdicts = record?.verdicts ?? []
  return {
    why: [
      sayState(delivery, told, verdicts),
      ...(delivery.state === 'joined' ? sayLead(lead, about) : []),
      ...(isLeftOut(delivery) ? [LEFT_OUT] : []),
      ...(delivery.state === 'joined' ? [] : describeDoubt(delivery, told)),
      ...sayLinks(delivery, told, verdicts),
    ].join(' '),
    serverReply:
      record?.reply !== undefined && NOT_GONE.includes(delivery.state) ? describeReply(record.reply) : undefined,
    // a manual resend has no decision
    judgedAt: record && verdicts.length > 0 ? record.at : null,
    rulesAt: record?.rulesAt,
    rules: explainVerdicts(verdicts, told),
  }
}

export const LEFT_OUT = 'It was left out of the email that it shared with other events.'

/** An email's end gives its events no verdicts of their own. */
const isLeftOut = (delivery: DeliveryRow): boolean =>
  delivery.state === 'skipped' && delivery.joinedTo !== null && (readRecord(delivery)?.verdicts ?? []).length > 0

function sayLead(lead: DeliveryRow | null, about: Omit<Explained, 'delivery' | 'lead'>): string[] {
  return lead === null ? [] : [explainDelivery({ ...about, delivery: lead }).why]
}

/** Described by the last try, until it is on its way again. */
const NOT_GONE: readonly DeliveryRow['state'][] = ['deferred', 'failed', 'skipped']

function explainVerdicts<V extends Verdict & { isToday?: true }>(
  verdicts: readonly V[],
  told: Told,
): (V & { sentence: string })[] {
  const sentences = sayVerdicts(verdicts, told)
  return verdicts.map((verdict, index) => ({ ...verdict, sentence: sentences[index] ?? '' }))
}

/** Stays for good once an email was resent after an unknown outcome. */
function describeDoubt(delivery: DeliveryRow, { zone }: Told): string[] {
  const unconfirmed = findUnconfirmed(delivery)
  if (unconfirmed === null) return []
  const what = mayHaveArrivedTwice(delivery) ? 'It may have arrived twice' : 'It may already have arrived'
  const when = unconfirmed.at === null ? 'an earlier attempt' : `the attempt on ${sayTime(unconfirmed.at, zone)}`
  return [`${what}: ${when} wasn't confirmed by the mail server.`]
}

/** Refused links, for emails that were or would be sent. */
const sayLinks = ({ state }: DeliveryRow, told: Told, verdicts: readonly Verdict[]): string[] =>
  state === 'sent' || state === 'kept'
    ? sayVerdicts(
        verdicts.filter(({ rule }) => rule === 'link'),
        told,
      )
    : []

function sayState(delivery: DeliveryRow, told: Told, verdicts: readonly Verdict[]): string {
  const { state, dueAt, sentAt, handedAt, updatedAt, reason } = delivery
  const [name, time] = [sayName(told.person), (at: number) => sayTime(at, told.zone)]
  switch (state) {
    case 'waiting':
      return delivery.byHand ? 'Sent on by hand; it goes out next.' : `It waits, and is judged on ${time(dueAt)}.`
    case 'claimed':
      return 'It is being sent right now.'
    case 'handed':
      return 'The mail server has it, and has not answered yet.'
    case 'sent':
      return `It was sent on ${time(sentAt ?? handedAt ?? updatedAt)}.`
    case 'kept':
      return `It was written on ${time(handedAt ?? updatedAt)} and kept in the outbox, because no mail server was set.`
    case 'joined':
      return 'The event joined an email that was waiting, which lists it.'
    case 'skipped':
      return sayCause(delivery, told, verdicts)
    case 'deferred':
      return `${sayCause(delivery, told, verdicts)} It is ${reason === 'unsure' ? 'judged' : 'tried'} again on ${time(dueAt)}.`
    case 'failed':
      return `${sayCause(delivery, told, verdicts)} It is not tried again by itself.`
    case 'unknown':
      return `${sayReason(reason ?? 'unknown', name, state)} Nobody knows whether ${name} got it.`
    case 'bounced':
      return `The mail bounced. ${sayReason(reason ?? 'bounced', name, state)}`
    case 'complained':
      return `${name} complained about the mail. ${sayReason(reason ?? 'complained', name, state)}`
  }
}

/** The record's sentence is more precise than the code's. */
function sayCause(
  { reason, state }: Pick<DeliveryRow, 'reason' | 'state'>,
  told: Told,
  verdicts: readonly Verdict[],
): string {
  const index = verdicts.findIndex((verdict) => isCauseOf(verdict, reason))
  return sayVerdicts(verdicts, told)[index] ?? sayReason(reason ?? 'error', sayName(told.person), state)
}

/** Reasons of rules other than the message's own. */
const REASONS: Record<string, readonly string[]> = {
  message: ['message_paused'],
  again: ['again'],
  window: ['window'],
  perDay: ['perDay'],
  perWeek: ['perWeek'],
  giveUp: ['gave_up'],
  template: ['missing_value', 'broken_template', 'empty_mail', 'template_too_slow'],
}

/** Something else may have stopped it since the decision. */
function isCauseOf(judged: Verdict, reason: string | null): boolean {
  const { rule, value, verdict, until } = judged
  if (verdict === 'pass' || reason === null) return false
  if (until !== undefined) return reason === 'unsure'
  if (rule === 'wish') return value === reason
  return reasonOfRule(judged) === reason || (Object.hasOwn(REASONS, rule) && REASONS[rule]?.includes(reason) === true)
}

/** Describes a simulated delivery like a real one. */
export function explainSimulation(line: SimulationLine, about: Pick<Told, 'person' | 'content' | 'zone'>): Explanation {
  const told = { ...about, triggeredAt: line.triggeredAt, at: line.dueAt }
  const rules = explainVerdicts(line.verdicts, told)
  return { why: sayOutcome(line, told), judgedAt: line.outcome === 'waiting' ? null : line.dueAt, rules }
}

function sayOutcome({ outcome, dueAt, verdicts }: SimulationLine, told: Told): string {
  const time = sayTime(dueAt, told.zone)
  if (outcome === 'send') return `It would have been sent on ${time}.`
  if (outcome === 'waiting') return `It would wait until ${time}.`
  if (outcome === 'joined') return 'It would have joined an email that was waiting.'
  return sayCause({ reason: outcome, state: 'skipped' }, told, verdicts)
}

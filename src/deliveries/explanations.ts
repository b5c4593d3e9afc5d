/** Why a person got a mail, or did not, in plain words. */
import type { DeliveryRow, DeliveryWork, MessageContent, Verdict } from '../store/message-types.ts'
import { findUnconfirmed, mayHaveArrivedTwice, readRecord } from './deliveries.ts'
import { reasonOfRule } from './rules.ts'
import type { SimulationLine } from './simulation/simulate.ts'
import { describeReply, sayReason } from './reason-words.ts'
import { sayTime } from '../core/time-words.ts'
import { sayName, type Told } from '../messages/told.ts'
import { sayVerdicts } from './verdict-words.ts'

/** One rule of a record with its sentence; `isToday`: judged by what is stored of the person now. */
export type ExplainedRule = Verdict & { sentence: string; isToday?: true }

/**
 * `why` is the one sentence that answers, `serverReply` what the last refusal of the mail server means; `rules` is all
 * that was looked at, in its order, at `judgedAt` (ms UTC).
 * `rulesAt`: all but one rule had been asked before, and that one was looked at again at `judgedAt`.
 */
export type Explanation = {
  why: string
  serverReply?: string
  judgedAt: number | null
  rulesAt?: number
  rules: ExplainedRule[]
}

/** What explaining a delivery takes; `content` is that of its own version. */
export type Explained = {
  delivery: DeliveryRow
  person: Told['person']
  content: MessageContent
  /** that of the app (IANA name) */
  zone: string
  /** of an event that joined an email: the delivery of that email */
  lead?: DeliveryRow | null
}

/** A delivery with its message and person, as explaining takes it. */
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

/** Why a delivery stands where it stands, and what every rule found. */
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
    // a member may send on what was never judged
    judgedAt: record && verdicts.length > 0 ? record.at : null,
    rulesAt: record?.rulesAt,
    rules: explainVerdicts(verdicts, told),
  }
}

export const LEFT_OUT = 'It was left out of the email that it shared with other events.'

/** Whether it ended by itself. What ends with its email has no verdicts of its own. */
const isLeftOut = (delivery: DeliveryRow): boolean =>
  delivery.state === 'skipped' && delivery.joinedTo !== null && (readRecord(delivery)?.verdicts ?? []).length > 0

/** Of an event that joined an email: what became of that. */
function sayLead(lead: DeliveryRow | null, about: Omit<Explained, 'delivery' | 'lead'>): string[] {
  return lead === null ? [] : [explainDelivery({ ...about, delivery: lead }).why]
}

/** Where it stands as the last try left it; once it is on its way again, that is answered. */
const NOT_GONE: readonly DeliveryRow['state'][] = ['deferred', 'failed', 'skipped']

function explainVerdicts<V extends Verdict & { isToday?: true }>(
  verdicts: readonly V[],
  told: Told,
): (V & { sentence: string })[] {
  const sentences = sayVerdicts(verdicts, told)
  return verdicts.map((verdict, index) => ({ ...verdict, sentence: sentences[index] ?? '' }))
}

/** That an email was sent again after nobody knew whether it had arrived is said for good. */
function describeDoubt(delivery: DeliveryRow, { zone }: Told): string[] {
  const unconfirmed = findUnconfirmed(delivery)
  if (unconfirmed === null) return []
  const what = mayHaveArrivedTwice(delivery) ? 'It may have arrived twice' : 'It may already have arrived'
  const when = unconfirmed.at === null ? 'an earlier attempt' : `the attempt on ${sayTime(unconfirmed.at, zone)}`
  return [`${what}: ${when} wasn't confirmed by the mail server.`]
}

/** Who reads that a mail went out, or would have, shall know what it came without. */
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

/** What the record says of the rule that stopped it is better than what its code says. */
function sayCause(
  { reason, state }: Pick<DeliveryRow, 'reason' | 'state'>,
  told: Told,
  verdicts: readonly Verdict[],
): string {
  const index = verdicts.findIndex((verdict) => isCauseOf(verdict, reason))
  return sayVerdicts(verdicts, told)[index] ?? sayReason(reason ?? 'error', sayName(told.person), state)
}

/** The reasons of the rules that are not the message's own. */
const REASONS: Record<string, readonly string[]> = {
  message: ['message_paused'],
  again: ['again'],
  window: ['window'],
  perDay: ['perDay'],
  perWeek: ['perWeek'],
  giveUp: ['gave_up'],
  template: ['missing_value', 'broken_template', 'empty_mail', 'template_too_slow'],
}

/** Something else than what failed when it was last judged may have stopped it since. */
function isCauseOf(judged: Verdict, reason: string | null): boolean {
  const { rule, value, verdict, until } = judged
  if (verdict === 'pass' || reason === null) return false
  if (until !== undefined) return reason === 'unsure'
  if (rule === 'wish') return value === reason
  return reasonOfRule(judged) === reason || (Object.hasOwn(REASONS, rule) && REASONS[rule]?.includes(reason) === true)
}

/** What would have become of one person and trigger in a simulation, in the words of a delivery. */
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

import { createIdRange } from '../../core/ids.ts'
import { whenDue } from '../../messages/again.ts'
import { parseProperties } from '../../messages/conditions.ts'
import { recordFault, type TemplateFault } from '../../messages/template-faults.ts'
import { parseRecord } from '../../store/decision-records.ts'
import { LISTED_EVENTS, type MessageContent, type Verdict } from '../../store/message-types.ts'
import type { DeliveryChange, JoinedFacts, Matched, WaitingFacts } from '../../store/plan-types.ts'
import type { SimulatedPerson, TriggerHappening } from '../../store/simulation.ts'
import {
  type Changing,
  dropEvent,
  type Emails,
  emailsOf,
  endEmail,
  handOver,
  matchMessages,
  planArrival,
} from '../arrivals.ts'
import { decide, type SendingSettings } from '../decide.ts'
import { readFacts } from '../facts.ts'
import { findUnfilled } from '../unfilled-events.ts'
import type { Past } from './past.ts'

/** `at` (ms UTC): when it was decided, or is due. */
export type Outcome = { outcome: string; at: number; verdicts: Verdict[] }

/** `findFault`: why the email of these events can't be written, or null. `note`: called once per trigger. */
export type Simulated = {
  appId: number
  contactId: number
  messageId: number
  content: MessageContent
  settings: SendingSettings
  timezone: string
  hosts: readonly string[]
  now: number
  person: SimulatedPerson | null
  past: Past
  findFault: (event: TriggerHappening, events: TriggerHappening[]) => TemplateFault | null
  note: (trigger: TriggerHappening, outcome: Outcome) => void
}

/** A trigger without an outcome yet. `joinedTo`: the delivery whose email lists it. */
type Open = { trigger: TriggerHappening; joinedTo: number | null }

/** The deliveries that a person would have. `open` and `verdicts` (of the last decision) by delivery. */
type Playing = {
  simulated: Simulated
  emails: Emails
  takeId: () => number
  open: Map<number, Open>
  verdicts: Map<number, Verdict[]>
}

const MESSAGE_ID = 0

const byTime = (a: JoinedFacts, b: JoinedFacts): number => a.triggeredAt - b.triggeredAt || a.id - b.id

/** Plans and decides like live sending, as if the message had been live. */
export async function simulatePerson(simulated: Simulated, triggers: readonly TriggerHappening[]): Promise<void> {
  const { now, past } = simulated
  const emails = emailsOf(null)
  const playing = { simulated, emails, takeId: createIdRange(1).next, open: new Map(), verdicts: new Map() }
  // cancellations come before new starts
  const steps = [
    ...past.arrivals().map((one) => ({
      id: one.id,
      at: one.at,
      run: () => void arrive(playing, one.matched, { ...NO_EVENT, at: one.at, occurredAt: one.occurredAt }),
    })),
    ...triggers.map((trigger) => ({ id: trigger.id, at: trigger.at, run: () => startBy(playing, trigger) })),
  ].sort((a, b) => a.id - b.id)
  for (const { at, run } of steps) {
    await decideBefore(playing, at)
    run()
  }
  // emails due up to now are decided
  await decideBefore(playing, now + 1)
  for (const { id, dueAt, parts } of emails.waiting) {
    note(playing, id, { outcome: 'waiting', at: dueAt, verdicts: playing.verdicts.get(id) ?? [] })
    noteJoined(playing, parts)
  }
}

const NO_EVENT = { eventId: null, properties: null }

function startBy(playing: Playing, trigger: TriggerHappening): void {
  const { content, timezone, note: noteOutcome } = playing.simulated
  const { id, at, occurredAt, properties } = trigger
  const message = { id: MESSAGE_ID, version: 1, content }
  const parse = () => parseProperties(properties)
  const matched = { ...matchMessages([message]), properties: parse, trigger: trigger.trigger }
  const { eventId = 'contact' in content.trigger ? null : id } = trigger
  const [started] = arrive(playing, matched, { eventId, properties, at, occurredAt })
  if (started && 'messageId' in started) playing.open.set(started.id, { trigger, joinedTo: started.joinedTo })
  else noteOutcome(trigger, { outcome: 'again', at: whenDue(content.wait, trigger, timezone), verdicts: [] })
}

type ArrivingEvent = { eventId: number | null; properties: string | null; at: number; occurredAt: number }

function arrive(playing: Playing, matched: Matched, event: ArrivingEvent): DeliveryChange[] {
  const { appId, timezone, hosts, contactId } = playing.simulated
  return change(playing, (changing) => planArrival(changing, matched, { appId, contactId, timezone, hosts, ...event }))
}

/** Plans changes, and notes what they end. */
function change(playing: Playing, plan: (changing: Changing) => void): DeliveryChange[] {
  const { emails, takeId } = playing
  const changes: DeliveryChange[] = []
  plan({ emails, changes, takeId })
  for (const one of changes) if (one.change === 'cancel') noteEnd(playing, one)
  return changes
}

function noteEnd(playing: Playing, { id, at, finish, plan }: DeliveryChange & { change: 'cancel' }): void {
  const verdicts = parseRecord(finish.record ?? null)?.verdicts ?? []
  const outcome = { outcome: finish.reason ?? finish.state, at, verdicts }
  note(playing, id, outcome)
  for (const [joinedId, joined] of playing.open) {
    if (joined.joinedTo !== id) continue
    if (plan.heir) joined.joinedTo = joinedId === plan.heir.id ? null : plan.heir.id
    else note(playing, joinedId, { ...outcome, verdicts: [] })
  }
}

function note({ simulated, open, verdicts }: Playing, id: number, outcome: Outcome): void {
  const one = open.get(id)
  if (one) simulated.note(one.trigger, outcome)
  open.delete(id)
  verdicts.delete(id)
}

function noteJoined(playing: Playing, parts: readonly JoinedFacts[]): void {
  for (const { id } of parts) {
    const at = playing.open.get(id)?.trigger.at ?? 0
    note(playing, id, { outcome: 'joined', at, verdicts: [] })
  }
}

async function decideBefore(playing: Playing, at: number): Promise<void> {
  for (;;) {
    const next = playing.emails.waiting.reduce<WaitingFacts | null>(
      (first, one) => (first === null || isDueFirst(one, first) ? one : first),
      null,
    )
    if (next === null || next.dueAt >= at) return
    await decideEmail(playing, next)
  }
}

const isDueFirst = (a: WaitingFacts, b: WaitingFacts): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.id < b.id)

async function decideEmail(playing: Playing, email: WaitingFacts): Promise<void> {
  const { simulated, emails } = playing
  const { content, settings, past } = simulated
  const { dueAt: at } = email
  const listed = email.parts.toSorted(byTime).slice(0, LISTED_EVENTS - 1)
  const triggeredAt = Math.min(...[email, ...listed].map((one) => one.triggeredAt))
  const reads = {
    ...past.readsAt(at, triggeredAt),
    lastHandedAt: async () => emails.used.get(MESSAGE_ID)?.lastHandedAt ?? null,
  }
  const facts = await readFacts(reads, workOf(simulated, email, listed), at)
  const decision = decide({ content, settings, status: 'live' }, facts)
  const left = listed.filter((_, index) => !decision.unfit.some((one) => one.index === index))
  const { verdicts } = decision
  change(playing, (changing) => {
    for (const { index, reason, verdicts } of decision.unfit) {
      const part = listed[index]
      if (part) dropEvent(changing, { email, part }, { at, reason, verdicts, isOfEvent: false })
    }
    if (decision.outcome === 'skip') endEmail(changing, email, { ...decision, at, verdicts })
  })
  if (decision.outcome === 'send') return fillEmail(playing, email, { left, verdicts })
  if (decision.outcome !== 'wait') return
  const { dueAt, reason } = decision
  Object.assign(email, { state: 'deferred', reason, dueAt })
  playing.verdicts.set(email.id, verdicts)
}

type Decided = { left: readonly JoinedFacts[]; verdicts: Verdict[] }

/** Sends it if it can be filled in, without the events that lack a value. */
function fillEmail(playing: Playing, email: WaitingFacts, { left, verdicts }: Decided): void {
  const { dueAt: at } = email
  const { fault, isOfEvent, unfilled } = tryToFill(playing, email, left)
  const ended = fault && recordFault(fault)
  change(playing, (changing) => {
    for (const { event: part, fault: own } of unfilled) {
      const { reason, verdict } = recordFault(own)
      dropEvent(changing, { email, part }, { at, reason, verdicts: [verdict], isOfEvent: false })
    }
    if (ended) {
      const { reason, verdict } = ended
      endEmail(changing, email, { at, reason, verdicts: [...verdicts, verdict], isOfEvent })
    }
  })
  if (ended) return
  handOver(playing.emails, email, at)
  note(playing, email.id, { outcome: 'send', at, verdicts })
  noteJoined(playing, email.parts)
}

function tryToFill(playing: Playing, email: WaitingFacts, others: readonly JoinedFacts[]) {
  const findFault = (first: JoinedFacts, further: readonly JoinedFacts[]): TemplateFault | null => {
    const triggerOf = ({ id }: JoinedFacts) => playing.open.get(id)?.trigger ?? []
    const events = [first, ...further].toSorted(byTime).flatMap(triggerOf)
    const event = playing.open.get(first.id)?.trigger
    return event ? playing.simulated.findFault(event, events) : null
  }
  const first: JoinedFacts = email
  const search = findUnfilled({ first, others, fault: findFault(first, others) }, { isByHand: false })
  let step = search.next()
  while (!step.done) step = search.next(findFault(step.value.first, step.value.others))
  return step.value
}

const NOBODY = { email: '', status: 'subscribed' as const, tags: null, fields: null }

function workOf(
  { appId, contactId, messageId, content, settings, person, hosts }: Simulated,
  { eventId, triggeredAt, properties, plannedAt }: WaitingFacts,
  joined: readonly JoinedFacts[],
) {
  const delivery = { id: 0, appId, contactId, messageId, eventId, triggeredAt, plannedAt, byHand: false }
  return {
    delivery,
    message: { content },
    contact: person ?? NOBODY,
    event: { properties },
    joined: joined.map((part) => ({
      triggeredAt: part.triggeredAt,
      event: { id: part.eventId ?? 0, properties: part.properties },
    })),
    settings,
    app: { hosts },
  }
}

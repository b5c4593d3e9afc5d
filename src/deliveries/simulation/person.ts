import { whenDue } from '../../messages/again.ts'
import { parseProperties } from '../../messages/conditions.ts'
import { recordFault, type TemplateFault } from '../../messages/template-faults.ts'
import type { Arrival } from '../../store/delivery-rules.ts'
import { LISTED_EVENTS, type MessageContent, type Verdict } from '../../store/message-types.ts'
import type { SimulatedPerson, TriggerHappening } from '../../store/simulation.ts'
import { decide, decideStart, findCancelled, isTimed, type SendingSettings } from '../decide.ts'
import { findHeir } from '../ends.ts'
import { readFacts } from '../facts.ts'
import { resultPathOf } from '../rules.ts'
import { findUnfilled } from '../unfilled-events.ts'
import type { Past } from './past.ts'

/** `at` (ms UTC): when it was decided, or is due. */
export type Outcome = { outcome: string; at: number; verdicts: Verdict[] }

/** `findFault`: why the email of these events can't be written, or null. `note`: called once per trigger. */
export type Simulated = {
  appId: number
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

/** `key`: the value it uses of `once`; null: that of the first event. */
type SimulatedEvent = { trigger: TriggerHappening; key: string | null }

type Email = { lead: SimulatedEvent; joined: SimulatedEvent[]; plannedAt: number; dueAt: number; verdicts: Verdict[] }

const NOBODY = { email: '', status: 'subscribed' as const, tags: null, fields: null }

const heirOf = (joined: readonly SimulatedEvent[]): SimulatedEvent | undefined =>
  findHeir(joined.map((part) => ({ part, id: part.trigger.id, triggeredAt: part.trigger.occurredAt })))?.part

const byTime = (a: SimulatedEvent, b: SimulatedEvent): number =>
  a.trigger.occurredAt - b.trigger.occurredAt || a.trigger.id - b.trigger.id

export function simulatePerson(simulated: Simulated, triggers: readonly TriggerHappening[]): void {
  const { content, settings, now, past, note } = simulated
  const message = { content, settings, status: 'live' as const }
  const isOfEvents = !('contact' in content.trigger)
  const used = new Set<string>()
  let waiting: Email[] = []
  let lastHandedAt: number | null = null

  const take = ({ key }: SimulatedEvent): void => void (key !== null && used.add(key))
  const release = ({ key }: SimulatedEvent): void => void (key !== null && used.delete(key))

  const endPart = (part: SimulatedEvent, outcome: Outcome): void => {
    release(part)
    note(part.trigger, outcome)
  }

  const drop = (email: Email, part: SimulatedEvent, outcome: Outcome): void => {
    email.joined = email.joined.filter((one) => one !== part)
    endPart(part, outcome)
  }

  const end = (email: Email, outcome: Outcome, isOfEvent = false): void => {
    const { lead, joined } = email
    const heir = isOfEvent ? heirOf(joined) : undefined
    endPart(lead, outcome)
    if (heir) {
      const others = joined.filter((one) => one !== heir)
      Object.assign(email, { lead: { ...heir, key: heir.key ?? lead.key }, joined: others, verdicts: [] })
      take(email.lead)
      return
    }
    waiting = waiting.filter((one) => one !== email)
    for (const part of joined) endPart(part, { ...outcome, verdicts: [] })
  }

  const noteJoined = ({ joined }: Email): void => {
    for (const { trigger } of joined) note(trigger, { outcome: 'joined', at: trigger.at, verdicts: [] })
  }

  const send = (email: Email, at: number, verdicts: Verdict[]): void => {
    waiting = waiting.filter((one) => one !== email)
    note(email.lead.trigger, { outcome: 'send', at, verdicts })
    noteJoined(email)
    lastHandedAt = at
    if (isTimed(content.again)) release(email.lead)
  }

  const decideEmail = (email: Email): void => {
    const { dueAt: at, lead } = email
    const listed = email.joined.toSorted(byTime).slice(0, LISTED_EVENTS - 1)
    const reads = { ...past.readsAt(at), lastHandedAt: () => lastHandedAt }
    const decision = decide(message, readFacts(reads, workOf(simulated, email, listed), at))
    const unfit = decision.unfit.map(({ index }) => listed[index])
    for (const { index, reason, verdicts } of decision.unfit) {
      const part = listed[index]
      if (part) drop(email, part, { outcome: reason, at, verdicts })
    }
    const { verdicts } = decision
    if (decision.outcome === 'skip') return end(email, { outcome: decision.reason, at, verdicts }, decision.isOfEvent)
    if (decision.outcome === 'wait') return void Object.assign(email, { dueAt: decision.dueAt, verdicts })
    const joined = listed.filter((part) => !unfit.includes(part))
    const { fault, isOfEvent, unfilled } = tryToFill(lead, joined)
    for (const { event, fault: own } of unfilled) {
      const { reason, verdict } = recordFault(own)
      drop(email, event, { outcome: reason, at, verdicts: [verdict] })
    }
    if (!fault) return send(email, at, verdicts)
    const { reason, verdict } = recordFault(fault)
    end(email, { outcome: reason, at, verdicts: [...verdicts, verdict] }, isOfEvent)
  }

  const findFault = (lead: SimulatedEvent, joined: readonly SimulatedEvent[]): TemplateFault | null => {
    const events = [lead, ...joined].toSorted(byTime)
    return simulated.findFault(
      lead.trigger,
      events.map(({ trigger }) => trigger),
    )
  }

  const tryToFill = (first: SimulatedEvent, others: readonly SimulatedEvent[]) => {
    const search = findUnfilled({ first, others, fault: findFault(first, others) }, { isByHand: false })
    let step = search.next()
    while (!step.done) step = search.next(findFault(step.value.first, step.value.others))
    return step.value
  }

  const decideBefore = (at: number): void => {
    for (;;) {
      const next = waiting.reduce<Email | null>(
        (first, one) => (first === null || isDueFirst(one, first) ? one : first),
        null,
      )
      if (next === null || next.dueAt >= at) return
      decideEmail(next)
    }
  }

  const findCancelledPart = (
    { trigger }: SimulatedEvent,
    dueAt: number,
    isJoined: boolean,
    id: number,
    arrival: Arrival,
  ) =>
    trigger.id === id
      ? null
      : findCancelled(
          content,
          {
            triggeredAt: trigger.occurredAt,
            dueAt,
            isJoined,
            resultPath: () => resultPathOf(trigger.properties, simulated.hosts),
          },
          arrival,
        )

  const cancelBy = (id: number, at: number, arrival: Arrival): void => {
    for (const email of waiting) {
      const found = findCancelledPart(email.lead, email.dueAt, false, id, arrival)
      for (const part of email.joined) {
        const cancelled = findCancelledPart(part, email.dueAt, true, id, arrival)
        if (cancelled) drop(email, part, { outcome: cancelled.reason, at, verdicts: [cancelled.verdict] })
      }
      if (found) end(email, { outcome: found.reason, at, verdicts: [found.verdict] }, found.isOfEvent)
    }
  }

  const start = (trigger: TriggerHappening): void => {
    const { at, occurredAt } = trigger
    const near = (withinMs: number) =>
      waiting
        .filter(({ lead }) => Math.abs(lead.trigger.occurredAt - occurredAt) <= withinMs)
        .map((email) => ({ id: email.lead.trigger.id, dueAt: email.dueAt, joined: email.joined.length, email }))
        .sort((a, b) => a.id - b.id)
    const started = decideStart(content, {
      at,
      occurredAt,
      timezone: simulated.timezone,
      properties: () => parseProperties(trigger.properties),
      leads: isOfEvents ? { near, limited: () => [] } : null,
      isUsedUp: (key) => used.has(key),
      hasAny: () => used.size > 0,
      lastHandedAt: () => lastHandedAt,
    })
    if (started.outcome === 'none') {
      const dueAt = whenDue(content.wait, trigger, simulated.timezone)
      return note(trigger, { outcome: started.reason, at: dueAt, verdicts: [] })
    }
    const { dueAt } = started
    const part = { trigger, key: started.key }
    take(part)
    if (started.outcome === 'join') started.lead.email.joined.push(part)
    else waiting.push({ lead: part, joined: [], plannedAt: dueAt, dueAt, verdicts: [] })
  }

  // cancellations come before new starts
  const steps = [
    ...past.arrivals().map(({ id, at, arrival }) => ({ id, at, run: () => cancelBy(id, at, arrival) })),
    ...triggers.map((trigger) => ({ id: trigger.id, at: trigger.at, run: () => start(trigger) })),
  ].sort((a, b) => a.id - b.id)
  for (const { at, run } of steps) {
    decideBefore(at)
    run()
  }
  // everything up to now counts
  decideBefore(now + 1)
  for (const email of waiting) {
    note(email.lead.trigger, { outcome: 'waiting', at: email.dueAt, verdicts: email.verdicts })
    noteJoined(email)
  }
}

const isDueFirst = (a: Email, b: Email): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.lead.trigger.id < b.lead.trigger.id)

function workOf(
  { appId, content, settings, person, hosts }: Simulated,
  { lead, plannedAt }: Email,
  joined: readonly SimulatedEvent[],
) {
  const { id, contactId, occurredAt: triggeredAt, properties } = lead.trigger
  const delivery = { id: 0, appId, contactId, messageId: 0, eventId: id, triggeredAt, plannedAt, byHand: false }
  return {
    delivery,
    message: { content },
    contact: person ?? NOBODY,
    event: { properties },
    joined: joined.map(({ trigger }) => ({
      triggeredAt: trigger.occurredAt,
      event: { id: trigger.id, properties: trigger.properties },
    })),
    settings,
    app: { hosts },
  }
}

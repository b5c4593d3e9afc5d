import { findUnmet, isPlain, parseProperties, propertyOf } from '../messages/conditions.ts'
import type { Clock } from '../core/clock.ts'
import type {
  Again,
  Condition,
  DateTrigger,
  DeliveryRow,
  DeliveryState,
  InactiveTrigger,
  MessageContent,
  MessageRow,
  StoredSend,
  Trigger,
  UnwantedReason,
} from '../store/message-types.ts'
import type { DeliveryChange } from '../store/plan-types.ts'
import type { Store } from '../store/store.ts'
import { TEST_EVENT } from '../events/activation.ts'
import { isTooOld } from '../events/event-input.ts'
import { handOverOf, TIMED_KEY, usesDedupeKey } from '../store/delivery-states.ts'
import { decideStart, isTimed, refusedBy } from './decide.ts'
import { readRefusal, readStart } from './facts.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import {
  describeAlternative,
  describeCondition,
  describeWait,
  describeEvery,
  formatMinutes,
  formatValue,
  displayName,
} from '../messages/describe-message.ts'
import { findUnconfirmed } from './deliveries.ts'
import { describeRefusal, explainDelivery, type Explanation, toExplained } from './explanations.ts'
import { isStartedBy, nameOfStart } from '../messages/triggers.ts'
import {
  contentAt,
  type MessageHistory,
  nextChangeAt,
  nextLiveAt,
  readHistories,
  statusAt,
} from '../messages/message-history.ts'
import { formatTimeInZone } from '../core/format-time.ts'
import type { AppRow } from '../accounts/access.ts'
import { publicId } from '../core/ids.ts'
import { type Refusal, refuse } from '../core/refusals.ts'
import { UNKNOWN_PERSON } from '../people/contacts.ts'
import { ownTimezone } from '../people/timezone.ts'
import { dueByDate, dueByInactivity, isDateTrigger, isInactiveTrigger } from './schedules.ts'

const CHECKED_EVENTS = 100

const CHECKED_DELIVERIES = 1_000

/** `scheduledAt`: when a live message without a delivery is triggered by the person's date (ms UTC). */
export type MessageExplanation = Explanation & {
  message: MessageRow
  scheduledAt?: number
  delivery: DeliveryRow | null
  send: StoredSend | null
}

/**
 * `activeAt`: the last event or page view, else when the person was added. `refused`: why no email of the message may be
 * sent to the person.
 */
type Subject = { person: ContactRow; zone: string; activeAt: number; now: number; refused: UnwantedReason | null }

/** `near`: an event that almost matches the trigger. `isTest`: the person was added by the test event of Activation. */
type Causes = { last: Cause | null; near: EventRow | null; isTest?: boolean }
type Cause = { at: number; cameAt: number; row: EventRow | null; isConfirmation?: true }

/** Refusals: message_not_found, contact_not_found. */
export async function findExplanation(
  deps: { store: Store; clock: Clock },
  app: AppRow,
  { messageId, email }: { messageId: number; email: string },
): Promise<MessageExplanation | Refusal> {
  const message = await deps.store.findMessage(app.id, messageId)
  if (!message) return refuse('message_not_found')
  const person = await deps.store.findContact(app.id, email)
  return person ? explainMessageFor(deps, person, message) : UNKNOWN_PERSON
}

/** The message of an explanation, as the API and MCP show it. */
export const explainedMessageView = ({ message: { id, name, status } }: MessageExplanation) => ({
  id: publicId('msg', id),
  name,
  status,
})

/** Limited to stored data: erased events and the time a tag was added are unknown. */
export async function explainMessageFor(
  { store, clock }: { store: Store; clock: Clock },
  person: ContactRow,
  message: MessageRow,
): Promise<MessageExplanation> {
  const deliveries = await listOfPerson(store, person, message.id)
  const [delivery] = deliveries
  const work = delivery ? await store.findWork(delivery.id) : null
  const zone = (await store.findApp(person.appId))?.timezone ?? 'UTC'
  const activeAt = (await store.lastActiveAt(person.id)) ?? person.createdAt
  const refused = work ? null : await findUnwanted(store, person, message)
  const subject = { person, zone, activeAt, now: clock.now(), refused }
  const causes = await findCauses(store, subject, message.content.trigger)
  const [history] = await readHistories(store, [message], causes.last?.cameAt ?? Number.POSITIVE_INFINITY)
  const startZone = ownTimezone(person.fields) ?? subject.zone
  const about = {
    history: history ?? { message, statuses: [], versions: [] },
    deliveries,
    zone: subject.zone,
    startZone,
  }
  if (!work) {
    const why = describeNever(subject, about, causes)
    const { trigger } = message.content
    const dueAt = message.status === 'live' && isTimeTrigger(trigger) ? findDue(subject, trigger) : null
    const scheduledAt = dueAt !== null && dueAt > subject.now && refused === null ? { scheduledAt: dueAt } : {}
    return { message, delivery: null, send: null, why, decidedAt: null, rules: [], ...scheduledAt }
  }
  const explained = explainDelivery(toExplained(work))
  const why = [explained.why, describeAgain(subject, about, causes)].filter((said) => said !== '').join(' ')
  return { ...explained, why, message, delivery: work.delivery, send: work.send }
}

const findUnwanted = async (store: Store, contact: ContactRow, message: MessageRow): Promise<UnwantedReason | null> =>
  refusedBy({ contact, message }, await readRefusal(store, contact.appId, { contact, content: message.content }))

const listOfPerson = (
  store: Store,
  { appId, id }: Pick<ContactRow, 'appId' | 'id'>,
  messageId: number | null,
): Promise<DeliveryRow[]> =>
  store.listDeliveries({ appId, messageId, contactId: id, states: null, before: null, limit: CHECKED_DELIVERIES })

async function findCauses(store: Store, subject: Subject, trigger: Trigger): Promise<Causes> {
  const { person } = subject
  const { appId, id: contactId, createdAt } = person
  const list = (name: string) => store.listEvents({ appId, contactId, name, before: null, limit: CHECKED_EVENTS })
  if ('contact' in trigger) {
    if (person.status === 'pending') return { last: null, near: null }
    const confirmedAt = (await store.listConsents(contactId)).find((one) => one.confirmedAt !== null)?.confirmedAt
    if (confirmedAt) {
      return { last: { at: confirmedAt, cameAt: confirmedAt, row: null, isConfirmation: true }, near: null }
    }
    const isTest = (await list(TEST_EVENT)).rows.some(({ receivedAt }) => receivedAt === createdAt)
    return { last: { at: createdAt, cameAt: createdAt, row: null }, near: null, isTest }
  }
  if (isTimeTrigger(trigger)) {
    const dueAt = findDue(subject, trigger)
    const isPast = dueAt !== null && dueAt <= subject.now
    return { last: isPast ? { at: dueAt, cameAt: dueAt, row: null } : null, near: null }
  }
  if ('message' in trigger) return { last: await findSent(store, person, trigger.message), near: null }
  const name = nameOfStart(trigger)
  if (name === null) return { last: null, near: null }
  const { rows } = await list(name)
  const row = rows.find((one) => isStartedBy(trigger, one))
  return { last: row ? { at: row.occurredAt, cameAt: row.receivedAt, row } : null, near: rows[0] ?? null }
}

const isTimeTrigger = (trigger: Trigger): trigger is DateTrigger | InactiveTrigger =>
  isDateTrigger(trigger) || isInactiveTrigger(trigger)

/** When the trigger was or will be due for the person; null: never. */
const findDue = ({ person, zone, activeAt }: Subject, trigger: DateTrigger | InactiveTrigger): number | null =>
  isDateTrigger(trigger) ? dueByDate(trigger, person.fields ?? {}, zone) : dueByInactivity(trigger, activeAt)

/** When the person was last sent another message. */
async function findSent(store: Store, person: ContactRow, name: string): Promise<Cause | null> {
  const source = await store.findMessageByName(person.appId, name)
  const sent = source ? await listOfPerson(store, person, source.id) : []
  const times = sent.flatMap(({ state, handedAt }) => (FOLLOWED.includes(state) ? (handedAt ?? []) : []))
  const at = times.length === 0 ? null : Math.max(...times)
  return at === null ? null : { at, cameAt: at, row: null }
}

const FOLLOWED: readonly DeliveryState[] = ['sent', 'kept', 'unknown', 'bounced', 'complained']

const describeDay = ({ date, days, when }: DateTrigger, name: string): string =>
  days === 0 ? `at ${name}'s ${date}` : `${formatMinutes(days * 1_440)} ${when} ${name}'s ${date}`

function describeCause({ person, zone }: Subject, { trigger }: MessageContent, cause: Cause): string {
  const { at, cameAt, isConfirmation } = cause
  const [name, time] = [displayName(person), formatTimeInZone(at, zone)]
  if ('page' in trigger) return `${name} opened ${trigger.page} on ${time}`
  if ('message' in trigger) return `“${trigger.message}” was sent to ${name} on ${time}`
  if ('date' in trigger)
    return `The trigger time was ${trigger.days === 0 ? `${name}'s ${trigger.date}:` : `${describeDay(trigger, name)}, on`} ${time}`
  if ('inactiveDays' in trigger)
    return `${name} had been inactive for ${formatMinutes(trigger.inactiveDays * 1_440)} on ${time}`
  if (!('event' in trigger)) return `${name} ${isConfirmation ? 'confirmed their address' : 'was added'} on ${time}`
  return isTooOld({ at: cameAt, occurredAt: at })
    ? `${trigger.event} happened for ${name} on ${time}`
    : `${trigger.event} arrived for ${name} on ${formatTimeInZone(cameAt, zone)}`
}

function describeNever(subject: Subject, about: About, causes: Causes): string {
  const { status, content } = about.history.message
  if (status === 'draft') return 'The message is a draft, so nobody gets it.'
  if (causes.last === null) {
    const why = describeNoCause(subject, content, causes.near)
    return status === 'paused' && isTimeTrigger(content.trigger) ? `${why} The message is paused now.` : why
  }
  const { at, cameAt, row } = causes.last
  const came = describeCause(subject, content, causes.last)
  if (causes.isTest) return `${came} by a test event, which triggers no email.`
  if (isTooOld({ at: cameAt, occurredAt: at }))
    return `${came}, but was received on ${formatTimeInZone(cameAt, subject.zone)}. Events more than 72 hours old trigger no email.`
  const refused = findRefused(about, { cameAt, row })
  if (refused?.because === 'paused' && refused.liveAt === null && status === 'paused')
    return `${came}. The message is paused.`
  const isDate = 'date' in content.trigger
  const unknown = isDate ? 'If the date was set after that time, it triggers nothing.' : 'The reason is not stored.'
  const why = refused === null ? unknown : describeRefused(refused, about)
  return `${came}. ${why}${status === 'paused' ? ' The message is paused now.' : ''}`
}

function describeNoCause(subject: Subject, { trigger, wait }: MessageContent, near: EventRow | null): string {
  const { person, zone } = subject
  const name = displayName(person)
  if (isTimeTrigger(trigger)) return describeAhead(subject, trigger, wait)
  if ('page' in trigger) return `${name} has not opened ${trigger.page}.`
  if ('tag' in trigger) return describeTagCause(person, trigger.tag)
  if ('api' in trigger) return `Your server has not sent this message to ${name}.`
  if ('message' in trigger) return `“${trigger.message}” has not been sent to ${name}.`
  if (!('event' in trigger)) return `${name} has not confirmed their email address yet.`
  if (near === null) return `${trigger.event} has not arrived for ${name} yet.`
  const properties = parseProperties(near.properties)
  const unmet = findUnmet(trigger.where ?? [], properties)
  const came = `${trigger.event} arrived for ${name} on ${formatTimeInZone(near.receivedAt, zone)}`
  return unmet ? `${came}, but ${describeMismatch(unmet, properties)}.` : `${came}.`
}

/** Not due yet, or never. */
function describeAhead(subject: Subject, trigger: DateTrigger | InactiveTrigger, wait: MessageContent['wait']): string {
  const { person, zone } = subject
  const [name, dueAt] = [displayName(person), findDue(subject, trigger)]
  const due = describeDue(subject, wait)
  if (isInactiveTrigger(trigger)) {
    const last = `${name} was last active on ${formatTimeInZone(subject.activeAt, zone)}.`
    return `${last} Unless they are active again, this message is triggered on ${formatTimeInZone(dueAt ?? 0, zone)}. ${due}`
  }
  if (dueAt !== null)
    return `This message is triggered ${describeDay(trigger, name)}, on ${formatTimeInZone(dueAt, zone)}. ${due}`
  const value = propertyOf(person.fields ?? {}, trigger.date)
  return isPlain(value)
    ? `${name} has ${formatValue(value)} in the field ${formatValue(trigger.date)}, which is not a date.`
    : `${name} has no date in the field ${formatValue(trigger.date)}.`
}

/** When the email follows its trigger, or why it won't. */
function describeDue(subject: Subject, wait: MessageContent['wait']): string {
  if (subject.refused !== null) return describeRefusal(subject.refused, subject)
  const isLater = wait !== undefined && !('minutes' in wait && wait.minutes === 0)
  return `The email is due ${isLater ? describeWait(wait) : 'then'}.`
}

/** `unmet`: joined by `or`. */
function describeMismatch(unmet: readonly Condition[], properties: Record<string, unknown>): string {
  const describeFound = (property: string): string => {
    const value = propertyOf(properties, property)
    const had = isPlain(value) ? formatValue(value) : formatValue(JSON.stringify(value))
    return `its ${formatValue(property)} was ${value === undefined || value === null ? 'missing' : had}`
  }
  const found = [...new Set(unmet.map(({ property }) => property))].map(describeFound)
  const asked = unmet.map((one, index) =>
    index === 0 ? describeCondition(one) : describeAlternative(one.property, one),
  )
  return `${found.join(' and ')}. This message requires ${asked.join(', or ')}`
}

const describeTagCause = (person: ContactRow, tag: string): string =>
  person.tags?.includes(tag)
    ? `${displayName(person)} has the tag ${formatValue(tag)}, but did not get it while this message was live.`
    : `${displayName(person)} does not have the tag ${formatValue(tag)}.`

/** An event without an email, besides the one with an email that is explained. */
function describeAgain(subject: Subject, about: About, { last }: Causes): string {
  const { history, deliveries } = about
  const row = last?.row
  if (!row || deliveries.some(({ eventId }) => eventId === row.id)) return ''
  const another = `Another ${describeStart(history.message.content)}`
  const time = formatTimeInZone(row.receivedAt, subject.zone)
  if (isTooOld({ at: row.receivedAt, occurredAt: row.occurredAt }))
    return `${another} was received on ${time}, too late to trigger an email.`
  const refused = findRefused(about, { cameAt: row.receivedAt, row })
  const unstarted = `${another}, received on ${time}, did not trigger a second email:`
  if (refused?.because === 'paused') return `${unstarted} the message was paused.`
  return refused?.because === 'used' ? `${unstarted} this message is sent ${describeFrequency(refused.again)}.` : ''
}

const describeStart = ({ trigger }: MessageContent): string =>
  'page' in trigger ? `visit to ${trigger.page}` : (nameOfStart(trigger) ?? 'event')

function describeFrequency(again: Again = { once: 'person' }): string {
  if ('everyHours' in again) return describeEvery(again.everyHours)
  if ('property' in again) return `once per ${[again.property].flat().map(formatValue).join(' or ')}`
  return `once per ${again.once}`
}

type ArrivingEvent = Pick<EventRow, 'id' | 'receivedAt' | 'occurredAt' | 'properties'>
type PastDeliveries = {
  content: MessageContent
  deliveries: readonly DeliveryRow[]
  startZone: string
}

/** The delivery that used up the message's frequency, as of then; null: unknown. */
function findUse({ content, deliveries, startZone }: PastDeliveries, row: ArrivingEvent): DeliveryRow | null {
  const { receivedAt: at, occurredAt, properties } = row
  const came = { at, occurredAt, properties }
  const isUse = (one: DeliveryRow): boolean => {
    const earlier = { deliveries: [asOf(one, row, content)], timezone: startZone }
    return decideStart(content, readStart(earlier, came)).outcome === 'none'
  }
  // ids are in order of arrival
  return deliveries.find((one) => one.id < row.id && isUse(one)) ?? null
}

/** Handed over or ended since, or in the same millisecond, means it was waiting then: otherwise the event had a delivery. */
function asOf(one: DeliveryRow, { receivedAt }: ArrivingEvent, { again }: MessageContent): DeliveryRow {
  const usedAt = one.handedAt ?? one.heldBackAt
  const wasOver = usesDedupeKey(one) ? usedAt !== null && usedAt < receivedAt : one.updatedAt < receivedAt
  if (wasOver) return one
  return {
    ...one,
    state: 'waiting',
    handedAt: null,
    heldBackAt: null,
    dedupeKey: isTimed(again) ? TIMED_KEY : one.dedupeKey,
  }
}

export type Unstarted = { message: Pick<MessageRow, 'id' | 'name'>; why: string }

/** The delivery that the event started, or why there is none. */
export type EventOutcome = { message: MessageRow } & ({ delivery: DeliveryRow } | { delivery: null; why: string })

/**
 * By event id: deliveries started or joined, and for other live or paused messages that match, why not. Empty when no
 * message matches.
 */
export async function explainEvents(
  store: Store,
  person: ContactRow,
  rows: readonly EventRow[],
): Promise<Map<number, EventOutcome[]>> {
  return explainAll(store, person.appId, { rows, person, deliveries: await listOfPerson(store, person, null) })
}

type Explained = {
  rows: readonly EventRow[]
  /** null: unknown */
  person: Pick<ContactRow, 'fields'> | null
  deliveries: readonly DeliveryRow[]
}

async function explainAll(store: Store, appId: number, { rows, person, deliveries }: Explained) {
  const messages = await store.listMessages(appId)
  const zone = (await store.findApp(appId))?.timezone ?? 'UTC'
  const startZone = ownTimezone(person?.fields ?? null) ?? zone
  // older events may miss deliveries
  const knownFrom = deliveries.length < CHECKED_DELIVERIES ? 0 : (deliveries.at(-1)?.id ?? 0)
  const outcomes = new Map(rows.map(({ id }): [number, EventOutcome[]] => [id, []]))
  const since = Math.min(...rows.map(({ receivedAt }) => receivedAt))
  for (const history of await readHistories(store, messages, since)) {
    const { message } = history
    const about = {
      history,
      deliveries: deliveries.filter(({ messageId }) => messageId === message.id),
      zone,
      startZone,
    }
    for (const row of rows) {
      const own = about.deliveries.find(({ eventId }) => eventId === row.id)
      if (own) outcomes.get(row.id)?.push({ message, delivery: own })
      if (own || row.id <= knownFrom || !isConcerned(row, history)) continue
      outcomes.get(row.id)?.push({ message, delivery: null, why: describeUnstarted(row, about) })
    }
  }
  return outcomes
}

export const listUnstarted = async (store: Store, person: ContactRow, row: EventRow): Promise<Unstarted[]> =>
  toUnstarted((await explainEvents(store, person, [row])).get(row.id))

const toUnstarted = (outcomes: readonly EventOutcome[] = []): Unstarted[] =>
  outcomes.flatMap(({ message: { id, name }, ...one }) =>
    one.delivery === null ? [{ message: { id, name }, why: one.why }] : [],
  )

type PlannedEvent = { event: EventRow; deliveries: readonly DeliveryChange[] }

/** Of an event that is not recorded; `deliveries`: what it would change. `contactId` null: the person is unknown. */
export async function listWouldNotStart(
  store: Store,
  { appId, contactId }: { appId: number; contactId: number | null },
  { event, deliveries: changes }: PlannedEvent,
): Promise<Unstarted[]> {
  const started = new Set(changes.flatMap((one) => ('messageId' in one ? one.messageId : [])))
  const cancelled = new Set(changes.flatMap((one) => (one.change === 'cancel' ? one.id : [])))
  const person = contactId === null ? null : await store.storedById(contactId)
  const stored = contactId === null ? [] : await listOfPerson(store, { appId, id: contactId }, null)
  const deliveries = stored.map((one) =>
    cancelled.has(one.id) ? { ...one, state: 'skipped' as const, updatedAt: event.receivedAt } : one,
  )
  const outcomes = (await explainAll(store, appId, { rows: [event], person, deliveries })).get(event.id)
  return toUnstarted(outcomes).filter(({ message }) => !started.has(message.id))
}

/** The event matches the current or the former trigger, and the message is not, or was not, a draft. */
function isConcerned(row: EventRow, history: MessageHistory): boolean {
  const { message } = history
  if (message.status !== 'draft' && isStartedBy(message.content.trigger, row)) return true
  const status = statusAt(history, row.receivedAt)
  const content = contentAt(history, row.receivedAt)
  return status !== null && status !== 'draft' && content !== null && isStartedBy(content.trigger, row)
}

/** `deliveries` of the person and the message. `startZone`: in which a message waits for a time of day. */
type About = { history: MessageHistory; deliveries: readonly DeliveryRow[]; zone: string; startZone: string }

const TOO_OLD = 'It was received more than 72 hours after it happened.'

const IS_PAUSED = 'The message is paused, so events trigger no email. Once it is live, send the event again.'

/** Why an event started no email, by the status and content of when it came. `liveAt`: when the message next went live. */
type RefusedEvent =
  | { because: 'notLive' | 'paused'; liveAt: number | null }
  | { because: 'changed' | 'notLiveOrChanged'; changedAt: number }
  | { because: 'used'; again: Again | undefined; earlier: DeliveryRow; cameAt: number }

const isEqual = (one: Trigger, other: Trigger): boolean => Bun.deepEquals(one, other)

/** Null: the reason is not stored. `row` null: the person was added, or another message was sent. */
function findRefused(about: About, { cameAt, row }: { cameAt: number; row: EventRow | null }): RefusedEvent | null {
  const { history, deliveries, startZone } = about
  const status = statusAt(history, cameAt)
  const known = contentAt(history, cameAt)
  if (status === 'draft') return { because: 'notLive', liveAt: nextLiveAt(history, cameAt) }
  if (known && !(row ? isStartedBy(known.trigger, row) : isEqual(known.trigger, history.message.content.trigger)))
    return { because: 'changed', changedAt: nextChangeAt(history, cameAt) }
  if (status === 'paused') return { because: 'paused', liveAt: nextLiveAt(history, cameAt) }
  const content = known ?? history.message.content
  const use = row && findUse({ content, deliveries, startZone }, row)
  if (use) {
    const earlier = deliveries.find(({ id }) => id === use.joinedTo) ?? use
    return { because: 'used', again: content.again, earlier, cameAt }
  }
  return status === null || known === null
    ? { because: 'notLiveOrChanged', changedAt: history.message.updatedAt }
    : null
}

function describeRefused(refused: RefusedEvent, { history, zone }: Pick<About, 'history' | 'zone'>): string {
  const time = (at: number): string => formatTimeInZone(at, zone)
  switch (refused.because) {
    case 'notLive':
      return refused.liveAt === null
        ? 'The message was a draft at the time.'
        : `The message went live later, on ${time(refused.liveAt)}.`
    case 'paused':
      if (refused.liveAt !== null)
        return `The message was paused at the time. It went live again on ${time(refused.liveAt)}.`
      return history.message.status === 'paused' ? IS_PAUSED : 'The message was paused at the time.'
    case 'changed':
      return `The message had a different trigger at the time. It was changed on ${time(refused.changedAt)}.`
    case 'notLiveOrChanged':
      return `The message was not live or had different content at the time. It was last changed on ${time(refused.changedAt)}.`
    case 'used':
      return `This message is sent ${describeFrequency(refused.again)}. ${describeEarlier(refused, time)}`
  }
}

function describeUnstarted(row: EventRow, about: About): string {
  const { receivedAt, occurredAt } = row
  if (isTooOld({ at: receivedAt, occurredAt })) return TOO_OLD
  const refused = findRefused(about, { cameAt: receivedAt, row })
  return refused === null ? 'The reason is not stored.' : describeRefused(refused, about)
}

type Earlier = { earlier: DeliveryRow; cameAt: number }

/** The state at the time of the event, followed by what happened later. */
function describeEarlier({ earlier, cameAt }: Earlier, time: (at: number) => string): string {
  const { state, sentAt, heldBackAt } = earlier
  const handedAt = handOverOf(earlier)
  if (heldBackAt !== null && heldBackAt <= cameAt)
    return `The person is in its holdback group: the email was held back on ${time(heldBackAt)}.`
  const unconfirmedAt = findUnconfirmed(earlier)?.at ?? null
  const wasUnconfirmed = unconfirmedAt !== null && unconfirmedAt <= cameAt
  const endedAt = state === 'kept' ? handedAt : sentAt
  const ended = state === 'kept' ? 'was captured' : 'was sent'
  if (endedAt !== null && endedAt <= cameAt) return `An email ${ended} on ${time(endedAt)}.`
  const answer = state === 'handed' && !wasUnconfirmed ? 'has not replied yet' : 'did not confirm it'
  const handed = (at: number): string => `was handed to the mail server on ${time(at)}, but the server ${answer}`
  const triedAt = wasUnconfirmed ? unconfirmedAt : handedAt
  const isOpen = endedAt === null && handedAt !== null
  if (triedAt !== null && triedAt <= cameAt && (wasUnconfirmed || isOpen))
    return `An email may have arrived: it ${handed(triedAt)}.${endedAt === null ? '' : ` It ${ended} on ${time(endedAt)}.`}`
  const later = endedAt === null ? (isOpen ? ` It ${handed(handedAt)}.` : '') : ` It ${ended} on ${time(endedAt)}.`
  return `An email was already waiting.${later}`
}

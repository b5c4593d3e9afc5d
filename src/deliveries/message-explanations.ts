import { compares, parseProperties, propertyOf } from '../messages/conditions.ts'
import type { Again, Condition, DeliveryRow, MessageContent, MessageRow, Trigger } from '../store/message-types.ts'
import type { DeliveryChange } from '../store/plan-types.ts'
import type { Store } from '../store/store.ts'
import { isTooOld } from '../events/event-input.ts'
import { TIMED_KEY, usesDedupeKey } from '../store/delivery-states.ts'
import { decideStart, isTimed } from './decide.ts'
import { readStart } from './facts.ts'
import type { ContactRow, EventRow } from '../store/types.ts'
import { describeCondition, formatValue, displayName } from '../messages/describe-message.ts'
import { explainDelivery, type Explanation, toExplained } from './explanations.ts'
import { isStartedBy, nameOfStart } from '../messages/triggers.ts'
import { formatTimeInZone } from '../core/format-time.ts'

const CHECKED_EVENTS = 100

const CHECKED_DELIVERIES = 1_000

export type MessageExplanation = Explanation & { message: MessageRow; delivery: DeliveryRow | null }

type Subject = { person: ContactRow; zone: string }

/** `near`: an event that almost matches the trigger. */
type Causes = { last: Cause | null; near: EventRow | null }
type Cause = { at: number; cameAt: number; row: EventRow | null }

/** Limited to stored data: erased events and the time a tag was added are unknown. */
export async function explainMessageFor(
  store: Store,
  person: ContactRow,
  message: MessageRow,
): Promise<MessageExplanation> {
  const deliveries = await listOfPerson(store, person, message.id)
  const [delivery] = deliveries
  const work = delivery ? await store.findWork(delivery.id) : null
  const causes = await findCauses(store, person, message.content.trigger)
  const subject = { person, zone: (await store.findApp(person.appId))?.timezone ?? 'UTC' }
  if (!work) {
    const why = describeNever(subject, message, { ...causes, liveAt: await store.firstLiveAt(message) })
    return { message, delivery: null, why, decidedAt: null, rules: [] }
  }
  const explained = explainDelivery(toExplained(work))
  const why = [explained.why, describeAgain(subject, message, deliveries, causes)]
    .filter((said) => said !== '')
    .join(' ')
  return { ...explained, why, message, delivery: work.delivery }
}

const listOfPerson = (
  store: Store,
  { appId, id }: Pick<ContactRow, 'appId' | 'id'>,
  messageId: number | null,
): Promise<DeliveryRow[]> =>
  store.listDeliveries({ appId, messageId, contactId: id, states: null, before: null, limit: CHECKED_DELIVERIES })

async function findCauses(store: Store, person: ContactRow, trigger: Trigger): Promise<Causes> {
  if ('contact' in trigger) return { last: { at: person.createdAt, cameAt: person.createdAt, row: null }, near: null }
  const name = nameOfStart(trigger)
  if (name === null) return { last: null, near: null }
  const query = { appId: person.appId, contactId: person.id, name, before: null, limit: CHECKED_EVENTS }
  const { rows } = await store.listEvents(query)
  const row = rows.find((one) => isStartedBy(trigger, one))
  return { last: row ? { at: row.occurredAt, cameAt: row.receivedAt, row } : null, near: rows[0] ?? null }
}

function describeCause({ person, zone }: Subject, { trigger }: MessageContent, at: number): string {
  const [name, time] = [displayName(person), formatTimeInZone(at, zone)]
  if ('page' in trigger) return `${name} opened ${trigger.page} on ${time}`
  return 'event' in trigger ? `${trigger.event} came for ${name} on ${time}` : `${name} was added on ${time}`
}

/** `liveAt`: when the message first went live (ms UTC), if known. */
function describeNever(subject: Subject, message: MessageRow, causes: Causes & { liveAt: number | null }): string {
  const { status, content, updatedAt } = message
  if (status === 'draft') return 'The message is a draft, so nobody gets it.'
  if (causes.last === null) return describeNoCause(subject, content.trigger, causes.near)
  const { at, cameAt } = causes.last
  const came = describeCause(subject, content, at)
  if (isTooOld({ at: cameAt, occurredAt: at }))
    return `${came}, but arrived only on ${formatTimeInZone(cameAt, subject.zone)}. Events more than 72 hours old send no email.`
  if (status === 'paused') return `${came}. The message is paused.`
  if (causes.liveAt !== null && cameAt < causes.liveAt)
    return `${came}. The message went live later, on ${formatTimeInZone(causes.liveAt, subject.zone)}.`
  return cameAt < updatedAt
    ? `${came}. The message was not live or was different then: it was last changed on ${formatTimeInZone(updatedAt, subject.zone)}.`
    : `${came}. The reason why no email was queued is not stored.`
}

function describeNoCause({ person, zone }: Subject, trigger: Trigger, near: EventRow | null): string {
  const name = displayName(person)
  if ('page' in trigger) return `${name} has not opened ${trigger.page}.`
  if ('tag' in trigger) return describeTagCause(person, trigger.tag)
  if (!('event' in trigger)) return ''
  if (near === null) return `${trigger.event} has not come for ${name}.`
  const properties = parseProperties(near.properties)
  const broken = trigger.where?.find((condition) => !compares(propertyOf(properties, condition.property), condition))
  const came = `${trigger.event} came for ${name} on ${formatTimeInZone(near.occurredAt, zone)}`
  return broken ? `${came}, but ${describeMismatch(broken, properties)}.` : `${came}.`
}

function describeMismatch(condition: Condition, properties: Record<string, unknown>): string {
  const value = propertyOf(properties, condition.property)
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  const had = value === undefined || value === null ? 'missing' : formatValue(isPlain ? value : JSON.stringify(value))
  return `its ${formatValue(condition.property)} was ${had}, and this message asks for ${describeCondition(condition)}`
}

const describeTagCause = (person: ContactRow, tag: string): string =>
  person.tags?.includes(tag)
    ? `${displayName(person)} has the tag ${formatValue(tag)}, but did not get it while this message was live.`
    : `${displayName(person)} does not have the tag ${formatValue(tag)}.`

/** It was sent or queued already. */
function describeAgain(subject: Subject, message: MessageRow, deliveries: DeliveryRow[], { last }: Causes): string {
  const { content } = message
  const row = last?.row
  if (!row || deliveries.some(({ eventId }) => eventId === row.id)) return ''
  const isEarlier = deliveries.some(({ handedAt }) => handedAt !== null && handedAt > row.receivedAt)
  const came = `${isEarlier ? 'Before that' : 'Since then'} ${describeCause(subject, content, row.occurredAt)}`
  if (isTooOld({ at: row.receivedAt, occurredAt: row.occurredAt })) return `${came}, but arrived too late.`
  return findUse({ message, deliveries, zone: subject.zone }, row) === null
    ? ''
    : `${came}, but this message is sent ${describeFrequency(content.again)}.`
}

function describeFrequency(again: Again = { once: 'person' }): string {
  if ('everyHours' in again) return `at most every ${again.everyHours} hours`
  return again.once === 'person'
    ? 'once to a person'
    : `once for each ${[again.property].flat().map(formatValue).join(' or ')}`
}

type ArrivingEvent = Pick<EventRow, 'id' | 'receivedAt' | 'occurredAt' | 'properties'>
type PastDeliveries = {
  message: Pick<MessageRow, 'content'>
  deliveries: readonly DeliveryRow[]
  zone: string
}

/** The delivery that used up the message's frequency, as of then; null: unknown. */
function findUse({ message, deliveries, zone }: PastDeliveries, row: ArrivingEvent): DeliveryRow | null {
  const { receivedAt: at, occurredAt, properties } = row
  const came = { at, occurredAt, properties }
  const isUse = (one: DeliveryRow): boolean => {
    const earlier = { deliveries: [asOf(one, row, message.content)], timezone: zone }
    return decideStart(message.content, readStart(earlier, came)).outcome === 'none'
  }
  // ids are in order of arrival
  return deliveries.find((one) => one.id < row.id && isUse(one)) ?? null
}

/** Handed over or ended since, or in the same millisecond, means it was waiting then: otherwise the event had a delivery. */
function asOf(one: DeliveryRow, { receivedAt }: ArrivingEvent, { again }: MessageContent): DeliveryRow {
  const wasOver = usesDedupeKey(one) ? one.handedAt !== null && one.handedAt < receivedAt : one.updatedAt < receivedAt
  if (wasOver) return one
  return { ...one, state: 'waiting', handedAt: null, dedupeKey: isTimed(again) ? TIMED_KEY : one.dedupeKey }
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
  return explainAll(store, person.appId, { rows, deliveries: await listOfPerson(store, person, null) })
}

type Explained = { rows: readonly EventRow[]; deliveries: readonly DeliveryRow[] }

async function explainAll(store: Store, appId: number, { rows, deliveries }: Explained) {
  const messages = await store.listMessages(appId)
  const zone = (await store.findApp(appId))?.timezone ?? 'UTC'
  // older events may miss deliveries
  const knownFrom = deliveries.length < CHECKED_DELIVERIES ? 0 : (deliveries.at(-1)?.id ?? 0)
  const outcomes = new Map(rows.map(({ id }): [number, EventOutcome[]] => [id, []]))
  for (const message of messages) {
    const ofMessage = deliveries.filter(({ messageId }) => messageId === message.id)
    const fitting = message.status !== 'draft' ? rows.filter((row) => isStartedBy(message.content.trigger, row)) : []
    const liveAt = fitting.length === 0 ? null : await store.firstLiveAt(message)
    for (const row of rows) {
      const own = ofMessage.find(({ eventId }) => eventId === row.id)
      if (own) outcomes.get(row.id)?.push({ message, delivery: own })
      if (own || row.id <= knownFrom || !fitting.includes(row)) continue
      const why = describeUnstarted(row, { message, deliveries: ofMessage, liveAt, zone })
      outcomes.get(row.id)?.push({ message, delivery: null, why })
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
  const stored = contactId === null ? [] : await listOfPerson(store, { appId, id: contactId }, null)
  const deliveries = stored.map((one) =>
    cancelled.has(one.id) ? { ...one, state: 'skipped' as const, updatedAt: event.receivedAt } : one,
  )
  const outcomes = (await explainAll(store, appId, { rows: [event], deliveries })).get(event.id)
  return toUnstarted(outcomes).filter(({ message }) => !started.has(message.id))
}

type About = { message: MessageRow; deliveries: readonly DeliveryRow[]; liveAt: number | null; zone: string }

const TOO_OLD = 'It arrived more than 72 hours after it happened.'

const IS_PAUSED = 'The message is paused, so events start no email. Set it live, then send the event again.'

function describeUnstarted(row: EventRow, { message, deliveries, liveAt, zone }: About): string {
  const { receivedAt, occurredAt } = row
  if (isTooOld({ at: receivedAt, occurredAt })) return TOO_OLD
  if (liveAt !== null && receivedAt < liveAt)
    return `The message went live later, on ${formatTimeInZone(liveAt, zone)}.`
  if (message.status === 'paused' && receivedAt >= message.updatedAt) return IS_PAUSED
  const use = describeUse(row, { message, deliveries, zone })
  if (use !== null) return use
  return receivedAt < message.updatedAt
    ? `The message was changed later, on ${formatTimeInZone(message.updatedAt, zone)}.`
    : 'The reason is not stored.'
}

/** null when the frequency isn't used up. */
function describeUse(row: ArrivingEvent, had: PastDeliveries): string | null {
  const { message, deliveries, zone } = had
  const use = findUse(had, row)
  if (use === null) return null
  const lead = deliveries.find(({ id }) => id === use.joinedTo) ?? use
  return `This message is sent ${describeFrequency(message.content.again)}. ${describeEarlier(lead, zone)}`
}

function describeEarlier({ state, sentAt, handedAt }: DeliveryRow, zone: string): string {
  const at = sentAt ?? handedAt
  if (at === null)
    return state === 'skipped' || state === 'failed' ? 'An email was waiting then.' : 'An email was waiting already.'
  return state === 'kept'
    ? `An email was captured on ${formatTimeInZone(at, zone)}.`
    : `An email was sent on ${formatTimeInZone(at, zone)}.`
}

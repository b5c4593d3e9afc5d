/** What a write queues, or would queue: for whoever sends one and wants to know what follows. */
import { allHold, parseProperties } from '../store/conditions.ts'
import { isTimezone } from '../store/local-time.ts'
import {
  type DeliveryRow,
  type DeliveryState,
  LISTED_EVENTS,
  type MessageContent,
  type MessageRow,
  type Trigger,
} from '../store/message-types.ts'
import { collectMsOf, isPerPerson, isTooOld, onceKeyOf, whenDue } from '../store/triggers.ts'
import type { Store } from '../store/store.ts'
import type { RecordedEvent, SavedContact } from '../store/types.ts'
import type { AppRow } from '../accounts/access.ts'
import type { EventFields } from '../events/event-input.ts'
import { IS_PAUSED, sayUse, TOO_OLD, type Unstarted } from './message-explanations.ts'

const HOUR_MS = 3_600_000
/** Among so many, the newest of a person, are those that one write queued. */
const MOST_QUEUED = 200
/** So many that a person has had of one message are looked at, the newest ones. */
const MOST_HAD = 1_000

/** `deliveryId` null: it is not queued, but would be. `dueAt`: when the rules are judged and the mail goes out (ms UTC). */
export type QueuedMessage = {
  message: Pick<MessageRow, 'id' | 'name'>
  deliveryId: number | null
  state: DeliveryState
  dueAt: number
}

/** The deliveries that came of an event that was just recorded; of a new person all there are. */
export async function listQueued(
  store: Store,
  app: AppRow,
  { contactId, eventId, created }: RecordedEvent,
): Promise<QueuedMessage[]> {
  const found = await listDeliveries(store, { app, contactId, messageId: null, limit: MOST_QUEUED })
  const own = found.filter((delivery) => created || delivery.eventId === eventId)
  return nameMessages(store, { app, own, isCause: () => true })
}

/** The deliveries that came of a person who was just added, or got tags they did not have; of a new person all there are. */
export async function listQueuedByContact(
  store: Store,
  app: AppRow,
  { saved: { contactId, created, contact }, tagsBefore }: { saved: SavedContact; tagsBefore: string[] },
): Promise<QueuedMessage[]> {
  const added = contact.tags?.filter((tag) => !tagsBefore.includes(tag)) ?? []
  if (!created && added.length === 0) return []
  const found = await listDeliveries(store, { app, contactId, messageId: null, limit: MOST_QUEUED })
  const isOwn = ({ eventId, triggeredAt }: DeliveryRow) => eventId === null && triggeredAt === contact.updatedAt
  const isCause = (trigger: Trigger) => created || ('tag' in trigger && added.includes(trigger.tag))
  return nameMessages(store, { app, own: created ? found : found.filter(isOwn), isCause })
}

type Named = { app: AppRow; own: DeliveryRow[]; isCause: (trigger: Trigger) => boolean }

async function nameMessages(store: Store, { app, own, isCause }: Named): Promise<QueuedMessage[]> {
  if (own.length === 0) return []
  const messages = (await store.listMessages(app.id)).filter(({ content }) => isCause(content.trigger))
  return own.flatMap(({ id, messageId, state, dueAt }) => {
    const message = messages.find((one) => one.id === messageId)
    return message ? [{ message: { id: message.id, name: message.name }, deliveryId: id, state, dueAt }] : []
  })
}

/** `contactId` null: the person would be made. */
type Person = { contactId: number | null; at: number }
type ByEvent = Person & { input: Pick<EventFields, 'event' | 'properties' | 'occurredAt'> }
type ByContact = Person & { addedTags: string[] }

/**
 * What the store would queue for an event that came at `at` (ms UTC): the live messages that it triggers, but for those
 * that the person has had, or that are on their way. What the
 * event itself would stop counts as still on its way.
 */
export const listWouldQueue = (store: Store, app: AppRow, wanted: ByEvent): Promise<Foreseen> =>
  foresee(store, { ...wanted, app }, (content) => findCause(content, wanted))

/** The same for a person who would be made, or would get these tags. */
export const listWouldQueueByContact = async (
  store: Store,
  app: AppRow,
  wanted: ByContact,
): Promise<QueuedMessage[]> => {
  const { queued } = await foresee(store, { ...wanted, app }, ({ trigger }) => {
    const isMade = 'contact' in trigger && wanted.contactId === null
    const isTagged = 'tag' in trigger && wanted.addedTags.includes(trigger.tag)
    return isMade || isTagged ? { occurredAt: wanted.at, properties: null } : null
  })
  return queued
}

/** What would be queued, and of which live and paused messages nothing, although the event fits them. */
type Foreseen = { queued: QueuedMessage[]; unstarted: Unstarted[] }

/** `properties` are an event's, as JSON. */
type Cause = { occurredAt: number; properties: string | null }

async function foresee(
  store: Store,
  { app, contactId, at }: Person & { app: AppRow },
  findCauseOf: (content: MessageContent) => Cause | null,
): Promise<Foreseen> {
  const { timezone } = await store.mailSettings(app.id)
  const zone = timezone !== null && isTimezone(timezone) ? timezone : 'UTC'
  const foreseen: Foreseen = { queued: [], unstarted: [] }
  for (const message of await store.listMessages(app.id)) {
    const { id, name, status, content } = message
    const isTold = status === 'live' || (status === 'paused' && 'event' in content.trigger)
    const cause = isTold ? findCauseOf(content) : null
    if (cause === null) continue
    const deliveries =
      contactId === null ? [] : await listDeliveries(store, { app, contactId, messageId: id, limit: MOST_HAD })
    const came = { at, occurredAt: cause.occurredAt }
    const found = { message, deliveries, came, dueAt: whenDue(content.wait, came, zone), properties: cause.properties }
    const lead = findLead(found)
    if (isTooOld(came)) foreseen.unstarted.push({ message: { id, name }, why: TOO_OLD })
    else if (status === 'paused') foreseen.unstarted.push({ message: { id, name }, why: IS_PAUSED })
    else if (lead && (isPerPerson(content.again) || isFree(found)))
      foreseen.queued.push({ message: { id, name }, deliveryId: null, state: 'joined', dueAt: lead.dueAt })
    else if (isFree(found))
      foreseen.queued.push({ message: { id, name }, deliveryId: null, state: 'waiting', dueAt: found.dueAt })
    else {
      const row = { id: Number.MAX_SAFE_INTEGER, receivedAt: at, properties: cause.properties }
      foreseen.unstarted.push({ message: { id, name }, why: sayUse(row, { message, deliveries, zone }) ?? '' })
    }
  }
  return foreseen
}

/** Why a message would be queued: the event, or the person that it makes; null where it would not. */
function findCause({ trigger }: MessageContent, { contactId, input, at }: ByEvent): Cause | null {
  const occurredAt = input.occurredAt ?? at
  if ('contact' in trigger) return contactId === null ? { occurredAt: at, properties: null } : null
  if (!('event' in trigger) || trigger.event !== input.event) return null
  const { properties } = input
  return allHold(trigger.where ?? [], parseProperties(properties)) ? { occurredAt, properties } : null
}

type Found = {
  message: MessageRow
  /** of this message that the person has had, the newest first */
  deliveries: DeliveryRow[]
  came: { at: number; occurredAt: number }
  dueAt: number
  properties: string | null
}

/** The email that waits and that the event would join; null where there is none. */
function findLead({ message: { version, content }, deliveries, came }: Found): DeliveryRow | null {
  const collectMs = collectMsOf(content.again)
  if (collectMs === null) return null
  const takesEvents = ({ state, handedAt, byHand }: DeliveryRow): boolean =>
    (state === 'waiting' || state === 'deferred') && handedAt === null && !byHand
  const isNear = ({ triggeredAt }: DeliveryRow): boolean => Math.abs(triggeredAt - came.occurredAt) <= collectMs
  const isLimited = ({ reason }: DeliveryRow): boolean => reason === 'perDay' || reason === 'perWeek'
  const hasRoom = ({ id }: DeliveryRow): boolean =>
    isPerPerson(content.again) ||
    deliveries.filter(({ state, joinedTo }) => state === 'joined' && joinedTo === id).length < LISTED_EVENTS - 1
  const leads = deliveries.filter((one) => takesEvents(one) && one.version === version && hasRoom(one))
  return leads.findLast(isNear) ?? leads.findLast(isLimited) ?? null
}

/** Whether the person may get a message once more, after what they have had of it. */
function isFree({ message, deliveries, dueAt, properties }: Found): boolean {
  const { again } = message.content
  const used = deliveries.filter(
    ({ handedAt, state }) => handedAt !== null || (state !== 'skipped' && state !== 'failed'),
  )
  const key = onceKeyOf(again, () => parseProperties(properties))
  if (used.some(({ onceKey }) => onceKey === key)) return false
  // of a version before it may have another key
  if (isPerPerson(again)) return used.length === 0
  if (again === undefined || !('everyHours' in again)) return true
  const taken = used.filter(({ state }) => state !== 'skipped' && state !== 'failed')
  const lastAt = Math.max(...taken.map(({ handedAt }) => handedAt ?? 0))
  return dueAt >= lastAt + again.everyHours * HOUR_MS
}

const listDeliveries = (
  store: Store,
  { app, ...of }: { app: AppRow; contactId: number; messageId: number | null; limit: number },
): Promise<DeliveryRow[]> => store.listDeliveries({ ...of, appId: app.id, states: null, before: null })

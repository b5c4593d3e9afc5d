/** What a write queues, or would queue: for whoever sends one and wants to know what follows (mcp.md, Tools). */
import { allHold, parseProperties } from '../store/conditions.ts'
import { isTimezone } from '../store/local-time.ts'
import type { DeliveryRow, DeliveryState, MessageContent, MessageRow, Trigger } from '../store/message-types.ts'
import { isPerPerson, isTooOld, onceKeyOf, whenDue } from '../store/triggers.ts'
import type { Store } from '../store/store.ts'
import type { RecordedEvent, SavedContact } from '../store/types.ts'
import type { AppRow } from './access.ts'
import type { EventFields } from './event-input.ts'

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
 * that the person has had, or that are on their way (messages.md; triggers.ts decides when it is recorded). What the
 * event itself would stop counts as still on its way.
 */
export const listWouldQueue = (store: Store, app: AppRow, wanted: ByEvent): Promise<QueuedMessage[]> =>
  listFree(store, { ...wanted, app }, (content) => findCause(content, wanted))

/** The same for a person who would be made, or would get these tags. */
export const listWouldQueueByContact = (store: Store, app: AppRow, wanted: ByContact): Promise<QueuedMessage[]> =>
  listFree(store, { ...wanted, app }, ({ trigger }) => {
    const isMade = 'contact' in trigger && wanted.contactId === null
    const isTagged = 'tag' in trigger && wanted.addedTags.includes(trigger.tag)
    return isMade || isTagged ? { occurredAt: wanted.at, properties: {} } : null
  })

type Cause = { occurredAt: number; properties: Record<string, unknown> }

/** The live messages that have a cause and that the person may get. */
async function listFree(
  store: Store,
  { app, contactId, at }: Person & { app: AppRow },
  findCauseOf: (content: MessageContent) => Cause | null,
): Promise<QueuedMessage[]> {
  const { timezone } = await store.mailSettings(app.id)
  const zone = timezone !== null && isTimezone(timezone) ? timezone : 'UTC'
  const found: QueuedMessage[] = []
  for (const { id, name, status, content } of await store.listMessages(app.id)) {
    const cause = status === 'live' ? findCauseOf(content) : null
    if (cause === null) continue
    const dueAt = whenDue(content.wait, { at, occurredAt: cause.occurredAt }, zone)
    const before =
      contactId === null ? [] : await listDeliveries(store, { app, contactId, messageId: id, limit: MOST_HAD })
    if (isFree(content, before, { dueAt, properties: cause.properties })) {
      found.push({ message: { id, name }, deliveryId: null, state: 'waiting', dueAt })
    }
  }
  return found
}

/** Why a message would be queued: the event, or the person that it makes; null where it would not. */
function findCause({ trigger }: MessageContent, { contactId, input, at }: ByEvent): Cause | null {
  const occurredAt = input.occurredAt ?? at
  if ('contact' in trigger) return contactId === null ? { occurredAt: at, properties: {} } : null
  if (!('event' in trigger) || trigger.event !== input.event || isTooOld({ at, occurredAt })) return null
  const properties = parseProperties(input.properties)
  return allHold(trigger.where ?? [], properties) ? { occurredAt, properties } : null
}

/** Whether the person may get a message once more, after what they have had of it. */
function isFree(
  { again }: MessageContent,
  before: DeliveryRow[],
  { dueAt, properties }: { dueAt: number; properties: Record<string, unknown> },
): boolean {
  const used = before.filter(({ handedAt, state }) => handedAt !== null || (state !== 'skipped' && state !== 'failed'))
  const key = onceKeyOf(again, () => properties)
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

import { allHold, parseProperties } from '../store/conditions.ts'
import { readTimezone } from '../store/local-time.ts'
import {
  type DeliveryRow,
  type DeliveryState,
  type MessageContent,
  type MessageRow,
  type Trigger,
} from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { RecordedEvent, SavedContact } from '../store/types.ts'
import type { AppRow } from '../accounts/access.ts'
import type { EventFields } from '../events/event-input.ts'
import { decideStart } from './decide.ts'
import { readStart } from './facts.ts'
import { IS_PAUSED, describeUse, TOO_OLD, type Unstarted } from './message-explanations.ts'

/** One write's deliveries are among the person's newest. */
const MAX_QUEUED = 200
const MAX_DELIVERIES = 1_000

/** `deliveryId` null: it would be queued. `dueAt`: when the rules are decided (ms UTC). */
export type QueuedMessage = {
  message: Pick<MessageRow, 'id' | 'name'>
  deliveryId: number | null
  state: DeliveryState
  dueAt: number
}

/** For a new person, all deliveries. */
export async function listQueued(
  store: Store,
  app: AppRow,
  { contactId, eventId, created }: RecordedEvent,
): Promise<QueuedMessage[]> {
  const found = await listDeliveries(store, { app, contactId, messageId: null, limit: MAX_QUEUED })
  const own = found.filter((delivery) => created || delivery.eventId === eventId)
  return nameMessages(store, { app, own, isCause: () => true })
}

export async function listQueuedByContact(
  store: Store,
  app: AppRow,
  { saved: { contactId, created, contact }, tagsBefore }: { saved: SavedContact; tagsBefore: string[] },
): Promise<QueuedMessage[]> {
  const added = contact.tags?.filter((tag) => !tagsBefore.includes(tag)) ?? []
  if (!created && added.length === 0) return []
  const found = await listDeliveries(store, { app, contactId, messageId: null, limit: MAX_QUEUED })
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

/** `contactId` null: the person would be created. */
type Person = { contactId: number | null; at: number }
type ByEvent = Person & { input: Pick<EventFields, 'event' | 'properties' | 'occurredAt'> }
type ByContact = Person & { addedTags: string[] }

/**
 * For an event at `at` (ms UTC): matching live messages whose frequency allows it. Emails that the event would cancel
 * still count as waiting.
 */
export const listWouldQueue = (store: Store, app: AppRow, wanted: ByEvent): Promise<QueuePreview> =>
  previewQueue(store, { ...wanted, app }, (content) => findCause(content, wanted))

export const listWouldQueueByContact = async (
  store: Store,
  app: AppRow,
  wanted: ByContact,
): Promise<QueuedMessage[]> => {
  const { queued } = await previewQueue(store, { ...wanted, app }, ({ trigger }) => {
    const isMade = 'contact' in trigger && wanted.contactId === null
    const isTagged = 'tag' in trigger && wanted.addedTags.includes(trigger.tag)
    return isMade || isTagged ? { occurredAt: wanted.at, properties: null } : null
  })
  return queued
}

/** `unstarted`: live and paused messages that match but start nothing. */
type QueuePreview = { queued: QueuedMessage[]; unstarted: Unstarted[] }

type Cause = { occurredAt: number; properties: string | null }

async function previewQueue(
  store: Store,
  { app, contactId, at }: Person & { app: AppRow },
  findCauseOf: (content: MessageContent) => Cause | null,
): Promise<QueuePreview> {
  const timezone = readTimezone((await store.mailSettings(app.id)).timezone)
  const preview: QueuePreview = { queued: [], unstarted: [] }
  for (const message of await store.listMessages(app.id)) {
    const { id, name, status, content } = message
    const isStarting = status === 'live' || (status === 'paused' && 'event' in content.trigger)
    const cause = isStarting ? findCauseOf(content) : null
    if (cause === null) continue
    const deliveries =
      contactId === null ? [] : await listDeliveries(store, { app, contactId, messageId: id, limit: MAX_DELIVERIES })
    const came = { ...cause, at, isEvent: 'event' in content.trigger }
    const start = decideStart(content, readStart({ message, deliveries, timezone }, came))
    if (status === 'paused' && !(start.outcome === 'none' && start.reason === 'too_old')) {
      preview.unstarted.push({ message: { id, name }, why: IS_PAUSED })
      continue
    }
    if (start.outcome !== 'none') {
      const { dueAt } = start
      const state = start.outcome === 'join' ? 'joined' : 'waiting'
      preview.queued.push({ message: { id, name }, deliveryId: null, state, dueAt })
      continue
    }
    const row = { id: Number.MAX_SAFE_INTEGER, receivedAt: at, ...cause }
    const why = start.reason === 'too_old' ? TOO_OLD : (describeUse(row, { message, deliveries, zone: timezone }) ?? '')
    preview.unstarted.push({ message: { id, name }, why })
  }
  return preview
}

function findCause({ trigger }: MessageContent, { contactId, input, at }: ByEvent): Cause | null {
  const occurredAt = input.occurredAt ?? at
  if ('contact' in trigger) return contactId === null ? { occurredAt: at, properties: null } : null
  if (!('event' in trigger) || trigger.event !== input.event) return null
  const { properties } = input
  return allHold(trigger.where ?? [], parseProperties(properties)) ? { occurredAt, properties } : null
}

const listDeliveries = (
  store: Store,
  { app, ...of }: { app: AppRow; contactId: number; messageId: number | null; limit: number },
): Promise<DeliveryRow[]> => store.listDeliveries({ ...of, appId: app.id, states: null, before: null })

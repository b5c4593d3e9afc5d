/** What an event queues, or would queue: for whoever sends one and wants to know what follows (mcp.md, Tools). */
import { allHold, parseProperties } from '../store/conditions.ts'
import { isTimezone } from '../store/local-time.ts'
import type { DeliveryRow, DeliveryState, MessageRow } from '../store/message-types.ts'
import { onceKeyOf, TRIGGER_AGE_MS, whenDue } from '../store/triggers.ts'
import type { Store } from '../store/store.ts'
import type { RecordedEvent } from '../store/types.ts'
import type { AppRow } from './access.ts'
import type { EventFields } from './event-input.ts'

const HOUR_MS = 3_600_000
/** More than the messages that one event can reach, and than the deliveries that one person has of a message. */
const MOST_DELIVERIES = 100

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
  const found = await listDeliveries(store, { app, contactId, messageId: null })
  const own = found.filter((delivery) => created || delivery.eventId === eventId)
  if (own.length === 0) return []
  const messages = await store.listMessages(app.id)
  return own.flatMap(({ id, messageId, state, dueAt }) => {
    const message = messages.find((one) => one.id === messageId)
    return message ? [{ message: { id: message.id, name: message.name }, deliveryId: id, state, dueAt }] : []
  })
}

/** `contactId` null: the person would be made. */
type Wanted = { contactId: number | null; input: Pick<EventFields, 'event' | 'properties' | 'occurredAt'>; at: number }

/**
 * What the store would queue for an event that came at `at` (ms UTC): the live messages that it triggers, but for those
 * that the person has had, or that are on their way (messages.md; triggers.ts decides when it is recorded).
 */
export async function listWouldQueue(
  store: Store,
  app: AppRow,
  { contactId, input, at }: Wanted,
): Promise<QueuedMessage[]> {
  const { timezone } = await store.mailSettings(app.id)
  const zone = timezone !== null && isTimezone(timezone) ? timezone : 'UTC'
  const occurredAt = input.occurredAt ?? at
  const found: QueuedMessage[] = []
  for (const message of await store.listMessages(app.id)) {
    const cause = findCause(message, { contactId, input, at, occurredAt })
    if (cause === null) continue
    const dueAt = Math.max(at, whenDue(message.content.wait, cause.occurredAt, zone))
    const { id, name } = message
    const before = contactId === null ? [] : await listDeliveries(store, { app, contactId, messageId: id })
    if (isFree(message, before, { dueAt, properties: cause.properties })) {
      found.push({ message: { id, name }, deliveryId: null, state: 'waiting', dueAt })
    }
  }
  return found
}

type Cause = { occurredAt: number; properties: Record<string, unknown> }

/** Why a message would be queued: the event, or the person that it makes; null where it would not. */
function findCause(
  { status, content }: MessageRow,
  { contactId, input, at, occurredAt }: Wanted & { occurredAt: number },
): Cause | null {
  const { trigger } = content
  if (status !== 'live') return null
  if ('contact' in trigger) return contactId === null ? { occurredAt: at, properties: {} } : null
  if (!('event' in trigger) || trigger.event !== input.event || occurredAt < at - TRIGGER_AGE_MS) return null
  const properties = parseProperties(input.properties)
  return allHold(trigger.where ?? [], properties) ? { occurredAt, properties } : null
}

/** Whether the person may get a message once more, after what they have had of it. */
function isFree(
  { content: { again } }: MessageRow,
  before: DeliveryRow[],
  { dueAt, properties }: { dueAt: number; properties: Record<string, unknown> },
): boolean {
  const used = before.filter(({ handedAt, state }) => handedAt !== null || (state !== 'skipped' && state !== 'failed'))
  const key = onceKeyOf(again, () => properties)
  if (used.some(({ onceKey }) => onceKey === key)) return false
  if (again === undefined || !('everyHours' in again)) return true
  const lastAt = Math.max(...used.map(({ handedAt }) => handedAt ?? 0))
  return dueAt >= lastAt + again.everyHours * HOUR_MS
}

const listDeliveries = (
  store: Store,
  { app, ...of }: { app: AppRow; contactId: number; messageId: number | null },
): Promise<DeliveryRow[]> =>
  store.listDeliveries({ ...of, appId: app.id, states: null, before: null, limit: MOST_DELIVERIES })

import type { DeliveryRow, DeliveryState, MessageRow, Trigger } from '../store/message-types.ts'
import type { Store } from '../store/store.ts'
import type { ContactRow, ContactWrite, RecordedEvent, SavedContact } from '../store/types.ts'
import { dueByDate, isDateTrigger } from './schedules.ts'
import type { AppRow } from '../accounts/access.ts'

/** One write's deliveries are among the person's newest. */
const MAX_QUEUED = 200

/**
 * `deliveryId` null: it would be queued, or will be when the person's date is due. `dueAt`: when the rules are decided,
 * or the date is due (ms UTC).
 */
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
  const found = await listNewest(store, app, contactId)
  return nameMessages(store, app, found.filter((delivery) => created || delivery.eventId === eventId).map(toQueued))
}

export async function listQueuedByContact(
  store: Store,
  app: AppRow,
  { saved: { contactId, created, contact }, tagsBefore, fields }: SavedWrite,
): Promise<QueuedMessage[]> {
  const scheduled = await listScheduled(store, app, { contact, fields })
  const added = contact.tags?.filter((tag) => !tagsBefore.includes(tag)) ?? []
  if (!created && added.length === 0) return scheduled
  const found = await listNewest(store, app, contactId)
  const isOwn = ({ eventId, triggeredAt }: DeliveryRow) => eventId === null && triggeredAt === contact.updatedAt
  const isCause = (trigger: Trigger) => created || ('tag' in trigger && added.includes(trigger.tag))
  return [
    ...(await nameMessages(store, app, (created ? found : found.filter(isOwn)).map(toQueued), isCause)),
    ...scheduled,
  ]
}

/** `fields`: those that were sent. */
type SavedWrite = { saved: SavedContact; tagsBefore: string[]; fields: ContactWrite['fields'] }

/** Live messages that a date in the sent fields triggers later. */
export async function listScheduled(
  store: Store,
  { id: appId, timezone }: AppRow,
  { contact, fields }: { contact: Pick<ContactRow, 'fields' | 'updatedAt'>; fields: ContactWrite['fields'] },
): Promise<QueuedMessage[]> {
  const sent = Object.keys(fields ?? {})
  if (sent.length === 0) return []
  return (await store.listMessages(appId)).flatMap(({ id, name, status, content: { trigger } }) => {
    if (status !== 'live' || !isDateTrigger(trigger) || !sent.includes(trigger.date)) return []
    const dueAt = dueByDate(trigger, contact.fields ?? {}, timezone)
    const isAhead = dueAt !== null && dueAt > contact.updatedAt
    return isAhead ? [{ message: { id, name }, deliveryId: null, state: 'waiting' as const, dueAt }] : []
  })
}

const toQueued = ({ id, messageId, state, dueAt }: DeliveryRow) => ({ messageId, deliveryId: id, state, dueAt })

type Unnamed = Omit<QueuedMessage, 'message'> & { messageId: number }

export async function nameMessages(
  store: Store,
  app: AppRow,
  own: readonly Unnamed[],
  isCause: (trigger: Trigger) => boolean = () => true,
): Promise<QueuedMessage[]> {
  if (own.length === 0) return []
  const messages = (await store.listMessages(app.id)).filter(({ content }) => isCause(content.trigger))
  return own.flatMap(({ messageId, ...queued }) => {
    const message = messages.find(({ id }) => id === messageId)
    return message ? [{ message: { id: message.id, name: message.name }, ...queued }] : []
  })
}

const listNewest = (store: Store, app: AppRow, contactId: number): Promise<DeliveryRow[]> =>
  store.listDeliveries({ appId: app.id, contactId, messageId: null, limit: MAX_QUEUED, states: null, before: null })

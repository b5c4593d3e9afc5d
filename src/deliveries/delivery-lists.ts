import type { Clock } from '../core/clock.ts'
import type { Mailer } from '../messages/mailer.ts'
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryWork,
  type JoinedEvent,
  type MessageRow,
  type SuppressionReason,
} from '../store/message-types.ts'
import type { StoredContact, AppRow, EventRow, Refused } from '../store/types.ts'
import type { Store } from '../store/store.ts'
import { refusedBy } from './decide.ts'
import { isResendable, isResent } from './ends.ts'
import { explainMessageFor, type MessageExplanation } from './message-explanations.ts'
import type { ContactRow } from '../people/contacts.ts'
import { explainDelivery, type Explanation, toExplained } from './explanations.ts'
import { findUnconfirmed, mayHaveArrivedTwice } from './deliveries.ts'
import { type Refusal, refuse } from '../core/refusals.ts'

export { DELIVERY_STATES, findUnconfirmed, isResent, mayHaveArrivedTwice }
export type { DeliveryRow, DeliveryState, DeliveryWork, Explanation, JoinedEvent, MessageExplanation, MessageRow }

export type DeliveryFilter = {
  messageId: number | null
  states: readonly DeliveryState[] | null
  before: number | null
  limit: number
}

export type ListedDelivery = {
  work: Pick<DeliveryWork, 'delivery' | 'message' | 'lead' | 'app'> & { contact: StoredContact }
  explained: Explanation
}

export type ShownDelivery = { work: DeliveryWork; explained: Explanation }

/** `unwanted`: why nothing may be sent to the person now; null: it may. */
export type FoundDelivery = ShownDelivery & { unwanted: SuppressionReason | null }

const toShown = (work: DeliveryWork): ShownDelivery => ({ work, explained: explainDelivery(toExplained(work)) })

/** Newest first; `next` is the next page's `before`, null at the end. */
export async function listDeliveries(
  store: Store,
  app: AppRow,
  { limit, ...filter }: DeliveryFilter,
): Promise<{ deliveries: ListedDelivery[]; next: number | null }> {
  const rows = await store.listDeliveries({ ...filter, appId: app.id, contactId: null, limit: limit + 1 })
  const next = rows.length > limit ? (rows[limit - 1]?.id ?? null) : null
  return { deliveries: await describeDeliveries(store, app, rows.slice(0, limit)), next }
}

/** Skips rows whose person was erased. */
export async function describeDeliveries(store: Store, app: AppRow, rows: DeliveryRow[]): Promise<ListedDelivery[]> {
  if (rows.length === 0) return []
  const leadIds = rows.flatMap(({ joinedTo }) => joinedTo ?? [])
  const [contacts, versions, leads] = await Promise.all([
    store.listContactsById([...new Set(rows.map(({ contactId }) => contactId))]),
    store.listVersionsById(rows),
    store.listDeliveriesById([...new Set(leadIds)]),
  ])
  const contactOf = new Map(contacts.map((contact) => [contact.id, contact]))
  const messageOf = new Map(versions.map((message) => [`${message.id} ${message.version}`, message]))
  const leadOf = new Map(leads.map((lead) => [lead.id, lead]))
  return rows.flatMap((delivery) => {
    const contact = contactOf.get(delivery.contactId)
    const message = messageOf.get(`${delivery.messageId} ${delivery.version}`)
    if (!contact || !message) return []
    const lead = delivery.joinedTo === null ? null : (leadOf.get(delivery.joinedTo) ?? null)
    const work = { delivery, contact, message, lead, app }
    return [{ work, explained: explainDelivery(toExplained(work)) }]
  })
}

export async function listFollowing(
  store: Store,
  app: AppRow,
  { id, contactId }: Pick<EventRow, 'id' | 'contactId'>,
): Promise<ListedDelivery[]> {
  return describeDeliveries(store, app, await store.listDeliveriesOfEvent({ appId: app.id, contactId, eventId: id }))
}

export async function findDelivery(store: Store, app: AppRow, id: number): Promise<FoundDelivery | null> {
  const work = await store.findWork(id)
  if (work?.app.id !== app.id) return null
  const unwanted = refusedBy(work, await store.findSuppression(app.id, work.contact.email))
  return { ...toShown(work), unwanted }
}

export async function explainPerson(store: Store, person: ContactRow): Promise<MessageExplanation[]> {
  const messages = await store.listMessages(person.appId)
  return Promise.all(messages.map((message) => explainMessageFor(store, person, message)))
}

/**
 * Manual resend: checks suppression only. Refusals: delivery_not_found, delivery_in_use, message_on_its_way,
 * unavailable; for captured emails also no_mail_server and mail_server_unreadable.
 */
export async function resendDelivery(
  { store, clock, mailer }: { store: Store; clock: Clock } & { mailer: Mailer },
  app: AppRow,
  { id, actor }: { id: number; actor: string },
): Promise<{ done: true } | Refused | Refusal> {
  const work = await store.findWork(id)
  if (work?.app.id === app.id && work.delivery.state === 'kept') {
    const { server, isUnreadable } = mailer.findMailRoute(work.settings)
    if (server === null) return refuse(isUnreadable ? 'mail_server_unreadable' : 'no_mail_server')
  }
  return store.resendDelivery({ appId: app.id, id, at: clock.now(), by: { accountId: app.accountId, actor } })
}

type Leaving = { isCapturing: boolean; isUnreadable: boolean }

/** Not when sending or done; captured emails only when a mail server works. */
export const mayResend = ({ state }: DeliveryRow, { isCapturing, isUnreadable }: Leaving): boolean =>
  state === 'kept' ? !isCapturing && !isUnreadable : isResendable(state)

export async function isCapturing({ store, mailer }: { store: Store; mailer: Mailer }, app: AppRow): Promise<boolean> {
  const { server, isUnreadable } = mailer.findMailRoute(await store.mailSettings(app.id))
  return server === null && !isUnreadable
}

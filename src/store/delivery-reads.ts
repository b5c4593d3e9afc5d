import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, inArray, lt, max, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { createAccountReads } from './account-reads.ts'
import { createContactReads } from './contact-reads.ts'
import { createDeliveryQueue } from './delivery-queue.ts'
import { createEventReads } from './event-reads.ts'
import { createMessageReads } from './message-reads.ts'
import {
  DELIVERY_STATES,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryWork,
  type SuppressionReason,
} from './message-types.ts'
import { capturedMails, deliveries, suppressions } from './schema.ts'
import { createSuppressionList, type Suppressed } from './suppression-list.ts'

export type DeliveryQuery = {
  appId: number
  messageId: number | null
  contactId: number | null
  /** null = every state */
  states: readonly DeliveryState[] | null
  /** a delivery's id; the page holds what came before it */
  before: number | null
  limit: number
}

/** States of what was handed to a mail server, or may have been. */
const REACHED = ['handed', 'sent', 'unknown', 'bounced', 'complained'] as const

/** Reads of deliveries, newest first. */
export function createDeliveryReads(db: Database) {
  const orm = drizzle(db)
  const [contacts, events] = [createContactReads(db), createEventReads(db)]
  const list = createSuppressionList(db)
  const queue = createDeliveryQueue(db)
  const [messages, accounts] = [createMessageReads(db), createAccountReads(db)]
  const { id, appId, contactId, messageId, state, handedAt } = deliveries

  /** Of one state: the indexes hold each state by itself, in the order of ids. */
  const page = (query: DeliveryQuery, one: DeliveryState): DeliveryRow[] =>
    orm
      .select()
      .from(deliveries)
      .where(
        and(
          // `+` keeps the app out of the choice of an index
          sql`+${appId} = ${query.appId}`,
          query.contactId === null ? undefined : eq(contactId, query.contactId),
          query.messageId === null
            ? undefined
            : query.contactId === null
              ? eq(messageId, query.messageId)
              : sql`+${messageId} = ${query.messageId}`,
          eq(state, one),
          query.before === null ? undefined : lt(id, query.before),
        ),
      )
      .orderBy(desc(id))
      .limit(query.limit)
      .all()

  /** An app has few messages, and each has its deliveries side by side. */
  const splitByMessage = (query: DeliveryQuery): DeliveryQuery[] =>
    query.messageId === null && query.contactId === null
      ? messages.listMessages(query.appId).map((message) => ({ ...query, messageId: message.id }))
      : [query]

  const one = orm
    .select()
    .from(deliveries)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  const handedSince = orm
    .select({ at: handedAt })
    .from(deliveries)
    .where(
      and(eq(contactId, sql.placeholder('contactId')), inArray(state, REACHED), gt(handedAt, sql.placeholder('since'))),
    )
    .prepare()

  return {
    nextDueAt: queue.nextDueAt,

    listDeliveries(query: DeliveryQuery): DeliveryRow[] {
      const states = query.states ?? DELIVERY_STATES
      return splitByMessage(query)
        .flatMap((part) => states.flatMap((state) => page(part, state)))
        .sort((a, b) => b.id - a.id)
        .slice(0, query.limit)
    },

    /** A delivery with all that judging and rendering it takes; null also when its person is gone. */
    findWork(deliveryId: number): DeliveryWork | null {
      const delivery = one.get({ id: deliveryId })
      if (!delivery) return null
      const message = messages.findVersion(delivery.messageId, delivery.version)
      const contact = contacts.byId(delivery.contactId)
      const app = accounts.findApp(delivery.appId)
      if (!message || !contact || !app) return null
      const event = delivery.eventId === null ? null : events.findEvent(delivery.eventId)
      return { delivery, message, contact, event, app, settings: messages.mailSettings(app.id) }
    },

    /** When a person was sent mails after `since` (ms UTC), the latest first. */
    listHanded: (contact: number, since: number): number[] =>
      handedSince
        .all({ contactId: contact, since })
        .map(({ at }) => at ?? 0)
        .sort((a, b) => b - a),

    /** When a person was last sent a message (ms UTC). */
    lastHandedAt: (contact: number, message: number): number | null =>
      orm
        .select({ at: max(handedAt) })
        .from(deliveries)
        .where(and(eq(contactId, contact), inArray(state, REACHED), sql`+${messageId} = ${message}`))
        .get()?.at ?? null,

    /** Why an address (normalised) is not written to, or null. */
    findSuppression: (app: number, email: string): SuppressionReason | null => list.find(app, email),

    /** Newest first. */
    listSuppressions: (app: number, limit: number): Suppressed[] =>
      orm
        .select({ emailHash: suppressions.emailHash, reason: suppressions.reason, createdAt: suppressions.createdAt })
        .from(suppressions)
        .where(eq(suppressions.appId, app))
        .orderBy(desc(suppressions.createdAt))
        .limit(limit)
        .all(),

    /** A mail that the capture provider kept. */
    findCaptured: (app: number, deliveryId: number): { raw: string; createdAt: number } | null =>
      orm
        .select({ raw: capturedMails.raw, createdAt: capturedMails.createdAt })
        .from(capturedMails)
        .where(and(eq(capturedMails.deliveryId, deliveryId), eq(capturedMails.appId, app)))
        .get() ?? null,

    /** Newest first; `before` is a delivery's id. */
    listCaptured: (app: number, before: number | null, limit: number): { deliveryId: number; createdAt: number }[] =>
      orm
        .select({ deliveryId: capturedMails.deliveryId, createdAt: capturedMails.createdAt })
        .from(capturedMails)
        .where(and(eq(capturedMails.appId, app), before === null ? undefined : lt(capturedMails.deliveryId, before)))
        .orderBy(desc(capturedMails.deliveryId))
        .limit(limit)
        .all(),
  }
}

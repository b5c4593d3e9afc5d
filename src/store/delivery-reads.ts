import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, inArray, isNull, lt, max, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { createAccountReads } from './account-reads.ts'
import { createContactReads } from './contact-reads.ts'
import { createDeliveryQueue } from './delivery-queue.ts'
import { HAS_MOVED, IS_ENDED, IS_WAITING, USES_ONCE_UP } from './delivery-states.ts'
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

const orNone = (condition: SQL | null | undefined): SQL | undefined => condition ?? undefined

/** Reads of deliveries, newest first. */
export function createDeliveryReads(db: Database) {
  const orm = drizzle(db)
  const [contacts, events] = [createContactReads(db), createEventReads(db)]
  const list = createSuppressionList(db)
  const queue = createDeliveryQueue(db)
  const [messages, accounts] = [createMessageReads(db), createAccountReads(db)]
  const { id, appId, contactId, messageId, state, handedAt } = deliveries

  const page = ({ appId: app, before, limit }: DeliveryQuery, ...where: (SQL | undefined)[]): DeliveryRow[] =>
    orm
      .select()
      .from(deliveries)
      .where(and(...where, sql`+${appId} = ${app}`, before === null ? undefined : lt(id, before)))
      .orderBy(desc(id))
      .limit(limit)
      .all()

  /** What one person has is little, and sorted when it is asked for. */
  const pagesOfPerson = (query: DeliveryQuery, person: number): DeliveryRow[][] => {
    const { appId: app, messageId: message, states } = query
    const further = [message === null ? undefined : sql`+${messageId} = ${message}`, states && inArray(state, states)]
    const used = page(query, eq(appId, app), eq(contactId, person), sql.raw(USES_ONCE_UP), ...further.map(orNone))
    const ended = page(query, eq(contactId, person), sql.raw(IS_ENDED), isNull(handedAt), ...further.map(orNone))
    return [used, ended]
  }

  /** Of a message or all of an app. Its index holds each state by itself, in the order of ids. */
  const pagesOfMessages = (query: DeliveryQuery): DeliveryRow[][] => {
    const { appId: app, messageId: message, states } = query
    const asked = states ?? DELIVERY_STATES
    const ids = message === null ? messages.listMessages(app).map((row) => row.id) : [message]
    const moved = ids.flatMap((one) =>
      asked
        .filter((state) => state !== 'waiting')
        .map((state) => page(query, eq(messageId, one), eq(deliveries.state, state), sql.raw(HAS_MOVED))),
    )
    if (!asked.includes('waiting')) return moved
    const ofMessage = message === null ? undefined : eq(messageId, message)
    return [...moved, page(query, eq(appId, app), sql.raw(IS_WAITING), eq(state, 'waiting'), ofMessage)]
  }

  const one = orm
    .select()
    .from(deliveries)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  const handedSince = orm
    .select({ at: handedAt })
    .from(deliveries)
    .where(
      and(
        eq(appId, sql.placeholder('appId')),
        eq(contactId, sql.placeholder('contactId')),
        sql.raw(USES_ONCE_UP),
        inArray(state, REACHED),
        gt(handedAt, sql.placeholder('since')),
      ),
    )
    .prepare()

  return {
    nextDueAt: queue.nextDueAt,

    listDeliveries(query: DeliveryQuery): DeliveryRow[] {
      const pages = query.contactId === null ? pagesOfMessages(query) : pagesOfPerson(query, query.contactId)
      return pages
        .flat()
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
      const event = delivery.eventId === null ? null : events.findEvent(delivery.appId, delivery.eventId)
      return { delivery, message, contact, event, app, settings: messages.mailSettings(app.id) }
    },

    /** When a person was sent mails after `since` (ms UTC), the latest first. */
    listHanded: (app: number, contact: number, since: number): number[] =>
      handedSince
        .all({ appId: app, contactId: contact, since })
        .map(({ at }) => at ?? 0)
        .sort((a, b) => b - a),

    /** When a person was last sent a message (ms UTC). */
    lastHandedAt: ({ appId: app, contactId: contact, messageId: message }: DeliveryRow): number | null =>
      orm
        .select({ at: max(handedAt) })
        .from(deliveries)
        .where(
          and(
            eq(appId, app),
            eq(contactId, contact),
            eq(messageId, message),
            sql.raw(USES_ONCE_UP),
            inArray(state, REACHED),
          ),
        )
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

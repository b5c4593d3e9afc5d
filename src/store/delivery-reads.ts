import type { Database } from 'bun:sqlite'
import { and, desc, eq, gt, inArray, lt, max, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { APP_FIELDS, toApp } from './account-reads.ts'
import { createDeliveryPages, type DeliveryQuery, type EventOfPerson } from './delivery-pages.ts'
import { createDeliveryQueue } from './delivery-queue.ts'
import { USES_ONCE_UP } from './delivery-states.ts'
import { toEventRow } from './event-reads.ts'
import { toMailSettings, toMessageRow } from './message-reads.ts'
import {
  type CapturedMail,
  type DeliveryRow,
  type DeliveryWork,
  type FoundCapture,
  type JoinedEvent,
  type ListedCapture,
  LISTED_EVENTS,
  type SuppressionReason,
} from './message-types.ts'
import type { Sealer } from './engine/sealing.ts'
import {
  appMailSettings,
  apps,
  capturedMails,
  contacts,
  deliveries,
  eventNames,
  events,
  messages,
  messageVersions,
  suppressions,
} from './schema.ts'
import { createSuppressionList, type Suppressed } from './suppression-list.ts'

/** States of what was handed to a mail server, or may have been; what is kept instead counts as it would have. */
const REACHED = ['handed', 'sent', 'kept', 'unknown', 'bounced', 'complained'] as const

function contentOf({ from, to, subject, html, text }: typeof capturedMails.$inferSelect): CapturedMail | null {
  const isComplete = from !== null && to !== null && subject !== null && html !== null && text !== null
  return isComplete ? { from, to, subject, html, text } : null
}

/** Of whom and of what a delivery is. */
type DeliveryKey = Pick<DeliveryRow, 'appId' | 'contactId' | 'messageId'>

/** Reads of deliveries, newest first. */
export function createDeliveryReads(db: Database, sealer: Sealer) {
  const orm = drizzle(db)
  const list = createSuppressionList(db)
  const [queue, pages] = [createDeliveryQueue(db), createDeliveryPages(db)]
  const { id, appId, contactId, messageId, eventId, state, triggeredAt, handedAt } = deliveries

  const one = orm
    .select()
    .from(deliveries)
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  const many = orm
    .select()
    .from(deliveries)
    .where(sql`${id} IN (SELECT value FROM json_each(${sql.placeholder('ids')}))`)
    .orderBy(desc(id))
    .prepare()
  const listById = (ids: number[]): DeliveryRow[] => (ids.length === 0 ? [] : many.all({ ids: JSON.stringify(ids) }))
  const handedSince = orm
    .select({ at: handedAt })
    .from(deliveries)
    .innerJoin(
      messageVersions,
      and(eq(messageVersions.messageId, messageId), eq(messageVersions.version, deliveries.version)),
    )
    .where(
      and(
        eq(appId, sql.placeholder('appId')),
        eq(contactId, sql.placeholder('contactId')),
        sql.raw(USES_ONCE_UP),
        inArray(state, REACHED),
        gt(handedAt, sql.placeholder('since')),
        sql`ifnull(json_extract(${messageVersions.content}, '$.mail.category'), '') <> 'transactional'`,
      ),
    )
    .prepare()
  const lastHanded = orm
    .select({ at: max(handedAt) })
    .from(deliveries)
    .where(
      and(
        eq(appId, sql.placeholder('appId')),
        eq(contactId, sql.placeholder('contactId')),
        eq(messageId, sql.placeholder('messageId')),
        sql.raw(USES_ONCE_UP),
        inArray(state, REACHED),
      ),
    )
    .prepare()

  // one statement an email: each is read several times on its way
  const work = orm
    .select({
      ...APP_FIELDS,
      delivery: deliveries,
      contact: contacts,
      message: messages,
      content: messageVersions.content,
      settings: appMailSettings,
      event: events,
      name: eventNames.name,
    })
    .from(deliveries)
    .innerJoin(contacts, eq(contacts.id, contactId))
    .innerJoin(messages, eq(messages.id, messageId))
    .innerJoin(
      messageVersions,
      and(eq(messageVersions.messageId, messageId), eq(messageVersions.version, deliveries.version)),
    )
    .innerJoin(apps, eq(apps.id, appId))
    .leftJoin(appMailSettings, eq(appMailSettings.appId, appId))
    .leftJoin(events, and(eq(events.id, eventId), sql`+${events.appId} = ${appId}`))
    .leftJoin(eventNames, eq(eventNames.id, events.nameId))
    .where(eq(id, sql.placeholder('id')))
    .prepare()
  const joinedTo = orm
    .select({ id, triggeredAt, event: events, email: contacts.email, name: eventNames.name })
    .from(deliveries)
    .innerJoin(events, eq(events.id, eventId))
    .innerJoin(contacts, eq(contacts.id, events.contactId))
    .innerJoin(eventNames, eq(eventNames.id, events.nameId))
    .where(and(eq(deliveries.joinedTo, sql.placeholder('id')), eq(state, 'joined')))
    .orderBy(triggeredAt, id)
    .limit(LISTED_EVENTS - 1)
    .prepare()
  const listJoined = (lead: DeliveryRow): JoinedEvent[] =>
    joinedTo.all({ id: lead.id }).map((row) => ({ id: row.id, triggeredAt: row.triggeredAt, event: toEventRow(row) }))

  return {
    listDueApps: queue.listDueApps,

    listDeliveries: (query: DeliveryQuery): DeliveryRow[] => listById(pages.listIds(query)),
    listDeliveriesOfEvent: (event: EventOfPerson): DeliveryRow[] => listById(pages.listIdsOfEvent(event)),
    listDeliveriesById: listById,

    /** A delivery with all that deciding about it and rendering it takes; null also when its person is gone. */
    findWork(deliveryId: number): DeliveryWork | null {
      const found = work.get({ id: deliveryId })
      if (!found) return null
      const { delivery, contact, content, event, name } = found
      const { again } = content
      return {
        delivery,
        contact,
        message: { ...toMessageRow(found), version: delivery.version },
        event: event && name !== null ? toEventRow({ event, name, email: contact.email }) : null,
        joined: again !== undefined && 'collect' in again ? listJoined(delivery) : [],
        lead: delivery.joinedTo === null ? null : (one.get({ id: delivery.joinedTo }) ?? null),
        app: toApp(found),
        settings: toMailSettings(sealer, delivery.appId, found.settings),
      }
    },

    /** When a person was sent lifecycle emails after `since` (ms UTC), newest first: transactional ones have no limit. */
    listHanded: (app: number, contact: number, since: number): number[] =>
      handedSince
        .all({ appId: app, contactId: contact, since })
        .map(({ at }) => at ?? 0)
        .sort((a, b) => b - a),

    /** When a person was last sent a message (ms UTC). */
    lastHandedAt: ({ appId: app, contactId: contact, messageId: message }: DeliveryKey): number | null =>
      lastHanded.get({ appId: app, contactId: contact, messageId: message })?.at ?? null,

    /** Why an address (normalised) is not written to, or null. */
    findSuppression: (app: number, email: string): SuppressionReason | null => list.find(app, email),

    /** Newest first; `before` is the last line of the page before. */
    listSuppressions: (app: number, before: Pick<Suppressed, 'emailHash' | 'createdAt'> | null, limit: number) =>
      orm
        .select({ emailHash: suppressions.emailHash, reason: suppressions.reason, createdAt: suppressions.createdAt })
        .from(suppressions)
        .where(
          and(
            eq(suppressions.appId, app),
            before === null
              ? undefined
              : sql`(${suppressions.createdAt}, ${suppressions.emailHash}) < (${before.createdAt}, ${before.emailHash})`,
          ),
        )
        .orderBy(desc(suppressions.createdAt), desc(suppressions.emailHash))
        .limit(limit)
        .all() satisfies Suppressed[],

    /** A mail that the capture provider kept. */
    findCaptured(app: number, deliveryId: number): FoundCapture | null {
      const row = orm
        .select()
        .from(capturedMails)
        .where(and(eq(capturedMails.deliveryId, deliveryId), eq(capturedMails.appId, app)))
        .get()
      return row ? { raw: row.raw, createdAt: row.createdAt, content: contentOf(row) } : null
    },

    /** Newest first; `before` is a delivery's id. */
    listCaptured: (app: number, before: number | null, limit: number): ListedCapture[] =>
      orm
        .select({
          deliveryId: capturedMails.deliveryId,
          createdAt: capturedMails.createdAt,
          to: capturedMails.to,
          subject: capturedMails.subject,
        })
        .from(capturedMails)
        .where(and(eq(capturedMails.appId, app), before === null ? undefined : lt(capturedMails.deliveryId, before)))
        .orderBy(desc(capturedMails.deliveryId))
        .limit(limit)
        .all(),
  }
}

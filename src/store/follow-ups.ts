import type { Sql } from './engine/sql.ts'
import { createTurns } from '../core/in-order.ts'
import type { DeliveryRules } from './delivery-rules.ts'
import type { LiveMessages } from './live-messages.ts'
import type { StartMessages } from './start-writes.ts'

type Sent = { appId: number; messageId: number }
type Followed = {
  email: string
  eventId: number | null
  properties: string | null
  handedAt: number
  byHand: number
  record: string | null
}

type Parts = {
  db: Sql
  live: Pick<LiveMessages, 'of'>
  start: StartMessages
  rules: Pick<DeliveryRules, 'isFirstSend'>
}

/** Starts the messages that an email triggers, once it was sent, captured, or handed over with an unknown outcome. */
export type FollowUps = ReturnType<typeof createFollowUps>

export function createFollowUps({ db, live, start, rules }: Parts) {
  const followed = db.prepare<Followed, [number]>(
    `SELECT contacts.email, event_id AS "eventId", events.properties, handed_at AS "handedAt", by_hand AS "byHand", record
     FROM deliveries JOIN contacts ON contacts.id = deliveries.contact_id LEFT JOIN events ON events.id = event_id
     WHERE deliveries.id = ? AND handed_at IS NOT NULL`,
  )
  // emails may end beside each other, but only one batch is planned at a time
  const startInTurn = createTurns(start)
  return async (deliveryId: number, { appId, messageId }: Sent, at: number): Promise<void> => {
    const messages = (await live.of(appId)).byMessage.get(messageId)
    if (messages === undefined) return
    const email = await followed.get(deliveryId)
    if (!email || !rules.isFirstSend({ byHand: email.byHand === 1, record: email.record })) return
    const { eventId, properties, handedAt: occurredAt } = email
    const person = { appId, email: email.email, at, idempotency: null }
    await startInTurn([{ ...person, messages, trigger: String(deliveryId), eventId, properties, occurredAt }])
  }
}

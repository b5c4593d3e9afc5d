import type { Database } from 'bun:sqlite'
import type { EmailOutcome } from './message-results.ts'
import { type DeliveryState, type MessageCounts, NO_COUNTS } from './message-types.ts'

type StateCount = { messageId: number; state: DeliveryState; n: number }
type Reached = { messageId: number } & Record<'cameBack' | 'opened' | 'reachedGoal' | 'heldBack', number | null>

const IS_SENT = `outcome = 'sent'`

export function createDeliveryCounts(db: Database) {
  const any = db.prepare('SELECT 1 FROM deliveries WHERE message_id = ? LIMIT 1')
  const prepare = (where: string) => ({
    states: db.prepare<StateCount, [number]>(
      `SELECT message_id AS messageId, state, count(*) AS n FROM deliveries WHERE ${where} GROUP BY message_id, state`,
    ),
    reached: db.prepare<Reached, [number]>(
      `SELECT message_id AS messageId, sum(came_back) FILTER (WHERE ${IS_SENT}) AS cameBack,
         sum(opened) FILTER (WHERE ${IS_SENT}) AS opened, sum(reached_goal) FILTER (WHERE ${IS_SENT}) AS reachedGoal,
         sum(emails) FILTER (WHERE outcome = 'heldBack') AS heldBack
       FROM message_days WHERE ${where} AND outcome IN ('sent', 'heldBack') AND emails > 0 GROUP BY message_id`,
    ),
  })
  const [ofMessage, ofApp] = ['message_id = ?', 'message_id IN (SELECT id FROM messages WHERE app_id = ?)'].map(prepare)

  const emails = db.prepare<{ outcome: EmailOutcome; n: number }, [number]>(
    'SELECT outcome, sum(emails) AS n FROM message_days WHERE message_id = ? AND emails > 0 GROUP BY outcome',
  )

  const count = (queries: ReturnType<typeof prepare> | undefined, id: number): Map<number, MessageCounts> => {
    const counts = new Map<number, MessageCounts>()
    const add = (messageId: number, found: Partial<MessageCounts>): void =>
      void counts.set(messageId, { ...(counts.get(messageId) ?? NO_COUNTS), ...found })
    for (const { messageId, state, n } of queries?.states.all(id) ?? []) add(messageId, { [state]: n })
    for (const { messageId, cameBack, opened, reachedGoal, heldBack } of queries?.reached.all(id) ?? []) {
      const known = { cameBack: cameBack ?? 0, opened: opened ?? 0, reachedGoal: reachedGoal ?? 0 }
      add(messageId, { ...known, heldBack: heldBack ?? 0 })
    }
    return counts
  }

  return {
    hasDeliveries: (messageId: number): boolean => any.get(messageId) !== null,

    countDeliveries: (messageId: number): MessageCounts => count(ofMessage, messageId).get(messageId) ?? NO_COUNTS,

    /**
     * Without events that joined an email. What waits or was sent counts as `waiting` or `sent`, whatever its state
     * (measured with a million deliveries: 0.4 ms; `countDeliveries`: 70 ms).
     */
    countEmails: (messageId: number): MessageCounts => ({
      ...NO_COUNTS,
      ...Object.fromEntries(emails.all(messageId).map(({ outcome, n }) => [outcome, n])),
    }),

    /** All messages of an app (measured: a million deliveries of 200 messages in 0.1 s). */
    countAllDeliveries: (appId: number): { messageId: number; counts: MessageCounts }[] =>
      Array.from(count(ofApp, appId), ([messageId, counts]) => ({ messageId, counts })),
  }
}

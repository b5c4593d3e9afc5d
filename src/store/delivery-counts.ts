import type { Database } from 'bun:sqlite'
import { type DeliveryState, type MessageCounts, NO_COUNTS } from './message-types.ts'

type Count = { messageId: number; n: number }
type StateCount = Count & { state: DeliveryState }

export function createDeliveryCounts(db: Database) {
  const any = db.prepare('SELECT 1 FROM deliveries WHERE message_id = ? LIMIT 1')
  const states = (where: string) =>
    db.prepare<StateCount, [number]>(
      `SELECT message_id AS messageId, state, count(*) AS n FROM deliveries WHERE ${where} GROUP BY message_id, state`,
    )
  const reached = (where: string, column: 'came_back_at' | 'opened_at') =>
    db.prepare<Count, [number]>(
      `SELECT message_id AS messageId, count(*) AS n FROM deliveries WHERE ${where} AND ${column} IS NOT NULL
       GROUP BY message_id`,
    )
  const prepare = (where: string) => ({
    states: states(where),
    cameBack: reached(where, 'came_back_at'),
    opened: reached(where, 'opened_at'),
  })
  const [ofMessage, ofApp] = ['message_id = ?', 'message_id IN (SELECT id FROM messages WHERE app_id = ?)'].map(prepare)

  const count = (queries: ReturnType<typeof prepare> | undefined, id: number): Map<number, MessageCounts> => {
    const counts = new Map<number, MessageCounts>()
    const add = (messageId: number, name: keyof MessageCounts, n: number): void => {
      counts.set(messageId, { ...(counts.get(messageId) ?? NO_COUNTS), [name]: n })
    }
    for (const { messageId, state, n } of queries?.states.all(id) ?? []) add(messageId, state, n)
    for (const { messageId, n } of queries?.cameBack.all(id) ?? []) add(messageId, 'cameBack', n)
    for (const { messageId, n } of queries?.opened.all(id) ?? []) add(messageId, 'opened', n)
    return counts
  }

  return {
    hasDeliveries: (messageId: number): boolean => any.get(messageId) !== null,

    countDeliveries: (messageId: number): MessageCounts => count(ofMessage, messageId).get(messageId) ?? NO_COUNTS,

    /** All messages of an app (measured: a million deliveries of 200 messages in 0.1 s). */
    countAllDeliveries: (appId: number): { messageId: number; counts: MessageCounts }[] =>
      Array.from(count(ofApp, appId), ([messageId, counts]) => ({ messageId, counts })),
  }
}

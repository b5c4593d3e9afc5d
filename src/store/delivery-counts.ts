import type { Dialect, Sql } from './engine/sql.ts'
import type { EmailOutcome } from './message-results.ts'
import { type DeliveryState, type MessageCounts, NO_COUNTS } from './message-types.ts'

type StateCount = { messageId: number; state: DeliveryState; n: number }
type Reached = Record<'cameBack' | 'opened' | 'reachedGoal' | 'heldBack', number | null>

type OutcomeCount = { messageId: number; outcome: EmailOutcome; n: number } & Record<
  'cameBack' | 'opened' | 'reachedGoal',
  number
>

/** A JSON list. */
const areAsked = ({ isOneOf }: Dialect): string => isOneOf('messages.id')

const IS_SENT = `outcome = 'sent'`

/** Sent emails that somebody has to look at: few, so they are counted one by one. */
const AMISS = `'unknown', 'bounced', 'complained'`

export function createDeliveryCounts(db: Sql) {
  const { dialect } = db
  const isAsked = areAsked(dialect)
  const any = db.prepare('SELECT 1 FROM deliveries WHERE message_id = ? LIMIT 1')
  const states = db.prepare<StateCount, [number]>(
    'SELECT message_id AS "messageId", state, count(*) AS n FROM deliveries WHERE message_id = ? GROUP BY message_id, state',
  )
  const reached = db.prepare<Reached, [number]>(
    `SELECT CAST(sum(came_back) FILTER (WHERE ${IS_SENT}) AS bigint) AS "cameBack",
       CAST(sum(opened) FILTER (WHERE ${IS_SENT}) AS bigint) AS opened,
       CAST(sum(reached_goal) FILTER (WHERE ${IS_SENT}) AS bigint) AS "reachedGoal",
       CAST(sum(emails) FILTER (WHERE outcome = 'heldBack') AS bigint) AS "heldBack"
     FROM message_days WHERE message_id = ? AND outcome IN ('sent', 'heldBack') AND emails > 0`,
  )
  const emails = db.prepare<{ outcome: EmailOutcome; n: number }, [number]>(
    'SELECT outcome, CAST(sum(emails) AS bigint) AS n FROM message_days WHERE message_id = ? AND emails > 0 GROUP BY outcome',
  )
  // the order of both tables keeps each message on the primary key of its counts
  const ofMessages = db.prepare<OutcomeCount, [string]>(
    `SELECT message_id AS "messageId", outcome, CAST(sum(emails) AS bigint) AS n, CAST(sum(came_back) AS bigint) AS "cameBack",
       CAST(sum(opened) AS bigint) AS opened, CAST(sum(reached_goal) AS bigint) AS "reachedGoal"
     FROM messages ${dialect.joinParts('message_days', 'message_id = messages.id')} WHERE ${isAsked}
     GROUP BY message_id, outcome HAVING sum(emails) > 0`,
  )
  // by the index alone, so events that joined such an email count too
  const amissOfMessages = db.prepare<StateCount, [string]>(
    `SELECT message_id AS "messageId", state, count(*) AS n
     FROM messages ${dialect.crossJoin} deliveries ON message_id = messages.id AND state IN (${AMISS})
     WHERE ${isAsked} GROUP BY message_id, state`,
  )

  return {
    hasDeliveries: async (messageId: number): Promise<boolean> => (await any.get(messageId)) !== null,

    async countDeliveries(messageId: number): Promise<MessageCounts> {
      const counts = { ...NO_COUNTS }
      for (const { state, n } of await states.all(messageId)) counts[state] = n
      const { cameBack = 0, opened = 0, reachedGoal = 0, heldBack = 0 } = (await reached.get(messageId)) ?? {}
      const after = { cameBack: cameBack ?? 0, opened: opened ?? 0, reachedGoal: reachedGoal ?? 0 }
      return { ...counts, ...after, heldBack: heldBack ?? 0 }
    },

    /**
     * Without events that joined an email. What waits or was sent counts as `waiting` or `sent`, whatever its state
     * (measured with a million deliveries: 0.4 ms; `countDeliveries`: 70 ms).
     */
    countEmails: async (messageId: number): Promise<MessageCounts> => ({
      ...NO_COUNTS,
      ...Object.fromEntries((await emails.all(messageId)).map(({ outcome, n }) => [outcome, n])),
    }),

    /** Of several messages, like `countEmails`, but with the states of sent emails that need attention. */
    async countEmailsOf(messageIds: readonly number[]): Promise<{ messageId: number; counts: MessageCounts }[]> {
      const all = new Map<number, MessageCounts>()
      const ids = JSON.stringify(messageIds)
      for (const { messageId, outcome, n, ...after } of await ofMessages.all(ids)) {
        const counts = all.get(messageId) ?? { ...NO_COUNTS }
        all.set(messageId, { ...counts, [outcome]: n, ...(outcome === 'sent' ? after : {}) })
      }
      for (const { messageId, state, n } of await amissOfMessages.all(ids)) {
        const counts = all.get(messageId)
        if (counts) all.set(messageId, { ...counts, [state]: n, sent: Math.max(0, counts.sent - n) })
      }
      return Array.from(all, ([messageId, counts]) => ({ messageId, counts }))
    },
  }
}

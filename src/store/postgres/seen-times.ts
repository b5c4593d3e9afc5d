import type { Sql } from '../engine/sql.ts'
import { createExpiredActivity } from '../retention.ts'
import { listTime, RECENT_EVENTS, type Times, timesOf, type WithTimes } from '../timeline/seen-times.ts'
import { EVENT_TYPES, type EventType, type StoredContact } from '../types.ts'

type Found = Times & { contactId: number }

/** When people were seen, from the first and last of their events: a statement for all people of a page. */
export function createPostgresSeenTimes(db: Sql) {
  const expiredActivity = createExpiredActivity(db)
  const ofType = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Found, [string]>(
      `SELECT people.value AS "contactId", received_at AS "receivedAt", occurred_at AS "occurredAt"
       FROM ${db.dialect.numbersOf('?', 'people')} CROSS JOIN LATERAL
         (SELECT id, received_at, occurred_at FROM events
          WHERE contact_id = people.value AND type = ${EVENT_TYPES.indexOf(type)}
          ORDER BY id ${order} LIMIT ${RECENT_EVENTS}) AS seen
       ORDER BY seen.id ${order}`,
    )
  const statements = [ofType('page', 'ASC'), ofType('page', 'DESC'), ofType('event', 'DESC')] as const

  return async (rows: StoredContact[]): Promise<WithTimes[]> => {
    if (rows.length === 0) return []
    const ids = rows.map(({ id }) => id)
    const expired = await expiredActivity.list(ids)
    const read = async (statement: (typeof statements)[number]) => {
      const byPerson = Map.groupBy(await statement.all(JSON.stringify(ids)), ({ contactId }) => contactId)
      return (id: number): number[] => timesOf(byPerson.get(id) ?? [])
    }
    const [firstViews, lastViews, lastEvents] = [
      await read(statements[0]),
      await read(statements[1]),
      await read(statements[2]),
    ]
    return rows.map((row) => {
      const { firstViewAt, lastViewAt, lastEventAt } = expired.get(row.id) ?? {}
      return {
        row,
        seen: {
          firstViews: [...listTime(firstViewAt), ...firstViews(row.id)],
          lastViews: [...listTime(lastViewAt), ...lastViews(row.id)],
          lastEvents: [...listTime(lastEventAt), ...lastEvents(row.id)],
        },
      }
    })
  }
}

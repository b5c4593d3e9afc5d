/** When people were seen, from the first and last of their events. */
import type { Sql } from '../engine/sql.ts'
import { mapInOrder } from '../../core/in-order.ts'
import { createExpiredActivity } from '../retention.ts'
import { EVENT_TYPES, type EventType, type SeenTimes, type StoredContact } from '../types.ts'
import { INDEXED_UNTIL, MERGED_UNTIL, WAITING_RUNS } from './timeline-reads.ts'

/** Events may arrive out of order, so the first or last 16 to arrive decide when a person was seen. */
export const RECENT_EVENTS = 16

export type WithTimes = { row: StoredContact; seen: SeenTimes }

export function createSeenTimes(db: Sql) {
  const ofType = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Times, [number]>(
      // twice as fast as a join (measured)
      `SELECT received_at AS "receivedAt", occurred_at AS "occurredAt" FROM events WHERE id IN
         (SELECT id FROM timeline
          WHERE contact_id = ? AND type = ${EVENT_TYPES.indexOf(type)} AND id <= ${MERGED_UNTIL}
          ORDER BY id ${order} LIMIT ${RECENT_EVENTS}) ORDER BY id ${order}`,
    )
  const ofRuns = (type: EventType, order: 'ASC' | 'DESC') =>
    db.prepare<Times, [number]>(
      `SELECT received_at AS "receivedAt", occurred_at AS "occurredAt" FROM events WHERE id IN
         (SELECT run_rows.id FROM ${WAITING_RUNS} AND contact_id = ? AND type = ${EVENT_TYPES.indexOf(type)}
          ORDER BY last ${order}, id ${order} LIMIT ${RECENT_EVENTS}) ORDER BY id ${order}`,
    )
  const hasRuns = db.prepare('SELECT 1 FROM timeline_runs LIMIT 1')
  const expiredActivity = createExpiredActivity(db)
  const [lastEvents, lastViews, firstViews] = [ofType('event', 'DESC'), ofType('page', 'DESC'), ofType('page', 'ASC')]
  const [lastEventsOfRuns, lastViewsOfRuns, firstViewsOfRuns] = [
    ofRuns('event', 'DESC'),
    ofRuns('page', 'DESC'),
    ofRuns('page', 'ASC'),
  ]
  const unindexed = db.prepare<Times & { contactId: number; type: number }, [string]>(
    `SELECT contact_id AS "contactId", type, received_at AS "receivedAt", occurred_at AS "occurredAt" FROM events
     WHERE id > ${INDEXED_UNTIL} AND contact_id IN (SELECT value FROM json_each(?)) ORDER BY id`,
  )

  /**
   * Seen times come from the ends of indexes, so that writing an event costs nothing extra. Unindexed events are read
   * once for all rows.
   */
  return async (rows: StoredContact[]): Promise<WithTimes[]> => {
    const all = await unindexed.all(JSON.stringify(rows.map((row) => row.id)))
    const unindexedByContact = Map.groupBy(all, ({ contactId }) => contactId)
    const runsExist = (await hasRuns.get()) !== null
    const expired = await expiredActivity.list(rows.map((row) => row.id))
    return await mapInOrder(rows, async (row) => {
      const unindexedTimes = (type: EventType): number[] =>
        timesOf(unindexedByContact.get(row.id)?.filter((event) => event.type === EVENT_TYPES.indexOf(type)) ?? [])
      const timesInRuns = async (times: typeof lastEventsOfRuns): Promise<Times[]> =>
        runsExist ? await times.all(row.id) : []
      const { firstViewAt, lastViewAt, lastEventAt } = expired.get(row.id) ?? {}
      const indexed = {
        firstViews: [
          ...listTime(firstViewAt),
          ...timesOf([...(await firstViews.all(row.id)), ...(await timesInRuns(firstViewsOfRuns))]),
        ],
        lastViews: [
          ...listTime(lastViewAt),
          ...timesOf([...(await timesInRuns(lastViewsOfRuns)), ...(await lastViews.all(row.id))]),
        ],
        lastEvents: [
          ...listTime(lastEventAt),
          ...timesOf([...(await timesInRuns(lastEventsOfRuns)), ...(await lastEvents.all(row.id))]),
        ],
      }
      const seen = addTimes(indexed, { views: unindexedTimes('page'), events: unindexedTimes('event') })
      return { row, seen }
    })
  }
}

export type Times = { receivedAt: number; occurredAt: number | null }

export const timesOf = (rows: Times[]): number[] => rows.map(({ receivedAt, occurredAt }) => occurredAt ?? receivedAt)

export const listTime = (at: number | null | undefined): number[] => (typeof at === 'number' ? [at] : [])

/** With events that arrived later, in their order. */
export const addTimes = (seen: SeenTimes, { views, events }: { views: number[]; events: number[] }): SeenTimes => {
  const newest = (later: number[], earlier: number[]): number[] =>
    [...later.slice(-RECENT_EVENTS).reverse(), ...earlier].slice(0, RECENT_EVENTS)
  return {
    firstViews: [...seen.firstViews, ...views].slice(0, RECENT_EVENTS),
    lastViews: newest(views, seen.lastViews),
    lastEvents: newest(events, seen.lastEvents),
  }
}

export const seenAt = ({ firstViews, lastViews, lastEvents }: SeenTimes) => ({
  firstSeenAt: pickTime(Math.min, firstViews),
  lastSeenAt: pickTime(Math.max, lastViews),
  lastEventAt: pickTime(Math.max, lastEvents),
})

const pickTime = (pick: (...times: number[]) => number, times: number[]): number | null =>
  times.length === 0 ? null : pick(...times)

/** Deliveries for results, as the store has them. */
import { idAt } from '../../../src/core/ids.ts'
import { createComparing } from '../../../src/store/compared-people.ts'
import type { DeliveryState } from '../../../src/store/message-types.ts'
import { withSql } from '../../data-folder.ts'

export type ResultRow = { state: DeliveryState; reason?: string; daysAgo?: number } & Partial<
  Record<'cameBack' | 'opened' | 'goal' | 'heldBack' | 'isCapturing', boolean>
>

let last = 0

/** `contactIds`: of people in the store; without them, every delivery is for another person who is not in it. */
type Adding = { appId: number; messageId: number; at: number; count: number; contactIds?: number[] | null }

/** One for each person. */
export async function addDeliveries(
  folder: string,
  { appId, messageId, at, count, contactIds = null }: Adding,
  row: ResultRow,
): Promise<void> {
  const atIf = (is: boolean | undefined): number | null => (is ? at : null)
  const isSent = row.state === 'sent'
  const ends = [row.state, row.reason ?? null, atIf(isSent), atIf(row.heldBack)]
  const reached = [atIf(row.cameBack), atIf(row.opened), atIf(row.goal)]
  const isCompared = isSent || row.state === 'failed' || row.heldBack === true
  if (count === 0) return
  const [first, end] = [idAt(at) + last + 1, idAt(at) + last + count]
  last += count
  await withSql(folder, async (sql) => {
    const insert = sql.prepare(
      `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, triggered_at, planned_at, due_at, updated_at,
         once_key, state, attempt, resent, by_hand)
       WITH RECURSIVE numbers (n) AS (SELECT CAST(?1 AS bigint) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
       SELECT n, ?3, COALESCE(CAST(?6 AS bigint), n), ?4, 1, ?5, ?5, ?5, ?5, '', 'waiting', 1, 0, 0 FROM numbers`,
    )
    if (contactIds === null) await insert.run(first, end, appId, messageId, at, null)
    else
      for (const [index, contactId] of contactIds.entries())
        await insert.run(first + index, first + index, appId, messageId, at, contactId)
    await sql
      .prepare(
        `UPDATE deliveries SET state = ?, reason = ?, handed_at = ?, held_back_at = ?, came_back_at = ?, opened_at = ?,
           goal_at = ? WHERE id BETWEEN ? AND ?`,
      )
      .run(...ends, ...reached, first, end)
    if (!isCompared) return
    const comparing = createComparing(sql)
    for (let id = first; id <= end; id += 1)
      await comparing.compare(id, { at, isHeldBack: row.heldBack === true, isCapturing: row.isCapturing })
    await sql
      .prepare(
        'UPDATE compared_people SET came_back_at = ?, opened_at = ?, goal_at = ? WHERE delivery_id BETWEEN ? AND ?',
      )
      .run(...reached, first, end)
  })
}

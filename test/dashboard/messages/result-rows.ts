/** Deliveries for results, as the store has them. */
import { createSqliteSql } from '../../../src/store/engine/sqlite-sql.ts'
import type { Database } from 'bun:sqlite'
import { idAt } from '../../../src/core/ids.ts'
import { createComparing } from '../../../src/store/compared-people.ts'
import type { DeliveryState } from '../../../src/store/message-types.ts'

export type ResultRow = { state: DeliveryState; reason?: string; daysAgo?: number } & Partial<
  Record<'cameBack' | 'opened' | 'goal' | 'heldBack' | 'isCapturing', boolean>
>

let last = 0

type Adding = { appId: number; messageId: number; at: number; count: number }

/** One for each new person. */
export async function addDeliveries(
  db: Database,
  { appId, messageId, at, count }: Adding,
  row: ResultRow,
): Promise<void> {
  const atIf = (is: boolean | undefined): number | null => (is ? at : null)
  const isSent = row.state === 'sent'
  const ends = [row.state, row.reason ?? null, atIf(isSent), atIf(row.heldBack)]
  const reached = [atIf(row.cameBack), atIf(row.opened), atIf(row.goal)]
  const isCompared = isSent || row.state === 'failed' || row.heldBack === true
  for (let index = 0; index < count; index += 1) {
    last += 1
    const id = idAt(at) + last
    db.run(
      `INSERT INTO deliveries (id, app_id, contact_id, message_id, version, triggered_at, planned_at, due_at, updated_at,
         once_key, state, attempt, resent, by_hand)
       VALUES (?1, ?2, ?1, ?3, 1, ?4, ?4, ?4, ?4, '', 'waiting', 1, 0, 0)`,
      [id, appId, messageId, at],
    )
    db.run(
      `UPDATE deliveries SET state = ?, reason = ?, handed_at = ?, held_back_at = ?, came_back_at = ?, opened_at = ?,
         goal_at = ? WHERE id = ?`,
      [...ends, ...reached, id],
    )
    if (!isCompared) continue
    await createComparing(createSqliteSql(db)).compare(id, {
      at,
      isHeldBack: row.heldBack === true,
      isCapturing: row.isCapturing,
    })
    db.run('UPDATE compared_people SET came_back_at = ?, opened_at = ?, goal_at = ? WHERE delivery_id = ?', [
      ...reached,
      id,
    ])
  }
}

import type { Sql } from './engine/sql.ts'

export type Comparisons = ReturnType<typeof createComparing>

/** `isCapturing`: the app has no mail server or no sender address, so neither group is emailed. */
type Comparing = { at: number; isHeldBack: boolean; isCapturing?: boolean }

const ofPerson = (table: string): string =>
  `SELECT 1 FROM ${table} AS known
   WHERE known.contact_id = deliveries.contact_id AND known.message_id = deliveries.message_id`

/**
 * Puts the person of a delivery into one of the message's groups, or leaves them out for good. Later decisions of the
 * message change nothing.
 */
export function createComparing(db: Sql) {
  const add = db.prepare(
    `INSERT INTO compared_people (app_id, delivery_id, contact_id, message_id, is_held_back, is_first, decided_at)
     SELECT app_id, id, contact_id, message_id, ?2,
       CASE WHEN EXISTS (SELECT 1 FROM compared_people AS others WHERE others.contact_id = deliveries.contact_id)
         THEN 0 ELSE 1 END, ?3
     FROM deliveries WHERE id = ?1 AND NOT EXISTS (${ofPerson('uncompared_people')}) ON CONFLICT DO NOTHING`,
  )
  const leaveOut = db.prepare(
    `INSERT INTO uncompared_people (app_id, contact_id, message_id)
     SELECT app_id, contact_id, message_id FROM deliveries
     WHERE id = ? AND NOT EXISTS (${ofPerson('compared_people')}) ON CONFLICT DO NOTHING`,
  )
  const pass = db.prepare('UPDATE compared_people SET delivery_id = ?2 WHERE delivery_id = ?1')
  return {
    async compare(deliveryId: number, { at, isHeldBack, isCapturing = false }: Comparing): Promise<void> {
      if (isCapturing) await leaveOut.run(deliveryId)
      else await add.run(deliveryId, Number(isHeldBack), at)
    },
    /** Another delivery takes over the email. */
    passOn: async (deliveryId: number, heirId: number): Promise<void> => void (await pass.run(deliveryId, heirId)),
  }
}

type Decided = { id: number; eventId: number | null; decidedAt: number } & Record<
  'cameBackAt' | 'openedAt',
  number | null
>
type WithoutGoal = { id: number; messageId: number; version: number; decidedAt: number }

/** What people did since it was decided whether they are emailed. `id`: of the delivery. */
export function createComparedReads(db: Sql) {
  const returns = db.prepare<Decided, [number, number]>(
    `SELECT delivery_id AS id, event_id AS "eventId", decided_at AS "decidedAt", compared_people.came_back_at AS "cameBackAt",
       compared_people.opened_at AS "openedAt"
     FROM compared_people JOIN deliveries ON deliveries.id = delivery_id
     WHERE compared_people.contact_id = ? AND decided_at >= ?
       AND (compared_people.came_back_at IS NULL OR compared_people.opened_at IS NULL)`,
  )
  const goals = db.prepare<WithoutGoal, [number, number]>(
    `SELECT delivery_id AS id, compared_people.message_id AS "messageId", version, decided_at AS "decidedAt"
     FROM compared_people JOIN deliveries ON deliveries.id = delivery_id
     WHERE compared_people.contact_id = ? AND decided_at >= ? AND compared_people.goal_at IS NULL`,
  )
  return {
    listWithoutReturn: async (contactId: number, since: number): Promise<Decided[]> =>
      await returns.all(contactId, since),
    listWithoutGoal: async (contactId: number, since: number): Promise<WithoutGoal[]> =>
      await goals.all(contactId, since),
  }
}

export function createComparedWrites(db: Sql) {
  const noteReturn = db.prepare(
    `UPDATE compared_people SET came_back_at = coalesce(came_back_at, ?), opened_at = coalesce(opened_at, ?)
     WHERE delivery_id = ?`,
  )
  const noteGoal = db.prepare('UPDATE compared_people SET goal_at = coalesce(goal_at, ?) WHERE delivery_id = ?')
  return {
    noteReturn: async (id: number, at: number, isResult: boolean): Promise<void> =>
      void (await noteReturn.run(at, isResult ? at : null, id)),
    noteGoal: async (id: number, at: number): Promise<void> => void (await noteGoal.run(at, id)),
  }
}

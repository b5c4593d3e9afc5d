/** What a person's earlier deliveries of a message use up of its frequency: by SQL, and for rows in memory. */
import type { Sql } from './engine/sql.ts'
import { MAY_HAVE_ARRIVED, USES_DEDUPE_KEY, usesDedupeKey } from './delivery-states.ts'
import type { DeliveryRow } from './message-types.ts'

export type MessageOfPerson = { appId: number; contactId: number; messageId: number }

/** `keys`: used deduplication keys. `lastHandedAt`: the last that may have arrived or was held back. */
export type UsedFacts = { keys: Set<string>; count: number; lastHandedAt: number | null }

/** Parameters: the app, the person and the message. */
export const IS_OF_MESSAGE = `app_id = ? AND contact_id = ? AND message_id = ? AND ${USES_DEDUPE_KEY}`

const NO_DELIVERY = 0

export function createMessageUses(db: Sql) {
  const key = db.prepare<object, [number, number, number, string]>(
    `SELECT 1 FROM deliveries WHERE ${IS_OF_MESSAGE} AND once_key = ?`,
  )
  const keys = db.prepare<{ key: string }, [number, number, number]>(
    `SELECT once_key AS key FROM deliveries WHERE ${IS_OF_MESSAGE} AND once_key IS NOT NULL`,
  )
  const count = db.prepare<{ count: number }, [number, number, number]>(
    `SELECT count(*) AS count FROM deliveries WHERE ${IS_OF_MESSAGE}`,
  )
  const lastHanded = db.prepare<{ at: number | null }, number[]>(
    `SELECT max(coalesce(handed_at, held_back_at)) AS at FROM deliveries
     WHERE ${IS_OF_MESSAGE} AND (${MAY_HAVE_ARRIVED} OR held_back_at IS NOT NULL)`,
  )
  return {
    isKeyUsed: async ({ appId, contactId, messageId }: MessageOfPerson, dedupeKey: string): Promise<boolean> =>
      (await key.get(appId, contactId, messageId, dedupeKey)) !== null,
    listKeys: async ({ appId, contactId, messageId }: MessageOfPerson): Promise<string[]> =>
      (await keys.all(appId, contactId, messageId)).map(({ key: one }) => one),
    countUses: async ({ appId, contactId, messageId }: MessageOfPerson): Promise<number> =>
      (await count.get(appId, contactId, messageId))?.count ?? 0,
    /** `id`: an email that doesn't count, because it is being decided. */
    lastHandedAt: async ({ appId, contactId, messageId, id = NO_DELIVERY }: MessageOfPerson & { id?: number }) =>
      (await lastHanded.get(appId, contactId, messageId, id, id))?.at ?? null,
  }
}

type Use = Pick<DeliveryRow, 'state' | 'handedAt' | 'heldBackAt' | 'dedupeKey'>

/** The same for deliveries of one message to one person. */
export function usesOf(deliveries: readonly Use[]): UsedFacts {
  const uses = deliveries.filter(usesDedupeKey)
  const handed = uses.flatMap(({ handedAt, heldBackAt }) => handedAt ?? heldBackAt ?? [])
  return {
    keys: new Set(uses.flatMap(({ dedupeKey }) => dedupeKey ?? [])),
    count: uses.length,
    lastHandedAt: handed.length === 0 ? null : Math.max(...handed),
  }
}

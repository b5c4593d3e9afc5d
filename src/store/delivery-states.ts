import type { DeliveryRow, DeliveryState } from './message-types.ts'

/**
 * Conditions of the partial indexes of deliveries. Queries must repeat them exactly to use an index
 * (https://sqlite.org/partialindex.html). A queued delivery is in three of the five indexes, because the cost of an
 * event is mostly the pages it touches (measured: 3 us of processor time per index).
 */

export const IS_WAITING = `state IN ('waiting', 'deferred')`
export const IS_CLAIMED = `state IN ('claimed', 'handed')`
export const USES_DEDUPE_KEY = `(handed_at IS NOT NULL OR held_back_at IS NOT NULL OR state NOT IN ('skipped', 'failed'))`
/** That no other delivery of the message to the person uses this key (SQL), for an UPDATE of deliveries. */
export const isKeyFree = (key: string): string => `NOT EXISTS (
  SELECT 1 FROM deliveries AS other WHERE other.app_id = deliveries.app_id AND other.contact_id = deliveries.contact_id
    AND other.message_id = deliveries.message_id AND other.once_key = ${key} AND ${USES_DEDUPE_KEY}
    AND other.id <> deliveries.id)`
type Using = Pick<DeliveryRow, 'handedAt' | 'heldBackAt' | 'state'>
export const usesDedupeKey = ({ handedAt, heldBackAt, state }: Using): boolean =>
  handedAt !== null || heldBackAt !== null || !IS_OVER.has(state)
const IS_OVER: ReadonlySet<DeliveryState> = new Set(['skipped', 'failed'])
/**
 * Handed over or captured, and not refused: the person may have it, whatever happened since. Its events have the same
 * time. `?` is the email being decided, whose own earlier attempt doesn't count.
 */
export const MAY_HAVE_ARRIVED = `handed_at IS NOT NULL AND deliveries.id <> ? AND joined_to IS DISTINCT FROM ?`
/** Further events may join: waiting, not handed over, and not resent by a member. */
export const TAKES_EVENTS = `state IN ('waiting', 'deferred') AND handed_at IS NULL AND by_hand = 0`
export const takesEvents = ({ state, handedAt, byHand }: Pick<DeliveryRow, 'state' | 'handedAt' | 'byHand'>): boolean =>
  (state === 'waiting' || state === 'deferred') && handedAt === null && !byHand
export const WAITS_FOR_LIMIT = `state = 'deferred' AND reason IN ('perDay', 'perWeek')`
/** Sent, whatever was reported of it since, and no event that joined another email. */
export const WAS_SENT = `state IN ('sent', 'unknown', 'bounced', 'complained') AND handed_at IS NOT NULL AND joined_to IS NULL`
/** Sent or captured, or handed over with an unknown outcome, which triggers other messages. */
export const HAS_FOLLOWED = `state IN ('sent', 'kept', 'unknown', 'bounced', 'complained') AND handed_at IS NOT NULL AND joined_to IS NULL`
export const IS_ENDED = `state IN ('skipped', 'failed')`

/** The time-based deduplication key of an email whose outcome is unknown yet. */
export const TIMED_KEY = 'timed'

/** The reason of emails that were waiting in a backup and may have been sent since by the old server. */
export const RESTORED = 'restored'
/** When it was handed over. A restored email only has the time at which it may have been. */
export const handOverOf = ({ reason, handedAt }: Pick<DeliveryRow, 'reason' | 'handedAt'>): number | null =>
  reason === RESTORED ? null : handedAt

/** The reason of an email that waits because a page was open and nothing shows yet whether its person left. */
export const UNSURE = 'unsure'

/** `first`: emails that come before others if they are due, of apps that are not skipped. */
export type DueQuery = { now: number; most: number; skipApps: readonly number[]; first?: readonly number[] }

export type DueEmail = { id: number; dueAt: number; app: number }

/** Each email once, in the order of their claims. */
export function orderDue(first: readonly DueEmail[], others: readonly DueEmail[]): DueEmail[] {
  const ids = new Set(first.map(({ id }) => id))
  return [...first, ...others.filter(({ id }) => !ids.has(id)).sort((a, b) => a.dueAt - b.dueAt)]
}

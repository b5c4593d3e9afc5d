import type { DeliveryRow, DeliveryState } from './message-types.ts'

/**
 * The words of the partial indexes of deliveries: a query must repeat them to use one. A delivery that is only queued is
 * in three indexes and not in five, for most of what an event costs is how many pages it touches (measured: 3 us of
 * processor time for each index).
 */

/** Waits for its time. */
export const IS_WAITING = `state IN ('waiting', 'deferred')`
/**
 * Waits because a mail server failed, was left alone, or asked for later: codes of the network are words that begin
 * with e, and so is "error", a fault of ours, for which to be tried early is no harm.
 */
export const WAITS_FOR_SERVER = `state = 'deferred' AND (reason IN ('server_paused', 'unknown') OR reason GLOB 'smtp_*' OR reason GLOB 'e*')`
/** Waits because the address that it comes from was refused, or may not be used. */
export const WAITS_FOR_SENDER = `state = 'deferred' AND (reason GLOB 'sender_*' OR reason GLOB 'from_*')`
/** Is on its way or has been sent. */
export const IS_NOT_DONE = `state NOT IN ('skipped', 'failed')`
/** Someone has it. */
export const IS_CLAIMED = `state IN ('claimed', 'handed')`
/** Uses "once" up: it is on its way, or was handed over. */
export const USES_ONCE_UP = `(handed_at IS NOT NULL OR state NOT IN ('skipped', 'failed'))`
/** The same of one that was read. */
export const usesOnceUp = ({ handedAt, state }: Pick<DeliveryRow, 'handedAt' | 'state'>): boolean =>
  handedAt !== null || !IS_OVER.has(state)
const IS_OVER: ReadonlySet<DeliveryState> = new Set(['skipped', 'failed'])
/** Waits, and no mail server may have taken it: further events may join it. What a member sends on goes out as it is. */
export const TAKES_EVENTS = `state IN ('waiting', 'deferred') AND handed_at IS NULL AND by_hand = 0`
/** The same of one that was read. */
export const takesEvents = ({ state, handedAt, byHand }: Pick<DeliveryRow, 'state' | 'handedAt' | 'byHand'>): boolean =>
  (state === 'waiting' || state === 'deferred') && handedAt === null && !byHand
/** Waits because its person had as many emails as their app allows. */
export const WAITS_FOR_LIMIT = `state = 'deferred' AND reason IN ('perDay', 'perWeek')`
/** Gave "once" back, or was handed over and failed. */
export const IS_ENDED = `state IN ('skipped', 'failed')`

/** The key of an email whose "once" is by time, until it is known what became of it. */
export const TIMED_KEY = 'timed'

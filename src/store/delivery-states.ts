/**
 * The words of the partial indexes of deliveries: a query must repeat them to use one. A delivery that is only queued is
 * in two indexes and not in four, for most of what an event costs is how many pages it touches (measured: of 13 % more
 * for two deliveries in ten events, half).
 */

/** Waits for its time. */
export const IS_WAITING = `state IN ('waiting', 'deferred')`
/** Someone has it. */
export const IS_CLAIMED = `state IN ('claimed', 'handed')`
/** Uses "once" up: it is on its way, or was handed over. */
export const USES_ONCE_UP = `(handed_at IS NOT NULL OR state NOT IN ('skipped', 'failed'))`
/** Gave "once" back, or was handed over and failed. */
export const IS_ENDED = `state IN ('skipped', 'failed')`
/** Has moved on from where it was queued. */
export const HAS_MOVED = `state <> 'waiting'`

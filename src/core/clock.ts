/**
 * `now` is the wall clock (ms UTC) for what is stored; intervals run on `monotonicMs`, which nobody can set. `steadyNow`
 * is the wall clock as it was at the start and what has passed since: it tells ages, also over a restart, and a step of
 * the wall clock does not make anything older.
 */
export type Clock = { now(): number; monotonicMs(): number; steadyNow(): number }

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  steadyNow: () => Math.floor(performance.timeOrigin + performance.now()),
}

/**
 * By which what was stored with a wall clock, perhaps another process's, expires: the one of our clocks that is behind.
 * A step forward ends nothing early, and what was stored after a step back is not taken for older than it is.
 */
export const expiryNow = ({ now, steadyNow }: Clock): number => Math.min(now(), steadyNow())

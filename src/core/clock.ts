/**
 * `now`: wall clock (ms UTC) for stored times. `monotonicMs`: for intervals. `steadyNow`: the wall clock at the start
 * plus elapsed time, for ages that survive restarts and clock steps.
 */
export type Clock = { now(): number; monotonicMs(): number; steadyNow(): number }

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  steadyNow: () => Math.floor(performance.timeOrigin + performance.now()),
}

/** For expiry of stored wall-clock times: the slower of our clocks, so that a clock step ends nothing early. */
export const expiryNow = ({ now, steadyNow }: Clock): number => Math.min(now(), steadyNow())

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_HOURS = 24
export const DAY_MS = DAY_HOURS * HOUR_MS

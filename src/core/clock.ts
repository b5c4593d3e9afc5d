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

/** How far a clock may be corrected at once, and how long it must be further ahead to be trusted. */
const CORRECTED_MS = MINUTE_MS
const TRUSTED_AFTER_MS = HOUR_MS

/**
 * The wall clock, except that a jump ahead counts only after an hour: if the clock is then set back, nothing was done too
 * early or given up. Unlike `expiryNow`, it recovers when a host slept or started with an old time.
 */
export function createPatientNow({ now, steadyNow }: Clock): () => number {
  let aheadMs = now() - steadyNow()
  let jumpedAt: number | null = null
  return () => {
    const steady = steadyNow()
    const foundMs = now() - steady
    const isJump = foundMs > aheadMs + CORRECTED_MS
    if (isJump) jumpedAt ??= steady
    if (isJump && jumpedAt !== null && steady - jumpedAt < TRUSTED_AFTER_MS) return steady + aheadMs
    aheadMs = foundMs
    jumpedAt = null
    return steady + aheadMs
  }
}

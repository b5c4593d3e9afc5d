const MOST_INTERVALS = 4

/** Grid lines from 0 to the first one that is at or above the largest value. */
export function gridOf(most: number): number[] {
  const least = Math.max(1, most) / MOST_INTERVALS
  const power = 10 ** Math.floor(Math.log10(least))
  const step = Math.max(1, power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(1, most) / step) + 1 }, (_, index) => index * step)
}

/** Spaces labels evenly so that a day label is included. */
export function pickTicks(ticks: readonly string[], step: number): number[] {
  const day = Math.max(
    0,
    ticks.findIndex((tick) => !tick.includes(':')),
  )
  return ticks.map((_, index) => index).filter((index) => (index - day) % step === 0)
}

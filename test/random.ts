/** The same numbers in the same order for the same seed. */
export type Random = ReturnType<typeof createRandom>

export function createRandom(seed: number) {
  let state = seed >>> 0
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (most: number): number => Math.floor(next() * most)
  return {
    /** From 0 up to 1. */
    next,
    /** A whole number from 0 up to `most`. */
    below,
    between: (from: number, to: number): number => from + next() * (to - from),
    pick: <T>(options: readonly [T, ...T[]]): T => options[below(options.length)] ?? options[0],
    isOften: (share: number): boolean => next() < share,
  }
}

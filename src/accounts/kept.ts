/** Answers of the store that are kept until something changes. */
export type Kept<T> = {
  /** What is kept, without asking; null is known not to exist. */
  get(key: string): T | null | undefined
  /** Asks the store and keeps what there is. */
  load(key: string): Promise<T | null>
  forget(): void
}

/**
 * Keeps at most `most`; beyond it the one that was looked up first is read again. What does not exist is kept apart, up to
 * `mostMissing`, so that names which somebody makes up drive out no real one.
 */
export function createKept<T>(read: (key: string) => Promise<T | null>, most: number, mostMissing = 0): Kept<T> {
  const known = new Map<string, T>()
  const missing = new Map<string, null>()
  let generation = 0
  return {
    get: (key) => known.get(key) ?? missing.get(key),
    async load(key) {
      const before = generation
      const found = await read(key)
      // a change that came while the store was read must not be hidden by what it read
      if (before !== generation) return found
      if (found === null) keep(missing, key, null, mostMissing)
      else keep(known, key, found, most)
      return found
    },
    forget() {
      generation += 1
      known.clear()
      missing.clear()
    },
  }
}

function keep<V>(kept: Map<string, V>, key: string, value: V, most: number): void {
  if (most === 0) return
  if (kept.size >= most) kept.delete(kept.keys().next().value ?? '')
  kept.set(key, value)
}

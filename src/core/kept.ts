/** Answers of the store that are kept until something changes. */
export type Kept<T> = {
  /** What is kept, without asking. */
  get(key: string): T | undefined
  /** Asks the store and keeps what there is; nothing is kept of what does not exist. */
  load(key: string): Promise<T | null>
  forget(): void
}

/** Keeps at most `most`; beyond it the one that was looked up first is read again. */
export function createKept<T>(read: (key: string) => Promise<T | null>, most: number): Kept<T> {
  const known = new Map<string, T>()
  let generation = 0
  return {
    get: (key) => known.get(key),
    async load(key) {
      const before = generation
      const found = await read(key)
      // a change that came while the store was read must not be hidden by what it read
      if (found === null || before !== generation) return found
      if (known.size >= most) known.delete(known.keys().next().value ?? '')
      known.set(key, found)
      return found
    },
    forget() {
      generation += 1
      known.clear()
    },
  }
}

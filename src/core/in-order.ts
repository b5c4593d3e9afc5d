/** One after the other: what is written first is seen by what follows. */
export async function mapInOrder<T, Result>(
  items: Iterable<T>,
  map: (item: T, index: number) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let index = 0
  for (const item of items) {
    results.push(await map(item, index))
    index += 1
  }
  return results
}

/** Runs one call after the other, whether the one before failed or not. */
export function createTurns<Input, Result>(run: (input: Input) => Promise<Result>): (input: Input) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (input) => {
    const turn = last.then(() => run(input))
    last = turn.catch(() => {})
    return turn
  }
}

/** While a call is open, it answers others, too. */
export function createSharedCall<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let open: Promise<Result> | null = null
  return () => {
    open ??= run().finally(() => (open = null))
    return open
  }
}

/**
 * What is loaded when it is first asked for, and then remembered. Calls that come meanwhile share the load; what is dropped
 * meanwhile, or null, is not remembered. Emptied when it has `most`.
 */
export function createLoads<Key, Value extends object>(most: number) {
  const values = new Map<Key, Value>()
  const open = new Map<Key, Promise<Value | null>>()

  const begin = (key: Key, load: () => Promise<Value | null>): Promise<Value | null> => {
    const loading = load()
    open.set(key, loading)
    const end = (value: Value | null): void => {
      if (open.get(key) !== loading) return
      open.delete(key)
      if (value === null) return
      if (values.size >= most) values.clear()
      values.set(key, value)
    }
    loading.then(end, () => end(null))
    return loading
  }

  return {
    /** @throws what `load` throws */
    find: async <Found extends Value | null>(key: Key, load: () => Promise<Found>): Promise<Found> =>
      (values.get(key) ?? (await (open.get(key) ?? begin(key, load)))) as Found,
    /** Only what is remembered. */
    get: (key: Key): Value | undefined => values.get(key),
    drop(key: Key): void {
      values.delete(key)
      open.delete(key)
    },
    clear(): void {
      values.clear()
      open.clear()
    },
  }
}

/** One run at a time. Calls that come meanwhile share the next one, so that each has a run that began after it. */
export function createSharedTurns(run: () => Promise<void>): () => Promise<void> {
  let [running, next]: (Promise<void> | null)[] = [null, null]
  const begin = (): Promise<void> => {
    next = null
    running = run().finally(() => (running = null))
    return running
  }
  return () => (running ? (next ??= running.catch(() => {}).then(() => running ?? begin())) : begin())
}

export async function filterInOrder<T>(items: Iterable<T>, isWanted: (item: T) => Promise<boolean>): Promise<T[]> {
  const found: T[] = []
  for (const item of items) if (await isWanted(item)) found.push(item)
  return found
}

/** Stops at the first one. */
export async function someInOrder<T>(items: Iterable<T>, isWanted: (item: T) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (await isWanted(item)) return true
  return false
}

/** Starts all, in their order, before it waits for any. */
export const mapTogether = <T, Result>(items: Iterable<T>, map: (item: T) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from(items, map))

export async function eachTogether<T>(items: Iterable<T>, run: (item: T) => Promise<void>): Promise<void> {
  const all = Array.from(items, run)
  if (all.length > 0) await Promise.all(all)
}

/** One after the other. Those that may overlap are started without waiting for those before them. */
export async function eachInOrder<T>(
  items: Iterable<T>,
  run: (item: T) => Promise<void>,
  mayOverlap: (item: T) => boolean,
): Promise<void> {
  let open: Promise<void>[] = []
  for (const item of items) {
    if (mayOverlap(item)) open.push(run(item))
    else {
      await Promise.all(open)
      open = []
      await run(item)
    }
  }
  if (open.length > 0) await Promise.all(open)
}

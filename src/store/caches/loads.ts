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

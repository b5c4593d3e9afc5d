import type { Store } from '../store/store.ts'

/** While changes go on, a watcher is told at most so often. */
const REST_MS = 250
/** Each holds a connection (promises 13). */
export const MOST_WATCHERS = 500

export type Watcher = {
  /**
   * Something may have changed: look. It is not called again before it has resolved. It may give the milliseconds after
   * which it wants to look again, though nothing changes.
   */
  onChange(): void | number | Promise<void | number>
  /** The service stops. */
  onEnd(): void
}

/**
 * Tells who watches that something was committed, here or by another process (spec 3.4). A commit does not know whom it
 * concerns: each watcher looks, with a cursor, at one end of an index. When nobody watches, a commit costs a look at an
 * empty set.
 */
export type Feed = ReturnType<typeof createFeed>

export function createFeed({ store }: { store: Pick<Store, 'onCommit' | 'onForeignWrite'> }) {
  const watches = new Map<Watcher, () => void>()
  let hasEnded = false

  const tell = (): void => {
    for (const tellOne of watches.values()) tellOne()
  }
  store.onCommit(tell)
  store.onForeignWrite(tell)

  return {
    /** Begins with a first look. Returns what ends it; null where too many watch already, or the service stops. */
    watch(watcher: Watcher): (() => void) | null {
      if (hasEnded || watches.size >= MOST_WATCHERS) return null
      const tellOne = createTeller(watcher, () => watches.has(watcher))
      watches.set(watcher, tellOne)
      tellOne()
      return () => void watches.delete(watcher)
    },
    /** For what changes without a commit. */
    tell,
    /** Ends all watching, so that no connection holds up the stop of the service (promises 8). */
    end(): void {
      hasEnded = true
      const all = [...watches.keys()]
      watches.clear()
      for (const watcher of all) watcher.onEnd()
    },
  }
}

/** At once where nothing happened for a while, else after a rest: the last change is never left untold. */
function createTeller(watcher: Watcher, isWatched: () => boolean): () => void {
  let isResting = false
  let isDue = false
  const look = async (): Promise<void> => {
    isResting = true
    while (isDue && isWatched()) {
      isDue = false
      const againMs = await watcher.onChange()
      if (typeof againMs === 'number') setTimeout(tell, againMs).unref()
      await Bun.sleep(REST_MS)
    }
    isResting = false
  }
  const giveUp = (error: unknown): void => {
    watcher.onEnd()
    // a bug or a broken disk: it belongs into the log
    throw error
  }
  const tell = (): void => {
    isDue = true
    if (!isResting) void look().catch(giveUp)
  }
  return tell
}

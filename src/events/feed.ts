import type { Store } from '../store/store.ts'

/** While changes go on, a watcher is told at most so often. */
const REST_MS = 250
/** Watchers at once: of a member, of an account, of the installation. Each holds a connection. */
export const MOST_WATCHERS = { member: 10, account: 100, all: 500 } as const

/** Why a watcher ends: the service stops, or a newer one took its place at one of the limits. */
export type WatchEnd = 'stopped' | 'replaced'

export type Watcher = {
  memberId: string
  accountId: string
  /**
   * Something may have changed: look. It is not called again before it has resolved. It may give the milliseconds after
   * which it wants to look again, though nothing changes.
   */
  onChange(): void | number | Promise<void | number>
  onEnd(reason: WatchEnd): void
}

/**
 * Tells who watches that something was committed, here or by another process. A commit does not know whom it
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
  const end = (watcher: Watcher, reason: WatchEnd): void => {
    if (watches.delete(watcher)) watcher.onEnd(reason)
  }
  /** The watcher that gives way to another of this member and account; null while there is room. */
  const findSurplus = ({ memberId, accountId }: Watcher): Watcher | null => {
    const all = [...watches.keys()]
    const ofMember = all.filter((one) => one.memberId === memberId)
    if (ofMember.length >= MOST_WATCHERS.member) return ofMember[0] ?? null
    const ofAccount = all.filter((one) => one.accountId === accountId)
    if (ofAccount.length >= MOST_WATCHERS.account) return ofAccount[0] ?? null
    return all.length >= MOST_WATCHERS.all ? oldestOfLargestAccount(all) : null
  }
  store.onCommit(tell)
  store.onForeignWrite(tell)

  return {
    /**
     * Begins with a first look. At a limit the oldest watcher gives way. Returns what ends the watch; null while the
     * service stops.
     */
    watch(watcher: Watcher): (() => void) | null {
      if (hasEnded) return null
      const surplus = findSurplus(watcher)
      if (surplus) end(surplus, 'replaced')
      const tellOne = createTeller(watcher, () => watches.has(watcher))
      watches.set(watcher, tellOne)
      tellOne()
      return () => void watches.delete(watcher)
    },
    /** For what changes without a commit. */
    tell,
    /** Ends all watching, so that no connection holds up the stop of the service. */
    end(): void {
      hasEnded = true
      for (const watcher of watches.keys()) end(watcher, 'stopped')
    },
  }
}

/** `watchers` are in the order in which they began. */
function oldestOfLargestAccount(watchers: Watcher[]): Watcher | null {
  const accounts = Map.groupBy(watchers, ({ accountId }) => accountId)
  const [largest = []] = [...accounts.values()].toSorted((a, b) => b.length - a.length)
  return largest[0] ?? null
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
    watcher.onEnd('stopped')
    // a bug or a broken disk: it belongs into the log
    throw error
  }
  const tell = (): void => {
    isDue = true
    if (!isResting) void look().catch(giveUp)
  }
  return tell
}

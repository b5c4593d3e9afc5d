import type { Store } from '../store/store.ts'

/** Minimum time between notifications of a watcher, unless it asks for more. */
const REST_MS = 250
/** How late commits of other instances are shown. */
const LOOK_MS = 1_000
/** Concurrent watchers; each holds a connection. */
export const MOST_WATCHERS = { member: 10, account: 100, all: 500 } as const

/** `replaced`: a newer watcher took its place at a limit. */
export type WatchEnd = 'stopped' | 'replaced'

export type Watcher = {
  memberId: string
  accountId: string
  /** minimum time between calls, if not REST_MS */
  restMs?: number
  /** Not called again before it resolves. May return the ms after which to call it again without a change. */
  onChange(): void | number | Promise<void | number>
  onEnd(reason: WatchEnd): void
}

/**
 * Notifies watchers of commits, here or by another process. Each watcher then queries from its own cursor. Where other
 * instances commit at any time, watchers query every second.
 */
export type Feed = ReturnType<typeof createFeed>

export function createFeed({ store }: { store: Pick<Store, 'onCommit' | 'onForeignWrite' | 'isShared'> }) {
  const watches = new Map<Watcher, () => void>()
  let hasEnded = false

  const notify = (): void => {
    for (const notifyOne of watches.values()) notifyOne()
  }
  const end = (watcher: Watcher, reason: WatchEnd): void => {
    if (watches.delete(watcher)) watcher.onEnd(reason)
  }
  /** The watcher to end for a new one of this member and account; null if there is room. */
  const findSurplus = ({ memberId, accountId }: Watcher): Watcher | null => {
    const all = [...watches.keys()]
    const ofMember = all.filter((one) => one.memberId === memberId)
    if (ofMember.length >= MOST_WATCHERS.member) return ofMember[0] ?? null
    const ofAccount = all.filter((one) => one.accountId === accountId)
    if (ofAccount.length >= MOST_WATCHERS.account) return ofAccount[0] ?? null
    return all.length >= MOST_WATCHERS.all ? oldestOfLargestAccount(all) : null
  }
  store.onCommit(notify)
  store.onForeignWrite(notify)
  const timer = store.isShared ? setInterval(notify, LOOK_MS) : undefined
  timer?.unref()

  return {
    /** Notifies once at the start. At a limit, ends the oldest watcher. Returns a stop function; null while stopping. */
    watch(watcher: Watcher): (() => void) | null {
      if (hasEnded) return null
      const surplus = findSurplus(watcher)
      if (surplus) end(surplus, 'replaced')
      const notifyOne = createNotifier(watcher, () => watches.has(watcher))
      watches.set(watcher, notifyOne)
      notifyOne()
      return () => void watches.delete(watcher)
    },
    /** For changes without a commit. */
    notify,
    /** Ends all watchers, whose connections would delay a stop. */
    end(): void {
      hasEnded = true
      clearInterval(timer)
      for (const watcher of watches.keys()) end(watcher, 'stopped')
    },
  }
}

/** `watchers`: oldest first. */
function oldestOfLargestAccount(watchers: Watcher[]): Watcher | null {
  const accounts = Map.groupBy(watchers, ({ accountId }) => accountId)
  const [largest = []] = [...accounts.values()].toSorted((a, b) => b.length - a.length)
  return largest[0] ?? null
}

/** Immediately after a quiet time, else after the minimum time. The last change is always notified. */
function createNotifier(watcher: Watcher, isWatched: () => boolean): () => void {
  let isResting = false
  let isDue = false
  const run = async (): Promise<void> => {
    isResting = true
    while (isDue && isWatched()) {
      isDue = false
      const againMs = await watcher.onChange()
      if (typeof againMs === 'number') setTimeout(notify, againMs).unref()
      await Bun.sleep(watcher.restMs ?? REST_MS)
    }
    isResting = false
  }
  const giveUp = (error: unknown): void => {
    // after its end, the store may be closed
    if (!isWatched()) return
    watcher.onEnd('stopped')
    // a bug or a disk fault, for the log
    throw error
  }
  const notify = (): void => {
    isDue = true
    if (!isResting) void run().catch(giveUp)
  }
  return notify
}

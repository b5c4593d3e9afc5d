/** Slots for emails at one login: one for each connection. */
import { type ConnectionCount, countAllowed, noteOpened, noteRefused, UNLIMITED } from './connection-count.ts'

type Limits = { connections: number; slowConnections: number }

export type Slot = ReturnType<ReturnType<typeof createSlots>['create']>

/**
 * A connection that waits long for the server makes room for another, unless the server is known to accept only so many.
 * `monotonicMs`: for intervals.
 */
export function createSlots({ connections, slowConnections }: Limits, monotonicMs: () => number) {
  const waiting: (() => void)[] = []
  const waitingSlow = new Set<() => void>()
  let [busy, slow] = [0, 0]
  let count: ConnectionCount = UNLIMITED

  const allowed = (): number => countAllowed(count, { at: monotonicMs(), limit: connections })
  const isLearned = (): boolean => count.most !== null
  const isFree = (): boolean => (isLearned() ? busy + slow : busy) < allowed()

  const admit = (): void => {
    while (isFree() && waiting.length > 0) waiting.shift()?.()
  }

  const create = () => {
    let state: 'busy' | 'slow' | 'left' = 'busy'
    let timer: ReturnType<typeof setTimeout> | undefined
    let becomeSlow = (): void => {}
    busy += 1
    const unwatch = (): void => {
      clearTimeout(timer)
      waitingSlow.delete(becomeSlow)
    }
    return {
      /** It waits for the server from now on, and makes room after `slowMs`. */
      watch(slowMs: number, onSlow = (): void => {}): void {
        becomeSlow = () => {
          if (isLearned() || slow >= slowConnections) return void waitingSlow.add(becomeSlow)
          state = 'slow'
          slow += 1
          busy -= 1
          onSlow()
          admit()
        }
        if (state === 'busy') timer = setTimeout(() => becomeSlow(), slowMs)
      },
      unwatch,
      /** Slots of other emails. */
      others: (): number => busy + slow - 1,
      /** Of these, without those that wait long. */
      busyOthers: (): number => (state === 'busy' ? busy - 1 : busy),
      leave(): void {
        unwatch()
        if (state === 'busy') busy -= 1
        if (state === 'slow') slow -= 1
        const [next] = waitingSlow
        if (state === 'slow' && next && waitingSlow.delete(next)) next()
        state = 'left'
        admit()
      },
    }
  }

  return {
    create,
    allowed,
    isLearned,
    /** null when the signal aborts first. */
    take(signal: AbortSignal): Promise<ReturnType<typeof create> | null> {
      if (signal.aborted) return Promise.resolve(null)
      if (isFree()) return Promise.resolve(create())
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof create> | null>()
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(begin), 1)
        resolve(null)
      }
      const begin = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve(create())
      }
      waiting.push(begin)
      signal.addEventListener('abort', giveUp, { once: true })
      return promise
    },
    /** The server refused one more than `others`. @returns how long not to try one more (ms) */
    noteRefused(others: number): number {
      count = noteRefused(count, { others, at: monotonicMs() })
      return count.waitMs
    },
    noteOpened(open: number): void {
      count = noteOpened(count, { open, at: monotonicMs(), limit: connections })
      admit()
    },
    /** Forgets what was learned: the server refuses every connection, which is not a limit on their number. */
    forget(): void {
      count = UNLIMITED
      admit()
    },
    findLearned: (): { most: number; msAgo: number } | null =>
      count.most === null ? null : { most: count.most, msAgo: monotonicMs() - count.learnedAt },
  }
}

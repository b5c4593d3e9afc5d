import { type Clock, MINUTE_MS } from '../../core/clock.ts'
import { isRefusal } from '../../core/refusals.ts'
import type { Simulation, SimulationInput, Simulations } from './index.ts'

/** Apps whose last result is kept, at most 100 lines each. */
const MOST_APPS = 500
/** A simulation may fill a core for seconds. */
const FRESH_MS = 10 * MINUTE_MS
/** Sooner while nobody would have got an email, because someone who is waiting may be the first. */
const FIRST_FRESH_MS = 30_000

/** `emailed`: people who would have got an email; `hasMore`: among the newest triggers only. `at`: ms UTC. */
export type RecentResult = Pick<Simulation, 'people' | 'tooOld' | 'hasMore' | 'from'> & {
  at: number
  /** one for each of the latest people who would have got an email, newest first */
  lines: Simulation['lines']
}

type Entry = { key: string; result: RecentResult | null; endedAt: number; isRunning: boolean }
type Dependencies = { simulations: Pick<Simulations, 'simulate'>; clock: Clock; onEnd: () => void }

/** `failed`: there is no result, and the next attempt waits. */
export type Recent = { result: RecentResult | null; state: 'ready' | 'running' | 'failed' }

/** The last result for each app, in memory. Reading it starts another simulation if it is missing or old. */
export function createRecentSimulations({ simulations, clock, onEnd }: Dependencies) {
  const entries = new Map<number, Entry>()

  const run = async (entry: Entry, input: SimulationInput): Promise<void> => {
    entry.isRunning = true
    const found = await simulations.simulate(input).catch(() => null)
    if (found !== null && !isRefusal(found)) entry.result = toResult(found)
    entry.isRunning = false
    entry.endedAt = clock.now()
    onEnd()
  }

  const findEntry = (appId: number, key: string): Entry => {
    const known = entries.get(appId)
    if (known?.key === key) return known
    const entry = { key, result: null, endedAt: Number.NEGATIVE_INFINITY, isRunning: false }
    entries.delete(appId)
    entries.set(appId, entry)
    const [oldest] = entries.keys()
    if (entries.size > MOST_APPS && oldest !== undefined) entries.delete(oldest)
    return entry
  }

  return {
    /** Never waits: without a result, `onEnd` tells when to ask again. */
    find(input: Omit<SimulationInput, 'now'>): Recent {
      const now = clock.now()
      const entry = findEntry(input.appId, JSON.stringify(input))
      if (!entry.isRunning && now - entry.endedAt >= freshMs(entry.result)) void run(entry, { ...input, now })
      const { result, isRunning } = entry
      return { result, state: isRunning ? 'running' : result === null ? 'failed' : 'ready' }
    },
  }
}

const freshMs = (result: RecentResult | null): number =>
  result !== null && result.people.waiting > 0 && result.people.emailed === 0 ? FIRST_FRESH_MS : FRESH_MS

const toResult = ({ people, tooOld, hasMore, from, until, outcomes }: Simulation): RecentResult => ({
  people,
  tooOld,
  hasMore,
  from,
  at: until,
  lines: outcomes.find(({ outcome }) => outcome === 'send')?.lines ?? [],
})

import { getPriority, setPriority } from 'node:os'

/** Beside a busy thread: `some` gets a quarter of a processor, `little` a tenth, so that both end on a busy machine too. */
const NICENESS = { some: 5, little: 10 }

/** Lowers the priority of this thread only. Elsewhere than on Linux, the call would lower that of the whole process. */
export function yieldToServer(share: keyof typeof NICENESS): void {
  if (process.platform === 'linux') setPriority(0, Math.max(getPriority(0), NICENESS[share]))
}

/** As long as one event may wait. */
const PART_MS = 5
/** While others are served, a thread works for a ninth of the time. */
const REST = 8
/** Then it goes on without rests, because somebody waits for it. */
const RESTING_MS = 20_000

/** ms, of one clock and of this thread. */
export type Times = { monotonicMs: () => number; usedMs: () => number; sleep: (ms: number) => Promise<void> }

const TIMES: Times = {
  monotonicMs: () => performance.now(),
  usedMs: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  },
  sleep: Bun.sleep,
}

/**
 * Even at a low priority, a thread that never sleeps costs the server nearly half of the events that it could accept.
 * `isServing`: whether the server was busy with others since the last call.
 * @returns to be awaited between small steps of work
 */
export function createRests(
  isServing: () => boolean,
  { monotonicMs, usedMs, sleep }: Times = TIMES,
): () => Promise<void> {
  const untilMs = monotonicMs() + RESTING_MS
  let [beganMs, usedBefore] = [monotonicMs(), usedMs()]
  return async () => {
    const now = monotonicMs()
    if (now - beganMs < PART_MS || now > untilMs) return
    if (isServing()) await sleep(REST * (usedMs() - usedBefore))
    beganMs = monotonicMs()
    usedBefore = usedMs()
  }
}

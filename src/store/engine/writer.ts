import type { Job, Outcome, WriteName } from '../writes.ts'

/** Beyond this many waiting writes, or when the oldest waits this long, new ones are refused. */
const WAITING_MAX = 2_000
const WAITING_MS = 1_000
/** A write that has no outcome by then is answered without one. */
const ANSWER_MS = 8_000
const BATCH_MAX = 256
/** So many rows are worth a commit of their own, and as many batches as this may be on their way. */
const ENOUGH_ROWS = 16
const AHEAD_BATCHES = 4

type Waiting = { job: Job; since: number; resolve: (outcome: Outcome) => void; isAnswered: boolean }

/** How a store reaches the engine: in a thread of its own for `serve`, in line for a command. */
export type Channel = {
  commit: (jobs: Job[]) => Promise<Outcome[]>
  close: () => Promise<void>
  onForeignWrite: (listener: () => void) => void
  onBroken: (listener: (reason: string) => void) => void
}

type Parts = {
  commit: Channel['commit']
  /** a monotonic clock, in milliseconds */
  monotonicMs: () => number
  onCommit: (commit: { rows: number; ms: number }) => void
}

/**
 * Group commit: a batch leaves as soon as nothing is in flight, so it holds what came while the last one was being
 * written, up to 256, in the order in which it came; an engine that locks rows sorts it by person for itself, once it has
 * read what came as text. No timer delays a lone write. Under load the next batch is sent ahead,
 * so that the writing thread need not wait for this one to look up from its requests: the first as soon as it is worth a
 * commit, each further one when it is as large as all that is on its way, so that many come in large ones (measured: 8
 * to 18 % more events, and another twentieth).
 */
export function createWriter({ commit, monotonicMs, onCommit }: Parts) {
  let waiting: Waiting[] = []
  let inFlight: Waiting[][] = []
  let rowsInFlight = 0
  let isScheduled = false
  let whenIdle: (() => void)[] = []
  let isStopped = false

  const answer = (entry: Waiting, outcome: Outcome): void => {
    if (entry.isAnswered) return
    entry.isAnswered = true
    entry.resolve(outcome)
  }

  const takeBatch = (): Waiting[] => {
    const batch = waiting.length <= BATCH_MAX ? waiting : waiting.slice(0, BATCH_MAX)
    waiting = waiting.length <= BATCH_MAX ? [] : waiting.slice(BATCH_MAX)
    return batch
  }

  const isEnough = (): boolean =>
    waiting.length >= Math.max(ENOUGH_ROWS, rowsInFlight) && inFlight.length < AHEAD_BATCHES

  const isDue = (): boolean => (inFlight.length === 0 ? waiting.length > 0 : isEnough())

  const flush = async (): Promise<void> => {
    isScheduled = false
    if (!isDue()) return
    const batch = takeBatch()
    inFlight.push(batch)
    rowsInFlight += batch.length
    const startedAt = monotonicMs()
    const outcomes = await commit(batch.map((entry) => entry.job)).catch((): Outcome[] => [])
    const ms = monotonicMs() - startedAt
    inFlight = inFlight.filter((other) => other !== batch)
    rowsInFlight -= batch.length
    // the next batch is on its way before this one's answers are written
    void flush()
    batch.forEach((entry, index) => answer(entry, outcomes[index] ?? { refusal: 'commit_unconfirmed' }))
    if (waiting.length === 0 && inFlight.length === 0) {
      for (const resolve of whenIdle) resolve()
      whenIdle = []
    }
    const rows = batch.length - outcomes.filter((outcome) => 'refused' in outcome).length
    if (rows > 0) onCommit({ rows, ms })
  }

  const isFull = (now: number): boolean =>
    waiting.length >= WAITING_MAX || now - (waiting[0]?.since ?? now) > WAITING_MS

  return {
    /** The outcome arrives after COMMIT; `unavailable` at once when too much waits already. */
    submit<N extends WriteName>(name: N, input: Job<N>['input']): Promise<Outcome<N>> {
      const now = monotonicMs()
      if (isStopped || isFull(now)) return Promise.resolve({ refusal: 'unavailable' })
      const { promise, resolve } = Promise.withResolvers<Outcome<N>>()
      const job = { name, input } as Job
      waiting.push({ job, since: now, resolve: resolve as (outcome: Outcome) => void, isAnswered: false })
      if (isEnough()) void flush()
      else if (!isScheduled && inFlight.length === 0) {
        isScheduled = true
        // after this turn of the loop, so that requests read together are written together
        setImmediate(flush)
      }
      return promise
    },
    /** Answers what has waited too long: what is still here was not saved, what is in flight may have been. */
    answerOverdue(): void {
      const limit = monotonicMs() - ANSWER_MS
      for (const entry of waiting) if (entry.since < limit) answer(entry, { refusal: 'unavailable' })
      waiting = waiting.filter((entry) => !entry.isAnswered)
      for (const entry of inFlight.flat()) if (entry.since < limit) answer(entry, { refusal: 'commit_unconfirmed' })
    },
    waiting: () => waiting.length + rowsInFlight,
    /** Takes no more writes. @returns when those that were taken have their outcome */
    stop(): Promise<void> {
      isStopped = true
      if (waiting.length === 0 && inFlight.length === 0) return Promise.resolve()
      return new Promise((resolve) => whenIdle.push(resolve))
    },
  }
}

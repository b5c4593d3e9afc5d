/** The writes of this thread, on their way to the writer thread and back. */
import type { LimitUse } from '../types.ts'
import type { Job, Outcome, WriteName } from '../writes.ts'
import type { ToCheckpointer } from './checkpoint-thread.ts'
import { StoreError } from './errors.ts'
import { CHECKPOINT_THREAD, takeWorker, WRITER_THREAD } from './workers.ts'
import type { OnUpgrade } from './upgrades.ts'
import { createGroupEncoder, type Opened, type FromThread, type ToWriter } from './writer-thread.ts'

/** New writes are refused above this many waiting writes, or if the oldest has waited this long. */
const MAX_WAITING = 2_000
const MAX_WAIT_MS = 1_000
const ANSWER_MS = 8_000
const GROUP_MAX = 256
/** Rows that justify a commit of their own. */
const EARLY_GROUP_ROWS = 32
const GROUPS_AHEAD = 4
/** A group this large is a sign of load. A single write never waits for others. */
const GATHERED_ROWS = 8

type Waiting = { job: Job; since: number; resolve: (outcome: Outcome) => void; isAnswered: boolean }

export type Channel = {
  writeNames: readonly WriteName[]
  commit: (jobs: Job[]) => Promise<Outcome[]>
  close: () => Promise<void>
  onForeignWrite: (listener: () => void) => void
  onBroken: (listener: (reason: string) => void) => void
  /** Of these, the commits are apart from those of all others. */
  apart?: { names: ReadonlySet<WriteName>; commit: (jobs: Job[]) => Promise<Outcome[]> }
  /** A commit of its own; left out: it is one of a group. */
  touch?: () => Promise<Outcome<'touch'>>
  /** of limits that several instances share; absent if this process counts alone */
  onLimitUse?: (listener: (uses: LimitUse[]) => void) => void
  /** How long a group may wait to become larger; left out: not at all. For engines whose transactions cost much. */
  gatherMs?: number
}

type Parts = {
  commit: Channel['commit']
  monotonicMs: () => number
  onCommit: (commit: { rows: number; ms: number }) => void
  gatherMs?: Channel['gatherMs']
}

/**
 * Group commit. While one commit group is written, the next one collects up to 256 writes, in order; no timer delays a
 * single write. Under load, groups are sent ahead so that the writer thread never waits for the main thread: the first
 * with 32 rows, each further one when it is as large as all that are in flight (measured with `bun run bench`: 8 to 18%
 * more events for sending ahead, 5% for the larger groups; with 32 rows instead of 16, 12% fewer bytes per event).
 * With `gatherMs`, the clients of the last group may send their next writes before the next group is sent, so that few
 * clients that wait for their answers share one group, where each group costs much.
 */
export function createWriter({ commit, monotonicMs, onCommit, gatherMs = 0 }: Parts) {
  let waiting: Waiting[] = []
  let inFlight: Waiting[][] = []
  let rowsInFlight = 0
  let isScheduled = false
  let whenIdle: (() => void)[] = []
  let isStopped = false
  /** how many rows the next group waits for; 0: for none */
  let expected = 0
  let gathering: ReturnType<typeof setTimeout> | undefined

  const answer = (entry: Waiting, outcome: Outcome): void => {
    if (entry.isAnswered) return
    entry.isAnswered = true
    entry.resolve(outcome)
  }

  const takeGroup = (): Waiting[] => {
    const group = waiting.length <= GROUP_MAX ? waiting : waiting.slice(0, GROUP_MAX)
    waiting = waiting.length <= GROUP_MAX ? [] : waiting.slice(GROUP_MAX)
    return group
  }

  const isEnough = (): boolean =>
    waiting.length >= Math.max(EARLY_GROUP_ROWS, rowsInFlight) && inFlight.length < GROUPS_AHEAD

  const isDue = (): boolean => (inFlight.length === 0 ? waiting.length > 0 : isEnough())

  const endGathering = (): void => {
    expected = 0
    clearTimeout(gathering)
    void flush()
  }

  const sendNext = (answered: number): void => {
    const rows = waiting.length + answered
    // with more rows, groups overlap anyway
    const isOneGroup = answered >= GATHERED_ROWS && rows <= EARLY_GROUP_ROWS && inFlight.length === 0
    if (gatherMs === 0 || !isOneGroup) return void flush()
    expected = rows
    gathering = setTimeout(endGathering, gatherMs)
  }

  const flush = async (): Promise<void> => {
    isScheduled = false
    if (!isDue()) return
    const group = takeGroup()
    inFlight.push(group)
    rowsInFlight += group.length
    const startedAt = monotonicMs()
    const outcomes = await commit(group.map((entry) => entry.job)).catch((): Outcome[] => [])
    const ms = monotonicMs() - startedAt
    inFlight = inFlight.filter((other) => other !== group)
    rowsInFlight -= group.length
    // sends the next group before resolving this one's promises
    sendNext(group.length)
    group.forEach((entry, index) => answer(entry, outcomes[index] ?? { refusal: 'commit_unconfirmed' }))
    if (waiting.length === 0 && inFlight.length === 0) {
      for (const resolve of whenIdle) resolve()
      whenIdle = []
    }
    const rows = group.length - outcomes.filter((outcome) => 'refused' in outcome).length
    if (rows > 0) onCommit({ rows, ms })
  }

  const isFull = (now: number): boolean =>
    waiting.length >= MAX_WAITING || now - (waiting[0]?.since ?? now) > MAX_WAIT_MS

  return {
    /** Resolves after COMMIT, or with `unavailable` at once if too many writes are waiting. */
    submit<N extends WriteName>(name: N, input: Job<N>['input']): Promise<Outcome<N>> {
      const now = monotonicMs()
      if (isStopped || isFull(now)) return Promise.resolve({ refusal: 'unavailable' })
      const { promise, resolve } = Promise.withResolvers<Outcome<N>>()
      const job = { name, input } as Job
      waiting.push({ job, since: now, resolve: resolve as (outcome: Outcome) => void, isAnswered: false })
      if (expected > 0) {
        if (waiting.length >= expected) endGathering()
      } else if (isEnough()) void flush()
      else if (!isScheduled && inFlight.length === 0) {
        isScheduled = true
        // after this event loop turn, so that requests read together are written together
        setImmediate(flush)
      }
      return promise
    },
    /** Waiting writes were certainly not saved; writes in flight may have been. */
    answerOverdue(): void {
      const limit = monotonicMs() - ANSWER_MS
      for (const entry of waiting) if (entry.since < limit) answer(entry, { refusal: 'unavailable' })
      waiting = waiting.filter((entry) => !entry.isAnswered)
      for (const entry of inFlight.flat()) if (entry.since < limit) answer(entry, { refusal: 'commit_unconfirmed' })
    },
    waiting: () => waiting.length + rowsInFlight,
    /** @returns when all accepted writes have outcomes */
    stop(): Promise<void> {
      isStopped = true
      if (waiting.length === 0 && inFlight.length === 0) return Promise.resolve()
      return new Promise((resolve) => whenIdle.push(resolve))
    },
  }
}

/** `hasExternalCheckpoints`: another program copies and restarts the write-ahead log. */
export type ThreadOptions = { masterKey: string | null; hasExternalCheckpoints: boolean; onUpgrade?: OnUpgrade }

export async function startThreads(
  folder: string,
  { onUpgrade = () => {}, ...options }: ThreadOptions,
): Promise<Channel> {
  const listeners = { ...createListeners(), onUpgrade }
  const writer = createCaller<ToWriter>(WRITER_THREAD, listeners)
  // loads in parallel with the writer, but opens the folder after it
  const checkpointer = options.hasExternalCheckpoints
    ? null
    : createCaller<ToCheckpointer>(CHECKPOINT_THREAD, listeners)
  const threads = [...(checkpointer === null ? [] : [checkpointer]), writer]
  const writeNames = await openThreads(folder, { writer, checkpointer, ...options }).catch((error: unknown) => {
    for (const thread of threads) thread.end()
    throw error
  })
  const encodeGroup = createGroupEncoder()
  const close = async (): Promise<void> => {
    for (const thread of threads) {
      await thread.ask({ close: true }).catch(() => {})
      thread.end()
    }
  }

  return {
    writeNames,
    commit: async (jobs) => {
      // never sent, so certainly not saved
      if (writer.hasFailed()) return jobs.map(() => ({ refusal: 'unavailable' }))
      return JSON.parse(await writer.ask<string>(encodeGroup(jobs))) as Outcome[]
    },
    close,
    onForeignWrite: (listener) => void listeners.foreignWrite.push(listener),
    onBroken: (listener) => void listeners.broken.push(listener),
  }
}

type ThreadsToOpen = ThreadOptions & { writer: Caller<ToWriter>; checkpointer: Caller<ToCheckpointer> | null }

/** The writer migrates the database before the checkpointer opens it. */
async function openThreads(folder: string, { writer, checkpointer, ...options }: ThreadsToOpen): Promise<WriteName[]> {
  const opened = await writer.ask<Opened>({ open: folder, ...options })
  if ('message' in opened) throw opened.code ? new StoreError(opened.code, opened.message) : new Error(opened.message)
  await checkpointer?.ask({ open: folder })
  return opened.writeNames
}

type Listeners = ReturnType<typeof createListeners> & { onUpgrade: OnUpgrade }

const createListeners = () => ({ foreignWrite: [] as (() => void)[], broken: [] as ((reason: string) => void)[] })

type Call = { resolve: (answer: never) => void; reject: (error: Error) => void }

type Caller<Message> = {
  ask: <Answer>(message: Message) => Promise<Answer>
  hasFailed: () => boolean
  end: () => void
}

/** The thread answers in order. After a failure, every call rejects. */
function createCaller<Message>(file: string, listeners: Listeners): Caller<Message> {
  const worker = takeWorker(file)
  let calls: Call[] = []
  let failure: Error | null = null

  const refuse = (reason: string): void => {
    const error = new Error(reason)
    failure = error
    for (const { reject } of calls) reject(error)
    calls = []
  }
  const fail = (reason: string): void => {
    if (failure) return
    refuse(reason)
    for (const listener of listeners.broken) listener(reason)
  }
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    if (typeof data === 'string') calls.shift()?.resolve(data as never)
    else if ('answer' in data) calls.shift()?.resolve(data.answer as never)
    else if ('broken' in data) fail(data.broken)
    else if ('upgrade' in data) listeners.onUpgrade(data.upgrade)
    else for (const listener of listeners.foreignWrite) listener()
  }
  worker.onerror = (event) => fail(event.message)

  return {
    ask: <Answer>(message: Message): Promise<Answer> =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure)
        worker.postMessage(message)
        calls.push({ resolve, reject })
      }),
    hasFailed: (): boolean => failure !== null,
    end: (): void => {
      refuse('closed')
      worker.terminate()
    },
  }
}

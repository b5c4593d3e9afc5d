import type { Job, Outcome, WriteName } from '../writes.ts'
import type { EventSender, EventText } from '../event-texts.ts'

/** New writes are refused above this many waiting writes, or if the oldest has waited this long. */
const MAX_WAITING = 2_000
const MAX_WAIT_MS = 1_000
const ANSWER_MS = 8_000
const GROUP_MAX = 256
/** Rows that justify a commit of their own. */
const EARLY_GROUP_ROWS = 16
const GROUPS_AHEAD = 4

type Waiting = { job: Job; since: number; resolve: (outcome: Outcome) => void; isAnswered: boolean }

export type Channel = {
  commit: (jobs: Job[]) => Promise<Outcome[]>
  close: () => Promise<void>
  onForeignWrite: (listener: () => void) => void
  onBroken: (listener: (reason: string) => void) => void
}

type Parts = {
  commit: Channel['commit']
  monotonicMs: () => number
  onCommit: (commit: { rows: number; ms: number }) => void
}

/**
 * Group commit. While one commit group is written, the next one collects up to 256 writes, in order; no timer delays a
 * single write. Under load, groups are sent ahead so that the writer thread never waits for the main thread: the first
 * with 16 rows, each further one when it is as large as all that are in flight (measured with `bun run bench`: 8 to 18 % more events, and 5 % for the larger groups).
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

  const takeGroup = (): Waiting[] => {
    const group = waiting.length <= GROUP_MAX ? waiting : waiting.slice(0, GROUP_MAX)
    waiting = waiting.length <= GROUP_MAX ? [] : waiting.slice(GROUP_MAX)
    return group
  }

  const isEnough = (): boolean =>
    waiting.length >= Math.max(EARLY_GROUP_ROWS, rowsInFlight) && inFlight.length < GROUPS_AHEAD

  const isDue = (): boolean => (inFlight.length === 0 ? waiting.length > 0 : isEnough())

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
    void flush()
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
      if (isEnough()) void flush()
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

type More = Pick<EventText, 'via' | 'idempotency' | 'refusal'>
/** An unparsed event, by default of the API: the number of its sender, its time of arrival (ms UTC) and the length of its text. */
type TextMark = [sender: number, at: number, length: number, more?: More]
/** `senders`: new ones, numbered on from those already sent, or from 0 after `isReset`. */
type Head = { isReset: boolean; senders: EventSender[]; jobs: (TextMark | Job)[] }

const END_OF_LENGTH = ' '
/** The writer thread caches at most this many senders, with at most this many apps, until the numbers restart. */
export const MOST_SENDERS = 1_000
const MOST_APPS = 10_000

const isEventText = (job: Job): job is Job<'recordEventText'> => job.name === 'recordEventText'

/**
 * Encodes commit groups for the writer thread: the length of a JSON head, the head, then the texts of the unparsed events
 * as they are. One text crosses threads cheaper than objects, and text inside JSON would be escaped and parsed twice.
 * Each sender crosses once.
 */
export function createGroupEncoder(): (jobs: Job[]) => string {
  const numbers = new Map<EventSender, number>()
  let apps = 0

  return (jobs) => {
    const isReset = numbers.size >= MOST_SENDERS || apps >= MOST_APPS
    if (isReset) {
      numbers.clear()
      apps = 0
    }
    const senders: EventSender[] = []
    const numberOf = (sender: EventSender): number => {
      const known = numbers.get(sender)
      if (known !== undefined) return known
      const number = numbers.size
      numbers.set(sender, number)
      senders.push(sender)
      apps += sender.apps.length
      return number
    }
    let texts = ''
    const marked = jobs.map((job): TextMark | Job => {
      if (!isEventText(job)) return job
      const { text, sender, at, ...more } = job.input
      texts += text
      const number = numberOf(sender)
      const isPlain = more.via === 'api' && !more.idempotency && !more.refusal
      return isPlain ? [number, at, text.length] : [number, at, text.length, more]
    })
    const head = toJson({ isReset, senders, jobs: marked })
    return `${head.length}${END_OF_LENGTH}${head}${texts}`
  }
}

export function createGroupDecoder(): (group: string) => Job[] {
  let known: EventSender[] = []

  return (group) => {
    const start = group.indexOf(END_OF_LENGTH) + END_OF_LENGTH.length
    let end = start + Number(group.slice(0, start))
    const { isReset, senders, jobs } = JSON.parse(group.slice(start, end)) as Head
    if (isReset) known = []
    known.push(...senders)
    return jobs.map((job): Job => {
      if (!Array.isArray(job)) return job
      const [number, at, length, more] = job
      const text = group.slice(end, (end += length))
      return { name: 'recordEventText', input: { text, sender: known[number] as EventSender, via: 'api', at, ...more } }
    })
  }
}

/** A job that cannot be serialised (bigint, cycle) fails alone. */
function toJson(head: Head): string {
  try {
    return JSON.stringify(head)
  } catch {
    return JSON.stringify({ ...head, jobs: head.jobs.map((job) => (isJson(job) ? job : { ...job, input: null })) })
  }
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

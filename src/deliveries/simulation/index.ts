import type { DataLocation } from '../../core/data-location.ts'
import { formatCount } from '../../core/count.ts'
import { MINUTE_MS } from '../../core/clock.ts'
import { type Refusal, refuse } from '../../core/refusals.ts'
import { returnWorker, SIMULATION_THREAD, takeWorker } from '../../store/engine/workers.ts'
import type { PeopleOutcome, Progress, Simulation, SimulationInput, SimulationLine } from './simulate.ts'
import type { Trigger } from '../../store/message-types.ts'
import type { FromSimulation, ToSimulation } from './thread.ts'

export type { PeopleOutcome, Simulation, SimulationInput, SimulationLine }
export type Simulations = ReturnType<typeof createSimulations>

const SIMULATED_TRIGGERS = 10_000
/** A third of it may be rests. */
const DEADLINE_MS = 1.5 * MINUTE_MS

const TOO_LONG = refuse('unavailable', {
  message: 'The simulation took longer than 90 seconds and was stopped. Try fewer days.',
})
const ENDED = refuse('unavailable', { message: 'Eventpost is stopping. Simulate again in a moment.' })

/** `signal`: aborts when the caller is gone. */
type Asking = { signal?: AbortSignal; onProgress?: (progress: Progress) => void }
type Outcome = Simulation | Refusal | null
type Waiting = Required<Asking> & { input: SimulationInput; answer: (outcome: Promise<Outcome> | Outcome) => void }

/** Simulates messages against stored events. One at a time, because each fills a core; apps take turns. */
export function createSimulations(location: DataLocation, deadlineMs = DEADLINE_MS) {
  const waiting = new Map<number, Waiting[]>()
  const ending = new AbortController()
  let running: Promise<unknown> | null = null
  let progress: (Progress & { appId: number }) | null = null
  let isStopping = false

  const takeNext = (): Waiting | undefined => {
    for (const [appId, [first, ...others]] of waiting) {
      waiting.delete(appId)
      if (others.length > 0) waiting.set(appId, others)
      if (!first?.signal.aborted) return first
      first.answer(ENDED)
    }
    return undefined
  }

  const runNext = (): void => {
    const next = running === null ? takeNext() : undefined
    if (!next) return
    const asked = AbortSignal.any([next.signal, ending.signal])
    const ends = { asked, deadline: AbortSignal.timeout(deadlineMs) }
    const outcome = run({ location, input: next.input, most: SIMULATED_TRIGGERS }, ends, (reached) => {
      progress = { ...reached, appId: next.input.appId }
      next.onProgress(reached)
    })
    running = outcome
      .catch(() => {})
      .then(() => {
        running = null
        progress = null
        runNext()
      })
    next.answer(outcome)
  }

  return {
    /**
     * @returns who, when, and why not; null where the trigger cannot be simulated. Refusals: unavailable
     * @throws Error when the events cannot be read
     */
    simulate(
      input: SimulationInput,
      { signal = new AbortController().signal, onProgress = () => {} }: Asking = {},
    ): Promise<Outcome> {
      if (isStopping) return Promise.resolve(ENDED)
      if (!isSimulated(input.content.trigger)) return Promise.resolve(null)
      return new Promise((answer) => {
        waiting.set(input.appId, [...(waiting.get(input.appId) ?? []), { input, signal, onProgress, answer }])
        runNext()
      })
    },
    progressOf: (appId: number): Progress | null =>
      progress?.appId === appId ? { done: progress.done, of: progress.of } : null,
    /** Waits `graceMs`, then ends the running one and refuses the others. */
    async stop(graceMs: number): Promise<void> {
      isStopping = true
      for (const { answer } of [...waiting.values()].flat()) answer(ENDED)
      waiting.clear()
      await Promise.race([running, Bun.sleep(graceMs)])
      ending.abort()
      await running
    },
  }
}

/** The time a tag was added isn't stored, and no rule decides about what a server sends. */
export const isSimulated = (trigger: Trigger): boolean => !('tag' in trigger) && !('api' in trigger)

/** In one clause. */
export const describeUnsimulated = (trigger: Trigger): string =>
  'api' in trigger ? 'your server decides who gets it' : "the time a tag was added isn't stored"

type Ends = { asked: AbortSignal; deadline: AbortSignal }

function run(request: ToSimulation, { asked, deadline }: Ends, onProgress: (progress: Progress) => void) {
  const thread = takeWorker(SIMULATION_THREAD)
  const ended = AbortSignal.any([asked, deadline])
  let isIdle = false
  return new Promise<Outcome>((resolve, reject) => {
    const refuseEnded = (): void => resolve(deadline.aborted ? TOO_LONG : ENDED)
    if (ended.aborted) return refuseEnded()
    ended.addEventListener('abort', refuseEnded, { once: true })
    thread.onerror = ({ message }) => reject(new Error(message))
    thread.onmessage = ({ data }: MessageEvent<FromSimulation>) => {
      if ('progress' in data) onProgress(data.progress)
      else {
        isIdle = true
        if ('failure' in data) reject(new Error(data.failure))
        else resolve(data.simulation)
      }
    }
    thread.postMessage(request)
  }).finally(() => (isIdle ? returnWorker(SIMULATION_THREAD, thread) : thread.terminate()))
}

export const describeSimulation = ({
  hasMore,
  tooOld,
  estimated,
  untried,
}: Pick<Simulation, 'hasMore' | 'tooOld' | 'estimated' | 'untried'>): string[] => [
  ...(hasMore ? [NEWEST_ONLY] : []),
  ...(tooOld === 0 ? [] : [describeTooOld({ tooOld, hasMore })]),
  ...(estimated === 0 ? [] : [describeEstimated(estimated)]),
  ...(untried === 0 ? [] : [describeUntried(untried)]),
  "Past events and page views are simulated in the order they arrived, as if the message had been live all along, with today's subscriptions, names, tags and fields.",
  'Daily and weekly limits per person are ignored, because they depend on other messages.',
]

const NEWEST_ONLY = `These are the results of the newest ${formatCount(SIMULATED_TRIGGERS)} triggers. There were more in this period.`

/** Those that arrived before the newest triggers are not counted. */
export function describeTooOld({ tooOld, hasMore }: Pick<Simulation, 'tooOld' | 'hasMore'>): string {
  const count = `${hasMore ? 'At least ' : ''}${formatCount(tooOld)}`
  return tooOld === 1
    ? `${count} event was received more than 72 hours after it happened. It triggers no email.`
    : `${count} events were received more than 72 hours after they happened. They trigger no email.`
}

const describeEstimated = (count: number): string =>
  `Browser reports are stored for 48 hours. ${count === 1 ? 'One of these triggers is older and was' : `${formatCount(count)} of these triggers are older and were`} checked against page views only. People count as present between page views up to 30 minutes apart (or the minutes of inactivity set in the rule), and as away after the last page view.`

const describeUntried = (count: number): string =>
  `Missing values were checked only for the first emails, not for the other ${formatCount(count)}, because templates with conditions or filters take longer to render.`

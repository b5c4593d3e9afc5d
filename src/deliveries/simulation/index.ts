import { type Refusal, refuse } from '../../core/refusals.ts'
import { type Ends, startSimulation } from './child.ts'
import type { Simulation, SimulationLine } from './run.ts'
import type { SimulationInput } from './decisions.ts'

export type { Simulation, SimulationInput, SimulationLine }
export type Simulations = ReturnType<typeof createSimulations>

/** A million events take some seconds; who waits longer than this has left. */
const DEADLINE_MS = 60_000

const TOO_LONG = refuse('unavailable', { message: 'This took longer than a minute and was ended. Try fewer days.' })
const ENDED = refuse('unavailable', { message: 'The service is stopping. Simulate again in a moment.' })

type Outcome = Simulation | Refusal | null
type Waiting = { input: SimulationInput; signal: AbortSignal; answer: (outcome: Promise<Outcome> | Outcome) => void }

/**
 * Simulates messages against the stored events of the last days, sends nothing and changes nothing. One at
 * a time, because each reads much and fills a core while it does, and the apps in turn, so that none waits for all that
 * another asks.
 */
export function createSimulations(folder: string, deadlineMs = DEADLINE_MS) {
  const waiting = new Map<number, Waiting[]>()
  const ending = new AbortController()
  let running: Promise<unknown> | null = null
  let isStopping = false

  const takeNext = (): Waiting | undefined => {
    for (const [appId, [first, ...others]] of waiting) {
      waiting.delete(appId)
      // behind the other apps
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
    const outcome = run(folder, next.input, { asked, deadline: AbortSignal.timeout(deadlineMs) })
    running = outcome
      .catch(() => {})
      .then(() => {
        running = null
        runNext()
      })
    next.answer(outcome)
  }

  return {
    /**
     * `signal`: of who asks; for somebody who has left nothing is done.
     * @returns who, when, and why not; null where the trigger cannot be simulated. Refusals: unavailable
     * @throws Error when the events cannot be read
     */
    simulate(input: SimulationInput, signal: AbortSignal = new AbortController().signal): Promise<Outcome> {
      if (isStopping) return Promise.resolve(ENDED)
      // when a tag was added is not kept
      if ('tag' in input.content.trigger) return Promise.resolve(null)
      return new Promise((answer) => {
        waiting.set(input.appId, [...(waiting.get(input.appId) ?? []), { input, signal, answer }])
        runNext()
      })
    },
    /** Lets the one that runs end within so many milliseconds, else ends it; the others are refused. */
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

async function run(folder: string, input: SimulationInput, ends: Ends): Promise<Outcome> {
  const answer = await startSimulation({ folder, input, askedBy: process.pid }, ends)
  if (ends.deadline.aborted) return TOO_LONG
  if (ends.asked.aborted) return ENDED
  if (answer === null) throw new Error('the process that simulates ended without an answer')
  if ('failure' in answer) throw new Error(answer.failure)
  return answer.simulation
}

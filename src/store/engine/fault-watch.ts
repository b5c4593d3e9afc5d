import type { Outcome } from '../writes.ts'
import type { Channel } from './writer.ts'

/** What is said where nobody can tell more: the queue is full, or a commit is on its way for too long. */
const NO_REASON = 'commits take too long'

/** Tells why nothing can be saved when that begins, and null when a commit succeeds again. */
export type FaultListener = (reason: string | null) => void

/** Looks at one outcome of each commit: a fault that passes (disk full, file replaced) refuses all of them alike. */
export function createFaultWatch() {
  const listeners: FaultListener[] = []
  let fault: string | null = null

  const note = (outcome: Outcome | undefined): void => {
    const isFault = outcome !== undefined && 'refusal' in outcome && outcome.refusal === 'unavailable'
    const reason = isFault ? (outcome.reason ?? NO_REASON) : null
    if (reason === fault) return
    fault = reason
    for (const listener of listeners) listener(reason)
  }
  const watch =
    (commit: Channel['commit']): Channel['commit'] =>
    async (jobs) => {
      const outcomes = await commit(jobs)
      // of what was not even tried to be written nothing can be told
      const tried = outcomes.find((outcome) => !('refused' in outcome))
      if (tried || outcomes.length === 0) note(tried)
      return outcomes
    }
  return { watch, note, onFault: (listener: FaultListener) => void listeners.push(listener) }
}

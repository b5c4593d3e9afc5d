/** Whether groups of writes end: with all lanes stuck, the server may answer everything else. */
import type { Channel } from '../engine/writer.ts'
import type { Outcome } from '../writes.ts'

/** Longer than instances that stand still stop others. */
const STUCK_MS = 3_000

const isFailure = (outcome: Outcome): boolean =>
  'refusal' in outcome && (outcome.refusal === 'unavailable' || outcome.refusal === 'commit_unconfirmed')

/** `isStuck`: groups are in flight, and for a while none has ended, except with failures. */
export function watchProgress(commit: Channel['commit']): { commit: Channel['commit']; isStuck: () => boolean } {
  let inFlight = 0
  /** of the first group since the last one that was stored (ms, monotonic) */
  let beganMs: number | null = null
  return {
    async commit(jobs) {
      inFlight += 1
      beganMs ??= performance.now()
      try {
        const outcomes = await commit(jobs)
        // the others in flight have as long as new ones
        if (!outcomes.every(isFailure)) beganMs = inFlight > 1 ? performance.now() : null
        return outcomes
      } finally {
        inFlight -= 1
      }
    },
    isStuck: () => inFlight > 0 && beganMs !== null && performance.now() - beganMs > STUCK_MS,
  }
}

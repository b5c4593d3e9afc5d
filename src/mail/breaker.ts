/** Pauses what fails, a login at a mail server or an app there, so that a thousand mails do not each find out for themselves. */
import type { Clock } from '../core/clock.ts'

/** Failures in a row after which it pauses; where the server asks for it (421 or 454) it does at once. */
const FAILURES = 5
/** The first pause, and each after it that ended in another failure. */
export const PAUSE_MS = [15_000, 60_000, 300_000]

/** `isClear`: the server itself asks for a pause. */
type Failure = { reason: string; isClear: boolean }

export type Breaker = ReturnType<typeof createBreaker>
/** One mail on its way. Each of its ends may be told more than once; only the first after a pause counts. */
export type Attempt = ReturnType<Breaker['begin']>

/** Pauses run on `steadyNow`, which nobody can set; described is when they end by the wall clock `now`. */
export function createBreaker({ now, steadyNow }: Pick<Clock, 'now' | 'steadyNow'>) {
  let [failures, pauses, until, reason, isProbing] = [0, 0, 0, '', false]
  /** Grows with each pause, so that what began before one is told apart. */
  let generation = 0

  const isBlocked = (): boolean => pauses > 0 && (until > steadyNow() || isProbing)

  const pause = (): void => {
    until = steadyNow() + (PAUSE_MS[Math.min(pauses, PAUSE_MS.length - 1)] ?? 0)
    pauses += 1
    generation += 1
    isProbing = false
  }

  return {
    /** Whether no mail may go now: it is paused, or one tries after a pause and the others wait until that is known. */
    isBlocked,

    /** Lets a mail go, where none is blocked. After a pause it is the one that tries. */
    begin() {
      const began = generation
      let isProbe = pauses > 0
      if (isProbe) isProbing = true
      // what began before a pause says nothing new
      const isStale = (): boolean => began !== generation
      const abstain = (): void => {
        if (isProbe && !isStale()) isProbing = false
        isProbe = false
      }
      return {
        /** Whether a pause began meanwhile that is for this mail too. */
        isInterrupted: (): boolean => isStale() && isBlocked(),
        succeed(): void {
          if (isStale()) return
          abstain()
          failures = 0
          pauses = 0
        },
        fail(failure: Failure): void {
          if (isStale()) return
          abstain()
          failures += 1
          reason = failure.reason
          if (pauses > 0 || failure.isClear || failures >= FAILURES) pause()
        },
        /** It says nothing, or not soon: the next one may try. */
        abstain,
      }
    },

    /** Why it paused and until when (ms UTC), also where another mail may try now; null where it is well. */
    findPause: (): { reason: string; until: number } | null =>
      pauses === 0 ? null : { reason, until: until - steadyNow() + now() },
  }
}

/** Circuit breaker for a login at a mail server, or for one app there. */
import { type Clock, MINUTE_MS } from '../core/clock.ts'

/** In a row. If the server asks for a pause (421 or 454), one is enough. */
const FAILURES = 5
/** Each failure after a pause moves to the next one. */
export const PAUSE_MS = [15_000, MINUTE_MS, 5 * MINUTE_MS]

/** `isClear`: the server asks for a pause, `pauseMs` long if it says so. */
type Failure = { reason: string; isClear: boolean; pauseMs?: number | null }

export type Breaker = ReturnType<typeof createBreaker>
/** One email being sent. Repeated results are ignored. */
export type Attempt = ReturnType<Breaker['begin']>

/** Pauses use `steadyNow`, which clock changes don't affect; `findPause` returns wall-clock time. */
export function createBreaker({ now, steadyNow }: Pick<Clock, 'now' | 'steadyNow'>) {
  let [failures, pauses, until, reason, isProbing, isAsked] = [0, 0, 0, '', false, false]
  let succeededAt = Number.NEGATIVE_INFINITY
  /** Increases with each pause: results of earlier attempts are ignored. */
  let generation = 0

  const isBlocked = (): boolean => pauses > 0 && (until > steadyNow() || isProbing)

  const pause = (ms: number): void => {
    until = steadyNow() + ms
    pauses += 1
    generation += 1
    isProbing = false
  }

  return {
    /** Paused, or waiting for the first attempt after a pause. */
    isBlocked,

    /** Only when not blocked. The first attempt after a pause is the probe. */
    begin() {
      const began = generation
      let isProbe = pauses > 0
      if (isProbe) isProbing = true
      const isStale = (): boolean => began !== generation
      const abstain = (): void => {
        if (isProbe && !isStale()) isProbing = false
        isProbe = false
      }
      return {
        /** Whether a pause began since. */
        isInterrupted: (): boolean => isStale() && isBlocked(),
        succeed(): void {
          succeededAt = steadyNow()
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
          isAsked = failure.isClear || typeof failure.pauseMs === 'number'
          const ms = failure.pauseMs ?? PAUSE_MS[Math.min(pauses, PAUSE_MS.length - 1)] ?? 0
          if (pauses > 0 || failure.isClear || failures >= FAILURES) pause(ms)
        },
        /** No result, or not soon: the next email may try. */
        abstain,
      }
    },

    /** The server can be reached again: the next email may try, unless the server asked for the pause. */
    endPause(): void {
      if (pauses > 0 && !isAsked) until = Math.min(until, steadyNow())
    },

    /** Since the last success; Infinity without one. */
    successMsAgo: (): number => steadyNow() - succeededAt,

    /** The end is in ms UTC and may be past; null without a pause. `isAsked`: by the server. */
    findPause: (): { reason: string; until: number; isAsked: boolean } | null =>
      pauses === 0 ? null : { reason, until: until - steadyNow() + now(), isAsked },
  }
}

/** Pauses a mail server that fails, or one login at it, so that a thousand mails do not each find out for themselves. */

import type { Pause } from '../messages/mailer.ts'
import type { Clock } from '../core/clock.ts'

/** Failures in a row after which the server is left alone; one that says 421 or 454 is at once. */
const FAILURES = 5
/** The first pause, and each after it that ended in another failure. */
export const PAUSE_MS = [15_000, 60_000, 300_000]

/** So many places are known by whose turn it was, and by whom they turned away; then the first of them is forgotten. */
const MOST_KNOWN = 10_000
/** After a pause that was over for so long nobody wants to go there any more. */
const FORGOTTEN_MS = 3_600_000

/** So often in a row a place turned one sender away and served another: then that is about this one. */
const TIMES_ALONE = 2

type State = { failures: number; pauses: number; until: number; reason: string; isProbing: boolean }

type Failure = { reason: string; isClear: boolean; sentAt: number }

export type Breaker = ReturnType<typeof createBreaker>

/** Pauses run on `steadyNow`, which nobody can set; told is when they end by the wall clock `now`. */
export function createBreaker({ now, steadyNow }: Pick<Clock, 'now' | 'steadyNow'>) {
  const states = new Map<string, State>()
  /** Of each place that was paused, the app whose turn it was last. */
  const turns = new Map<string, number>()
  /** Of each place that turned somebody away since it served somebody else: whom, by their own place. */
  const turnedAway = new Map<string, string>()
  /** How often that happened to them, since a mail of theirs was taken. */
  const timesAlone = new Map<string, number>()

  const isHeld = ({ pauses, until, isProbing }: State): boolean => pauses > 0 && (until > steadyNow() || isProbing)
  const toWall = (until: number): number => until - steadyNow() + now()

  const forgetOld = (): void => {
    for (const [place, { pauses, until, isProbing }] of states) {
      if (pauses > 0 && !isProbing && until + FORGOTTEN_MS < steadyNow()) states.delete(place)
    }
  }

  return {
    /** Whether no mail may go to this server now. */
    isHeld(place: string): boolean {
      const state = states.get(place)
      return state !== undefined && isHeld(state)
    },

    /**
     * Whether a mail may go to this server. After a pause one may, to try; the others wait until it is known how that
     * went.
     */
    admit(place: string): boolean {
      const state = states.get(place)
      if (state && isHeld(state)) return false
      if (state && state.pauses > 0) state.isProbing = true
      return true
    },

    /**
     * Of the apps that wait for the end of a pause, which may try: each in its turn, so that one which fails for ever
     * keeps nobody out. It stays its turn while a mail of it is on its way there (`isOnItsWay`). `appIds`
     * ascend; null where nobody needs to try.
     */
    nextToTry(place: string, appIds: readonly number[], isOnItsWay: (appId: number) => boolean): number | null {
      const state = states.get(place)
      if (!state || state.pauses === 0 || isHeld(state)) return null
      const last = turns.get(place) ?? 0
      if (isOnItsWay(last)) return last
      const next = appIds.find((appId) => appId > last) ?? appIds[0] ?? 0
      keep(turns, place, next)
      return next
    },

    /** Whether any place is paused. */
    isAnyPaused(): boolean {
      forgetOld()
      return states.values().some(({ pauses }) => pauses > 0)
    },

    /** It took a mail, or said something about one: it is well. */
    succeed(place: string): void {
      const state = states.get(place)
      // what was in the air when a pause began says nothing new
      if (state && (state.isProbing || state.until <= steadyNow())) states.delete(place)
    },

    /** A mail was not even offered: whoever tries the server next is another. */
    abstain(place: string): void {
      const state = states.get(place)
      if (state) state.isProbing = false
    },

    /** `isClear`: the server itself asks for a pause. `sentAt`: when its mail was let in, on `steadyNow`. */
    fail(place: string, { reason, isClear, sentAt }: Failure): void {
      const state = states.get(place) ?? { failures: 0, pauses: 0, until: 0, reason, isProbing: false }
      states.set(place, state)
      state.failures += 1
      state.reason = reason
      // as above, and the one that tries is another
      if (state.until > sentAt) return
      const isProbe = state.isProbing
      state.isProbing = false
      if (!isProbe && !isClear && state.failures < FAILURES) return
      state.until = steadyNow() + (PAUSE_MS[Math.min(state.pauses, PAUSE_MS.length - 1)] ?? 0)
      state.pauses += 1
    },

    /** A server or a login failed for a mail of `own`, the place of one app alone. */
    noteTurnedAway: (place: string, own: string): void => keep(turnedAway, place, own),

    /** It took a mail of `own`: whoever was turned away there before may be so alone. */
    noteServed(place: string, own: string): void {
      timesAlone.delete(own)
      const other = turnedAway.get(place)
      turnedAway.delete(place)
      if (other !== undefined && other !== own) keep(timesAlone, other, (timesAlone.get(other) ?? 0) + 1)
    },

    /** Whether servers that turn them away serve others: then only they shall wait. */
    isAlone: (own: string): boolean => (timesAlone.get(own) ?? 0) >= TIMES_ALONE,

    /** When a server is tried again (ms UTC); null when it is not paused. */
    pausedUntil(place: string): number | null {
      const state = states.get(place)
      return state && state.pauses > 0 ? toWall(state.until) : null
    },

    listPauses: (): Pause[] =>
      Array.from(states, ([place, { reason, until, pauses }]) => ({ place, reason, until, pauses }))
        .filter(({ pauses }) => pauses > 0)
        .map(({ place, reason, until }) => ({ place, reason, until: toWall(until) })),
  }
}

function keep<Value>(known: Map<string, Value>, name: string, value: Value): void {
  known.set(name, value)
  const [first] = known.keys()
  if (known.size > MOST_KNOWN && first !== undefined) known.delete(first)
}

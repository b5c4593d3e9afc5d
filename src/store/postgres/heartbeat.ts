/**
 * Notices connections that fall silent without being closed, as when the server's machine loses power: what waits for their
 * answers would wait until its own time limit.
 */
import { describeFault, isUnanswered } from './faults.ts'

const BEAT_MS = 500
const AGAIN_MS = 100
/** How often a new connection must answer while all old ones stay silent; more often if all old ones are in use. */
const LISTEN_EVERY_MS = 100
const LISTENS = { idle: 4, inUse: 8 }
/** Then old connections are left to the deadlines of their statements. */
const LISTEN_MS = 10_000

/** For each beat. A slow server costs no more than a new connection for the next beat. */
export const BEAT_DEADLINES = { answerMs: 500, openMs: 1_000, waitMs: 1_000, graceMs: 0 }

/** When the first beat without an answer began, and the last one (ms, monotonic). */
export type Silence = { firstMs: number; lastMs: number }
/** `hasAsked`: whether idle connections were asked. `end`: closes those that said nothing, if they are gone. */
export type Listening = { hasAsked: boolean; hasHeard: () => boolean; end: (isGone: boolean) => void }

type Parts = {
  /** Asks on a connection of its own, which is replaced if it doesn't answer in time. */
  beat: () => Promise<unknown>
  /** To the connections of a pool that are older than the silence. */
  listenTo: readonly ((silence: Silence) => Listening)[]
}

/**
 * A slow server, or a busy process, answers late on old and new connections alike. So old ones are closed only if a new one
 * answers while all of them stay silent, and a long statement goes on as long as any other connection answers.
 */
export function startHeartbeat({ beat, listenTo }: Parts): () => void {
  let [isChecking, isStopped, hasAnswered] = [false, false, false]
  /** @returns null if it was answered */
  const ask = (): Promise<unknown> =>
    beat().then(
      () => null,
      (error: unknown) => error,
    )
  /** @returns null if nothing is silent that had answered before: other connections have ended by themselves */
  const findSilence = async (): Promise<Silence | null> => {
    const firstMs = performance.now()
    const error = await ask()
    hasAnswered ||= error === null
    if (!hasAnswered || !isUnanswered(error)) return null
    for (let lastMs = firstMs; ; await Bun.sleep(AGAIN_MS)) {
      const askedMs = performance.now()
      if ((await ask()) === null || isStopped) return { firstMs, lastMs }
      lastMs = askedMs
    }
  }
  /** @returns whether a new connection has answered often enough, and no old one; beats without an answer only delay it */
  const areGone = async (listening: readonly Listening[]): Promise<boolean> => {
    const untilMs = performance.now() + LISTEN_MS
    const times = listening.some(({ hasAsked }) => hasAsked) ? LISTENS.idle : LISTENS.inUse
    const hasHeard = (): boolean => listening.some((one) => one.hasHeard())
    for (let answers = 0; answers < times;) {
      if (isStopped || hasHeard() || performance.now() > untilMs) return false
      await Bun.sleep(LISTEN_EVERY_MS)
      // what has arrived on old connections is read before it
      if ((await ask()) === null) answers += 1
    }
    return !hasHeard()
  }
  const check = async (): Promise<void> => {
    const silence = await findSilence()
    if (silence === null || isStopped) return
    const listening = listenTo.map((listen) => listen(silence))
    const isGone = await areGone(listening)
    for (const { end } of listening) end(isGone)
  }
  const tick = async (): Promise<void> => {
    if (isChecking) return
    isChecking = true
    try {
      await check()
    } catch (error) {
      // the next one tries again
      console.error(JSON.stringify({ level: 'error', message: 'a heartbeat failed', reason: describeFault(error) }))
    } finally {
      isChecking = false
    }
  }
  // at once, so that it is known to answer
  void tick()
  const timer = setInterval(tick, BEAT_MS)
  timer.unref()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}

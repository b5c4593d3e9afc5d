/**
 * Notices connections that fall silent without being closed, as when the server's machine loses power: what waits for their
 * answers would wait until its own time limit.
 */
const BEAT_MS = 500
const AGAIN_MS = 100
/** How long, and for how many answers of a new connection, the old ones have time to answer. */
const LISTEN_MS = 400
const LISTENS = 4

/** For each beat. A slow server costs no more than a new connection for the next beat. */
export const BEAT_DEADLINES = { answerMs: 500, openMs: 1_000, waitMs: 1_000, graceMs: 0 }

/** `end`: closes those that said nothing, if they are gone. */
export type Listening = { hasHeard: () => boolean; end: (isGone: boolean) => void }

type Parts = {
  /** Asks on a connection of its own, which is replaced if it doesn't answer in time. */
  beat: () => Promise<unknown>
  /** To the connections of a pool that were made before (ms, monotonic). */
  listenTo: readonly ((madeBefore: number) => Listening)[]
}

/**
 * A slow server, or a busy process, answers late on old and new connections alike. So old ones are closed only if a new one
 * answers while all of them stay silent, and a long statement goes on as long as any other connection answers.
 */
export function startHeartbeat({ beat, listenTo }: Parts): () => void {
  let [isChecking, isStopped] = [false, false]
  const isAnswered = (): Promise<boolean> =>
    beat().then(
      () => true,
      () => false,
    )
  /** @returns when the last beat without an answer began (ms, monotonic); null: the first one was answered */
  const findSilence = async (): Promise<number | null> => {
    let silentAt: number | null = null
    for (;;) {
      const askedAt = performance.now()
      if (isStopped || (await isAnswered())) return silentAt
      silentAt = askedAt
      await Bun.sleep(AGAIN_MS)
    }
  }
  const check = async (): Promise<void> => {
    const silentAt = await findSilence()
    if (silentAt === null || isStopped) return
    const listening = listenTo.map((listen) => listen(silentAt))
    let isGone = true
    for (let time = 0; time < LISTENS; time += 1) {
      await Bun.sleep(LISTEN_MS / LISTENS)
      // what has arrived on old connections is read before it
      isGone = (await isAnswered()) && isGone
    }
    isGone &&= !listening.some(({ hasHeard }) => hasHeard())
    for (const { end } of listening) end(isGone)
  }
  const timer = setInterval(async () => {
    if (isChecking) return
    isChecking = true
    await check()
    isChecking = false
  }, BEAT_MS)
  timer.unref()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}

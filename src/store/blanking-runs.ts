const RETRY_MS = 1_000

/**
 * Gathers the demands for blanking into runs, one after the other. A run reads the whole database, so nobody's request
 * waits for one. One that did not get through (a long read holds the log) is repeated every second until it does.
 */
export function createBlankingRuns(blank: () => Promise<boolean>, retryMs = RETRY_MS) {
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null
  let isStopped = false
  let retry: ReturnType<typeof setTimeout> | null = null
  let isDue = false
  let whenDone: (() => void)[] = []

  const settle = (): void => {
    isDue = false
    for (const resolve of whenDone) resolve()
    whenDone = []
  }
  const runOnce = async (): Promise<void> => {
    next = null
    const isDone = await blank().catch(() => false)
    if (isDone && !next) settle()
    if (isDone || isStopped || retry) return
    retry = setTimeout(() => {
      retry = null
      run()
    }, retryMs)
    retry.unref()
  }
  /** Demands a run that begins after this. */
  const run = (): void => {
    if (isStopped) return
    isDue = true
    if (next) return
    running = running.then(runOnce)
    next = running
  }
  /** Resolves when all that was demanded until then is blanked, or will be at the next start. */
  const done = (): Promise<void> => (isDue ? new Promise((resolve) => whenDone.push(resolve)) : Promise.resolve())
  /** Waits for the run that is on its way. What is left is marked in the database and done at the next start. */
  const stop = async (): Promise<void> => {
    isStopped = true
    await running
    if (retry) clearTimeout(retry)
    settle()
  }
  return { run, done, stop }
}

const RETRY_MS = 1_000

/**
 * Gathers the demands for blanking into runs, one after the other. A demand resolves when a run that began after it has
 * ended; one that did not get through (a long read holds the log) is repeated until it does.
 */
export function createBlankingRuns(blank: () => Promise<boolean>, retryMs = RETRY_MS) {
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null
  let isStopped = false
  let retry: ReturnType<typeof setTimeout> | null = null

  const runOnce = async (): Promise<void> => {
    next = null
    const isDone = await blank().catch(() => false)
    if (isDone || isStopped || retry) return
    retry = setTimeout(() => {
      retry = null
      void run()
    }, retryMs)
    retry.unref()
  }
  const run = (): Promise<void> => {
    if (isStopped) return running
    if (next) return next
    running = running.then(runOnce)
    next = running
    return next
  }
  /** Waits for the run that is on its way. What is left is marked in the database and done at the next start. */
  const stop = async (): Promise<void> => {
    isStopped = true
    await running
    if (retry) clearTimeout(retry)
  }
  return { run, stop }
}

/** Work of up to this long is not interrupted. */
const WORK_MS = 4

/** To be awaited between the steps of long work: other requests are answered in between. */
export function createPauses(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < WORK_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    since = performance.now()
  }
}

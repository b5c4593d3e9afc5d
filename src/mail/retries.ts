/** When a mail that did not go is tried again. */
const MINUTE_MS = 60_000

/** After the first failure, the second and so on; after each one more, LAST_RETRY_MS. */
export const RETRY_MS = [1, 5, 15, 60, 240].map((minutes) => minutes * MINUTE_MS)
const LAST_RETRY_MS = 480 * MINUTE_MS

/** Where the mail server itself fails, no mail is to blame, and none waits for hours after the server is back. */
export const SERVER_RETRY_MS = 15 * MINUTE_MS

/** How long to wait after it failed so many times, from 1. */
export function retryDelay(tries: number, isServerFault: boolean): number {
  const delay = RETRY_MS[tries - 1] ?? LAST_RETRY_MS
  return isServerFault ? Math.min(delay, SERVER_RETRY_MS) : delay
}

/** When a mail that did not go is tried again (messages.md, Sending). */
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** After the first failure, the second and so on; after the last of them always as long again. */
export const RETRY_MS = [1, 5, 15, 60, 240, 480].map((minutes) => minutes * MINUTE_MS)

/** Where the mail server itself fails, no mail is to blame, and none waits for hours after the server is back. */
export const SERVER_RETRY_MS = 15 * MINUTE_MS

/** How long to wait after attempt number `attempt` (from 1) failed. */
export function retryDelay(attempt: number, isServerFault: boolean): number {
  const delay = RETRY_MS[Math.min(Math.max(attempt, 1), RETRY_MS.length) - 1] ?? 8 * HOUR_MS
  return isServerFault ? Math.min(delay, SERVER_RETRY_MS) : delay
}

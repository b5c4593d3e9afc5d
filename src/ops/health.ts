import type { Clock } from '../core/clock.ts'
import { describeDifference } from '../core/clock-difference.ts'
import { timingSafeEqual } from 'node:crypto'
import { Elysia } from 'elysia'
import { isLoopback } from '../core/mail-addresses.ts'
import type { Log } from './log.ts'
import type { EmailQueue, Metrics, StoreSizes } from './metrics.ts'

/** At most one commit a second. */
const ASK_EVERY_MS = 1_000
/** Less than a scraper waits. Without the database, the other metrics are still there. */
const QUEUE_MS = 2_000

export type Health = { isDraining: boolean }

/** Listeners get the reason when commits fail, and null when they work again. */
type Watched = {
  onFault(listener: (reason: string | null) => void): void
  canCommit(): Promise<boolean>
  clockAheadMs(): number
  isClockOff(): boolean
  stats(): StoreSizes
  summarizeQueue(now: number): Promise<EmailQueue>
}

/** Hashed, so that comparing takes constant time. */
const isSame = (given: string, expected: string): boolean =>
  timingSafeEqual(Bun.SHA256.hash(given), Bun.SHA256.hash(expected))

const plain = (status: number, body: object): Response => Response.json(body, { status, headers: NO_STORE })
const NO_STORE = { 'Cache-Control': 'no-store' }

export const isHealthPath = (path: string): boolean => path === '/healthz' || path === '/readyz'

/** Alive, so that nothing kills the process while it upgrades the database. */
export const answerStarting = (path: string): Response =>
  path === '/healthz'
    ? plain(200, { ok: true })
    : plain(503, { ok: false, reason: 'Eventpost is starting. The log shows the progress of an upgrade.' })

/**
 * /healthz: alive. /readyz: commits work (red while stopping). /metrics: Prometheus; needs a token unless the base URL
 * is local.
 */
export function healthRoutes(
  { store, clock, baseUrl }: { store: Watched; clock: Clock; baseUrl: string },
  { metrics, health, metricsToken, log }: { metrics: Metrics; health: Health; metricsToken: string | null; log: Log },
) {
  store.onFault((reason) =>
    reason === null
      ? log.write('info', 'writes are saved again')
      : log.write('error', 'nothing can be saved', { reason }),
  )
  const isLocal = isLoopback(new URL(baseUrl).hostname)
  let wasClockOff = false
  /** @returns null if the clock is right */
  const findClockFault = (): string | null => {
    const isOff = store.isClockOff()
    const reason = `This server's clock is ${describeDifference(store.clockAheadMs())}. Synchronize both clocks.`
    if (isOff && !wasClockOff) log.write('error', 'no emails are sent and no background tasks run', { reason })
    wasClockOff = isOff
    return isOff ? reason : null
  }
  let askedAt = Number.NEGATIVE_INFINITY
  let ready = Promise.resolve(false)
  const isReady = (): Promise<boolean> => {
    if (clock.monotonicMs() - askedAt >= ASK_EVERY_MS) {
      askedAt = clock.monotonicMs()
      ready = store.canCommit()
    }
    return ready
  }
  return new Elysia()
    .get('/healthz', () => plain(200, { ok: true }))
    .get('/readyz', async () => {
      if (health.isDraining) return plain(503, { ok: false, reason: 'Eventpost is stopping.' })
      const clockFault = findClockFault()
      if (clockFault !== null) return plain(503, { ok: false, reason: clockFault })
      return (await isReady())
        ? plain(200, { ok: true })
        : plain(503, { ok: false, reason: 'Nothing can be saved right now. The log states the cause.' })
    })
    .get('/metrics', async ({ request }) => {
      if (metricsToken === null && !isLocal) {
        return plain(401, { ok: false, reason: 'Set EVENTPOST_METRICS_TOKEN to use /metrics.' })
      }
      if (metricsToken !== null && !isSame(request.headers.get('authorization') ?? '', `Bearer ${metricsToken}`)) {
        return plain(401, { ok: false, reason: 'Send the metrics token as a bearer token.' })
      }
      const now = clock.now()
      const queue = Promise.race([store.summarizeQueue(now).catch(() => null), Bun.sleep(QUEUE_MS).then(() => null)])
      const text = metrics.print(store.stats(), await queue, now)
      return new Response(text, {
        headers: { ...NO_STORE, 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
      })
    })
}

import type { Server } from 'bun'
import { withoutQuery } from '../core/error-text.ts'
import type { Maintenance } from './maintenance.ts'
import type { Health } from './health.ts'
import type { Log } from './log.ts'

const FINISH_MS = 10_000
const LOG_MS = 1_000
const CHECK_MS = 10
const QUIET_CHECKS = 15
const CHECKS_MAX = 60

export type Answer = (request: Request, server: Server<undefined>) => Response | Promise<Response>

export type Stopping = {
  http: Server<undefined>
  answer: Answer
  health: Health
  log: Log
  maintenance: Maintenance
  backups: { stop(): Promise<unknown> } | null
  lock: { release(): void } | null
  dependencies: {
    feed: { end(): void }
    simulations: { stop(finishMs: number): Promise<unknown> }
    access: { saveUses(): Promise<unknown> }
    notes: { save(): Promise<unknown> }
    calls: { save(): Promise<unknown> }
    requests: { save(): Promise<unknown> }
    monitor: { settle(): Promise<unknown> }
    signInNotes: { save(options: { all: boolean }): Promise<unknown> }
    store: { close(): Promise<unknown> }
  }
  sender: { stop(): Promise<void>; countHanded(): number }
  stopMailMs: number
}

/** SIGTERM and SIGINT drain and exit 0; an uncaught exception drains and exits 1; unhandled rejections only log. */
export function drainOnSignals(stopping: Stopping): void {
  const { log } = stopping
  let draining: Promise<void> | null = null
  const drainThenExit = (code: number): void => {
    draining ??= drain(stopping).then(
      () => process.exit(code),
      (error: unknown) => onFault(log, 'the server could not stop cleanly', nameOf(error)),
    )
  }
  process.on('SIGTERM', () => drainThenExit(0))
  process.on('SIGINT', () => drainThenExit(0))
  process.on('unhandledRejection', (reason) =>
    log.write('error', 'unhandled promise rejection', { reason: nameOf(reason) }),
  )
  process.on('uncaughtException', (error) => {
    log.write('error', 'uncaught exception', { reason: nameOf(error) })
    drainThenExit(1)
  })
}

/** Stops at once: nothing more may be acknowledged. */
export function onFault(log: Log, message: string, reason: string): void {
  log.write('error', message, { reason })
  log.endNow()
  process.exit(1)
}

/** Readiness red, no new connections, running requests finish, data is on disk. */
async function drain({
  http,
  answer,
  health,
  log,
  maintenance,
  backups,
  lock,
  dependencies,
  sender,
  stopMailMs,
}: Stopping): Promise<void> {
  log.write('info', 'stopping')
  health.isDraining = true
  dependencies.feed.end()
  maintenance.stop()
  // their read transactions block the checkpoint
  const simulated = dependencies.simulations.stop(FINISH_MS)
  const backedUp = backups?.stop()
  const answered = stopSending(sender, stopMailMs, log)
  await closeServer(http, answer)
  await answered
  await simulated
  await dependencies.monitor.settle()
  await backedUp
  await dependencies.access.saveUses()
  await dependencies.notes.save()
  await dependencies.calls.save()
  await dependencies.requests.save()
  await dependencies.signInNotes.save({ all: true })
  await dependencies.store.close()
  lock?.release()
  log.write('info', 'stopped')
  await log.end()
}

/** An unanswered final dot may cause a duplicate, so replies are waited for. */
async function stopSending(sender: Stopping['sender'], ms: number, log: Log): Promise<void> {
  const [startedAt, stopped] = [performance.now(), sender.stop().then(() => true)]
  const waitUntil = (at: number): Promise<boolean | void> =>
    Promise.race([stopped, Bun.sleep(Math.max(0, Math.min(at, ms) - (performance.now() - startedAt)))])
  if (await waitUntil(LOG_MS)) return
  const seconds = Math.ceil(ms / 1000)
  log.write('info', 'waiting for mail server replies', { emails: sender.countHanded(), seconds })
  if (await waitUntil(ms)) return
  log.write('warn', 'stopped without mail server replies', { emails: sender.countHanded() })
}

/**
 * Closing while clients send would reset them: so answers wait until no client sends, then the port closes and
 * the answers go out.
 */
async function closeServer(http: Stopping['http'], answer: Answer): Promise<void> {
  const closed = Promise.withResolvers<void>()
  let came = 0
  http.reload({
    fetch: async (request, server) => {
      came += 1
      const response = await answer(request, server)
      await closed.promise
      return response
    },
  })
  await untilQuiet(() => came)
  const stopped = http.stop()
  closed.resolve()
  await Promise.race([stopped, Bun.sleep(FINISH_MS)])
  void http.stop(true)
}

/** Checks often: a delayed process sees its timer before waiting requests. */
async function untilQuiet(came: () => number): Promise<void> {
  let before = came()
  let quietLooks = 0
  for (let looks = 0; looks < CHECKS_MAX && quietLooks < QUIET_CHECKS; looks++) {
    await Bun.sleep(CHECK_MS)
    quietLooks = came() === before ? quietLooks + 1 : 0
    before = came()
  }
}

const nameOf = (reason: unknown): string => {
  const source = withoutQuery(reason)
  return source instanceof Error ? (source.stack ?? source.message) : String(source)
}

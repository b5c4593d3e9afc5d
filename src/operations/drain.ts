import type { Server } from 'bun'
import type { Parts } from '../core/parts.ts'
import type { Store } from '../store/store.ts'
import type { Chores } from './chores.ts'
import type { Health } from './health.ts'
import type { Log } from './log.ts'

/** How long running requests may take to finish once the service is told to stop (promises 8). */
const FINISH_MS = 10_000

export type Stopping = {
  http: Server<undefined>
  health: Health
  log: Log
  chores: Chores
  store: Store
  lock: { release(): void }
  parts: Parts
}

/** SIGTERM and SIGINT drain and exit 0; an uncaught exception drains and exits 1; a rejected promise is survived. */
export function drainOnSignals(stopping: Stopping): void {
  const { log } = stopping
  let draining: Promise<void> | null = null
  const drainThenExit = (code: number): void => {
    draining ??= drain(stopping).finally(() => process.exit(code))
  }
  process.on('SIGTERM', () => drainThenExit(0))
  process.on('SIGINT', () => drainThenExit(0))
  process.on('unhandledRejection', (reason) => log.write('error', 'a promise was rejected', { reason: nameOf(reason) }))
  process.on('uncaughtException', (error) => {
    log.write('error', 'an exception was not caught', { reason: nameOf(error) })
    drainThenExit(1)
  })
}

/** Stops at once and says why: nothing more may be acknowledged. */
export function onFault(log: Log, message: string, reason: string): void {
  log.write('error', message, { reason })
  log.flush()
  process.exit(1)
}

/** Readiness red, no new connections, what runs is finished, what is accepted is on disk, the log is copied. */
async function drain({ http, health, log, chores, store, lock, parts }: Stopping): Promise<void> {
  log.write('info', 'stopping')
  health.isDraining = true
  chores.stop()
  void http.stop()
  const until = performance.now() + FINISH_MS
  while (http.pendingRequests > 0 && performance.now() < until) await Bun.sleep(10)
  await parts.access.saveUses()
  await store.close()
  void http.stop(true)
  lock.release()
  log.write('info', 'stopped')
  log.flush()
}

const nameOf = (reason: unknown): string => (reason instanceof Error ? (reason.stack ?? reason.message) : String(reason))

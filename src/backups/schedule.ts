import { type Clock, MINUTE_MS } from '../core/clock.ts'
import type { BackupPlace, S3Access } from '../core/backup-places.ts'
import type { Backup } from '../store/backups.ts'
import { openSource } from '../store/engine/backup-files.ts'
import { BACKUP_THREAD, takeWorker } from '../store/engine/workers.ts'
import type { Store } from '../store/store.ts'
import { nameOf, openPlace } from './places.ts'
import type { FromBackup, MadeBackup, ToBackup } from './thread.ts'

const RETRY_MS = 10 * MINUTE_MS
/** More than are kept. */
const LOOKED_THROUGH = 1_000

/** `keep`: how many. */
export type BackupSettings = { place: BackupPlace; access: S3Access | null; everyMs: number; keep: number }

type Note = (level: 'info' | 'warn' | 'error', message: string, fields: Record<string, string | number>) => void

type Parts = {
  folder: string
  store: Pick<Store, 'listBackups' | 'recordBackup'>
  clock: Clock
  settings: BackupSettings
  note: Note
}

/** Whether the last good one is older than the interval. A clock that was set back makes one early rather than late. */
export const isDue = (last: Pick<Backup, 'startedAt'> | undefined, now: number, everyMs: number): boolean =>
  last === undefined || Math.abs(now - last.startedAt) >= everyMs

/** Makes backups in a thread, so that no request waits. A failed one is tried again every ten minutes. */
export function createBackups({ folder, store, clock, settings, note }: Parts) {
  const { place: given, access, everyMs, keep } = settings
  const place = openPlace(given, folder, access)
  let source: number | null = null
  let running: { end: () => void; ended: Promise<unknown> } | null = null
  let failedAt = -Infinity
  let isStopped = false

  const findLast = async (): Promise<Backup | undefined> =>
    (await store.listBackups(LOOKED_THROUGH)).find(
      (one) => one.kind === 'scheduled' && one.error === null && one.place === place.addressOf(nameOf(one.startedAt)),
    )

  const make = async (name: string): Promise<MadeBackup> => {
    source ??= openSource(folder)
    const started = run({ source: { folder, descriptor: source }, place: given, access, name, keep })
    running = started
    return started.ended.finally(() => (running = null))
  }

  const record = async (startedAt: number, name: string): Promise<void> => {
    const row = { kind: 'scheduled', place: place.addressOf(name), startedAt } as const
    try {
      const { bytes, removed, warning } = await make(name)
      const finishedAt = clock.now()
      await store.recordBackup({ ...row, finishedAt, bytes, error: null, removedPlaces: removed })
      note('info', 'backup made', { place: row.place, bytes, ms: finishedAt - startedAt })
      if (warning !== null) note('warn', 'old backups could not be deleted', { reason: warning })
      failedAt = -Infinity
    } catch (error) {
      // a stopping server makes it after the next start
      if (isStopped) return
      const reason = error instanceof Error ? error.message : String(error)
      failedAt = clock.monotonicMs()
      await store.recordBackup({ ...row, finishedAt: clock.now(), bytes: 0, error: reason, removedPlaces: [] })
      note('error', 'a backup failed; it is tried again', { place: row.place, reason, minutes: RETRY_MS / MINUTE_MS })
    }
  }

  return {
    /** Call it every minute; not while the last call goes on. */
    async runIfDue(): Promise<void> {
      const isRetry = clock.monotonicMs() - failedAt >= RETRY_MS
      if (!isRetry || !isDue(await findLast(), clock.now(), everyMs) || isStopped) return
      const now = clock.now()
      await record(now, nameOf(now))
    },
    /** Gives up the one that is being made. */
    async stop(): Promise<void> {
      isStopped = true
      if (running === null) return
      running.end()
      await running.ended.catch(() => {})
      place.removeLeft()
    },
  }
}

function run(request: ToBackup): { end: () => void; ended: Promise<MadeBackup> } {
  const thread = takeWorker(BACKUP_THREAD)
  const { promise, resolve, reject } = Promise.withResolvers<MadeBackup>()
  thread.onerror = ({ message }) => reject(new Error(message))
  thread.onmessage = ({ data }: MessageEvent<FromBackup>) =>
    'made' in data ? resolve(data.made) : reject(new Error(data.failure))
  thread.postMessage(request)
  return { end: () => reject(new Error('stopped')), ended: promise.finally(() => thread.terminate()) }
}

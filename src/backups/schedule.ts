import { type Clock, HOUR_MS, MINUTE_MS } from '../core/clock.ts'
import type { BackupPlace, S3Access } from '../core/backup-places.ts'
import type { Backup, BackupWrite } from '../store/backups.ts'
import { openSource } from '../store/engine/backup-files.ts'
import { BACKUP_THREAD, takeWorker } from '../store/engine/workers.ts'
import type { Store } from '../store/store.ts'
import { describeFault, listSurplus, nameOf, openPlace } from './places.ts'
import type { FromBackup, MadeBackup, ToBackup } from './thread.ts'

/** After a failure, then twice as long after each further one. */
const RETRY_MS = 10 * MINUTE_MS
const MOST_RETRY_MS = HOUR_MS
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

/** The thread uploads for minutes if storage hangs, and its draft takes space meanwhile. */
const retryMs = (failures: number): number =>
  failures === 0 ? 0 : Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** (failures - 1))

/** Makes backups in a thread, so that no request waits. */
export function createBackups({ folder, store, clock, settings, note }: Parts) {
  const { place: given, access, everyMs, keep } = settings
  const place = openPlace(given, folder, access)
  let source: number | null = null
  let running: { end: () => void; ended: Promise<unknown> } | null = null
  let failedAt = -Infinity
  let failures = 0
  /** While nothing can be saved, it is the only record of the last one. */
  let last: Pick<Backup, 'startedAt'> | undefined
  let unsaved: { name: string; row: Omit<BackupWrite, 'removedPlaces'>; isNoted: boolean } | null = null
  let isStopped = false

  const findLast = async (): Promise<Backup | undefined> =>
    (await store.listBackups(LOOKED_THROUGH)).find(
      (one) => one.kind === 'scheduled' && one.error === null && one.place === place.addressOf(nameOf(one.startedAt)),
    )

  const make = async (name: string): Promise<MadeBackup> => {
    source ??= openSource(folder)
    const started = run({ source: { folder, descriptor: source }, place: given, access, name })
    running = started
    return started.ended.finally(() => (running = null))
  }

  const record = async (startedAt: number, name: string): Promise<void> => {
    const row = { kind: 'scheduled', place: place.addressOf(name), startedAt } as const
    const made = await make(name).catch((error: unknown) => ({ reason: describeFault(error) }))
    const finishedAt = clock.now()
    if ('reason' in made) {
      // a stopping server makes it after the next start
      if (isStopped) return
      failedAt = clock.monotonicMs()
      failures += 1
      await store.recordBackup({ ...row, finishedAt, bytes: 0, error: made.reason, removedPlaces: [] })
      const minutes = retryMs(failures) / MINUTE_MS
      note('error', 'a backup failed and will be retried', { place: row.place, reason: made.reason, minutes })
      return
    }
    failures = 0
    last = { startedAt }
    unsaved = { name, row: { ...row, finishedAt, bytes: made.bytes, error: null }, isNoted: false }
    note('info', 'backup made', { place: row.place, bytes: made.bytes, ms: finishedAt - startedAt })
    await save()
  }

  /** Deletes old backups only then: until it is saved, the next start makes another one. */
  const save = async (): Promise<void> => {
    if (unsaved === null) return
    const { name, row, isNoted } = unsaved
    const surplus = await findSurplus(name)
    const outcome = await store.recordBackup({ ...row, removedPlaces: surplus.map(place.addressOf) })
    if ('refusal' in outcome) {
      if (!isNoted) note('warn', 'a backup could not be recorded, so old ones are not deleted', { place: row.place })
      unsaved.isNoted = true
      return
    }
    unsaved = null
    await removeAll(surplus)
  }

  const noteLeft = (error: unknown): void =>
    note('warn', 'old backups could not be deleted', { reason: describeFault(error) })

  const findSurplus = async (name: string): Promise<string[]> => {
    try {
      return listSurplus(await place.list(), name, keep)
    } catch (error) {
      noteLeft(error)
      return []
    }
  }

  const removeAll = async (names: string[]): Promise<void> => {
    try {
      for (const name of names) await place.remove(name)
    } catch (error) {
      noteLeft(error)
    }
  }

  return {
    /** Call it every minute; not while the last call goes on. */
    async runIfDue(): Promise<void> {
      await save()
      const isRetry = clock.monotonicMs() - failedAt >= retryMs(failures)
      const now = clock.now()
      const isNext = isRetry && isDue(last ?? (await findLast()), now, everyMs)
      if (isNext && !isStopped) await record(now, nameOf(now))
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

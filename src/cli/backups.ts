import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { describeFault, download } from '../backups/places.ts'
import { readConfig, UsageError } from '../config.ts'
import { BACKUP_PLACE_MESSAGE, readBackupPlace } from '../core/backup-places.ts'
import { recordBackupIn } from '../store/backups.ts'
import { openSource, removeLeft, writeBackup, yieldToServer } from '../store/engine/backup-files.ts'
import { hasDatabase } from '../store/engine/database.ts'
import { StoreError } from '../store/engine/errors.ts'
import { restoreDatabase } from '../store/restores.ts'
import {
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  type Given,
  JSON_OUTPUT,
  masterKeyOf,
  requireFolder,
  toIso,
  warnOfUnknownSettings,
} from './command.ts'

const USE_POSTGRES = "Back it up with pg_dump or your provider's backups."
const RESTORE_POSTGRES = "Restore it with pg_restore or your provider's backups."

export const backup: Command = {
  name: 'backup',
  words: 'FILE',
  summary: 'copies the database into a new file while the server runs, and checks it',
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given, env) => {
    // an absolute path still means the same when it is read later
    const file = resolve(readPlace(given, 'backup'))
    const folder = requireFolder(given, env, USE_POSTGRES)
    warnOfUnknownSettings(env)
    if (!hasDatabase(folder)) {
      throw new StoreError('missing', `There is no database in ${folder}. Set --data to the folder of the database.`)
    }
    const startedAt = Date.now()
    const bytes = await writeBackup({ folder, descriptor: openSource(folder) }, file, yieldToServer)
    try {
      await recordBackupIn(folder, {
        kind: 'manual',
        place: file,
        startedAt,
        finishedAt: Date.now(),
        bytes,
        error: null,
      })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      console.error(`eventpost: the backup is complete, but the database could not record it: ${reason}`)
    }
    return { file, bytes, checked: 'ok' }
  },
}

const RESUME = 'Start the server, check the emails that were not sent under Deliveries, then set messages live again.'

export const restore: Command = {
  name: 'restore',
  words: 'FILE|s3://...',
  summary: 'checks a backup and puts it into a data folder without a database; pauses all live messages',
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given, env) => {
    const place = readPlace(given, 'restore')
    const folder = requireFolder(given, env, RESTORE_POSTGRES)
    warnOfUnknownSettings(env)
    removeDownloads(folder)
    const target = { folder, masterKey: masterKeyOf(env), at: Date.now() }
    const restored = place.startsWith(S3)
      ? await withDownload(place, folder, env, (file) => restoreDatabase(file, target))
      : await restoreDatabase(resolve(place), target)
    const { newestEventAt, paused, ended } = restored
    return {
      folder,
      newestEvent: newestEventAt === null ? null : toIso(newestEventAt),
      pausedMessages: paused,
      emailsNotSent: ended,
      next: RESUME,
    }
  },
}

const DOWNLOAD = /^\.(\d+)\.download$/

/** Of killed restores. A restore needs no access to the folder around the data folder. */
function removeDownloads(folder: string): void {
  try {
    removeLeft(resolve(folder), DOWNLOAD)
  } catch {}
}

const S3 = 's3://'

/** In the data folder, or next to it: the restore creates it, and removes it if it fails. */
async function withDownload<T>(
  address: string,
  folder: string,
  env: Environment,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const name = `${process.pid}.download`
  const file = existsSync(folder) ? resolve(folder, name) : `${resolve(folder)}.${name}`
  if (readBackupPlace(address) === null) throw new UsageError(`FILE ${BACKUP_PLACE_MESSAGE}`)
  const { access } = readConfig({}, { ...s3SettingsOf(env), EVENTPOST_BACKUP_TO: address }).backups ?? {}
  try {
    if (access) await download(address, access, file).catch(refuseDownload)
    return await work(file)
  } finally {
    rmSync(file, { force: true })
  }
}

const s3SettingsOf = (env: Environment): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('EVENTPOST_S3_')))

function refuseDownload(error: unknown): never {
  throw new CommandRefused(describeFault(error))
}

function readPlace(given: Given, name: string): string {
  const [place, ...more] = given.words
  if (place === undefined || place === '' || more.length > 0)
    throw new UsageError(`Specify one file: eventpost ${name} FILE.`)
  return place
}

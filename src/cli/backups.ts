import { existsSync, rmSync } from 'node:fs'
import { describeLocation, type PostgresLocation } from '../core/data-location.ts'
import { resolve } from 'node:path'
import { describeFault, download } from '../backups/places.ts'
import { type Config, readConfig, UsageError } from '../config.ts'
import { readBackupPlace, type S3Access } from '../core/backup-places.ts'
import { recordBackupIn } from '../store/backups.ts'
import { yieldToServer } from '../core/priority.ts'
import { openSource, removeLeft, writeBackup } from '../store/engine/backup-files.ts'
import { hasDatabase } from '../store/engine/database.ts'
import { StoreError } from '../store/engine/errors.ts'
import { holdRestored } from '../store/postgres/offline.ts'
import { restoreDatabase, type Restored } from '../store/restores.ts'
import {
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  type Given,
  JSON_OUTPUT,
  locationOf,
  requireFolder,
  type Options,
  optionOf,
  toIso,
  warnOfUnknownSettings,
} from './command.ts'

const USE_POSTGRES = "Back it up with pg_dump or your provider's backups."

export const backup: Command = {
  name: 'backup',
  words: 'FILE',
  summary:
    'copies the database into a new file while the server runs, and checks it. Needs no master key: secrets stay encrypted. For scheduled backups, including backups to S3, set EVENTPOST_BACKUP_TO; see serve --help',
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given, env) => {
    // an absolute path still means the same when it is read later
    const file = resolve(readPlace(given, 'backup'))
    const folder = requireFolder(given, env, USE_POSTGRES)
    warnOfUnknownSettings(env)
    if (!hasDatabase(folder)) {
      throw new StoreError(
        'missing',
        `There is no database in ${resolve(folder)}. Set --data to the folder that contains the database.`,
      )
    }
    const startedAt = Date.now()
    const bytes = await writeBackup({ folder, descriptor: openSource(folder) }, file, () => yieldToServer('little'))
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

const RESUME =
  'Start the server, check the emails with the reason “Restored from a backup” and the Unknown ones under Deliveries, then make messages live again.'

const SETTINGS_TO_RESTORE: Options = Object.assign(
  {},
  ...(['masterKey', 's3Endpoint', 's3Region', 's3AccessKey', 's3SecretKey'] as const).map(optionOf),
)

export const restore: Command = {
  name: 'restore',
  words: 'FILE|s3://...',
  summary:
    "checks a backup and puts it into a data folder without a database; pauses all live messages. Without FILE, pauses them in a database that was restored with PostgreSQL's own tools",
  options: { ...DATA, ...SETTINGS_TO_RESTORE, ...JSON_OUTPUT },
  run: async (given, env) => {
    const location = locationOf(given, env)
    warnOfUnknownSettings(env)
    if (!('folder' in location)) return await restoreInPostgres(location, given)
    const place = readPlace(given, 'restore')
    const { folder } = location
    removeDownloads(folder)
    const { masterKey, backups } = readRestoring(place, given, env)
    const target = { folder, masterKey, at: Date.now() }
    const restored = backups?.access
      ? await withDownload(place, { folder, access: backups.access }, (file) => restoreDatabase(file, target))
      : await restoreDatabase(resolve(place), target)
    return { folder, ...describeRestored(restored) }
  },
}

const describeRestored = ({ newestEventAt, paused, ended }: Restored) => ({
  newestEvent: newestEventAt === null ? null : toIso(newestEventAt),
  pausedMessages: paused,
  emailsNotSent: ended,
  next: RESUME,
})

/** Its own tools have restored it. */
async function restoreInPostgres(location: PostgresLocation, { words }: Given) {
  if (words.length > 0)
    throw new UsageError(
      'EVENTPOST_DATABASE_URL is set, and backup files are for the data folder. Restore the database with pg_restore, then run eventpost restore without a file.',
    )
  const restored = await holdRestored(location, Date.now())
  return { database: describeLocation(location), ...describeRestored(restored) }
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
  { folder, access }: { folder: string; access: S3Access },
  work: (file: string) => Promise<T>,
): Promise<T> {
  const name = `${process.pid}.download`
  const file = existsSync(folder) ? resolve(folder, name) : `${resolve(folder)}.${name}`
  try {
    await download(address, access, file).catch(refuseDownload)
    return await work(file)
  } finally {
    rmSync(file, { force: true })
  }
}

/** Settings of S3 matter to backups in a bucket only. */
function readRestoring(place: string, given: Given, env: Environment): Pick<Config, 'masterKey' | 'backups'> {
  const flags = Object.fromEntries(Object.keys(SETTINGS_TO_RESTORE).map((name) => [name, given.text(name)]))
  const { 'master-key': masterKey, ...s3 } = flags
  const settingsOf = (start: string): Environment =>
    Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith(start)))
  const key = settingsOf('EVENTPOST_MASTER_KEY')
  if (!place.startsWith(S3)) return readConfig({ 'master-key': masterKey }, key)
  if (readBackupPlace(place) === null)
    throw new UsageError('FILE takes a backup file, or an address such as s3://bucket/name.db.')
  return readConfig(
    { 'master-key': masterKey, ...s3 },
    { ...key, ...settingsOf('EVENTPOST_S3_'), EVENTPOST_BACKUP_TO: place },
  )
}

function refuseDownload(error: unknown): never {
  throw new CommandRefused(describeFault(error))
}

function readPlace(given: Given, name: string): string {
  const [place, ...more] = given.words
  if (place === undefined || place === '' || more.length > 0)
    throw new UsageError(`Specify one file: eventpost ${name} FILE.`)
  return place
}

import { resolve } from 'node:path'
import { UsageError } from '../config.ts'
import { recordBackupIn } from '../store/backups.ts'
import { openSource, writeBackup, yieldToServer } from '../store/engine/backup-files.ts'
import { hasDatabase } from '../store/engine/database.ts'
import { StoreError } from '../store/engine/errors.ts'
import { restoreDatabase } from '../store/restores.ts'
import {
  type Command,
  DATA,
  folderOf,
  type Given,
  JSON_OUTPUT,
  masterKeyOf,
  toIso,
  warnOfUnknownSettings,
} from './command.ts'

export const backup: Command = {
  name: 'backup',
  words: 'FILE',
  summary: 'copies the database into a new file while the server runs, and checks it',
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given, env) => {
    const file = readFileName(given, 'backup')
    const folder = folderOf(given, env)
    warnOfUnknownSettings(env)
    if (!hasDatabase(folder)) {
      throw new StoreError('missing', `There is no database in ${folder}. Set --data to the folder of the database.`)
    }
    const started = { kind: 'manual', place: file, startedAt: Date.now() } as const
    try {
      const bytes = await writeBackup({ folder, descriptor: openSource(folder) }, file, yieldToServer)
      recordBackupIn(folder, { ...started, finishedAt: Date.now(), bytes, error: null })
      return { file, bytes, checked: 'ok' }
    } catch (error) {
      const isRefused = error instanceof StoreError && error.code === 'file_exists'
      if (!isRefused)
        noteFailure(() =>
          recordBackupIn(folder, { ...started, finishedAt: Date.now(), bytes: 0, error: reasonOf(error) }),
        )
      throw error
    }
  },
}

/** The database may be what failed. */
function noteFailure(note: () => void): void {
  try {
    note()
  } catch {}
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const RESUME = 'Start the server, look at what was waiting under Deliveries, then set messages live again.'

export const restore: Command = {
  name: 'restore',
  words: 'FILE',
  summary: 'checks a backup and puts it into a data folder without a database; pauses all live messages',
  options: { ...DATA, ...JSON_OUTPUT },
  run: async (given, env) => {
    const file = readFileName(given, 'restore')
    const folder = folderOf(given, env)
    warnOfUnknownSettings(env)
    const restored = await restoreDatabase(file, { folder, masterKey: masterKeyOf(env), at: Date.now() })
    const { newestEventAt, paused, ended, waiting } = restored
    return {
      folder,
      newestEvent: newestEventAt === null ? null : toIso(newestEventAt),
      pausedMessages: paused,
      emailsNotSent: ended,
      emailsWaiting: waiting,
      next: RESUME,
    }
  },
}

/** An absolute path, which still means the same when it is read later. */
function readFileName(given: Given, name: string): string {
  const [file, ...more] = given.words
  if (file === undefined || file === '' || more.length > 0)
    throw new UsageError(`Specify one file: eventpost ${name} FILE.`)
  return resolve(file)
}

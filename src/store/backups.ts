/** Finished and failed backups. Times are ms UTC. */
import type { Sql } from './engine/sql.ts'
import { createSqliteSql } from './engine/sqlite-sql.ts'
import { dirname } from 'node:path'
import { type Done, DONE } from './audit.ts'
import { openUnchanged } from './engine/database.ts'
import { SCHEMA_VERSION } from './engine/migrations/index.ts'
import { schemaVersion } from './engine/upgrades.ts'
import { inTransaction } from './engine/transactions.ts'

/** Stored as they are; see the migration. */
export type BackupKind = 'manual' | 'scheduled'

/** `place`: a path or an s3:// address, without credentials. `bytes`: 0 if it failed. `error`: null if it succeeded. */
export type Backup = {
  kind: BackupKind
  place: string
  startedAt: number
  finishedAt: number
  bytes: number
  error: string | null
}

/** `removedPlaces`: of backups that were deleted after this one. */
export type BackupWrite = Backup & { removedPlaces: readonly string[] }

/** Rows kept of each kind, of those that succeeded and of those that failed. */
const KEPT_ROWS = 100

const COLUMNS = 'kind, place, started_at AS "startedAt", finished_at AS "finishedAt", bytes, error'

export function createBackupReads(db: Sql) {
  const lastGood = db.prepare<Backup, []>(`SELECT ${COLUMNS} FROM backups WHERE error IS NULL ORDER BY id DESC LIMIT 1`)
  const scheduled = db.prepare<Backup, []>(`SELECT ${COLUMNS} FROM backups WHERE kind = 'scheduled' ORDER BY id DESC`)
  const recent = db.prepare<Backup, [number]>(`SELECT ${COLUMNS} FROM backups ORDER BY id DESC LIMIT ?`)
  return {
    /** `isScheduled`: only of the scheduled ones in their current place, which is that of the last try. */
    async findLastGoodBackup(isScheduled: boolean): Promise<Backup | null> {
      if (!isScheduled) return await lastGood.get()
      const tries = await scheduled.all()
      const folder = dirname(tries[0]?.place ?? '')
      return tries.find(({ place, error }) => error === null && dirname(place) === folder) ?? null
    },

    /** Scheduled ones only: a manual backup reports its failure on the command line. */
    findLastFailedBackup: async (): Promise<Backup | null> =>
      (await scheduled.all()).find(({ error }) => error !== null) ?? null,

    /** The newest first. */
    listBackups: async (limit: number): Promise<Backup[]> => await recent.all(limit),
  }
}

export function createBackupWrites(db: Sql) {
  const insert = db.prepare<never, [BackupKind, string, number, number, number, string | null]>(
    'INSERT INTO backups (kind, place, started_at, finished_at, bytes, error) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const removeGone = db.prepare(`DELETE FROM backups WHERE ${db.dialect.isOneOfTexts('place')}`)
  const removeOld = db.prepare(
    `DELETE FROM backups WHERE id IN (
       SELECT id FROM (
         SELECT id, row_number() OVER (PARTITION BY kind, error IS NULL ORDER BY id DESC) AS place FROM backups) AS numbered
       WHERE place > ${KEPT_ROWS})`,
  )
  return {
    async recordBackup({
      kind,
      place,
      startedAt,
      finishedAt,
      bytes,
      error,
      removedPlaces,
    }: BackupWrite): Promise<Done> {
      await removeGone.run(JSON.stringify(removedPlaces))
      await insert.run(kind, place, startedAt, finishedAt, bytes, error)
      await removeOld.run()
      return DONE
    },
  }
}

/** Without the master key. @returns false if the database is of another version, which may lack the table */
export async function recordBackupIn(folder: string, backup: Backup): Promise<boolean> {
  const db = openUnchanged(folder)
  try {
    if (schemaVersion(db) !== SCHEMA_VERSION) return false
    await inTransaction(db, () =>
      createBackupWrites(createSqliteSql(db)).recordBackup({ ...backup, removedPlaces: [] }),
    )
    return true
  } finally {
    db.close()
  }
}

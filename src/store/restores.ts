import type { Database } from 'bun:sqlite'
import { createSqliteSql } from './engine/sqlite-sql.ts'
import { realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createAlertReads, createAlertWrites } from './alerts.ts'
import { createAudit, writeMessageSubject } from './audit.ts'
import { restoreBackup } from './engine/backup-files.ts'
import { databasePath, hasDatabase } from './engine/database.ts'
import { StoreError } from './engine/errors.ts'
import { isFolderServed, lockFolder } from './engine/folder-lock.ts'
import { openForWriting } from './engine/sealed-columns.ts'
import { createSealer } from './engine/sealing.ts'
import { inTransaction } from './engine/transactions.ts'
import { IS_CLAIMED, IS_WAITING, TIMED_KEY } from './delivery-states.ts'
import { OWN_TEXT_NAME } from './sends.ts'

/** The reason of emails that were waiting in a backup and may have been sent since. */
const RESTORED = 'restored'

/** For SQLite: no limit. */
const ALL = -1

type Live = { id: number; accountId: string; name: string; updatedAt: number }

/** `newestEventAt`: ms UTC. `ended`: emails that waited. */
export type Restored = { paused: number; ended: number; newestEventAt: number | null }

/** @throws StoreError with the reason and the remedy */
export async function restoreDatabase(
  given: string,
  { folder, masterKey, at }: { folder: string; masterKey: string | null; at: number },
): Promise<Restored> {
  // the log is beside the file itself
  const file = followLinks(given)
  for (const path of [given, file]) refuseServed(path)
  const lock = lockFolder(folder)
  try {
    const restored = await restoreBackup(file, folder, async (drafts) => {
      const db = await openForWriting(drafts, createSealer(masterKey))
      try {
        return await inTransaction(db, async () => {
          await holdNotices(db, at)
          return holdEmails(db, at)
        })
      } finally {
        db.close()
      }
    })
    lock.release()
    return restored
  } catch (error) {
    lock.abandon()
    throw error
  }
}

/** A missing file is refused later. */
function followLinks(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** Its log changes while it is copied. */
function refuseServed(file: string): void {
  const folder = dirname(file)
  if (resolve(file) !== resolve(databasePath(folder)) || !hasDatabase(folder)) return
  if (isFolderServed(folder))
    throw new StoreError('folder_in_use', `A server is using ${file}. Make a backup of it first: eventpost backup FILE`)
}

/**
 * What waits may have been sent after the backup was made, even if it is due later: a member, an API key, a limit that
 * was lifted or a page view makes an email earlier. So nothing of it is sent again by itself.
 */
async function holdEmails(db: Database, at: number): Promise<Restored> {
  const audit = createAudit(createSqliteSql(db))
  const live = db
    .query<Live, [string]>(
      `SELECT id, account_id AS accountId, name, updated_at AS updatedAt FROM messages
       WHERE status = 'live' AND name <> ?`,
    )
    .all(OWN_TEXT_NAME)
  const pause = db.query(`UPDATE messages SET status = 'paused', updated_at = ? WHERE id = ?`)
  for (const { id, accountId, name, updatedAt } of live) {
    pause.run(Math.max(at, updatedAt + 1), id)
    await audit({ accountId, actor: 'cli', at }, 'message.paused', writeMessageSubject(id, name))
  }
  const { changes } = db
    .query<never, [string, number, string]>(
      `UPDATE deliveries SET state = 'unknown', reason = ?1, handed_at = ifnull(handed_at, min(due_at, ?2)),
         claimed_by = NULL, claimed_until = NULL, once_key = nullif(once_key, ?3), updated_at = ?2
       WHERE ${IS_WAITING} OR ${IS_CLAIMED}`,
    )
    .run(RESTORED, at, TIMED_KEY)
  return {
    paused: live.length,
    ended: changes,
    newestEventAt: newestEventOf(db),
  }
}

/** Alerts of the old server, and the summary of the week before. What is wrong with the copy opens alerts of its own. */
async function holdNotices(db: Database, at: number): Promise<void> {
  const { listAlerts } = createAlertReads(createSqliteSql(db))
  const alerts = (await listAlerts(ALL)).map((alert) => ({
    ...alert,
    resolvedAt: alert.resolvedAt ?? Math.max(at, alert.openedAt),
    notices: alert.notices.map((one) => (one.state === 'due' ? { ...one, state: 'left_out' as const } : one)),
  }))
  await createAlertWrites(createSqliteSql(db)).saveAlerts({ alerts })
  db.query('UPDATE memberships SET summarized_at = max(ifnull(summarized_at, 0), ?)').run(at)
}

const newestEventOf = (db: Database): number | null =>
  db.query<{ at: number }, []>('SELECT received_at AS at FROM events ORDER BY id DESC LIMIT 1').get()?.at ?? null

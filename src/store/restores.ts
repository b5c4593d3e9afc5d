import type { Sql } from './engine/sql.ts'
import { createSqliteSql } from './engine/sqlite-sql.ts'
import { realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createAlertReads, createAlertWrites } from './alerts.ts'
import { createAudit, writeMessageSubject } from './audit.ts'
import { refuseForeign, restoreBackup } from './engine/backup-files.ts'
import { databasePath, hasDatabase } from './engine/database.ts'
import { StoreError } from './engine/errors.ts'
import { isFolderServed, lockFolder } from './engine/folder-lock.ts'
import { openForWriting } from './engine/sealed-columns.ts'
import { createSealer } from './engine/sealing.ts'
import { inTransaction } from './engine/transactions.ts'
import { IS_CLAIMED, IS_WAITING, RESTORED, TIMED_KEY } from './delivery-states.ts'
import { SERVER_FACTS } from './install.ts'
import { noteRestore } from './restored.ts'
import { OWN_TEXT_NAME } from './sends.ts'

/** The reason of emails that were being handed over. */
const HANDED = 'stopped'

/** No limit. */
const ALL = Number.MAX_SAFE_INTEGER

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
  refuseForeign(file)
  for (const path of [given, file]) refuseServed(path)
  const lock = lockFolder(folder)
  try {
    const restored = await restoreBackup(file, folder, async (drafts) => {
      const db = await openForWriting(drafts, createSealer(masterKey))
      try {
        return await inTransaction(db, () => holdAll(createSqliteSql(db), at))
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

/** In a transaction: makes the copy one that sends nothing by itself. `at`: ms UTC. */
export async function holdAll(db: Sql, at: number): Promise<Restored> {
  await holdNotices(db, at)
  await forgetMachine(db)
  const held = await holdEmails(db, at)
  await noteRestore(db, { at, paused: held.paused, ended: held.ended })
  return held
}

/**
 * What waits may have been sent after the backup was made, even if it is due later: a member, an API key, a limit that
 * was lifted or a page view makes an email earlier. So nothing of it is sent again by itself.
 */
async function holdEmails(db: Sql, at: number): Promise<Restored> {
  const audit = createAudit(db)
  const live = await db
    .prepare<Live>(
      `SELECT id, account_id AS "accountId", name, updated_at AS "updatedAt" FROM messages
       WHERE status = 'live' AND name <> ?`,
    )
    .all(OWN_TEXT_NAME)
  const pause = db.prepare(`UPDATE messages SET status = 'paused', updated_at = ? WHERE id = ?`)
  for (const { id, accountId, name, updatedAt } of live) {
    await pause.run(Math.max(at, updatedAt + 1), id)
    await audit({ accountId, actor: 'cli', at }, 'message.paused', writeMessageSubject(id, name))
  }
  const { changes } = await db
    .prepare(
      `UPDATE deliveries SET
         state = CASE WHEN state = 'handed' THEN 'unknown' ELSE 'skipped' END,
         reason = CASE WHEN state = 'handed' THEN '${HANDED}' ELSE '${RESTORED}' END,
         handed_at = coalesce(handed_at, ${db.dialect.least('due_at', 'CAST(?1 AS bigint)')}),
         claimed_by = NULL, claimed_until = NULL, once_key = nullif(once_key, '${TIMED_KEY}'), updated_at = ?1
       WHERE ${IS_WAITING} OR ${IS_CLAIMED}`,
    )
    .run(at)
  return {
    paused: live.length,
    ended: changes,
    newestEventAt: await findNewestEvent(db),
  }
}

/** Backups and settings of the machine that the backup comes from. */
async function forgetMachine(db: Sql): Promise<void> {
  await db.prepare('DELETE FROM backups').run()
  await db.prepare('DELETE FROM install WHERE name = ?').run(SERVER_FACTS)
}

/** Alerts of the old server, and the summary of the week before. What is wrong with the copy opens alerts of its own. */
async function holdNotices(db: Sql, at: number): Promise<void> {
  const { listAlerts } = createAlertReads(db)
  const alerts = (await listAlerts(ALL)).map((alert) => ({
    ...alert,
    resolvedAt: alert.resolvedAt ?? Math.max(at, alert.openedAt),
    notices: alert.notices.map((one) => (one.state === 'due' ? { ...one, state: 'left_out' as const } : one)),
  }))
  await createAlertWrites(db).saveAlerts({ alerts, epoch: 0 })
  const summarized = db.dialect.greatest('coalesce(summarized_at, 0)', 'CAST(? AS bigint)')
  await db.prepare(`UPDATE memberships SET summarized_at = ${summarized}`).run(at)
}

const findNewestEvent = async (db: Sql): Promise<number | null> =>
  (await db.prepare<{ at: number }>('SELECT received_at AS at FROM events ORDER BY id DESC LIMIT 1').get())?.at ?? null

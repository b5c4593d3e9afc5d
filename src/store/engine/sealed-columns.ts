import type { Database } from 'bun:sqlite'
import { truncateLog } from './checkpoints.ts'
import { openDatabase, openForReading } from './database.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { OnUpgrade } from './upgrades.ts'
import type { MailSettings } from '../message-types.ts'
import { createSealer, SEALED_PREFIX, type Sealer } from './sealing.ts'

/** Sealed columns, with the column that identifies the row. */
const SEALED = {
  'identity_secrets.secret': 'id',
  'app_mail_settings.smtp_url': 'app_id',
  'app_mail_settings.dkim_key': 'app_id',
  'app_mail_settings.bounce_secret': 'app_id',
  'app_mail_settings.hook_secrets': 'app_id',
  'two_steps.secret': 'member_id',
} as const
type SealedColumn = keyof typeof SEALED

const MAIL_COLUMNS = {
  smtpUrl: 'app_mail_settings.smtp_url',
  dkimKey: 'app_mail_settings.dkim_key',
  bounceSecret: 'app_mail_settings.bounce_secret',
  hookSecrets: 'app_mail_settings.hook_secrets',
} as const satisfies Partial<Record<keyof MailSettings, SealedColumn>>
type MailSecrets = Partial<Pick<MailSettings, keyof typeof MAIL_COLUMNS>>

/** A sealed constant that verifies the key. */
const CHECK = 'master_key_check'

const contextOf = (column: SealedColumn, row: string | number): string => `${column}:${row}`
export const secretContext = (id: string): string => contextOf('identity_secrets.secret', id)
export const twoStepContext = (memberId: string): string => contextOf('two_steps.secret', memberId)

export const sealMail = <T extends MailSecrets>({ seal }: Sealer, appId: number, settings: T): T =>
  mapSecrets(settings, (text, column) => seal(text, contextOf(column, appId)))

export const unsealMail = <T extends MailSecrets>({ unseal }: Sealer, appId: number, settings: T): T =>
  mapSecrets(settings, (text, column) => unseal(text, contextOf(column, appId)))

function mapSecrets<T extends MailSecrets>(settings: T, change: (text: string, column: SealedColumn) => string): T {
  const changed = { ...settings }
  for (const name of Object.keys(MAIL_COLUMNS) as (keyof MailSecrets)[]) {
    const text = settings[name]
    if (typeof text === 'string') changed[name] = change(text, MAIL_COLUMNS[name])
  }
  return changed
}

/**
 * Seals unsealed secrets if there is a master key. `beforeFirst` runs before the first sealing and may throw.
 * @throws StoreError; `sealed` if the key is missing or wrong
 */
export function openForWriting(
  folder: string,
  sealer: Sealer,
  { beforeFirst = () => {}, onUpgrade }: { beforeFirst?: () => void; onUpgrade?: OnUpgrade } = {},
): Database {
  const db = openDatabase(folder, MIGRATIONS, onUpgrade)
  try {
    if (sealer.hasKey && findCheck(db) === null) beforeFirst()
    sealDatabase(db, sealer)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function sealDatabase(db: Database, sealer: Sealer): void {
  if (isSettled(db, sealer)) return
  db.transaction(() => {
    // another process may have sealed it while this one waited for the lock
    if (isSettled(db, sealer)) return
    db.run('INSERT INTO install (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', [CHECK, sealer.seal(CHECK, CHECK)])
    for (const { table, column, key, row, value, context } of listUnsealed(db)) {
      db.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [sealer.seal(value, context), row])
    }
  }).immediate()
  truncateLog(db)
}

/**
 * In one transaction; the folder must not be served (folder-lock.ts). Without a key in `to`, nothing stays encrypted.
 * @returns the number of values
 * @throws StoreError `sealed` if `from` is wrong
 */
export function changeMasterKey(folder: string, from: Sealer, to: Sealer): number {
  const db = openForWriting(folder, from)
  try {
    return db
      .transaction(() => {
        const sealed = listValues(db, `GLOB '${SEALED_PREFIX}*'`)
        for (const { table, column, key, row, value, context } of sealed) {
          db.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [
            to.seal(from.unseal(value, context), context),
            row,
          ])
        }
        if (to.hasKey) db.run('UPDATE install SET value = ? WHERE name = ?', [to.seal(CHECK, CHECK), CHECK])
        else db.run('DELETE FROM install WHERE name = ?', [CHECK])
        return sealed.length
      })
      .immediate()
  } finally {
    db.close()
  }
}

/** @throws StoreError `sealed` if the secrets are encrypted */
export function refuseSealed(folder: string): void {
  const db = openForReading(folder)
  try {
    isSettled(db, createSealer(null))
  } finally {
    db.close()
  }
}

const findCheck = (db: Database) =>
  db.query<{ value: string }, [string]>('SELECT value FROM install WHERE name = ?').get(CHECK)

/** @throws StoreError `sealed` if the key is wrong */
function isSettled(db: Database, sealer: Sealer): boolean {
  const check = findCheck(db)
  if (check) sealer.unseal(check.value, CHECK)
  return !sealer.hasKey || (check !== null && listUnsealed(db).length === 0)
}

const listUnsealed = (db: Database) => listValues(db, `NOT GLOB '${SEALED_PREFIX}*'`)

function listValues(db: Database, condition: string) {
  return (Object.keys(SEALED) as SealedColumn[]).flatMap((name) => {
    const [table, column] = name.split('.')
    const key = SEALED[name]
    const text = `SELECT ${key} AS row, ${column} AS value FROM ${table} WHERE ${column} ${condition}`
    const rows = db.query<{ row: string | number; value: string }, []>(text).all()
    return rows.map(({ row, value }) => ({ table, column, key, row, value, context: contextOf(name, row) }))
  })
}

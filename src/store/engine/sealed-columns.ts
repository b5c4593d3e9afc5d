import type { Database } from 'bun:sqlite'
import { truncateLog } from './checkpoints.ts'
import { openDatabase } from './database.ts'
import type { MailSettings } from '../message-types.ts'
import { SEALED_PREFIX, type Sealer } from './sealing.ts'

/** Every column that is sealed, with the one that names its row. What is kept as a hash is not. */
const SEALED = {
  'identity_secrets.secret': 'id',
  'app_mail_settings.smtp_url': 'app_id',
  'app_mail_settings.dkim_key': 'app_id',
  'app_mail_settings.bounce_secret': 'app_id',
  'two_steps.secret': 'member_id',
} as const
type SealedColumn = keyof typeof SEALED

const MAIL_COLUMNS = {
  smtpUrl: 'app_mail_settings.smtp_url',
  dkimKey: 'app_mail_settings.dkim_key',
  bounceSecret: 'app_mail_settings.bounce_secret',
} as const satisfies Partial<Record<keyof MailSettings, SealedColumn>>
type MailSecrets = Partial<Pick<MailSettings, keyof typeof MAIL_COLUMNS>>

/** A text sealed with the key that the database is sealed with. */
const CHECK = 'master_key_check'

const placeOf = (column: SealedColumn, row: string | number): string => `${column}:${row}`
export const secretPlace = (id: string): string => placeOf('identity_secrets.secret', id)
export const twoStepPlace = (memberId: string): string => placeOf('two_steps.secret', memberId)

/** Those of an app's mail settings that are secret are sealed, the others stay. */
export const sealMail = <T extends MailSecrets>({ seal }: Sealer, appId: number, settings: T): T =>
  mapSecrets(settings, (text, column) => seal(text, placeOf(column, appId)))

/** @throws StoreError `sealed` */
export const unsealMail = <T extends MailSecrets>({ unseal }: Sealer, appId: number, settings: T): T =>
  mapSecrets(settings, (text, column) => unseal(text, placeOf(column, appId)))

function mapSecrets<T extends MailSecrets>(settings: T, change: (text: string, column: SealedColumn) => string): T {
  const changed = { ...settings }
  for (const name of Object.keys(MAIL_COLUMNS) as (keyof MailSecrets)[]) {
    const text = settings[name]
    if (typeof text === 'string') changed[name] = change(text, MAIL_COLUMNS[name])
  }
  return changed
}

/**
 * The writing connection to a data folder. With a master key what lies open in it is sealed first; `beforeFirst` is asked
 * when that happens for the first time, and may refuse.
 * @throws StoreError with the reason and the remedy; `sealed` without the key, or with another than it is sealed with
 */
export function openForWriting(folder: string, sealer: Sealer, beforeFirst = (): void => {}): Database {
  const db = openDatabase(folder)
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
    // another process may have sealed it while this one waited for the lock, and with another key
    if (isSettled(db, sealer)) return
    db.run('INSERT INTO install (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', [CHECK, sealer.seal(CHECK, CHECK)])
    for (const { table, column, key, row, value, place } of listOpen(db)) {
      db.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [sealer.seal(value, place), row])
    }
  }).immediate()
  truncateLog(db)
}

/**
 * Seals everything with another key, in one transaction. For a folder that nobody serves (folder-lock.ts).
 * @returns how many values; @throws StoreError `sealed` where `from` is not the key
 */
export function changeMasterKey(folder: string, from: Sealer, to: Sealer): number {
  const db = openForWriting(folder, from)
  try {
    return db
      .transaction(() => {
        const sealed = listValues(db, `GLOB '${SEALED_PREFIX}*'`)
        for (const { table, column, key, row, value, place } of sealed) {
          db.run(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [to.seal(from.unseal(value, place), place), row])
        }
        db.run('UPDATE install SET value = ? WHERE name = ?', [to.seal(CHECK, CHECK), CHECK])
        return sealed.length
      })
      .immediate()
  } finally {
    db.close()
  }
}

const findCheck = (db: Database) =>
  db.query<{ value: string }, [string]>('SELECT value FROM install WHERE name = ?').get(CHECK)

/** Whether nothing is to be sealed. @throws StoreError `sealed` where the key is not the one */
function isSettled(db: Database, sealer: Sealer): boolean {
  const check = findCheck(db)
  if (check) sealer.unseal(check.value, CHECK)
  return !sealer.hasKey || (check !== null && listOpen(db).length === 0)
}

const listOpen = (db: Database) => listValues(db, `NOT GLOB '${SEALED_PREFIX}*'`)

function listValues(db: Database, condition: string) {
  return (Object.keys(SEALED) as SealedColumn[]).flatMap((name) => {
    const [table, column] = name.split('.')
    const key = SEALED[name]
    const text = `SELECT ${key} AS row, ${column} AS value FROM ${table} WHERE ${column} ${condition}`
    const rows = db.query<{ row: string | number; value: string }, []>(text).all()
    return rows.map(({ row, value }) => ({ table, column, key, row, value, place: placeOf(name, row) }))
  })
}

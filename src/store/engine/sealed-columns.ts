import type { Database } from 'bun:sqlite'
import { mapInOrder } from '../../core/in-order.ts'
import { truncateLog } from './checkpoints.ts'
import { openDatabase, openForReading } from './database.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { OnUpgrade } from './upgrades.ts'
import type { MailSettings } from '../message-types.ts'
import { createSealer, SEALED_PREFIX, type Sealer } from './sealing.ts'
import type { Sql } from './sql.ts'
import { createSqliteSql } from './sqlite-sql.ts'
import { inTransaction } from './transactions.ts'

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
export async function openForWriting(
  folder: string,
  sealer: Sealer,
  { beforeFirst = () => {}, onUpgrade }: { beforeFirst?: () => void; onUpgrade?: OnUpgrade } = {},
): Promise<Database> {
  const db = openDatabase(folder, MIGRATIONS, onUpgrade)
  try {
    const secrets = createSecrets(createSqliteSql(db), (work) => inTransaction(db, work))
    if (sealer.hasKey && (await secrets.findCheck()) === null) beforeFirst()
    if (await secrets.seal(sealer)) truncateLog(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * In one transaction; the folder must not be served (folder-lock.ts). Without a key in `to`, nothing stays encrypted.
 * @returns the number of values
 * @throws StoreError `sealed` if `from` is wrong
 */
export async function changeMasterKey(folder: string, from: Sealer, to: Sealer): Promise<number> {
  const db = await openForWriting(folder, from)
  try {
    return await createSecrets(createSqliteSql(db), (work) => inTransaction(db, work)).change(from, to)
  } finally {
    db.close()
  }
}

/** @throws StoreError `sealed` if the secrets are encrypted */
export async function refuseSealed(folder: string): Promise<void> {
  const db = openForReading(folder)
  try {
    await createSecrets(createSqliteSql(db), (work) => work()).isSettled(createSealer(null))
  } finally {
    db.close()
  }
}

type Value = { table: string; column: string; key: string; row: string | number; value: string; context: string }

/** The stored secrets of a database. */
export function createSecrets(db: Sql, transaction: <T>(work: () => Promise<T>) => Promise<T>) {
  const findCheck = async (): Promise<string | null> =>
    (await db.prepare<{ value: string }>('SELECT value FROM install WHERE name = ?').get(CHECK))?.value ?? null

  const list = async (comparison: '=' | '<>'): Promise<Value[]> => {
    const lists = await mapInOrder(Object.keys(SEALED) as SealedColumn[], async (name) => {
      const [table = '', column = ''] = name.split('.')
      const key = SEALED[name]
      const isWanted = `substr(${column}, 1, ${SEALED_PREFIX.length}) ${comparison} '${SEALED_PREFIX}'`
      const text = `SELECT ${key} AS row, ${column} AS value FROM ${table} WHERE ${isWanted}`
      const rows = await db.prepare<{ row: string | number; value: string }>(text).all()
      return rows.map(({ row, value }) => ({ table, column, key, row, value, context: contextOf(name, row) }))
    })
    return lists.flat()
  }

  const replace = async (values: readonly Value[], change: (one: Value) => string): Promise<void> => {
    for (const one of values) {
      const { table, column, key, row, value } = one
      // another instance may have stored a new one
      const text = `UPDATE ${table} SET ${column} = ? WHERE ${key} = ? AND ${column} = ?`
      await db.prepare(text).run(change(one), row, value)
    }
  }

  /** @throws StoreError `sealed` if the key is wrong */
  const isSettled = async (sealer: Sealer): Promise<boolean> => {
    const check = await findCheck()
    if (check !== null) sealer.unseal(check, CHECK)
    return !sealer.hasKey || (check !== null && (await list('<>')).length === 0)
  }

  const addCheck = (sealer: Sealer) =>
    db
      .prepare(
        'INSERT INTO install (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      )
      .run(CHECK, sealer.seal(CHECK, CHECK))

  return {
    findCheck,
    isSettled,
    /** Seals what is not sealed yet. @returns false if there was nothing to do */
    async seal(sealer: Sealer): Promise<boolean> {
      if (await isSettled(sealer)) return false
      await transaction(async () => {
        // another process may have sealed it while this one waited for the lock
        if (await isSettled(sealer)) return
        await addCheck(sealer)
        await replace(await list('<>'), ({ value, context }) => sealer.seal(value, context))
      })
      return true
    },
    /** @returns the number of values */
    change: (from: Sealer, to: Sealer): Promise<number> =>
      transaction(async () => {
        const sealed = await list('=')
        await replace(sealed, ({ value, context }) => to.seal(from.unseal(value, context), context))
        if (to.hasKey) await addCheck(to)
        else await db.prepare('DELETE FROM install WHERE name = ?').run(CHECK)
        return sealed.length
      }),
  }
}

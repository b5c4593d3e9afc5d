/** Data folders for tests: in memory where the machine has room there, with a database that is migrated already. */
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from 'bun:sqlite'
import type { DataLocation } from '../src/core/data-location.ts'
import { databasePath } from '../src/store/engine/database.ts'
import type { Sql } from '../src/store/engine/sql.ts'
import { createSqliteSql } from '../src/store/engine/sqlite-sql.ts'
import { connectPostgres, DEADLINES, type Deadlines } from '../src/store/postgres/connection.ts'
import { openPostgresStore } from '../src/store/postgres/store.ts'
import { STORE_RULES } from '../src/deliveries/deliveries.ts'
import { openStore, type OpenOptions, type Store } from '../src/store/store.ts'
import { createDatabaseOf, databaseOf, hasDatabaseOf, isOnPostgres, postgresOf } from './postgres/test-databases.ts'

const MEMORY = '/dev/shm'
const TEMPLATES = join(import.meta.dir, '../dist/test')
const MIGRATIONS = join(import.meta.dir, '../src/store/engine/migrations')

function findPlace(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    return MEMORY
  } catch {
    return tmpdir()
  }
}
const PLACE = findPlace()

/** An empty folder of the test's own. */
export function makeFolder(place = PLACE): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(place, 'eventpost-test-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Made once for each state of the migrations, whichever test comes first. */
async function makeTemplate(): Promise<string> {
  const migrations = readdirSync(MIGRATIONS).map((file) => readFileSync(join(MIGRATIONS, file), 'utf8'))
  const path = join(TEMPLATES, `${Bun.hash(migrations.join('\n'))}.db`)
  if (existsSync(path)) return path
  mkdirSync(TEMPLATES, { recursive: true })
  const folder = mkdtempSync(join(TEMPLATES, 'making-'))
  const store = await openStore(folder, { threads: false, rules: STORE_RULES })
  await store.close()
  // others may make it at the same time; each has the same
  renameSync(databasePath(folder), path)
  rmSync(folder, { recursive: true })
  return path
}

let template: Promise<string> | null = null

/** The file of a migrated, empty database. */
export const findTemplate = (): Promise<string> => (template ??= makeTemplate())

/** An empty folder but for a new database; to migrate one takes longer than most tests. */
export async function makeMigratedFolder(): Promise<ReturnType<typeof makeFolder>> {
  const made = makeFolder()
  copyFileSync(await findTemplate(), databasePath(made.folder))
  return made
}

/** An empty database in a folder of the test's own, which removes it. */
export async function makeDataFolder(): Promise<string> {
  const folder = mkdtempSync(join(PLACE, 'eventpost-test-'))
  if (isOnPostgres) await createDatabaseOf(folder)
  else copyFileSync(await findTemplate(), databasePath(folder))
  return folder
}

/** Where the data of a test's folder is. */
export const locationOf = (folder: string): DataLocation => (isOnPostgres ? postgresOf(folder) : { folder })

/** Longer than anything takes on a busy machine. */
const PATIENT: Deadlines = {
  ...DEADLINES,
  statementMs: 100_000,
  lockMs: 100_000,
  idleMs: 100_000,
  answerMs: 110_000,
  commitMs: 90_000,
  waitMs: 100_000,
  openMs: 60_000,
}

/** The store of a folder, on the engine that is tested. */
export async function openTestStore(folder: string, options: Omit<OpenOptions, 'threads'>): Promise<Store> {
  if (!isOnPostgres) return await openStore(folder, { ...options, threads: false })
  await createDatabaseOf(folder)
  return await openPostgresStore(postgresOf(folder), { ...options, deadlines: PATIENT })
}

export const hasTestDatabase = async (folder: string): Promise<boolean> =>
  isOnPostgres ? await hasDatabaseOf(folder) : existsSync(databasePath(folder))

export type Begin<T> = (folder?: string) => Promise<{ folder: string; begun: T }>

/**
 * Folders, new ones or those that are given, whose databases begin with what `begin` wrote: it runs once in a process, then
 * each folder gets a copy.
 */
export function createBeginnings<T>(begin: (folder: string) => Promise<T>): Begin<T> {
  const make = async () => {
    const folder = await makeDataFolder()
    const begun = await begin(folder)
    const copyTo = isOnPostgres ? copyDatabase(folder) : copyFile(folder)
    return { begun, copyTo }
  }
  let made: ReturnType<typeof make> | null = null
  return async (given) => {
    const { begun, copyTo } = await (made ??= make())
    const folder = given ?? mkdtempSync(join(PLACE, 'eventpost-test-'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    await copyTo(folder)
    return { folder, begun }
  }
}

/** Runs statements on a test's database itself, on either engine. */
export async function withSql<T>(folder: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  if (isOnPostgres) {
    const { sql, close } = connectPostgres(postgresOf(folder))
    return await work(sql).finally(close)
  }
  const db = new Database(databasePath(folder))
  return await work(createSqliteSql(db)).finally(() => db.close())
}

/** All that a test's database has stored, as text. */
export async function readStored(folder: string): Promise<string> {
  if (!isOnPostgres) {
    const files = ['', '-wal'].map((end) => `${databasePath(folder)}${end}`).filter(existsSync)
    return files.map((file) => readFileSync(file, 'latin1')).join('')
  }
  return await withSql(folder, async (sql) => {
    const list = `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
    const tables = await sql.prepare<{ name: string }>(list).all()
    const read = ({ name }: { name: string }) =>
      sql.prepare<{ rows: string | null }>(`SELECT string_agg(t::text, chr(10)) AS rows FROM "${name}" AS t`).get()
    return (await Promise.all(tables.map(read))).map((found) => found?.rows ?? '').join('\n')
  })
}

type CopyTo = (folder: string) => Promise<void>

function copyFile(from: string): CopyTo {
  const bytes = readFileSync(databasePath(from))
  rmSync(from, { recursive: true })
  return async (folder) => {
    const path = databasePath(folder)
    // not cut off: connections that have it open know its length
    writeFileSync(path, bytes, { mode: 0o600, flag: existsSync(path) ? 'r+' : 'w' })
  }
}

/** The first stays as long as the process, for the copies. */
function copyDatabase(from: string): CopyTo {
  process.on('exit', () => rmSync(from, { recursive: true, force: true }))
  return (folder) => createDatabaseOf(folder, databaseOf(from))
}

import { Database } from 'bun:sqlite'
import { chmodSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { formatBytes } from '../../core/bytes.ts'
import { DAY_MS } from '../../core/clock.ts'
import { isOutOfRoom, StoreError } from './errors.ts'
import { freeBytes, reserveBytes } from './folder.ts'
import { CODE_STEPS } from './migrations/index.ts'

export const schemaVersion = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0

/** `file` grows: to about `bytes` while copying, to an unknown size while migrating. */
export type UpgradeProgress = { from: number; to: number } & (
  | { phase: 'copying'; file: string; bytes: number }
  | { phase: 'migrating'; file: string; version: number }
  | { phase: 'done'; copy: string }
)
export type OnUpgrade = (progress: UpgradeProgress) => void

/**
 * Migrates an older database after making a full copy of it next to the file.
 * @throws StoreError `newer_schema`, `disk_full`
 */
export function upgrade(db: Database, path: string, migrations: readonly string[], onUpgrade: OnUpgrade): void {
  const from = schemaVersion(db)
  const to = migrations.length
  if (from > to) throw newerSchema(path, from, to)
  if (from === to) return
  const copy = copyBefore(db, path, { from, to, onUpgrade })
  try {
    sortOnDisk(db, dirname(path), () =>
      applyMigrations(db, from, migrations, (version) =>
        onUpgrade({ phase: 'migrating', from, to, version, file: `${path}-wal` }),
      ),
    )
  } catch (error) {
    if (!isOutOfRoom(error, dirname(path))) throw error
    const isUnchanged = schemaVersion(db) === from
    // the next start makes another one
    if (isUnchanged) rmSync(copy, { force: true })
    throw changeUnfinished(
      path,
      usedBytes(db),
      isUnchanged ? 'Nothing was changed.' : 'The upgrade continues where it stopped.',
    )
  }
  onUpgrade({ phase: 'done', from, to, copy })
}

/** Sorts in larger parts than the server's cache allows. */
const CACHE_KIB = 65_536

/** In memory, sorting ten million events for an index takes 530 MB (measured). The system's folder may not be writable. */
function sortOnDisk(db: Database, folder: string, work: () => void): void {
  const cacheSize = pragma(db, 'cache_size')
  const setFolder = (path: string) => db.run(`PRAGMA temp_store_directory = '${path.replaceAll("'", "''")}'`)
  setFolder(resolve(folder))
  db.run('PRAGMA temp_store = FILE')
  db.run(`PRAGMA cache_size = -${CACHE_KIB}`)
  try {
    work()
  } finally {
    db.run('PRAGMA temp_store = MEMORY')
    db.run(`PRAGMA cache_size = ${cacheSize}`)
    setFolder('')
  }
}

type Step = { from: number; to: number; onUpgrade: OnUpgrade }

/** Kept for a week, so that the user can go back. */
function copyBefore(db: Database, path: string, { from, to, onUpgrade }: Step): string {
  const draft = `${path}.${process.pid}.copy`
  const copy = `${path}.before-${from + 1}`
  rmSync(draft, { force: true })
  const bytes = usedBytes(db)
  refuseIfFull(path, bytes)
  onUpgrade({ phase: 'copying', from, to, file: draft, bytes })
  try {
    db.run('VACUUM INTO ?', [draft])
    chmodSync(draft, 0o600)
    // another process may have migrated meanwhile; its copy of the old version must not be replaced
    if (versionOf(draft) === from) renameSync(draft, copy)
    return copy
  } catch (error) {
    throw isOutOfRoom(error, dirname(path)) ? diskFull(path, bytes) : error
  } finally {
    rmSync(draft, { force: true })
  }
}

type NumberPragma = 'page_count' | 'freelist_count' | 'page_size' | 'cache_size'
const pragma = (db: Database, name: NumberPragma): number =>
  Number(Object.values(db.query<Record<string, number>, []>(`PRAGMA ${name}`).get() ?? {})[0])

const usedBytes = (db: Database): number =>
  (pragma(db, 'page_count') - pragma(db, 'freelist_count')) * pragma(db, 'page_size')

function refuseIfFull(path: string, bytes: number): void {
  if (freeBytes(dirname(path)) < neededBytes(bytes)) throw diskFull(path, bytes)
}

/** For the copy, and for changing the database afterwards. */
const neededBytes = (bytes: number): number => bytes + reserveBytes(bytes)

const diskFull = (path: string, bytes: number): StoreError =>
  new StoreError(
    'disk_full',
    `The upgrade of ${path} needs ${formatBytes(neededBytes(bytes))} of free space for a copy and the changes, but only ${formatBytes(freeBytes(dirname(path)))} is free. Free up space, then start again. Nothing was changed.`,
  )

/** `bytes`: of the database, which a change may write anew. */
const changeUnfinished = (path: string, bytes: number, outcome: string): StoreError =>
  new StoreError(
    'disk_full',
    `The disk filled up while ${path} was being upgraded. Make sure that ${formatBytes(2 * bytes)} is free, then start again. ${outcome}`,
  )

function versionOf(path: string): number {
  const copy = new Database(path, { readonly: true })
  const version = schemaVersion(copy)
  copy.close()
  return version
}

function newerSchema(path: string, version: number, supported: number): StoreError {
  const problem = `${path} has schema version ${version}; this executable supports versions up to ${supported}. Use a newer executable`
  const copy = listUpgradeCopies(dirname(path)).findLast((one) => one.schemaVersion <= supported)
  const wayBack = copy
    ? `, or go back to the copy from ${new Date(copy.madeAt).toISOString().slice(0, 16)}Z: move ${path}, ${path}-wal and ${path}-shm away, then run: eventpost restore ${copy.file} --data ${dirname(path)}`
    : ', or restore a backup that was made before the upgrade.'
  return new StoreError('newer_schema', problem + wayBack)
}

export type UpgradeCopy = { file: string; schemaVersion: number; madeAt: number }

/** Oldest schema first. */
export function listUpgradeCopies(folder: string): UpgradeCopy[] {
  const copies = readdirSync(folder).flatMap((name): UpgradeCopy[] => {
    const before = /^eventpost\.db\.before-(\d+)$/.exec(name)?.[1]
    const file = join(folder, name)
    const madeAt = before === undefined ? undefined : statSync(file, { throwIfNoEntry: false })?.mtimeMs
    return madeAt === undefined ? [] : [{ file, schemaVersion: Number(before) - 1, madeAt }]
  })
  return copies.sort((one, other) => one.schemaVersion - other.schemaVersion)
}

const KEEP_COPIES_MS = 7 * DAY_MS

/** @returns the copies made before an upgrade that were a week old, whole or not, and are removed now */
export async function removeOldCopies(folder: string, now: number): Promise<string[]> {
  const copies = [...listUpgradeCopies(folder), ...listDrafts(folder)]
  const old = copies.filter(({ madeAt }) => now - madeAt >= KEEP_COPIES_MS)
  // on another thread: removing gigabytes takes a while
  await Promise.all(old.map(({ file }) => rm(file, { force: true })))
  return old.map(({ file }) => file)
}

/** Copies that were not finished, because the process was killed. */
const listDrafts = (folder: string): { file: string; madeAt: number }[] =>
  readdirSync(folder).flatMap((name) => {
    const file = join(folder, name)
    const madeAt = /^eventpost\.db\.\d+\.copy$/.test(name)
      ? statSync(file, { throwIfNoEntry: false })?.mtimeMs
      : undefined
    return madeAt === undefined ? [] : [{ file, madeAt }]
  })

/** Each migration commits together with its version number, so a crash leaves a valid version. */
export function applyMigrations(
  db: Database,
  from: number,
  migrations: readonly string[],
  onVersion: (version: number) => void = () => {},
): void {
  for (const [index, sql] of migrations.slice(from).entries()) {
    const target = from + index + 1
    onVersion(target)
    db.transaction(() => {
      if (schemaVersion(db) >= target) return
      db.run(sql)
      CODE_STEPS.get(target)?.(db)
      db.run(`PRAGMA user_version = ${target}`)
    }).immediate()
  }
}

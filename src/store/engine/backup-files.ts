/** Copies of the database as single files: made while a server writes, checked, and put in place whole or not at all. */
import { Database } from 'bun:sqlite'
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { formatBytes } from '../../core/bytes.ts'
import { APPLICATION_ID, databasePath, hasDatabase, logPath, openForReading } from './database.ts'
import { StoreError } from './errors.ts'
import { freeBytes, requireAccess, reserveBytes } from './folder.ts'
import { SCHEMA_VERSION } from './migrations/index.ts'
import { schemaVersion } from './upgrades.ts'

/** Little enough unwritten data that another file's fsync does not wait for it. */
const CHUNK_BYTES = 1024 * 1024
/**
 * Share of the time that the disk is left to others (`bun run bench:backup`: p99 of events 1.2 times that without a
 * backup; with half the time and steps of 4 MB, 2.7 times).
 */
const PAUSE_SHARE = 0.75

/** "SQLite format 3", and where the application ID is (sqlite.org/fileformat.html). */
const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const APPLICATION_ID_AT = 68

/** sqlite.org/fileformat2.html, section 4.1 */
const LOG_HEADER_BYTES = 32

/** The check looks each row up in every index: with 2 MB, 2.2 GB take 37 s of processor time instead of 20. */
const CHECK_CACHE_KIB = 16_384

const RESTORING = 'restoring-'

/**
 * Opens the database file as a plain file. Never close it: closing any descriptor of a file drops all of the process's
 * locks on it, SQLite's too (sqlite.org/howtocorrupt.html, section 2.2).
 */
export function openSource(folder: string): number {
  requireAccess([databasePath(folder)])
  return openSync(databasePath(folder), 'r')
}

export type BackupSource = { folder: string; /** of `openSource` */ descriptor: number }

/**
 * Copies the database into `file`, which must not exist, while other connections write. The read transaction keeps the
 * frames of the write-ahead log that the copy of the file may lack, so both files together hold every commit that
 * preceded it, and the log's checksums end the copy at a whole commit (sqlite.org/walformat.html).
 * `onCopied`: before the copy is checked, which takes longer and holds nothing up.
 * @returns its size
 * @throws StoreError with the reason and the remedy
 */
export async function writeBackup(source: BackupSource, file: string, onCopied = (): void => {}): Promise<number> {
  refuseExisting(file)
  removeLeft(file, DRAFT)
  const draft = `${file}.${process.pid}.tmp`
  try {
    refuseIfFull(source.folder, file)
    await copyDatabase(source, draft)
    onCopied()
    finishCopy(draft, databasePath(source.folder))
    syncFile(draft)
    publish(draft, file)
    return statSync(file).size
  } catch (error) {
    throw toBackupError(error, { source: databasePath(source.folder), target: file })
  } finally {
    removeCopy(draft)
  }
}

/** A full disk would keep the server from saving. Moving the log into the copy takes its size once more. */
function refuseIfFull(data: string, file: string): void {
  const folder = dirname(resolve(file))
  const [bytes, logBytes] = [sizeOf(databasePath(data)), sizeOf(logPath(data))]
  const isShared = statSync(folder).dev === statSync(data).dev
  const needed = bytes + 2 * logBytes + (isShared ? reserveBytes(bytes) : 0)
  const free = freeBytes(folder)
  if (free >= needed) return
  const reserve = isShared ? ', including a reserve for the server' : ''
  throw new StoreError(
    'disk_full',
    `A backup needs ${formatBytes(needed)} of free space in ${folder}${reserve}, but only ${formatBytes(free)} is free. Free up space, or use another disk.`,
  )
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

const DRAFT = /\.(\d+)\.tmp(-wal|-journal)?$/

/** Whether it is, or a killed process left it. */
export const isDraft = (name: string): boolean => DRAFT.test(name)

/** The name of what it becomes. */
export const withoutDraftEnd = (name: string): string => name.replace(DRAFT, '')

/** Removes the files beside `file` that killed processes left. `end`: of their names, with the process ID. */
export function removeLeft(file: string, end: RegExp): void {
  const [folder, name] = [dirname(resolve(file)), basename(file)]
  if (!existsSync(folder)) return
  for (const other of readdirSync(folder)) {
    const found = other.startsWith(name) ? end.exec(other.slice(name.length)) : null
    if (found?.index === 0 && !isOfAnother(Number(found[1]))) rmSync(join(folder, other), { force: true })
  }
}

/** Whether another running process has it. In a container, a server has the ID of the one before it. */
function isOfAnother(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

async function copyDatabase({ folder, descriptor }: BackupSource, draft: string): Promise<void> {
  const db = openForReading(folder)
  try {
    if (fstatSync(descriptor).ino !== statSync(databasePath(folder)).ino) throw fileReplaced(folder)
    db.run('BEGIN')
    // the transaction begins with its first read
    db.query('SELECT count(*) FROM sqlite_schema').get()
    await copyContent(descriptor, draft)
    await copyLog(logPath(folder), `${draft}-wal`)
  } finally {
    db.close()
  }
}

/**
 * A reader of the log keeps it from beginning anew. A reader of the file alone, which has every commit then, keeps the
 * file as it is, but not the log: it can begin anew once, or be truncated, by any process, and the copied frames may be
 * older than the file. Its header changes before its frames do (sqlite.org/fileformat2.html, section 4).
 */
async function copyLog(path: string, draft: string): Promise<void> {
  const log = openSync(path, 'r')
  try {
    await copyContent(log, draft)
    if (!readLogHeader(draft).equals(readLogHeader(path))) truncateSync(draft)
  } finally {
    closeSync(log)
  }
}

/** Each beginning has other salts in it. Empty if the log is. */
function readLogHeader(path: string): Buffer {
  const header = Buffer.alloc(LOG_HEADER_BYTES)
  const file = openSync(path, 'r')
  try {
    return header.subarray(0, readSync(file, header, 0, header.length, 0))
  } finally {
    closeSync(file)
  }
}

/** In steps, each written to the disk and followed by a pause, so that commits don't wait for the copy. */
async function copyContent(from: number, to: string): Promise<void> {
  const { size } = fstatSync(from)
  const target = openSync(to, 'wx', 0o600)
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    let stepBeganAt = performance.now()
    for (let at = 0; at < size;) {
      const read = readSync(from, chunk, 0, Math.min(CHUNK_BYTES, size - at), at)
      // the log was truncated meanwhile
      if (read === 0) break
      writeAll(target, chunk.subarray(0, read), at)
      at += read
      fdatasyncSync(target)
      await Bun.sleep(((performance.now() - stepBeganAt) * PAUSE_SHARE) / (1 - PAUSE_SHARE))
      stepBeganAt = performance.now()
    }
    fdatasyncSync(target)
  } finally {
    closeSync(target)
  }
}

function writeAll(target: number, bytes: Buffer, at: number): void {
  for (let written = 0; written < bytes.length;)
    written += writeSync(target, bytes, written, bytes.length - written, at + written)
}

/** Moves the write-ahead log into the file and checks it. @throws StoreError `corrupt` */
function finishCopy(draft: string, name: string): void {
  const db = new Database(draft, { create: false, readwrite: true, strict: true })
  try {
    // needs no shared memory, which network folders lack
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    db.run('PRAGMA synchronous = OFF')
    const mode = db.query<{ journal_mode: string }, []>('PRAGMA journal_mode = DELETE').get()?.journal_mode
    if (mode !== 'delete') throw new Error(`the copy has journal mode ${mode}`)
    checkIntegrity(db, name)
  } finally {
    db.close()
  }
}

function checkIntegrity(db: Database, name: string): void {
  db.run(`PRAGMA cache_size = -${CHECK_CACHE_KIB}`)
  const found = db.query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)').get()?.integrity_check
  if (found === 'ok') return
  throw new StoreError('corrupt', `${name} is damaged: ${found?.split('\n').at(-1)}.`)
}

const removeCopy = (path: string): void => {
  for (const file of [path, `${path}-wal`, `${path}-journal`]) rmSync(file, { force: true })
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Makes a new or removed name survive a power cut. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const opened = openSync(folder, constants.O_RDONLY)
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** Never replaces an existing file. */
function publish(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw exists(file)
    // file systems without links
    refuseExisting(file)
    renameSync(draft, file)
  }
  syncFolder(dirname(resolve(file)))
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

function refuseExisting(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false })) throw exists(file)
}

const exists = (file: string): StoreError =>
  new StoreError('file_exists', `${file} already exists. Choose another name, or delete it first.`)

const fileReplaced = (folder: string): StoreError =>
  new StoreError('file_replaced', `${databasePath(folder)} was replaced while it was in use. Restart the server.`)

function toBackupError(error: unknown, { source, target }: { source: string; target: string }): unknown {
  const code = codeOf(error)
  if (error instanceof StoreError) return error
  if (/^(ENOSPC|EDQUOT|SQLITE_FULL)$/.test(code)) {
    return new StoreError('disk_full', `There is not enough space for ${target}. Free up space, or use another disk.`)
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new StoreError('folder_unwritable', `The folder for ${target} does not exist. Create the folder first.`)
  }
  if (/^(EACCES|EPERM|EROFS)$/.test(code)) {
    return new StoreError('folder_unwritable', `This user can't write ${target} (${code}). Choose another folder.`)
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return new StoreError('corrupt', `${source} is damaged (${code}).`)
  return error
}

/** Of a backup that is to be restored. */
const adviseAnother = (error: unknown): unknown =>
  error instanceof StoreError && error.code === 'corrupt'
    ? new StoreError('corrupt', `${error.message} Restore another backup.`)
    : error

/** Reads the header only. @throws StoreError `foreign_file` */
export function refuseForeign(file: string): void {
  const header = Buffer.alloc(HEADER_BYTES)
  const opened = openToRestore(file)
  try {
    readSync(opened, header, 0, HEADER_BYTES, 0)
  } finally {
    closeSync(opened)
  }
  const isOurs = header.toString('latin1', 0, MAGIC.length) === MAGIC
  if (isOurs && header.readUInt32BE(APPLICATION_ID_AT) === APPLICATION_ID) return
  throw new StoreError('foreign_file', `${file} is not an Eventpost backup. Choose a file that eventpost backup made.`)
}

function openToRestore(file: string): number {
  try {
    if (statSync(file).isFile()) return openSync(file, 'r')
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT'
    throw new StoreError('missing', isMissing ? `There is no file ${file}.` : `This user can't read ${file}.`)
  }
  throw new StoreError('missing', `${file} is not a file.`)
}

/**
 * Restores a backup of Eventpost into a folder without a database. Everything is prepared in a folder beside it: `prepare` gets that folder,
 * with a checked copy, and leaves what becomes the database.
 * @throws StoreError with the reason and the remedy; nothing is changed then
 */
export async function restoreBackup<T>(
  file: string,
  folder: string,
  prepare: (folder: string) => Promise<T>,
): Promise<T> {
  refuseOccupied(folder)
  for (const name of readdirSync(folder)) {
    if (name.startsWith(RESTORING)) rmSync(join(folder, name), { recursive: true })
  }
  const drafts = join(folder, `${RESTORING}${process.pid}`)
  mkdirSync(drafts, { mode: 0o700 })
  try {
    const draft = databasePath(drafts)
    await copyFile(file, draft)
    // beside a database that was copied as it was
    if (existsSync(`${file}-wal`)) await copyFile(`${file}-wal`, `${draft}-wal`)
    finishCopy(draft, file)
    refuseNewer(draft, file)
    const prepared = await prepare(drafts)
    syncFile(draft)
    refuseOccupied(folder)
    publish(draft, databasePath(folder))
    return prepared
  } catch (error) {
    throw adviseAnother(toBackupError(error, { source: file, target: databasePath(folder) }))
  } finally {
    rmSync(drafts, { recursive: true, force: true })
  }
}

async function copyFile(from: string, to: string): Promise<void> {
  const opened = openSync(from, 'r')
  try {
    await copyContent(opened, to)
  } finally {
    closeSync(opened)
  }
}

/** A log of another database would be replayed into the restored one. */
function refuseOccupied(folder: string): void {
  const path = databasePath(folder)
  const isLogLeft = existsSync(logPath(folder))
  if (!hasDatabase(folder) && !isLogLeft) return
  const what = isLogLeft && !hasDatabase(folder) ? `a write-ahead log (${logPath(folder)})` : 'a database'
  throw new StoreError(
    'file_exists',
    `${resolve(folder)} already has ${what}. Restore into another folder with --data, or stop the server and move ${path}, ${path}-wal and ${path}-shm away first.`,
  )
}

function refuseNewer(draft: string, file: string): void {
  const db = new Database(draft, { readonly: true })
  try {
    const version = schemaVersion(db)
    if (version <= SCHEMA_VERSION) return
    throw new StoreError(
      'newer_schema',
      `${file} has schema version ${version}; this executable supports versions up to ${SCHEMA_VERSION}. Use a newer executable.`,
    )
  } finally {
    db.close()
  }
}

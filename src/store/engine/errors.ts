import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { threadId } from 'node:worker_threads'

/** `message` is one line for a person and says what to do. */
export class StoreError extends Error {
  override name = 'StoreError'
  constructor(
    readonly code:
      | 'folder_unwritable'
      | 'folder_in_use'
      | 'wal_refused'
      | 'corrupt'
      | 'foreign_file'
      | 'newer_schema'
      | 'disk_full'
      | 'missing'
      | 'already_set_up'
      | 'file_replaced'
      | 'file_exists'
      | 'sealed'
      | 'unreachable'
      | 'too_many_instances'
      | 'moved'
      | 'differs',
    message: string,
  ) {
    super(message)
  }
}

/** The database can't be read for now. The cause has the details. */
export class Unavailable extends Error {
  override name = 'Unavailable'
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** More than the page on which SQLite failed, so that no rest of a quota is mistaken for room. */
const PROBE_BYTES = 65_536

/** SQLite reports a quota as it reports a broken disk, so this asks the file system. */
function hasNoRoom(folder: string): boolean {
  const probe = join(folder, `room.${process.pid}.${threadId}`)
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600 })
    rmSync(probe)
    return false
  } catch (error) {
    const isRoomGone = /^(ENOSPC|EDQUOT)$/.test(codeOf(error))
    // a broken disk may refuse this too
    if (isRoomGone) rmSync(probe, { force: true })
    return isRoomGone
  }
}

export const isOutOfRoom = (error: unknown, folder: string): boolean =>
  /^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(codeOf(error)) ||
  (/^SQLITE_(IOERR|CANTOPEN)/.test(codeOf(error)) && hasNoRoom(folder))

export const diskFull = (folder: string): StoreError =>
  new StoreError('disk_full', `The disk that holds ${folder} is full. Free up space on it, then try again.`)

export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error))

/** `path`: the database file. */
export const isBrokenDisk = (error: unknown, path: string): boolean =>
  isDamage(error) ||
  /^SQLITE_IOERR_(DIR_)?FSYNC/.test(codeOf(error)) ||
  (/^SQLITE_IOERR_(WRITE|TRUNCATE)/.test(codeOf(error)) && !hasNoRoom(dirname(path)))

export const isPassingFault = (error: unknown, path: string): boolean =>
  /^(SQLITE_(FULL|BUSY|LOCKED|IOERR|CANTOPEN|READONLY|PROTOCOL)|ENOSPC|EDQUOT)/.test(codeOf(error)) &&
  !isBrokenDisk(error, path)

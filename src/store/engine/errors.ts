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
      | 'missing'
      | 'already_set_up'
      | 'file_replaced'
      | 'file_exists'
      | 'sealed',
    message: string,
  ) {
    super(message)
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

export const isBrokenDisk = (error: unknown): boolean =>
  /^SQLITE_(IOERR_FSYNC|IOERR_DIR_FSYNC|CORRUPT|NOTADB)/.test(codeOf(error))

export const isPassingFault = (error: unknown): boolean =>
  !isBrokenDisk(error) &&
  /^(SQLITE_(FULL|BUSY|LOCKED|IOERR|CANTOPEN|READONLY|PROTOCOL)|ENOSPC|EDQUOT)/.test(codeOf(error))

/** Where scheduled backups go. */
export type BackupPlace = { folder: string } | { bucket: string; /** empty, or ending with a slash */ prefix: string }

/** For S3-compatible storage. */
export type S3Access = { endpoint: string | null; region: string; accessKey: string; secretKey: string }

export const BACKUP_PLACE_MESSAGE = 'takes a folder, or an address such as s3://bucket/prefix.'

/** Null if it is not a place. */
export function readBackupPlace(text: string): BackupPlace | null {
  if (!text.includes('://')) return text.trim() === '' ? null : { folder: text }
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,62})(?:\/([^?#]*))?$/.exec(text) ?? []
  if (bucket === undefined) return null
  const prefix = path.replace(/\/+$/, '')
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}

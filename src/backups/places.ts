import { S3Client } from 'bun'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupPlace, S3Access } from '../core/backup-places.ts'
import { isDraft } from '../store/engine/backup-files.ts'

/** A place that takes whole files. */
export type Place = {
  /** Where the file is made; `take` moves it to the place. */
  draftFolder: string
  addressOf(name: string): string
  take(name: string): Promise<void>
  list(): Promise<string[]>
  remove(name: string): Promise<void>
}

const NAME = /^eventpost-\d{8}T\d{6}Z\.db$/

/** Of a backup made at this time (ms UTC). Names sort by time. */
export const nameOf = (at: number): string => `eventpost-${new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.db`

/** Other files in the same place are left alone. */
export const isBackupName = (name: string): boolean => NAME.test(name)

export function openPlace(place: BackupPlace, dataFolder: string, access: S3Access | null): Place {
  if ('folder' in place) return openFolder(place.folder)
  if (access === null) throw new Error('no keys for the storage')
  return openBucket(place, dataFolder, access)
}

function openFolder(folder: string): Place {
  return {
    draftFolder: folder,
    addressOf: (name) => join(folder, name),
    take: async () => {},
    list: async () => readdirSync(folder).filter(isBackupName),
    remove: async (name) => rmSync(join(folder, name), { force: true }),
  }
}

type Bucket = Extract<BackupPlace, { bucket: string }>

export function openClient(bucket: string, { endpoint, region, accessKey, secretKey }: S3Access): S3Client {
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey }
  // an empty token, because Bun would take one of another account from the environment
  return new S3Client({ bucket, region, ...keys, sessionToken: '', ...(endpoint === null ? {} : { endpoint }) })
}

function openBucket({ bucket, prefix }: Bucket, dataFolder: string, access: S3Access): Place {
  const client = openClient(bucket, access)
  return {
    draftFolder: dataFolder,
    addressOf: (name) => `s3://${bucket}/${prefix}${name}`,
    async take(name) {
      const draft = Bun.file(join(dataFolder, name))
      try {
        await client.write(prefix + name, draft)
        const { size } = await client.stat(prefix + name)
        if (size !== draft.size) throw new Error(`the storage has ${size} of ${draft.size} bytes`)
      } finally {
        rmSync(join(dataFolder, name), { force: true })
      }
    },
    async list() {
      const names: string[] = []
      let continuationToken: string | undefined
      do {
        const page = await client.list({ prefix, ...(continuationToken ? { continuationToken } : {}) })
        names.push(...(page.contents ?? []).map(({ key }) => key.slice(prefix.length)))
        continuationToken = page.isTruncated ? page.nextContinuationToken : undefined
      } while (continuationToken !== undefined)
      return names.filter(isBackupName)
    },
    remove: (name) => client.delete(prefix + name),
  }
}

/** Removes what a killed process left. In the data folder, no finished backup stays. */
export function removeDrafts({ draftFolder }: Place, dataFolder: string): void {
  if (!existsSync(draftFolder)) return
  for (const name of readdirSync(draftFolder)) {
    const isLeft = NAME.test(name.replace(/\.\d+\.tmp.*$/, '')) && (isDraft(name) || draftFolder === dataFolder)
    if (isLeft) rmSync(join(draftFolder, name), { force: true })
  }
}

/** The oldest, so that the new one and `keep - 1` others stay, whatever the clock said when it was made. */
export const listSurplus = (names: readonly string[], made: string, keep: number): string[] =>
  names
    .filter((name) => name !== made)
    .sort()
    .toReversed()
    .slice(Math.max(0, keep - 1))

import { S3Client } from 'bun'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type BackupPlace, readBackupPlace, type S3Access } from '../core/backup-places.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { formatDuration } from '../core/format-time.ts'
import { isDraft, withoutDraftEnd } from '../store/engine/backup-files.ts'

/** A place that takes whole files. */
export type Place = {
  /** Before a backup. */
  prepare(): void
  /** Where the file is made; `take` moves it to the place. */
  fileOf(name: string): string
  /** Removes what a killed process left. */
  removeLeft(): void
  addressOf(name: string): string
  take(name: string): Promise<void>
  list(): Promise<string[]>
  remove(name: string): Promise<void>
}

/** In an error. */
const NAMED = 5

const UPLOADING = 'uploading-'

const NAME = /^eventpost-\d{8}T\d{6}Z\.db$/

/** Of a backup made at this time (ms UTC). Names sort by time. */
export const nameOf = (at: number): string => `eventpost-${new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')}.db`

/** Other files in the same place are left alone. */
export const isBackupName = (name: string): boolean => NAME.test(name)

/** Storage that doesn't answer would hold the space of the draft, and keep the next backup from being made. */
const ANSWER_MS = 5 * MINUTE_MS
/** The slowest upload that is waited for. */
const UPLOAD_BYTES_PER_MS = 512

const uploadLimitMs = (bytes: number): number => ANSWER_MS + bytes / UPLOAD_BYTES_PER_MS

export function openPlace(
  place: BackupPlace,
  dataFolder: string,
  access: S3Access | null,
  limitMs = uploadLimitMs,
): Place {
  if ('folder' in place) return openFolder(place.folder, dataFolder)
  if (access === null) throw new Error('no keys for the storage')
  return openBucket(place, { dataFolder, access, limitMs })
}

function openFolder(given: string, dataFolder: string): Place {
  const folder = resolve(given)
  return {
    // another missing folder may be a disk that is not mounted
    prepare() {
      if (dirname(folder) === resolve(dataFolder)) mkdirSync(folder, { recursive: true, mode: 0o700 })
    },
    fileOf: (name) => join(folder, name),
    removeLeft: () => removeMatching(folder, (name) => isDraft(name) && isBackupName(withoutDraftEnd(name))),
    addressOf: (name) => join(folder, name),
    take: async () => {},
    list: async () => readdirSync(folder).filter(isBackupName),
    remove: (name) => rm(join(folder, name), { force: true }),
  }
}

type Bucket = Extract<BackupPlace, { bucket: string }>

function openClient(bucket: string, { endpoint, region, accessKey, secretKey }: S3Access): S3Client {
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey }
  // an empty token, because Bun would take one of another account from the environment
  return new S3Client({ bucket, region, ...keys, sessionToken: '', ...(endpoint === null ? {} : { endpoint }) })
}

type OpeningBucket = { dataFolder: string; access: S3Access; limitMs: (bytes: number) => number }

function openBucket({ bucket, prefix }: Bucket, { dataFolder, access, limitMs }: OpeningBucket): Place {
  const client = openClient(bucket, access)
  // never the name of a backup that somebody keeps in the data folder
  const fileOf = (name: string): string => join(dataFolder, UPLOADING + name)
  return {
    prepare() {},
    fileOf,
    removeLeft: () =>
      removeMatching(
        dataFolder,
        (name) => name.startsWith(UPLOADING) && isBackupName(withoutDraftEnd(name.slice(UPLOADING.length))),
      ),
    addressOf: (name) => `s3://${bucket}/${prefix}${name}`,
    async take(name) {
      const draft = Bun.file(fileOf(name))
      try {
        // one part at a time, because each waiting one takes memory
        await within(limitMs(draft.size), client.write(prefix + name, draft, { queueSize: 1 }))
        const { size } = await within(limitMs(0), client.stat(prefix + name))
        if (size !== draft.size) throw new Error(`the storage has ${size} of ${draft.size} bytes`)
      } finally {
        rmSync(fileOf(name), { force: true })
      }
    },
    async list() {
      const names: string[] = []
      let continuationToken: string | undefined
      do {
        const page = await within(
          limitMs(0),
          client.list({ prefix, ...(continuationToken ? { continuationToken } : {}) }),
        )
        names.push(...(page.contents ?? []).map(({ key }) => key.slice(prefix.length)))
        continuationToken = page.isTruncated ? page.nextContinuationToken : undefined
      } while (continuationToken !== undefined)
      return names.filter(isBackupName)
    },
    remove: (name) => within(limitMs(0), client.delete(prefix + name)),
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const reason = `The storage took longer than ${formatDuration(ms)}`
  const timer = setTimeout(() => reject(new Error(reason)), ms)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

/** Of storage that can't be reached, only the code says so. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isOfStorage = error.name === 'S3Error' && 'code' in error
  return isOfStorage ? `The storage could not be used: ${String(error.code)} (${error.message})` : error.message
}

function removeMatching(folder: string, isLeft: (name: string) => boolean): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) if (isLeft(name)) rmSync(join(folder, name), { force: true })
}

/**
 * The oldest, so that the new one and `keep - 1` others stay, whatever the clock said when it was made. Those with a
 * later name were made earlier, while the clock was ahead.
 */
export function listSurplus(names: readonly string[], made: string, keep: number): string[] {
  const newest = names.toSorted().toReversed()
  const others = [...newest.filter((name) => name < made), ...newest.filter((name) => name > made)]
  return others.slice(Math.max(0, keep - 1))
}

/** @throws Error with the newest backups of the place if there is no such file */
export async function download(address: string, access: S3Access, to: string): Promise<void> {
  const place = readBackupPlace(address)
  if (place === null || !('bucket' in place))
    throw new Error(`${address} is not an address such as s3://bucket/name.db`)
  const client = openClient(place.bucket, access)
  const name = place.prefix.slice(0, -1)
  const object = client.file(name)
  // the name of a bucket alone lists its newest, too
  if (name === '' || !(await object.exists())) {
    const bucket = openBucket(place, { dataFolder: '', access, limitMs: uploadLimitMs })
    const names = (await bucket.list()).sort().toReversed().slice(0, NAMED)
    const found = names.map((name) => `s3://${place.bucket}/${place.prefix}${name}`)
    const hint = found.length === 0 ? '' : ` The newest backups there: ${found.join(', ')}`
    throw new Error(`There is no file ${address}.${hint}`)
  }
  await Bun.write(to, new Response(object.stream()))
}

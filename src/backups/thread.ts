import type { BackupPlace, S3Access } from '../core/backup-places.ts'
import { type BackupSource, writeBackup, yieldToServer } from '../store/engine/backup-files.ts'
import { describeFault, listSurplus, openPlace } from './places.ts'

declare const self: Worker

export type ToBackup = { source: BackupSource; place: BackupPlace; access: S3Access | null; name: string; keep: number }
/** `removed`: addresses of the old ones. `warning`: they could not be removed. */
export type MadeBackup = { bytes: number; removed: string[]; warning: string | null }
export type FromBackup = { made: MadeBackup } | { failure: string }

async function make({ source, place: given, access, name, keep }: ToBackup): Promise<MadeBackup> {
  const place = openPlace(given, source.folder, access)
  place.prepare()
  place.removeLeft()
  const bytes = await writeBackup(source, place.fileOf(name), yieldToServer)
  await place.take(name)
  const removed: string[] = []
  try {
    for (const old of listSurplus(await place.list(), name, keep)) {
      await place.remove(old)
      removed.push(place.addressOf(old))
    }
    return { bytes, removed, warning: null }
  } catch (error) {
    return { bytes, removed, warning: describeFault(error) }
  }
}

self.onmessage = async ({ data }: MessageEvent<ToBackup>) => {
  const answer: FromBackup = await make(data).then(
    (made) => ({ made }),
    (error: unknown) => ({ failure: describeFault(error) }),
  )
  self.postMessage(answer)
}

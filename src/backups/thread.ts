import type { BackupPlace, S3Access } from '../core/backup-places.ts'
import { yieldToServer } from '../core/priority.ts'
import { type BackupSource, writeBackup } from '../store/engine/backup-files.ts'
import { describeFault, openPlace } from './places.ts'

declare const self: Worker

export type ToBackup = { source: BackupSource; place: BackupPlace; access: S3Access | null; name: string }
export type MadeBackup = { bytes: number }
export type FromBackup = { made: MadeBackup } | { failure: string }

async function make({ source, place: given, access, name }: ToBackup): Promise<MadeBackup> {
  const place = openPlace(given, source.folder, access)
  place.prepare()
  place.removeLeft()
  const bytes = await writeBackup(source, place.fileOf(name), () => yieldToServer('little'))
  await place.take(name)
  return { bytes }
}

self.onmessage = async ({ data }: MessageEvent<ToBackup>) => {
  const answer: FromBackup = await make(data).then(
    (made) => ({ made }),
    (error: unknown) => ({ failure: describeFault(error) }),
  )
  self.postMessage(answer)
}

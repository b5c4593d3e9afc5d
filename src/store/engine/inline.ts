import { createEngine } from './engine.ts'
import { StoreError } from './errors.ts'
import type { ReadEvent } from '../event-texts.ts'
import type { Rules } from '../plan-types.ts'
import { lockFolder } from './folder-lock.ts'
import { openForWriting } from './sealed-columns.ts'
import type { Sealer } from './sealing.ts'
import type { Channel } from './writer.ts'

type Opening = { now: () => number; sealer: Sealer; readEvent?: ReadEvent; rules?: Rules }

/** Reaches the engine in this thread, for a command that ends soon. @throws StoreError when the folder cannot be opened */
export function openInline(folder: string, { now, sealer, readEvent, rules }: Opening): Channel {
  const db = openForWriting(folder, sealer, () => refuseWhileServed(folder))
  const engine = createEngine(db, now, sealer, { isAlone: false, readEvent, rules })
  const broken: ((reason: string) => void)[] = []
  return {
    commit: async (jobs) => {
      try {
        return engine.run(jobs)
      } catch (error) {
        for (const listener of broken) listener(error instanceof Error ? error.message : String(error))
        throw error
      }
    },
    close: async () => db.close(),
    onForeignWrite: () => {},
    onBroken: (listener) => void broken.push(listener),
  }
}

/** A server that was started without the key could not read what a command seals under it. */
function refuseWhileServed(folder: string): void {
  try {
    lockFolder(folder).release()
  } catch (error) {
    if (!(error instanceof StoreError && error.code === 'folder_in_use')) throw error
    const wrong = `A server runs on ${folder} without the master key.`
    throw new StoreError('folder_in_use', `${wrong} Start it again with EVENTPOST_MASTER_KEY, then try again.`)
  }
}

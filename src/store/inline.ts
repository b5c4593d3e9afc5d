import { beginBlanking, blankPages, findStalePages } from './blanking.ts'
import { databasePath, openDatabase } from './database.ts'
import { createEngine } from './engine.ts'
import { holdFile } from './held-file.ts'
import type { Channel } from './writer.ts'

/** Reaches the engine in this thread, for a command that ends soon. @throws StoreError when the folder cannot be opened */
export function openInline(folder: string, now: () => number): Channel {
  const db = openDatabase(folder)
  const { file, release } = holdFile(databasePath(folder))
  const engine = createEngine(db, now)
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
    blank: async () => {
      const mark = beginBlanking(db)
      return mark !== null && blankPages(db, file, { pages: findStalePages(file), mark })
    },
    close: async () => {
      db.close()
      release()
    },
    onForeignWrite: () => {},
    onBroken: (listener) => void broken.push(listener),
  }
}

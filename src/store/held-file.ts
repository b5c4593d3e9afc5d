import { closeSync, openSync, statSync } from 'node:fs'

/**
 * Of the whole process, as the rule is: to close any descriptor of a file drops every lock the process has on it, also
 * those of other SQLite connections, and another process would then clear the log away under them.
 */
const held = new Map<string, { file: number; holders: number }>()

/** A descriptor for reading and writing beside SQLite, closed when the last holder has released it. */
export function holdFile(path: string): { file: number; release: () => void } {
  const { dev, ino } = statSync(path)
  const key = `${dev}:${ino}`
  const entry = held.get(key) ?? { file: openSync(path, 'r+'), holders: 0 }
  entry.holders += 1
  held.set(key, entry)
  const release = (): void => {
    entry.holders -= 1
    if (entry.holders > 0) return
    held.delete(key)
    closeSync(entry.file)
  }
  return { file: entry.file, release }
}

import type { Database } from 'bun:sqlite'

/** Notices commits of other processes, at the start of each transaction and whenever it is asked. */
export function createForeignWatch(db: Database, catchUp: () => void) {
  const dataVersion = db.prepare<{ data_version: number }, []>('PRAGMA data_version')
  let seen = dataVersion.get()?.data_version
  let isNew = false

  const look = (): void => {
    const version = dataVersion.get()?.data_version
    if (version === seen) return
    catchUp()
    seen = version
    isNew = true
  }
  /** True once after another process committed, also when a transaction noticed it first. */
  const take = (): boolean => {
    look()
    const was = isNew
    isNew = false
    return was
  }
  return { look, take }
}

import type { Database } from 'bun:sqlite'

/** Lets a statement of the engine fail once as the disk would. */
export function failing(db: Database, text: string, code: string): { failNext: () => void } {
  let isDue = false
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => {
    const statement = prepare(sql)
    if (sql !== text) return statement
    const run = () => {
      if (!isDue) return statement.run()
      isDue = false
      throw Object.assign(new Error('disk'), { code })
    }
    return { run }
  }) as Database['prepare']
  return { failNext: () => void (isDue = true) }
}

/**
 * The control of the power cuts, as a preload: a server with `synchronous=NORMAL`, which does not synchronize at commits.
 * It must lose events, or the test of the real server could not fail.
 */
import { Database } from 'bun:sqlite'

const { run, query } = Database.prototype
Database.prototype.run = function (sql: string, ...values: never[]) {
  return run.call(this, sql === 'PRAGMA synchronous = FULL' ? 'PRAGMA synchronous = NORMAL' : sql, ...values)
}
// the server reads it back and would not start
Database.prototype.query = function (this: Database, sql: string) {
  return query.call(this, sql === 'PRAGMA synchronous' ? 'SELECT 2' : sql)
} as typeof query

const RealWorker = globalThis.Worker
globalThis.Worker = class extends RealWorker {
  constructor(url: string | URL, options?: WorkerOptions) {
    super(url, { ...options, preload: [import.meta.path] })
  }
} as typeof Worker

import type { Database } from 'bun:sqlite'
import type { RetryCause, DeliveryRules } from './delivery-rules.ts'
import { IS_WAITING } from './delivery-states.ts'

/** Deliveries made due per write, so that no other write waits long. */
const RETRIED_PER_WRITE = 10_000

export type DeliveryRetries = ReturnType<typeof createDeliveryRetries>

/** What is left is kept until it is done. */
type KeptCause = Exclude<RetryCause, 'brake'>

type Parts = { db: Database; rules: Pick<DeliveryRules, 'isRetried'> }

export function createDeliveryRetries({ db, rules }: Parts) {
  const prepare = (whichApps: string) => {
    const isDeferred = `${IS_WAITING} AND ${whichApps} AND due_at > ? AND state = 'deferred'`
    return {
      reasons: db.prepare<{ reason: string }, [number | string, number]>(
        `SELECT DISTINCT reason FROM deliveries WHERE ${isDeferred} AND reason IS NOT NULL`,
      ),
      retry: db.prepare<unknown, [number, number, number | string, number, string]>(
        `UPDATE deliveries SET due_at = ?, updated_at = ?, record = json_remove(record, '$.tries') WHERE id IN (
           SELECT id FROM deliveries WHERE ${isDeferred} AND reason IN (SELECT value FROM json_each(?))
           ORDER BY due_at LIMIT ${RETRIED_PER_WRITE})`,
      ),
    }
  }
  const ofApp = prepare('app_id = ?')
  const ofAccount = prepare('app_id IN (SELECT id FROM apps WHERE account_id = ?)')

  const keep = db.prepare('INSERT OR REPLACE INTO unfinished_retries (app_id, cause, at) VALUES (?, ?, ?)')
  const keepAll = db.prepare(
    `INSERT OR REPLACE INTO unfinished_retries (app_id, cause, at) SELECT id, ?, ? FROM apps WHERE account_id = ?`,
  )
  const forget = db.prepare('DELETE FROM unfinished_retries WHERE app_id = ? AND cause = ?')
  const unfinished = db.prepare<{ appId: number; cause: KeptCause; at: number }, []>(
    'SELECT app_id AS appId, cause, at FROM unfinished_retries LIMIT 1',
  )

  /** False if more are to be made due. */
  const makeDue = (statements: typeof ofApp, id: number | string, cause: RetryCause, at: number): boolean => {
    const { reasons, retry } = statements
    const retried = reasons.all(id, at).flatMap(({ reason }) => (rules.isRetried(reason, cause) ? [reason] : []))
    return retried.length === 0 || retry.run(at, at, id, at, JSON.stringify(retried)).changes < RETRIED_PER_WRITE
  }

  const tryAgain = (appId: number, cause: KeptCause, at: number): void => {
    if (makeDue(ofApp, appId, cause, at)) forget.run(appId, cause)
    else keep.run(appId, cause, at)
  }

  return {
    tryAgain,
    tryAllAgain(accountId: string, cause: KeptCause, at: number): void {
      if (!makeDue(ofAccount, accountId, cause, at)) keepAll.run(cause, at, accountId)
    },
    /** Regularly: what one earlier write left. */
    goOn(): void {
      const left = unfinished.get()
      if (left) tryAgain(left.appId, left.cause, left.at)
    },
    hasLeft: (): boolean => unfinished.get() !== null,
    /** Emails that waited for the brake. False if more are to be made due: `mail_brakes` keeps that. */
    wake: (appId: number, at: number): boolean => makeDue(ofApp, appId, 'brake', at),
  }
}

import type { Database } from 'bun:sqlite'
import type { RetryCause, DeliveryRules } from './delivery-rules.ts'
import { IS_WAITING } from './delivery-states.ts'

/** Deliveries made due per write, so that no other write waits long. */
const RETRIED_PER_WRITE = 10_000

export type DeliveryRetries = ReturnType<typeof createDeliveryRetries>

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

  /** What one write left. It is forgotten with the process; then emails are tried again at their own time. */
  const left = new Map<string, () => boolean>()

  const tryAgain = (statements: typeof ofApp, id: number | string, cause: RetryCause, at: number): boolean => {
    const { reasons, retry } = statements
    const retried = reasons.all(id, at).flatMap(({ reason }) => (rules.isRetried(reason, cause) ? [reason] : []))
    const isDone =
      retried.length === 0 || retry.run(at, at, id, at, JSON.stringify(retried)).changes < RETRIED_PER_WRITE
    if (isDone) left.delete(`${id} ${cause}`)
    else left.set(`${id} ${cause}`, () => tryAgain(statements, id, cause, at))
    return isDone
  }

  return {
    /** False if more are to be made due. */
    tryAgain: (appId: number, cause: RetryCause, at: number): boolean => tryAgain(ofApp, appId, cause, at),
    /** Regularly. False if more are to be made due. */
    goOn: (): boolean => [...left.values()].map((tryLeft) => tryLeft()).every((isDone) => isDone),
    tryAllAgain: (accountId: string, cause: RetryCause, at: number): boolean =>
      tryAgain(ofAccount, accountId, cause, at),
  }
}

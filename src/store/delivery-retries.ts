import type { Sql } from './engine/sql.ts'
import { type Done, DONE } from './audit.ts'
import type { RetryCause, DeliveryRules } from './delivery-rules.ts'
import { IS_WAITING } from './delivery-states.ts'

/** Deliveries made due per write, so that no other write waits long. */
const RETRIED_PER_WRITE = 10_000

export type DeliveryRetries = ReturnType<typeof createDeliveryRetries>

/** What is left is kept until it is done. */
type KeptCause = Exclude<RetryCause, 'brake'>

type Parts = { db: Sql; rules: Pick<DeliveryRules, 'isRetried'> }

export function createDeliveryRetries({ db, rules }: Parts) {
  const { dialect } = db
  const prepare = (whichApps: string) => {
    const isDeferred = `${IS_WAITING} AND ${whichApps} AND due_at > ? AND state = 'deferred'`
    return {
      reasons: db.prepare<{ reason: string }, [number | string, number]>(
        `SELECT DISTINCT reason FROM deliveries WHERE ${isDeferred} AND reason IS NOT NULL`,
      ),
      retry: db.prepare<unknown, [number, number, number | string, number, string]>(
        `UPDATE deliveries SET due_at = ?, updated_at = ?, record = ${dialect.jsonWithout('record', 'tries')} WHERE id IN (
           ${dialect.lockIds(
             'deliveries',
             `SELECT id FROM deliveries WHERE ${isDeferred} AND ${dialect.isOneOfTexts('reason')}
              ORDER BY due_at LIMIT ${RETRIED_PER_WRITE}`,
             "state = 'deferred'",
           )})`,
      ),
    }
  }
  const ofApp = prepare('app_id = ?')
  const ofAccount = prepare('app_id IN (SELECT id FROM apps WHERE account_id = ?)')

  const isKeptBefore = 'ON CONFLICT (app_id, cause) DO UPDATE SET at = excluded.at'
  const keep = db.prepare(`INSERT INTO unfinished_retries (app_id, cause, at) VALUES (?, ?, ?) ${isKeptBefore}`)
  const keepAll = db.prepare(
    `INSERT INTO unfinished_retries (app_id, cause, at) SELECT id, ?, ? FROM apps WHERE account_id = ? ${isKeptBefore}`,
  )
  const forget = db.prepare('DELETE FROM unfinished_retries WHERE app_id = ? AND cause = ?')
  const unfinished = db.prepare<{ appId: number; cause: KeptCause; at: number }, []>(
    'SELECT app_id AS "appId", cause, at FROM unfinished_retries LIMIT 1',
  )

  /** False if more are to be made due. */
  const makeDue = async (
    statements: typeof ofApp,
    id: number | string,
    cause: RetryCause,
    at: number,
  ): Promise<boolean> => {
    const { reasons, retry } = statements
    const retried = (await reasons.all(id, at)).flatMap(({ reason }) =>
      rules.isRetried(reason, cause) ? [reason] : [],
    )
    return (
      retried.length === 0 || (await retry.run(at, at, id, at, JSON.stringify(retried))).changes < RETRIED_PER_WRITE
    )
  }

  const tryAgain = async (appId: number, cause: KeptCause, at: number): Promise<void> => {
    if (await makeDue(ofApp, appId, cause, at)) await forget.run(appId, cause)
    else await keep.run(appId, cause, at)
  }

  return {
    tryAgain,
    async tryAllAgain(accountId: string, cause: KeptCause, at: number): Promise<void> {
      if (!(await makeDue(ofAccount, accountId, cause, at))) await keepAll.run(cause, at, accountId)
    },
    writes: {
      /** Emails of these apps that wait for their mail server. */
      async retryUnreached({ appIds, at }: { appIds: readonly number[]; at: number }): Promise<Done> {
        for (const appId of appIds) await tryAgain(appId, 'reached', at)
        return DONE
      },
    },
    /** Regularly: what one earlier write left. */
    async goOn(): Promise<void> {
      const left = await unfinished.get()
      if (left) await tryAgain(left.appId, left.cause, left.at)
    },
    hasLeft: async (): Promise<boolean> => (await unfinished.get()) !== null,
    /** Emails that waited for the brake. False if more are to be made due: `mail_brakes` keeps that. */
    wake: (appId: number, at: number): Promise<boolean> => makeDue(ofApp, appId, 'brake', at),
  }
}

import { createInsert } from './engine/insert-rows.ts'
import type { Sql } from './engine/sql.ts'

export type CallRow = {
  accountId: string
  keyId: string
  tool: string
  /** `ok` or the refusal's code */
  outcome: string
  ms: number
  client: string | null
  calledAt: number
}

const COLUMNS = 'account_id AS "accountId", key_id AS "keyId", tool, outcome, ms, client, called_at AS "calledAt"'

export function createCallReads(db: Sql) {
  const newest = db.prepare<CallRow, [string, number]>(
    `SELECT ${COLUMNS} FROM mcp_calls WHERE account_id = ? ORDER BY called_at DESC, id DESC LIMIT ?`,
  )
  return {
    listCalls: async (accountId: string, limit: number): Promise<CallRow[]> => await newest.all(accountId, limit),
  }
}

export function createCallWrites(db: Sql) {
  const insert = createInsert(db, 'mcp_calls', {
    account_id: 'text',
    key_id: 'text',
    tool: 'text',
    outcome: 'text',
    ms: 'bigint',
    client: 'text',
    called_at: 'bigint',
  })
  return {
    async addCalls(calls: CallRow[]): Promise<{ done: true }> {
      await insert(
        calls.map(({ accountId, keyId, calledAt, ...row }) => ({
          ...row,
          account_id: accountId,
          key_id: keyId,
          called_at: calledAt,
        })),
      )
      return { done: true }
    },
  }
}

import type { Database } from 'bun:sqlite'

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

const COLUMNS = 'account_id AS accountId, key_id AS keyId, tool, outcome, ms, client, called_at AS calledAt'

export function createCallReads(db: Database) {
  const newest = db.prepare<CallRow, [string, number]>(
    `SELECT ${COLUMNS} FROM mcp_calls WHERE account_id = ? ORDER BY called_at DESC, id DESC LIMIT ?`,
  )
  return {
    listCalls: async (accountId: string, limit: number): Promise<CallRow[]> => await newest.all(accountId, limit),
  }
}

export function createCallWrites(db: Database) {
  const insert = db.prepare(
    'INSERT INTO mcp_calls (account_id, key_id, tool, outcome, ms, client, called_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  return {
    async addCalls(calls: CallRow[]): Promise<{ done: true }> {
      for (const { accountId, keyId, tool, outcome, ms, client, calledAt } of calls) {
        await insert.run(accountId, keyId, tool, outcome, ms, client, calledAt)
      }
      return { done: true }
    },
  }
}

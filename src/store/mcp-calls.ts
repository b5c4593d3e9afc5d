import type { Database } from 'bun:sqlite'

/** `ms`: duration. `calledAt`: ms UTC. */
export type CallRow = {
  accountId: string
  keyId: string
  tool: string
  /** `ok` or the refusal's code */
  outcome: string
  ms: number
  /** client name as the client reports it */
  client: string | null
  calledAt: number
}

const COLUMNS = 'account_id AS accountId, key_id AS keyId, tool, outcome, ms, client, called_at AS calledAt'

export function createCallReads(db: Database) {
  const newest = db.prepare<CallRow, [string, number]>(
    `SELECT ${COLUMNS} FROM mcp_calls WHERE account_id = ? ORDER BY called_at DESC, id DESC LIMIT ?`,
  )
  return {
    /** Newest first. */
    listCalls: (accountId: string, limit: number): CallRow[] => newest.all(accountId, limit),
  }
}

/** Calls are frequent, so they are written in batches. */
export function createCallWrites(db: Database) {
  const insert = db.prepare(
    'INSERT INTO mcp_calls (account_id, key_id, tool, outcome, ms, client, called_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  return {
    addCalls(calls: CallRow[]): { done: true } {
      for (const { accountId, keyId, tool, outcome, ms, client, calledAt } of calls) {
        insert.run(accountId, keyId, tool, outcome, ms, client, calledAt)
      }
      return { done: true }
    },
  }
}

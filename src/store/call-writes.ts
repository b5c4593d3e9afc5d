import type { Database } from 'bun:sqlite'
import type { CallRow } from './call-types.ts'

/** The audit list of MCP: calls come by the thousand, so they are written many at a time. */
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

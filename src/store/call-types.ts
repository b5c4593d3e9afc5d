/** A call over MCP, as the audit list keeps it. `ms` is how long it took, `calledAt` milliseconds UTC. */
export type CallRow = {
  accountId: string
  keyId: string
  tool: string
  /** `ok`, or the code of the refusal */
  outcome: string
  ms: number
  /** as the client calls itself; null where it does not */
  client: string | null
  calledAt: number
}

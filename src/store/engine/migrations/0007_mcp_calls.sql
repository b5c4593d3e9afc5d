-- What was called over MCP: who, what, how it ended, how long it took; never a value that was sent or answered.
CREATE TABLE mcp_calls (
  -- in the order in which they came, so the oldest are found without an index
  id INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  -- "ok", or the code of the refusal
  outcome TEXT NOT NULL,
  ms INTEGER NOT NULL,
  -- as the client calls itself; null = it does not
  client TEXT,
  called_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mcp_calls_by_account ON mcp_calls (account_id, called_at);
